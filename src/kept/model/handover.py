"""The hand-over: what an agent is told about handing over a person's words, and how a suggestion is recognised in a transcript.

A hook waits for this module: it imports next to nothing.
"""

import re

FENCE = "kept"
CAUSE = "handed over"  # the trigger of a memory that is a person's own passage, selected by the agent of the session
REWORDED = "suggested in other words"  # the trigger of one that an agent worded: it waits for the person
START = (
    "If the user types a rule, decision, correction, constraint, preference or cause that later sessions need, call kept's suggest: "
    'their exact words, one unbroken passage, and what it replaces. No tool: end with kept: "words"'
)
REMINDER = "For later sessions too? suggest"
ASK = (
    "Before you stop: did the user type something in this turn that later sessions need? If so, call kept's suggest with their exact "
    "words; if not, stop without a further word."
)
OPEN = "The conversation was compacted. The user typed this before, and nothing of it was handed over; suggest what later sessions need:"

_TOOL = re.compile(r"(?:^|[_./])kept(?:__?|[./])suggest$")
_BODY = re.compile(r"<(?=/?kept\b)", re.IGNORECASE)
_MARKS = "*_`> \t"
_LINE = re.compile(r"""(?i:kept)\s*:\s*(?:"([^"\n]+)"|“([^”\n]+)”|„([^“”\n]+)[“”]|«\s*([^»\n]+?)\s*»|「([^」\n]+)」)\.?""")
_MOST_LINES = 3  # a reply hands over so many passages at most


def fenced(text: str) -> str:
    """A text of kept's own in its fence; nothing in it can end the fence."""
    return f"<{FENCE}>{_BODY.sub('(', text)}</{FENCE}>"


def is_suggestion_tool(name: str) -> bool:
    """True if a tool of this name is kept's ``suggest``, as clients call the tools of a server or of a plugin's server."""
    return _TOOL.search(name) is not None


def reply_lines(reply: str) -> tuple[str, ...]:
    """The passages that a reply hands over in its last lines, each as ``kept: "exact words"``, in their order."""
    passages: list[str] = []
    for line in reversed(reply.rstrip().rsplit("\n", _MOST_LINES)[-_MOST_LINES:]):
        match = _LINE.fullmatch(line.strip(_MARKS))
        if match is None:
            break
        passages.append(str(match[match.lastindex or 0]))
    return tuple(reversed(passages))


__all__ = ["ASK", "CAUSE", "FENCE", "OPEN", "REMINDER", "REWORDED", "START", "fenced", "is_suggestion_tool", "reply_lines"]
