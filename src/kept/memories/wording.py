"""Clean the words that a memory is to have, and find the end that they name."""

from datetime import datetime

from kept.core.errors import UsageError
from kept.core.invisible import strip_invisible
from kept.core.memory import Memory
from kept.core.redact import redact
from kept.core.text import one_line
from kept.extraction.expiry import find_end
from kept.workspace import Workspace

MEMORY_CHARS = 2_000  # maximum length of a memory, which is a single line


def clean_memory_text(workspace: Workspace, text: str, *, most: int = MEMORY_CHARS) -> str:
    """A text as one line, without invisible characters and secrets. Raises UsageError if it is then empty or too long."""
    content = one_line(redact(strip_invisible(text)[0], key=workspace.store.key("redaction")).text)
    if not any(char.isalnum() for char in content):
        raise UsageError("there is nothing to remember in an empty text")
    if len(content) > most:
        raise UsageError(f"a memory has at most {most} characters, this has {len(content)}", hint="shorten it, or make two")
    return content


def find_new_end(workspace: Workspace, memory: Memory, content: str) -> datetime | None:
    """The end of a memory whose words become ``content``. It changes only if the new words name another end."""
    now = workspace.clock()
    before, after = (find_end(text, memory.last_seen or now, workspace.zone) for text in (memory.content, content))
    return memory.valid_until if before == after else find_end(content, now, workspace.zone) or after
