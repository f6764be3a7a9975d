"""What the page calls what happened to memories."""

from collections import Counter
from collections.abc import Sequence

from kept.core.operation import Operation, Pin

OPERATIONS = {
    "add": "added",
    "revise": "reworded",
    "move": "moved",
    "reword": "reworded",
    "merge": "merged",
    "supersede": "superseded",
    "resolve": "answered",
    "retire": "retired",
    "reaffirm": "seen again",
    "promote": "promoted",
    "approve": "kept",
    "reject": "turned down",
    "pin": "pinned",
    "forget": "forgotten",
}
_COMMANDS = {
    "run": "A run",
    "sleep": "The night",
    "flush": "A hook",
    "observe": "A program",
    "jobs": "Your agent's replies",
    "suggest": "An agent",
    "import": "An import",
    "migrate": "A migration",
    "absorb": "Your edit of a file",
    "undo": "You undid",
    "redo": "You redid",
}
_LONGEST = 80  # characters of a memory that a note quotes


def describe_command(command: str) -> str:
    """Who or what made a run, for the person: what is not named here a person did."""
    return _COMMANDS.get(command, "You")


def describe_operations(operations: Sequence[Operation], contents: Sequence[str]) -> str:
    """What was done, in words: one memory is quoted, of more their number is told."""
    kinds = Counter(
        "unpinned" if isinstance(operation, Pin) and not operation.on else OPERATIONS[type(operation).__name__.lower()]
        for operation in operations
    )
    told = [content for content in dict.fromkeys(contents) if content]
    if len(operations) == 1 and told:
        text = told[0] if len(told[0]) <= _LONGEST else f"{told[0][:_LONGEST].rstrip()}…"
        return f"{next(iter(kinds))} “{text}”"
    return ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
