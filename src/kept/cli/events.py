"""What happened to one memory, for people and for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from kept.cli import show
from kept.cli.show import Line, entry, line
from kept.core.operation import Operation, Pass
from kept.core.times import to_text
from kept.workspace import Workspace

_ACTORS = {"machine": "kept", "person": "you", "agent": "an agent"}

History = Sequence[tuple[Pass, Operation]]


def happened(workspace: Workspace, history: History) -> Iterator[Line]:
    """Each operation on a line: when it was recorded, what it was, why, by whom and in which pass."""
    yield line(("What happened to it", "bold"))
    for made, operation in history:
        head = f"  {show.moment(made.recorded_at, workspace.zone)}  {_operation_name(operation):<10}"
        yield entry(
            [(head, "")], operation.reason, (f"  (by {_ACTORS[made.actor.value]}, pass {made.id} of run {made.run})", "dim")
        )


def happened_body(history: History) -> list[dict[str, Any]]:
    """The same as JSON, with the event time of each and the evidence it brought."""
    return [
        {
            "pass": made.id,
            "run": made.run,
            "stage": made.stage,
            "actor": made.actor.value,
            "recorded_at": to_text(made.recorded_at),
            "kind": _operation_name(operation),
            "memory": operation.memory,
            "at": to_text(operation.at) if operation.at else None,
            "reason": operation.reason,
            "evidence": [each.event for each in getattr(getattr(operation, "facts", None), "added", ())]
            or [each.event for each in getattr(getattr(operation, "value", None), "evidence", ())],
        }
        for made, operation in history
    ]


def _operation_name(operation: Operation) -> str:
    return type(operation).__name__.lower()
