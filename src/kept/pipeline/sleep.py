"""The nightly work besides a run: retire faded memories, list lingering ones, update the files.

If there is nothing to do, nothing is written. Retirements are one pass per group. Guards apply to it as to any other pass, and it
can be undone.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from kept.changes import archive_before_edits
from kept.core.memory import GROUP_SEPARATOR, USER_SCOPE, Memory, Status
from kept.core.times import format_instant
from kept.core.value import dataclass, field
from kept.curation.guard import find_overreach
from kept.curation.lifecycle import NameActivity, fading_share, is_lingering, retire_faded
from kept.local.files import hold_lock
from kept.outputs.write import WriteReport, merge_hand_edits, write_outputs
from kept.profiles.profile import Category
from kept.recall.index import SearchLimits, UnitKind, open_index
from kept.store.values import ThreadNote
from kept.workspace import RunNumber, Workspace

FADE = "fade"
_DAWN = datetime.min.replace(tzinfo=UTC)
UNUSED = "said in one session only, long ago, and never used since"  # the reason of most lingering memories


@dataclass(frozen=True, kw_only=True, slots=True)
class LingeringMemory:
    """A memory that a person should check, the reason, and how far it has faded (0 to 1)."""

    memory: Memory
    faded: float
    reason: str


@dataclass(kw_only=True, slots=True)
class SleepReport:
    """The result of a night: retired memories, passes stopped by a guard (as text), the number of lingering memories, written
    files.
    """

    retired: list[Memory] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    lingering: int = 0
    written: WriteReport = field(default_factory=WriteReport)

    @property
    def partly(self) -> bool:
        """True if a guard stopped something or something could not be written."""
        return bool(self.stopped or self.written.problems)


def run_sleep(workspace: Workspace, *, allow: bool = False) -> SleepReport:
    """Do the nightly work. ``allow`` applies changes that a guard would stop. Raises BusyError if a run is active, StoreError."""
    result = SleepReport()
    run = RunNumber(workspace, "sleep")
    with hold_lock(workspace.paths.lock):
        archive_before_edits(workspace, locks=False)
        merge_hand_edits(workspace, run, result.written)
        for group, members in _fading_groups(workspace):
            _retire_faded(workspace, run, group, members, result, allow=allow)
        write_outputs(workspace, run, result.written)
        result.lingering = len(list_lingering(workspace))
        run.end({"retired": [memory.id for memory in result.retired], "stopped": result.stopped})
    return result


Aged = tuple[Memory, Category | None, NameActivity]


def _fading_groups(workspace: Workspace) -> Iterator[tuple[tuple[str, str], list[Aged]]]:
    """Yield the active memories that may fade by (profile, scope), each with the activity of its names."""
    history = _NameHistory(workspace)
    groups: dict[tuple[str, str], list[Aged]] = defaultdict(list)
    for memory in workspace.store.log.memories():
        category = workspace.category(memory)
        if category is not None and category.fades and memory.status is Status.ACTIVE and memory.artifacts:
            groups[memory.profile, memory.scope].append((memory, category, history.name_activity(memory, category.fades)))
    yield from sorted(groups.items())


def _retire_faded(
    workspace: Workspace, run: RunNumber, group: tuple[str, str], members: list[Aged], result: SleepReport, *, allow: bool
) -> None:
    operations = retire_faded(members)
    if not operations:
        return
    stops = () if allow else find_overreach(workspace.store.log.memories(group=group), operations)
    if stops:
        result.stopped.append(f"{workspace.name(group[1])}: {'; '.join(map(str, stops))}")
        return
    with workspace.store.transaction():
        run.commit(FADE, operations, subject=GROUP_SEPARATOR.join(group))
    gone = {retire.memory for retire in operations}
    result.retired += [memory for memory, _, _ in members if memory.id in gone]
    result.written.operations.update({"retire": len(gone)})


class _NameHistory:
    """The sessions of each project with the time of their last event, and the occurrences of names.

    Reads rows and the full-text index but no archived text, so the cost per memory does not grow with the length of the texts.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._scopes: dict[tuple[str, str], str] = {}
        self._sessions: dict[str, dict[str, datetime]] = defaultdict(dict)
        self._changes: tuple[ThreadNote, ...] = ()
        self._changes_since: datetime | None = None
        for thread in workspace.store.archive.threads():
            if thread.last_at is not None:
                for scope in (self._scope_of_directory(thread.project, thread.path), USER_SCOPE):
                    moment = self._sessions[scope].get(thread.session, _DAWN)
                    self._sessions[scope][thread.session] = max(moment, thread.last_at)

    def newest_event_time(self, scope: str) -> datetime | None:
        """The time of the newest event of a project."""
        return max(self._sessions[scope].values(), default=None)

    def name_activity(self, memory: Memory, days: int) -> NameActivity:
        """The activity of a memory's names. Does not search for a memory that is too young to have faded by half."""
        newest, since = self.newest_event_time(memory.scope), memory.last_seen or _DAWN
        later = sum(at > since for at in self._sessions[memory.scope].values())
        old = newest is not None and newest - since >= timedelta(days=days) / 2
        named = (
            max((at for artifact in memory.artifacts if (at := self._last_occurrence(artifact, memory, since))), default=None)
            if old
            else newest
        )
        return NameActivity(named=named, sessions=later, newest=newest)

    def _last_occurrence(self, name: str, memory: Memory, since: datetime) -> datetime | None:
        """The last time after ``since`` when a name occurred in a conversation of the project or among the files changed there."""
        mentions = self._workspace.store.archive.find_mentions(name, since)
        times = [mention.at for mention in mentions if self._is_in_scope(memory, mention.project, mention.path)]
        short = name.casefold().rsplit("/", 1)[-1]
        times += [
            change.note.at
            for change in self._changes_after(since)
            if short in {file.casefold() for file in change.note.names} and self._is_in_scope(memory, change.project, change.path)
        ]
        return max(times, default=None)

    def _changes_after(self, since: datetime) -> Iterator[ThreadNote]:
        """The thread notes since a moment, which name the changed files.

        They are loaded again only if a caller asks for an earlier moment.
        """
        until = self.newest_event_time(USER_SCOPE) or since
        if self._changes_since is None:
            self._changes, self._changes_since = self._workspace.store.days.notes_between(since, until), since
        elif since < self._changes_since:
            earlier = self._workspace.store.days.notes_between(since, self._changes_since)
            self._changes, self._changes_since = (*earlier, *self._changes), since
        return (thread_note for thread_note in self._changes if thread_note.note.at >= since)

    def _is_in_scope(self, memory: Memory, project: str, path: str) -> bool:
        return memory.scope in (USER_SCOPE, self._scope_of_directory(project, path))

    def _scope_of_directory(self, project: str, path: str) -> str:
        """The scope of a directory, cached."""
        place = (project, "" if project else path)
        if place not in self._scopes:
            self._scopes[place] = self._workspace.scope(*place)
        return self._scopes[place]


def list_lingering(workspace: Workspace) -> tuple[LingeringMemory, ...]:
    """The memories that a person should check, most faded and oldest first. Changes nothing."""
    memories = [memory for memory in workspace.store.log.memories() if memory.status_at(workspace.clock()) is Status.ACTIVE]
    return tuple(
        sorted(
            _select_lingering(workspace, memories), key=lambda each: (-each.faded, each.memory.last_seen or _DAWN, each.memory.id)
        )
    )


def why_lingering(workspace: Workspace, memory: Memory) -> str:
    """The reason why a person should check a memory; empty if they need not. Examines only this memory and changes nothing."""
    active = memory.status_at(workspace.clock()) is Status.ACTIVE
    return next((lingering.reason for lingering in _select_lingering(workspace, [memory])), "") if active else ""


def _select_lingering(workspace: Workspace, memories: Iterable[Memory]) -> list[LingeringMemory]:
    history, used = _NameHistory(workspace), _count_uses(workspace)
    return [lingering for memory in memories if (lingering := _judge_lingering(workspace, memory, history, used.get(memory.id, 0)))]


def _judge_lingering(workspace: Workspace, memory: Memory, history: _NameHistory, uses: int) -> LingeringMemory | None:
    category = workspace.category(memory)
    share = 0.0
    if category is not None and category.fades and memory.artifacts:
        share = fading_share(memory, category, history.name_activity(memory, category.fades))
    if share >= 0.5:
        return LingeringMemory(
            memory=memory,
            faded=share,
            reason=f"its project no longer mentions it: {share:.0%} of the time until it is retired has passed",
        )
    if is_lingering(memory, history.newest_event_time(memory.scope), uses):
        return LingeringMemory(memory=memory, faded=share, reason=UNUSED)
    return None


def _count_uses(workspace: Workspace) -> dict[str, int]:
    with open_index(workspace.paths.store) as index:
        units: Iterable[int] = index.items_within(UnitKind.MEMORY, SearchLimits(now=format_instant(workspace.clock())))
        return {search_unit.id: search_unit.uses for search_unit in index.load_units(UnitKind.MEMORY, units).values()}
