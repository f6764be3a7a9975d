"""The story of a memory: what it says, the words it rests on, and everything that happened to it, each with what it said before and
after.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kept.core.fold import find_undone_passes
from kept.core.memory import Memory
from kept.core.operation import Add, Merge, Operation, Pass, Resolve, Supersede
from kept.memories.browse import MemoryTrace, trace_memory
from kept.workspace import Workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelineEntry:
    """One thing that happened: in which pass, whether that is undone (``off``), and the words before and after where they changed.

    ``other`` is the memory it has to do with besides: what took this one in, answers it or took its place; None where there is
    none.
    """

    made: Pass
    operation: Operation
    off: bool
    before: str
    after: str
    other: Memory | None = None

    @property
    def kind(self) -> str:
        """What it was, in a word."""
        return type(self.operation).__name__.lower()

    @property
    def changed(self) -> bool:
        """Whether other words stood there afterwards."""
        return bool(self.before) and self.before != self.after


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """``chapters`` are in order; ``before`` are the memories it took the place of, ``now`` what stands in its own."""

    trace: MemoryTrace
    chapters: tuple[TimelineEntry, ...]
    before: tuple[Memory, ...]
    now: Memory | None

    @property
    def memory(self) -> Memory:
        """Whose story it is."""
        return self.trace.memory


def build_timeline(workspace: Workspace, memory: Memory, *, context: int = 2) -> Timeline:
    """The story of a memory, each piece of evidence with ``context`` turns before and after it. Changes nothing. Raises
    StoreError.
    """
    memory_trace = trace_memory(workspace, memory, context=context)
    log = workspace.store.log
    now = log.memory(memory.superseded_by or memory.resolved_by) if memory.superseded_by or memory.resolved_by else None
    before = tuple(each for number in memory.supersedes if (each := log.memory(number)) is not None)
    return Timeline(trace=memory_trace, chapters=tuple(_timeline_entries(workspace, memory_trace)), before=before, now=now)


def _timeline_entries(workspace: Workspace, found: MemoryTrace) -> Iterator[TimelineEntry]:
    off, words = find_undone_passes(workspace.store.log.undo_redo_passes()), ""
    for made, operation in found.history:
        facts = getattr(operation, "facts", None) if operation.memory == found.memory.id else None
        said = operation.value.content if isinstance(operation, Add) else facts.content if facts is not None else words
        other = _related_memory_id(operation, found.memory.id)
        yield TimelineEntry(
            made=made,
            operation=operation,
            off=made.id in off,
            before=words,
            after=said,
            other=workspace.store.log.memory(other) if other else None,
        )
        words = words if made.id in off else said


def _related_memory_id(operation: Operation, number: str) -> str:
    match operation:
        case Merge(memory=winner) if winner != number:
            return winner
        case Supersede(by=by) | Resolve(by=by):
            return by if by != number else operation.memory
    return ""
