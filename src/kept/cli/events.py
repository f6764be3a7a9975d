"""What happened to one memory, for people and for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from kept.cli.show import Line, hanging_line, line
from kept.core.codec import json_fields
from kept.core.operation import Operation, Pass
from kept.core.times import format_minute
from kept.workspace import Workspace

_ACTORS = {"machine": "kept", "person": "you", "agent": "an agent"}

History = Sequence[tuple[Pass, Operation]]


def operation_lines(workspace: Workspace, history: History) -> Iterator[Line]:
    """Each operation on a line: when it was recorded, what it was, why, by whom and in which pass."""
    yield line(("What happened to it", "bold"))
    for made, operation in history:
        head = f"  {format_minute(made.recorded_at, workspace.zone)}  {operation_name(operation):<10}"
        yield hanging_line(
            [(head, "")], operation.reason, (f"  (by {_ACTORS[made.actor.value]}, pass {made.id} of run {made.run})", "dim")
        )


def operations_body(history: History) -> list[dict[str, Any]]:
    """The same as JSON, with the event time of each and the evidence it brought."""

    def evidence_of(operation: Operation) -> list[str]:
        facts, value = getattr(operation, "facts", None), getattr(operation, "value", None)
        return [evidence.event for evidence in getattr(facts, "added", ()) or getattr(value, "evidence", ())]

    return [
        json_fields(made, "run", "stage", "actor", "recorded_at", **{"pass": "id"})
        | {"kind": operation_name(operation), "evidence": evidence_of(operation)}
        | json_fields(operation, "memory", "at", "reason")
        for made, operation in history
    ]


def operation_name(operation: Operation) -> str:
    """The kind of an operation, as JSON and people are told it."""
    return type(operation).__name__.lower()
