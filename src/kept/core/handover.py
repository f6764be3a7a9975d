"""The hand-over: texts that ask an agent to pass a person's words on to kept, and tests for its calls in a transcript.

Hooks import this module, and a person waits for them, so it must import next to nothing.
"""

FENCE = "kept"
CAUSE = "handed over"  # trigger of a candidate with the person's own words, which the session's agent selected
REWORDED = "suggested in other words"  # trigger of a candidate that the agent worded; it is held for the person
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

# If a prompt has any of these on a line of its own, the conversation is not remembered. IGNORE has the same effect in a note.
IGNORE, OFF_THE_RECORD = "<!-- kept: ignore -->", "kept: off the record"
OPT_OUT = (IGNORE, "kept: ignore this conversation", OFF_THE_RECORD, "/kept:off")

TOOL = "save_what_user_said"
FORMER = "suggest"  # the tool's earlier name, which older transcripts contain
_NAMES = tuple(f"kept{joint}{name}" for joint in ("__", "_", ".", "/") for name in (TOOL, FORMER))
_PREFIXED = tuple(f"{joint}{name}" for joint in "_./" for name in _NAMES)


def fence_text(text: str) -> str:
    """The text inside kept's fence tags; ``<`` is replaced so that the text cannot close the fence."""
    return f"<{FENCE}>{text.replace('<', '(')}</{FENCE}>"


def is_suggestion_tool(name: str) -> bool:
    """True if ``name`` is kept's hand-over tool. Clients may prefix it with the name of an MCP server or a plugin's server."""
    return name in _NAMES or name.endswith(_PREFIXED)
