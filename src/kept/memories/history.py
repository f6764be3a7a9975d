"""The history of runs and their changes, with word diffs; undo and redo.

An undo is a new pass, so nothing is removed from the log.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from kept.core.errors import MissingError, UsageError
from kept.core.memory import Actor, Memory
from kept.core.operation import (
    Add,
    Anticipate,
    Forget,
    Operation,
    Pass,
    Retire,
    Reword,
    affected_memory_ids,
    find_idle_operations,
    find_undone_passes,
    fold,
    operation_kind,
    stated_facts,
)
from kept.core.value import dataclass, replace
from kept.local.queue import NIGHT
from kept.memories.browse import WORDS
from kept.memories.differences import Changes
from kept.memories.waiting import record_judgement
from kept.store.values import GUARD, Draft, Run
from kept.workspace import Workspace

_SWITCHES = frozenset({"undo", "redo"})
_LASTING = ("journal", "restore")  # commands whose effect is not in the log of memories, so that no undo takes it back


@dataclass(frozen=True, kw_only=True, slots=True)
class LaterOperation:
    """A later operation on a memory that an undo or redo affected. ``idle`` means that its memory does not exist any more."""

    made: Pass
    operation: Operation
    idle: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class UndoResult:
    """The result of an undo or redo: the passes, the changed memories, and later operations on memories that the passes affect."""

    passes: tuple[int, ...]
    changed: Changes
    later: tuple[LaterOperation, ...] = ()


class HistoryPass(NamedTuple):
    """A pass of a run, and whether it is undone now."""

    made: Pass
    undone: bool

    @property
    def operations(self) -> Counter[str]:
        """Its operations by kind."""
        return Counter(map(operation_kind, self.made.operations))

    @property
    def lasting(self) -> bool:
        """True if it cannot be undone."""
        return self.made.stage in (*_SWITCHES, GUARD) or any(isinstance(operation, Forget) for operation in self.made.operations)


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryEntry:
    """A run and its passes.

    ``night`` is True for a run that was part of the nightly job, and for the report of the job itself, which has no passes.
    """

    run: Run
    passes: tuple[HistoryPass, ...]
    night: bool = False

    @property
    def account(self) -> Sequence[Mapping[str, Any]]:
        """The steps of the nightly job with their outcomes; empty for any other run."""
        return self.run.report.get("steps", ()) if is_nightly_job(self.run) else ()

    @property
    def operations(self) -> Counter[str]:
        """The operations of all passes, by kind."""
        return sum((entry.operations for entry in self.passes), Counter[str]())

    @property
    def switches(self) -> bool:
        """True if the run undid or redid something."""
        return any(entry.made.stage in _SWITCHES for entry in self.passes)

    @property
    def undone(self) -> bool:
        """True if all that can be undone in the run is undone. Passes that changed no memory count only if there are no others."""
        able = [entry for entry in self.passes if not entry.lasting]
        able = [entry for entry in able if entry.made.operations] or able
        return bool(able) and all(entry.undone for entry in able)

    @property
    def can_be_undone(self) -> bool:
        """True if any pass of the run can be undone."""
        return not self.undone and any(not entry.undone and not entry.lasting for entry in self.passes)


def is_nightly_job(run: Run) -> bool:
    """True for the report of a nightly job, which has no passes of its own."""
    return run.command == NIGHT


def is_lasting_change(run: Run) -> bool:
    """True for the record of a command that no undo takes back, which has no passes of its own."""
    return run.command in _LASTING


def run_history(
    workspace: Workspace, limit: int | None, *, before: int = 0, also: Callable[[Run], bool] = lambda _: False
) -> tuple[HistoryEntry, ...]:
    """The last ``limit`` runs (None: all) with passes, and those that ``also`` accepts, newest first.

    If ``before`` is given, only runs with a smaller number. Raises StoreError.
    """
    heads = tuple(workspace.store.log.pass_heads())
    with_passes, every = {pass_.run for pass_ in heads}, workspace.store.log.runs()
    runs = [run for run in every if (not before or run.id < before) and (run.id in with_passes or also(run))][:limit]
    return _history_entries(workspace, runs, heads, every)


def find_run(workspace: Workspace, name: str) -> HistoryEntry:
    """The run that a person names (``r3``, ``3``). It must have changed something, if only files, or be a nightly job.

    Raises MissingError if there is no such run.
    """
    heads, number = tuple(workspace.store.log.pass_heads()), name.strip().lower().removeprefix("run").strip().removeprefix("r")
    every = workspace.store.log.runs()
    entry = next(iter(_history_entries(workspace, [run for run in every if str(run.id) == number], heads, every)), None)
    if entry is None or not (entry.passes or entry.account or is_lasting_change(entry.run)):
        raise MissingError(f"there is no run {name!r} that changed anything", hint="see `kept log`")
    return entry


def _history_entries(
    workspace: Workspace, runs: Sequence[Run], heads: Sequence[Pass], every: Sequence[Run]
) -> tuple[HistoryEntry, ...]:
    undone, wanted = find_undone_passes(heads), {run.id for run in runs}
    by_run: dict[int, list[HistoryPass]] = {}
    for pass_ in workspace.store.log.passes(only=[head.id for head in heads if head.run in wanted]):
        by_run.setdefault(pass_.run, []).append(HistoryPass(pass_, pass_.id in undone))
    return tuple(HistoryEntry(run=run, passes=tuple(by_run.get(run.id, ())), night=was_at_night(run, every)) for run in runs)


def was_at_night(run: Run, every: Sequence[Run]) -> bool:
    """True if a run began while a nightly job was running. ``every`` has all runs, including those of nightly jobs."""
    nights = ((night.started_at, night.ended_at) for night in every if night.command == NIGHT and night.ended_at)
    return any(begun <= run.started_at <= ended for begun, ended in nights)


def run_changes(workspace: Workspace, passes: Sequence[Pass]) -> Changes:
    """The changes that the passes of one run made: each memory before the first pass and after the last one."""
    if not passes:
        return {}
    first, last = min(pass_.id for pass_ in passes), max(pass_.id for pass_ in passes)
    concerned = {number for pass_ in passes for number in (pass_.id, *pass_.undoes, *pass_.redoes)}
    related, switches = workspace.store.log.related_passes(concerned), workspace.store.log.undo_redo_passes()

    def memories_before(end: int) -> Mapping[str, Memory]:
        undone = find_undone_passes(pass_ for pass_ in switches if pass_.id < end)
        return fold(_effective_passes(tuple(pass_ for pass_ in related if pass_.id < end), undone))

    return _diff_memories(memories_before(first), memories_before(last + 1))


def undo(workspace: Workspace, what: str = "") -> UndoResult:
    """Undo a pass (``12``) or a run (``run 3``, ``r3``). By default, undo the last run that is not undone.

    Raises UsageError if there is nothing to undo, or if a pass to be undone contains a forget.
    """
    heads = tuple(workspace.store.log.pass_heads())
    undone = find_undone_passes(heads)
    return _undo_passes(workspace, _select_passes(heads, what, undone, undoing=True), undone)


def undo_model(workspace: Workspace, model: str) -> UndoResult:
    """Undo all changes of every run in which this model proposed something. Raises UsageError if there are none."""
    heads = tuple(workspace.store.log.pass_heads())
    runs = {head.run for head in heads if head.note.startswith(f"{model}, ")}
    wanted = [head for head in heads if head.run in runs]
    return _undo_passes(workspace, wanted, find_undone_passes(heads))


def undo_in_scopes(workspace: Workspace, scopes: Collection[str]) -> UndoResult:
    """Undo the passes that affect only memories of these scopes, in the last run that has any. Raises UsageError."""
    log = workspace.store.log
    heads = tuple(log.pass_heads())
    undone = find_undone_passes(heads)

    def is_inside(pass_: Pass) -> bool:
        affected = [log.memory(number) for operation in pass_.operations for number in affected_memory_ids(operation)]
        return bool(affected) and all(memory is not None and memory.scope in scopes for memory in affected)

    runs = groupby((head for head in reversed(heads) if head.id not in undone), key=lambda head: head.run)
    inside = ([pass_ for pass_ in log.passes(only=[head.id for head in run]) if is_inside(pass_)] for _, run in runs)
    return _undo_passes(workspace, next(filter(None, inside), []), undone)


def _undo_passes(workspace: Workspace, wanted: Sequence[Pass], undone: frozenset[int]) -> UndoResult:
    chosen = [pass_.id for pass_ in wanted if pass_.id not in undone]
    if any(isinstance(operation, Forget) for pass_ in workspace.store.log.passes(only=chosen) for operation in pass_.operations):
        raise UsageError("a forget cannot be undone: the words are gone", hint="`kept log` lists the runs before it: kept undo RUN")
    if not chosen:
        raise UsageError("there is nothing to undo", hint="see `kept log`")
    return _commit_undo_redo(workspace, undoes=tuple(chosen), redoes=())


def last_undoable_run(workspace: Workspace) -> str:
    """The run that :func:`undo` would undo by default, as ``r<number>``; empty if there is none."""
    heads = tuple(workspace.store.log.pass_heads())
    last = _last_effective_run(heads, find_undone_passes(heads))
    return f"r{last}" if last is not None else ""


def record_lasting_change(workspace: Workspace, command: str, runs: Sequence[int] = ()) -> None:
    """Record that a command (one of ``_LASTING``) changed something, so that the next undo does not take back an older change.

    ``runs`` are the runs that the command itself began. An undo takes these back.
    """
    log = workspace.store.log
    log.end_run(log.start_run(command, workspace.clock()), workspace.clock(), {"runs": list(runs)} if runs else {})


def refuse_late_undo(workspace: Workspace) -> None:
    """Raise UsageError if the last change in effect is one of a command that no undo takes back."""
    log = workspace.store.log
    heads = tuple(log.pass_heads())
    last = _last_effective_run(heads, find_undone_passes(heads)) or 0
    newest = max((run for command in _LASTING for run in log.runs(1, command=command)), key=lambda run: run.id, default=None)
    if newest is not None and newest.id > last and last not in newest.report.get("runs", ()):
        hint = f"kept undo r{last} takes back the change before it" if last else "see `kept log`"
        raise UsageError(f"the last change was `kept {newest.command}`, which undo does not take back", hint=hint)


def _last_effective_run(heads: Sequence[Pass], undone: frozenset[int]) -> int | None:
    """The number of the last run with a pass that is neither undone nor itself an undo or redo; None if there is none."""
    return next((head.run for head in reversed(heads) if head.stage not in _SWITCHES and head.id not in undone), None)


def redo(workspace: Workspace, what: str = "") -> UndoResult:
    """Redo an undone pass or run. By default, redo everything that the last undo undid. Raises UsageError."""
    heads = tuple(workspace.store.log.pass_heads())
    undone = find_undone_passes(heads)
    if what:
        chosen = tuple(pass_.id for pass_ in _select_passes(heads, what, undone, undoing=False) if pass_.id in undone)
    else:
        last = next((head for head in reversed(heads) if head.stage == "undo" and not undone.isdisjoint(head.undoes)), None)
        chosen = tuple(sorted(undone.intersection(last.undoes))) if last else ()
    if not chosen:
        raise UsageError("there is nothing to redo", hint="see `kept log`")
    return _commit_undo_redo(workspace, undoes=(), redoes=chosen)


def _select_passes(heads: tuple[Pass, ...], what: str, undone: frozenset[int], *, undoing: bool) -> tuple[Pass, ...]:
    """The passes that ``what`` names, without undos and redos. Empty means the last run that is not undone. Raises UsageError."""
    undoable = tuple(head for head in heads if head.stage not in _SWITCHES)
    text = what.strip().lower()
    if not text:
        last = _last_effective_run(heads, undone)
        return tuple(head for head in undoable if head.run == last)
    number = text.removeprefix("run").strip().removeprefix("r")
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise UsageError(f"{what!r} is not a pass or run", hint="give a pass number, or r3 for run 3; see `kept log`")
    wanted = int(number)
    passes = tuple(head for head in undoable if (head.id if text.isdigit() else head.run) == wanted)
    if not passes:
        raise UsageError(f"there is no {'pass' if text.isdigit() else 'run'} {wanted} to {'undo' if undoing else 'redo'}")
    return passes


def _commit_undo_redo(workspace: Workspace, *, undoes: tuple[int, ...], redoes: tuple[int, ...]) -> UndoResult:
    log, switched = workspace.store.log, undoes or redoes
    with workspace.store.transaction():
        now = workspace.clock()
        name = "undo" if undoes else "redo"
        related = log.related_passes(switched)
        before = _effective_passes(related, find_undone_passes(log.undo_redo_passes()))
        run = log.start_run(name, now)
        subject = ", ".join(map(str, switched))
        log.commit(Draft(run=run, stage=name, subject=subject, actor=Actor.PERSON, recorded_at=now, undoes=undoes, redoes=redoes))
        log.end_run(run, now, {})
        operations = [operation for pass_ in related if pass_.id in switched for operation in pass_.operations]
        from kept.days.day_notes import restore_lines  # noqa: PLC0415 - lists do not need it

        restore_lines(workspace, dict.fromkeys(operation.memory for operation in operations if isinstance(operation, Reword)))
        after = _effective_passes(related, find_undone_passes(log.undo_redo_passes()))
    for operation in operations:
        if isinstance(operation, Retire) and (memory := log.memory(operation.memory)):
            record_judgement(workspace, memory, operation.reason if redoes else "", again=True)
    return UndoResult(
        passes=switched, changed=_diff_memories(fold(before), fold(after)), later=_later_operations(after, related, switched)
    )


def _effective_passes(passes: tuple[Pass, ...], undone: frozenset[int]) -> tuple[Pass, ...]:
    return tuple(pass_ for pass_ in passes if pass_.id not in undone)


def _later_operations(after: tuple[Pass, ...], related: tuple[Pass, ...], switched: tuple[int, ...]) -> tuple[LaterOperation, ...]:
    """The operations that came after the undone or redone passes and concern the same memories.

    Operations of undone passes are omitted.
    """
    touched = {
        number
        for pass_ in related
        if pass_.id in switched
        for operation in pass_.operations
        for number in affected_memory_ids(operation)
    }
    nothing_left = {(number, id(operation)) for number, operation in find_idle_operations(after)}
    return tuple(
        LaterOperation(made=pass_, operation=operation, idle=(pass_.id, id(operation)) in nothing_left)
        for pass_ in after
        if pass_.id > min(switched) and pass_.id not in switched
        for operation in pass_.operations
        if not touched.isdisjoint(affected_memory_ids(operation)) and not isinstance(operation, Anticipate)
    )


def _diff_memories(before: Mapping[str, Memory], after: Mapping[str, Memory]) -> Changes:
    return {
        key: (before.get(key), after.get(key)) for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key)
    }


def memories_at(workspace: Workspace, moment: datetime, *, recorded: bool = False) -> tuple[Memory, ...]:
    """The memories as of a past moment, without forgotten ones.

    By default, event times decide: the result is what was true then, according to what is known today. With ``recorded``, recording
    times decide: the result is what kept believed then. An operation without an event time counts from when it was recorded.
    """
    passes = tuple(workspace.store.log.passes())
    if recorded:
        return tuple(memory for memory in fold(made for made in passes if made.recorded_at <= moment).values() if memory.content)
    effective = _effective_passes(passes, find_undone_passes(passes))
    earliest = _first_seen(effective)
    memories = fold(_cut_pass_at(pass_, moment, earliest) for pass_ in effective)
    return tuple(_memory_at(memory, moment, earliest) for memory in memories.values() if memory.content)


def _first_seen(passes: tuple[Pass, ...]) -> dict[str, datetime]:
    """When each memory was first seen, by id. All evidence counts, because evidence that was read later may be older."""
    found: dict[str, datetime] = {}
    for made in passes:
        for operation in made.operations:
            facts = stated_facts(operation)
            seen = facts.first_seen if facts is not None else None
            if seen is not None:
                found[operation.memory] = min(found.get(operation.memory, seen), seen)
    return found


def _cut_pass_at(made: Pass, moment: datetime, earliest: Mapping[str, datetime]) -> Pass:
    def when(operation: Operation) -> datetime:
        first = earliest.get(operation.memory) if isinstance(operation, Add) else None
        return first or operation.at or made.recorded_at

    return replace(made, operations=tuple(operation for operation in made.operations if when(operation) <= moment))


def _memory_at(memory: Memory, moment: datetime, earliest: Mapping[str, datetime]) -> Memory:
    """A memory without the evidence that is later than ``moment``."""
    evidence = tuple(item for item in memory.evidence if item.at is None or item.at <= moment)
    first, last = earliest.get(memory.id), memory.last_seen
    if last is not None and last > moment:
        last = max((item.at for item in evidence if item.at is not None), default=first)
    return replace(memory, evidence=evidence, first_seen=first, last_seen=last)


def diff_moments(workspace: Workspace, earlier: datetime, later: datetime, *, recorded: bool = False) -> Changes:
    """The changes between two moments, as in :func:`memories_at`."""
    before = {memory.id: memory for memory in memories_at(workspace, earlier, recorded=recorded)}
    after = {memory.id: memory for memory in memories_at(workspace, later, recorded=recorded)}
    return _diff_memories(before, after)


PERSON = "You"


def describe_command(command: str) -> str:
    """Who or what made a run, in words for the person. Commands that the table does not list are the person's own."""
    return str(WORDS["commands"].get(command, PERSON))


def describe_counts(kinds: Mapping[str, int]) -> str:
    """The number of operations of each kind in words, the most frequent kind first."""
    return ", ".join(
        f"{count:,} {WORDS['operations'].get(kind, kind)}"
        for kind, count in sorted(kinds.items(), key=lambda kind_and_count: -kind_and_count[1])
        if count
    )
