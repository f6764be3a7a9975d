"""The hand-over: what an agent is told about handing over a person's words, and how a suggestion is recognised in a transcript.

A hook waits for this module: it imports next to nothing.
"""

FENCE = "kept"
CAUSE = "handed over"  # the trigger of a memory that is a person's own passage, selected by the agent of the session
REWORDED = "suggested in other words"  # the trigger of one that an agent worded: it waits for the person
START = (
    "If the user types a rule, decision, correction, cause or fact that a colleague joining later must know (not what to build or "
    'fix now), call kept\'s save_what_user_said: exact words, what they replace. No tool: end kept: "words"'
)
REMINDER = "Lasting? save_what_user_said"
ASK = (
    "Before you stop: did the user type something in this turn that later sessions need? If so, call kept's save_what_user_said "
    "with their exact words; if not, stop without a further word."
)
OPEN = (
    "The conversation was compacted. The user typed this before, and nothing of it was handed over; call save_what_user_said with "
    "what later sessions need:"
)

# Each on a line of its own in a prompt (the first in a note, too): the conversation is not to be remembered.
IGNORE, OFF_THE_RECORD = "<!-- kept: ignore -->", "kept: off the record"
OPT_OUT = (IGNORE, "kept: ignore this conversation", OFF_THE_RECORD, "/kept:off")

TOOL = "save_what_user_said"
FORMER = "suggest"  # what the tool was called before: transcripts of then are read too
_NAMES = tuple(f"kept{joint}{name}" for joint in ("__", "_", ".", "/") for name in (TOOL, FORMER))


def fence_text(text: str) -> str:
    """A text of kept's own in its fence; nothing in it can end the fence."""
    return f"<{FENCE}>{text.replace('<', '(')}</{FENCE}>"


def is_suggestion_tool(name: str) -> bool:
    """True if a tool of this name is kept's for handing over, as clients call the tools of a server or of a plugin's server."""
    return any(name.endswith(own) and name[: -len(own)][-1:] in ("", "_", ".", "/") for own in _NAMES)


__all__ = [
    "ASK",
    "CAUSE",
    "FENCE",
    "FORMER",
    "IGNORE",
    "OFF_THE_RECORD",
    "OPEN",
    "OPT_OUT",
    "REMINDER",
    "REWORDED",
    "START",
    "TOOL",
    "fence_text",
    "is_suggestion_tool",
]
