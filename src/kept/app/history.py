"""History: what happened, and going back. Undo and redo are passes themselves; nothing is ever taken out of the log."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from kept.adapters.store import Draft, Run
from kept.app.desk import Desk
from kept.model.errors import UsageError
from kept.model.fold import fold, undone
from kept.model.memory import Actor, Memory
from kept.model.operation import Forget, Operation, Pass

_SWITCHES = frozenset({"undo", "redo"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """What an undo or redo did: the passes switched, memories it changed (before and after; None where there is none)."""

    passes: tuple[int, ...]
    changed: Mapping[str, tuple[Memory | None, Memory | None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One run in the history: its passes with whether they are switched off now."""

    run: Run
    passes: tuple[tuple[Pass, bool], ...]


def history(desk: Desk, limit: int = 20) -> tuple[Entry, ...]:
    """The last runs that changed something, newest first."""
    passes = tuple(desk.store.log.passes())
    off = undone(passes)
    by_run: dict[int, list[tuple[Pass, bool]]] = {}
    for each in passes:
        by_run.setdefault(each.run, []).append((each, each.id in off))
    return tuple(Entry(run=each, passes=tuple(by_run[each.id])) for each in desk.store.log.runs() if each.id in by_run)[:limit]


def operations_on(desk: Desk, memory: str) -> tuple[tuple[Pass, Operation], ...]:
    """Everything that happened to a memory, in order, merges into others included."""
    return tuple(
        (each, operation)
        for each in desk.store.log.passes()
        for operation in each.operations
        if memory in (operation.memory, getattr(operation, "by", ""), *getattr(operation, "losers", ()))
    )


def undo(desk: Desk, what: str = "") -> Undone:
    """Take back a pass (``12``), a run (``run 3`` or ``r3``), or, with nothing named, the last run that is not undone.

    Raises UsageError where there is nothing to take back, or where it cannot be (a forget).
    """
    passes = tuple(desk.store.log.passes())
    off = undone(passes)
    chosen = [each for each in _chosen(passes, what, off, undoing=True) if each.id not in off]
    if any(isinstance(operation, Forget) for each in chosen for operation in each.operations):
        raise UsageError("a forget cannot be undone: the words are gone")
    if not chosen:
        raise UsageError("there is nothing to undo", hint="see `kept log`")
    return _switch(desk, passes, undoes=tuple(each.id for each in chosen), redoes=())


def last_run(desk: Desk) -> str:
    """What a bare ``undo`` takes back, in the form it may be named; empty where there is nothing."""
    passes = tuple(desk.store.log.passes())
    last = _last(tuple(each for each in passes if each.stage not in _SWITCHES), undone(passes))
    return f"r{last}" if last is not None else ""


def _last(real: tuple[Pass, ...], off: frozenset[int]) -> int | None:
    return next((each.run for each in reversed(real) if each.id not in off), None)


def redo(desk: Desk, what: str = "") -> Undone:
    """Bring back what was undone: a pass, a run, or, with nothing named, what the last undo took. Raises UsageError."""
    passes = tuple(desk.store.log.passes())
    off = undone(passes)
    if what:
        chosen = tuple(each.id for each in _chosen(passes, what, off, undoing=False) if each.id in off)
    else:
        last = next((each for each in reversed(passes) if each.stage == "undo" and set(each.undoes) & off), None)
        chosen = tuple(sorted(set(last.undoes) & off)) if last else ()
    if not chosen:
        raise UsageError("there is nothing to redo", hint="see `kept log`")
    return _switch(desk, passes, undoes=(), redoes=chosen)


def _chosen(passes: tuple[Pass, ...], what: str, off: frozenset[int], *, undoing: bool) -> tuple[Pass, ...]:
    real = tuple(each for each in passes if each.stage not in _SWITCHES)
    text = what.strip().lower()
    if not text:
        last = _last(real, off)
        return tuple(each for each in real if each.run == last)
    number = text.removeprefix("run").strip().removeprefix("r")
    if not number.isdigit():
        raise UsageError(f"{what!r} names no pass or run", hint="give a pass number, or r3 for run 3; see `kept log`")
    wanted = int(number)
    found = tuple(each for each in real if (each.id if text.isdigit() else each.run) == wanted)
    if not found:
        raise UsageError(f"there is no {'pass' if text.isdigit() else 'run'} {wanted} to {'undo' if undoing else 'redo'}")
    return found


def _switch(desk: Desk, passes: tuple[Pass, ...], *, undoes: tuple[int, ...], redoes: tuple[int, ...]) -> Undone:
    before = fold(passes)
    with desk.store.transaction():
        now = desk.clock()
        name = "undo" if undoes else "redo"
        run = desk.store.log.start_run(name, now)
        subject = ", ".join(str(each) for each in undoes or redoes)
        desk.store.log.commit(
            Draft(run=run, stage=name, subject=subject, actor=Actor.PERSON, recorded_at=now, undoes=undoes, redoes=redoes)
        )
        desk.store.log.end_run(run, now, {})
    after = {each.id: each for each in desk.store.log.memories()}
    changed = {
        each: (before.get(each), after.get(each))
        for each in sorted(before.keys() | after.keys())
        if before.get(each) != after.get(each)
    }
    return Undone(passes=undoes or redoes, changed=changed)


def memories_at(desk: Desk, moment: datetime, *, recorded: bool = False) -> tuple[Memory, ...]:
    """The memories as of a past moment.

    By event time (the default): what was true then, as far as is known today. By recorded time: what kept believed then.
    """
    passes = tuple(desk.store.log.passes())
    if recorded:
        return tuple(fold(each for each in passes if each.recorded_at <= moment).values())
    off = undone(passes)
    return tuple(
        fold(_until(each, moment) for each in passes if each.id not in off and not each.undoes and not each.redoes).values()
    )


def _until(made: Pass, moment: datetime) -> Pass:
    return replace(made, operations=tuple(each for each in made.operations if each.at is not None and each.at <= moment))


def difference(desk: Desk, earlier: datetime, later: datetime, *, recorded: bool = False) -> Undone:
    """What changed between two moments: memories with their form before and after (None: not there)."""
    before = {each.id: each for each in memories_at(desk, earlier, recorded=recorded)}
    after = {each.id: each for each in memories_at(desk, later, recorded=recorded)}
    changed = {
        each: (before.get(each), after.get(each))
        for each in sorted(before.keys() | after.keys())
        if before.get(each) != after.get(each)
    }
    return Undone(passes=(), changed=changed)
