"""Whether a session that no terminal shows may be a person's: what they type to `claude -p` or `codex exec`, or their own scripts
do.

One rule for every client: a program's own sessions (an SDK) are the program's, and so are those in folders that no person works
in, unless the client says that they had a terminal. In other folders they stay in the person's name and what they tell waits, for
another agent's command leaves the same record. Both are counted.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from kept.core.event import Author
from kept.core.pattern import compile_late
from kept.sources.documents import EventDraft
from kept.sources.pieces import MessagePiece, count_note

_Prompt = TypeVar("_Prompt", MessagePiece, EventDraft)

# Folders of temporary files and of build machines.
_UNATTENDED = compile_late(
    r"^(?:/private)?/(?:tmp|var/tmp|var/folders)(?:/|$)|^/dev/shm(?:/|$)|^/(?:github/workspace|__w|builds)(?:/|$)"
    r"|^/home/(?:runner|circleci|vsts)/"
    r"|^/(?:var/lib/)?(?:jenkins|buildkite-agent)(?:/|$)|^[A-Za-z]:\\(?:Users\\[^\\]+\\AppData\\Local\\Temp|Windows\\Temp"
    r"|a)(?:\\|$)"
)

PRINTED = "sdk-cli"  # the entry point of `claude -p`, at a terminal or in a script
# How entry points of Claude Code and originators of Codex begin that a program used: a library, an action of a build, a server.
_PROGRAMS = ("sdk", "codex_sdk", "claude-code-github-action", "mcp")


def is_sdk(entry: object) -> bool:
    """Whether a session was begun by a program: with a client's library, by an action of a build, over a server."""
    return isinstance(entry, str) and entry.startswith(_PROGRAMS) and entry != PRINTED


def is_unattended(folder: object) -> bool:
    """Whether a session's folder is one that no person works in; a folder that is not told is taken for such."""
    return not isinstance(folder, str) or not folder or bool(_UNATTENDED.search(folder))


def label_as_program(pieces: Sequence[_Prompt], noted: dict[str, int], mark: str) -> list[_Prompt]:
    """Prompts as a program's, counted under what marked them so."""
    count_note(noted, f"program-prompt:{mark}")
    return [replace(piece, author=Author.INJECTED, reason="machine-session") for piece in pieces]
