"""History: what happened, and going back. Undo and redo are passes themselves; nothing is ever taken out of the log."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from kept.core.errors import MissingError, UsageError
from kept.core.fold import fold, idle, undone
from kept.core.memory import Actor, Memory
from kept.core.operation import Add, Forget, Operation, Pass, Reword, mentioned
from kept.days.own_lines import restore_lines
from kept.store.values import Draft, Run
from kept.workspace import Workspace

_SWITCHES = frozenset({"undo", "redo"})

Changes = Mapping[str, tuple[Memory | None, Memory | None]]
"""Memories by id, as they were and as they are; None where there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Later:
    """A later operation on a memory that an undo or redo switched; ``idle`` says that it has nothing to act on any more."""

    made: Pass
    operation: Operation
    idle: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """What an undo or redo did: the passes switched, the memories changed, and later operations on the same memories."""

    passes: tuple[int, ...]
    changed: Changes
    later: tuple[Later, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One run in the history: its passes with whether they are switched off now."""

    run: Run
    passes: tuple[tuple[Pass, bool], ...]


def history(workspace: Workspace, limit: int = 20) -> tuple[Entry, ...]:
    """The last runs that changed something, newest first."""
    heads = tuple(workspace.store.log.heads())
    with_passes = {each.run for each in heads}
    runs = tuple(each for each in workspace.store.log.runs(_MOST_RUNS) if each.id in with_passes)[:limit]
    return _history_entries(workspace, runs, heads)


def find_run(workspace: Workspace, name: str) -> Entry:
    """The run that a person names (``r3``, ``3``). Raises MissingError where there is none that changed anything."""
    heads, number = tuple(workspace.store.log.heads()), name.strip().lower().removeprefix("run").strip().removeprefix("r")
    found = tuple(each for each in workspace.store.log.runs(_MOST_RUNS) if str(each.id) == number)
    entry = next(iter(_history_entries(workspace, found, heads)), None)
    if entry is None or not entry.passes:
        raise MissingError(f"there is no run {name!r} that changed anything", hint="see `kept log`")
    return entry


def _history_entries(workspace: Workspace, runs: Sequence[Run], heads: Sequence[Pass]) -> tuple[Entry, ...]:
    off, wanted = undone(heads), {each.id for each in runs}
    by_run: dict[int, list[tuple[Pass, bool]]] = {}
    for each in workspace.store.log.passes(only=[head.id for head in heads if head.run in wanted]):
        by_run.setdefault(each.run, []).append((each, each.id in off))
    return tuple(Entry(run=each, passes=tuple(by_run.get(each.id, ()))) for each in runs)


_MOST_RUNS = 1_000_000


def run_changes(workspace: Workspace, passes: Sequence[Pass]) -> Changes:
    """What some passes that were made together changed: each memory just before the first and just after the last of them."""
    if not passes:
        return {}
    first, last = min(each.id for each in passes), max(each.id for each in passes)
    concerned = {number for each in passes for number in (each.id, *each.undoes, *each.redoes)}
    related, switches = workspace.store.log.related(concerned), tuple(workspace.store.log.switches())
    before, after = (
        fold(_counting(tuple(each for each in related if each.id < end), undone(each for each in switches if each.id < end)))
        for end in (first, last + 1)
    )
    return _changes(before, after)


def undo(workspace: Workspace, what: str = "") -> Undone:
    """Take back a pass (``12``), a run (``run 3`` or ``r3``), or, with nothing named, the last run that is not undone.

    Raises UsageError where there is nothing to take back, or where it cannot be (a forget).
    """
    heads = tuple(workspace.store.log.heads())
    off = undone(heads)
    return _take_back(workspace, _chosen(heads, what, off, undoing=True), off)


def undo_within(workspace: Workspace, scopes: Collection[str]) -> Undone:
    """Take back, of the last run that has any which count, the passes over memories of these scopes alone. Raises UsageError as
    :func:`undo` does.
    """
    heads = tuple(workspace.store.log.heads())
    off = undone(heads)
    return _take_back(workspace, _last_within(workspace, heads, off, scopes), off)


def _take_back(workspace: Workspace, named: Sequence[Pass], off: frozenset[int]) -> Undone:
    chosen = [each.id for each in named if each.id not in off]
    if any(isinstance(operation, Forget) for each in workspace.store.log.passes(only=chosen) for operation in each.operations):
        raise UsageError("a forget cannot be undone: the words are gone")
    if not chosen:
        raise UsageError("there is nothing to undo", hint="see `kept log`")
    return _switch(workspace, undoes=tuple(chosen), redoes=())


def _last_within(workspace: Workspace, heads: tuple[Pass, ...], off: frozenset[int], scopes: Collection[str]) -> tuple[Pass, ...]:
    """The passes over memories of these scopes alone, of the last run that has any which count."""
    log = workspace.store.log
    real = (each for each in reversed(heads) if each.stage not in _SWITCHES and each.id not in off)
    for _, made in groupby(real, key=lambda each: each.run):
        found = []
        for each in log.passes(only=[one.id for one in made]):
            touched = [log.memory(number) for operation in each.operations for number in mentioned(operation)]
            if touched and all(memory is not None and memory.scope in scopes for memory in touched):
                found.append(each)
        if found:
            return tuple(found)
    return ()


def last_run(workspace: Workspace) -> str:
    """What a bare ``undo`` takes back, in the form it may be named; empty where there is nothing."""
    heads = tuple(workspace.store.log.heads())
    last = _last_effective(tuple(each for each in heads if each.stage not in _SWITCHES), undone(heads))
    return f"r{last}" if last is not None else ""


def _last_effective(real: tuple[Pass, ...], off: frozenset[int]) -> int | None:
    return next((each.run for each in reversed(real) if each.id not in off), None)


def redo(workspace: Workspace, what: str = "") -> Undone:
    """Bring back what was undone: a pass, a run, or, with nothing named, what the last undo took. Raises UsageError."""
    heads = tuple(workspace.store.log.heads())
    off = undone(heads)
    if what:
        chosen = tuple(each.id for each in _chosen(heads, what, off, undoing=False) if each.id in off)
    else:
        last = next((each for each in reversed(heads) if each.stage == "undo" and set(each.undoes) & off), None)
        chosen = tuple(sorted(set(last.undoes) & off)) if last else ()
    if not chosen:
        raise UsageError("there is nothing to redo", hint="see `kept log`")
    return _switch(workspace, undoes=(), redoes=chosen)


def _chosen(heads: tuple[Pass, ...], what: str, off: frozenset[int], *, undoing: bool) -> tuple[Pass, ...]:
    real = tuple(each for each in heads if each.stage not in _SWITCHES)
    text = what.strip().lower()
    if not text:
        last = _last_effective(real, off)
        return tuple(each for each in real if each.run == last)
    number = text.removeprefix("run").strip().removeprefix("r")
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise UsageError(f"{what!r} names no pass or run", hint="give a pass number, or r3 for run 3; see `kept log`")
    wanted = int(number)
    found = tuple(each for each in real if (each.id if text.isdigit() else each.run) == wanted)
    if not found:
        raise UsageError(f"there is no {'pass' if text.isdigit() else 'run'} {wanted} to {'undo' if undoing else 'redo'}")
    return found


def _switch(workspace: Workspace, *, undoes: tuple[int, ...], redoes: tuple[int, ...]) -> Undone:
    log, switched = workspace.store.log, undoes or redoes
    with workspace.store.transaction():
        now = workspace.clock()
        name = "undo" if undoes else "redo"
        related = log.related(switched)
        before = _counting(related, undone(log.switches()))
        run = log.start_run(name, now)
        subject = ", ".join(map(str, switched))
        log.commit(Draft(run=run, stage=name, subject=subject, actor=Actor.PERSON, recorded_at=now, undoes=undoes, redoes=redoes))
        log.end_run(run, now, {})
        made = (operation for each in related if each.id in switched for operation in each.operations)
        restore_lines(workspace, dict.fromkeys(operation.memory for operation in made if isinstance(operation, Reword)))
        after = _counting(related, undone(log.switches()))
    return Undone(passes=switched, changed=_changes(fold(before), fold(after)), later=_later(after, related, switched))


def _counting(passes: tuple[Pass, ...], off: frozenset[int]) -> tuple[Pass, ...]:
    return tuple(each for each in passes if each.id not in off)


def _later(after: tuple[Pass, ...], related: tuple[Pass, ...], switched: tuple[int, ...]) -> tuple[Later, ...]:
    """What was done later to the memories that the switched passes concern, and still counts."""
    touched = {
        number for each in related if each.id in switched for operation in each.operations for number in mentioned(operation)
    }
    nothing_left = {(number, id(operation)) for number, operation in idle(after)}
    return tuple(
        Later(made=replace(each, operations=()), operation=operation, idle=(each.id, id(operation)) in nothing_left)
        for each in after
        if each.id > min(switched) and each.id not in switched
        for operation in each.operations
        if not touched.isdisjoint(mentioned(operation))
    )


def _changes(before: Mapping[str, Memory], after: Mapping[str, Memory]) -> Changes:
    return {
        each: (before.get(each), after.get(each))
        for each in sorted(before.keys() | after.keys())
        if before.get(each) != after.get(each)
    }


def memories_at(workspace: Workspace, moment: datetime, *, recorded: bool = False) -> tuple[Memory, ...]:
    """The memories as of a past moment.

    By event time (the default): what was true then, as far as is known today. By recorded time: what kept believed then. What has
    no event time counts from when it was recorded.
    """
    passes = tuple(workspace.store.log.passes())
    if recorded:
        return tuple(fold(each for each in passes if each.recorded_at <= moment).values())
    off = undone(passes)
    counting = tuple(replace(each, undoes=(), redoes=()) for each in passes if each.id not in off)
    earliest = _first_seen(counting)
    memories = fold(_until(each, moment, earliest) for each in counting)
    return tuple(_as_seen(each, moment, earliest) for each in memories.values())


def _first_seen(passes: tuple[Pass, ...]) -> dict[str, datetime]:
    """When each memory was first seen, by all that is known today: evidence that was read later may be older."""
    found: dict[str, datetime] = {}
    for made in passes:
        for operation in made.operations:
            facts = getattr(operation, "facts", None) or getattr(operation, "value", None)
            seen = facts.first_seen if facts is not None else None
            if seen is not None:
                found[operation.memory] = min(found.get(operation.memory, seen), seen)
    return found


def _until(made: Pass, moment: datetime, earliest: Mapping[str, datetime]) -> Pass:
    def when(operation: Operation) -> datetime:
        first = earliest.get(operation.memory) if isinstance(operation, Add) else None
        return first or operation.at or made.recorded_at

    return replace(made, operations=tuple(each for each in made.operations if when(each) <= moment))


def _as_seen(memory: Memory, moment: datetime, earliest: Mapping[str, datetime]) -> Memory:
    """A memory without the evidence that came later."""
    evidence = tuple(each for each in memory.evidence if each.at is None or each.at <= moment)
    first, last = earliest.get(memory.id, memory.first_seen), memory.last_seen
    if last is not None and last > moment:
        last = max((each.at for each in evidence if each.at is not None), default=first)
    return replace(memory, evidence=evidence, first_seen=first, last_seen=last)


def difference(workspace: Workspace, earlier: datetime, later: datetime, *, recorded: bool = False) -> Undone:
    """What changed between two moments: memories with their form before and after (None: not there)."""
    before = {each.id: each for each in memories_at(workspace, earlier, recorded=recorded)}
    after = {each.id: each for each in memories_at(workspace, later, recorded=recorded)}
    return Undone(passes=(), changed=_changes(before, after))
