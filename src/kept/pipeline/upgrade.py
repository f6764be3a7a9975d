"""Upgrade a store: extract again with today's rules, after a preview, as one run that can be undone.

Rules once made memories of sentences that told nothing to remember, and reworded others. Every session in the archive is extracted
again; what nothing supports any more retires, and what a person told comes back in their own words. It is a correction: no guard of
shares applies. What a person wrote, edited, approved or pinned stays, and so does what a model proposed.
"""

from kept.changes import apply_person_change
from kept.core.memory import TOLD, Memory, Status
from kept.core.text import normal_form, word_set
from kept.core.times import format_instant
from kept.core.value import dataclass
from kept.curation.passes import CurationReport, curate_changed_groups
from kept.extraction.extract_threads import extract_pending
from kept.local.files import hold_lock
from kept.local.progress import Progress, ignore_progress
from kept.recall.indexing import create_meaning_scorer
from kept.store.run_number import RunNumber
from kept.workspace import Workspace

COMMAND = "upgrade"
_STANDING = (Status.ACTIVE, Status.HELD)
#: What made a memory in earlier versions and makes none today.
RETIRED_TRIGGERS = word_set(
    "agreement aim behaviour cause constraint correction decision fact goal identity lesson noted_decision noted_question "
    "noted_rule person practice preference question stack statement taste teaching theme"
)


def find_outdated_memories(workspace: Workspace) -> tuple[Memory, ...]:
    """The memories that only rules of earlier versions made or reworded, and nobody confirmed since. Raises StoreError."""
    return tuple(
        memory
        for memory in workspace.store.log.outdated_memories(RETIRED_TRIGGERS, verbatim=TOLD)
        if memory.status in _STANDING and not (memory.owned or memory.pinned or memory.advised)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class UpgradeReport:
    """What an upgrade does: memories that retire, those of them that were active, and the memories that take part in their place.

    ``run`` is 0 for a preview, and where nothing is to be done.
    """

    retired: tuple[Memory, ...] = ()
    made: tuple[Memory, ...] = ()
    run: int = 0
    problems: tuple[str, ...] = ()

    @property
    def active(self) -> int:
        """How many of the retired memories were active."""
        return sum(memory.status is Status.ACTIVE for memory in self.retired)


def preview_upgrade(workspace: Workspace, progress: Progress = ignore_progress) -> UpgradeReport:
    """What :func:`run_upgrade` would do; nothing is changed. Raises StoreError."""
    with hold_lock(workspace.paths.lock), workspace.store.trial_transaction():
        return _upgrade_memories(workspace, RunNumber(workspace.store.log, workspace.clock, COMMAND), progress)


def run_upgrade(workspace: Workspace, progress: Progress = ignore_progress) -> UpgradeReport:
    """Make what rules made anew, and write the outputs. ``kept undo`` takes it back. Raises StoreError."""
    number = RunNumber(workspace.store.log, workspace.clock, COMMAND)

    def upgrade_locked() -> UpgradeReport:
        with hold_lock(workspace.paths.lock):
            return _upgrade_memories(workspace, number, progress)

    done, written = apply_person_change(workspace, upgrade_locked)
    if number.started:
        body = {"retired": [memory.id for memory in done.retired], "made": [memory.id for memory in done.made]}
        workspace.store.log.end_run(number(), workspace.clock(), body)
    return UpgradeReport(
        retired=done.retired, made=done.made, run=number() if number.started else 0, problems=(*done.problems, *written.problems)
    )


def _upgrade_memories(workspace: Workspace, number: RunNumber, progress: Progress) -> UpgradeReport:
    if not find_outdated_memories(workspace):
        return UpgradeReport()
    before = {memory.id: memory for memory in workspace.store.log.memories()}
    every = {thread.id for thread in workspace.store.archive.threads()}
    extracted = extract_pending(workspace, number, anew=every, progress=progress)
    curated: CurationReport = curate_changed_groups(
        workspace, number, allow=True, meaning=create_meaning_scorer(workspace), progress=progress
    )
    after = {memory.id: memory for memory in workspace.store.log.memories()}
    retired = [memory for memory in before.values() if memory.status in _STANDING and after[memory.id].status not in _STANDING]
    made = [
        memory
        for memory in after.values()
        if memory.status in _STANDING and (memory.id not in before or before[memory.id].content != memory.content)
    ]
    # What is made anew in the words it had is no change to anybody.
    same = {_content_and_status(memory) for memory in retired} & {_content_and_status(memory) for memory in made}
    retired = [memory for memory in retired if _content_and_status(memory) not in same]
    made = [memory for memory in made if _content_and_status(memory) not in same]
    problems = (*(f"{path}: {reason}" for path, reason in extracted.broken), *curated.stopped)
    return UpgradeReport(
        retired=tuple(sorted(retired, key=_display_order)), made=tuple(sorted(made, key=_display_order)), problems=problems
    )


def _content_and_status(memory: Memory) -> tuple[str, Status]:
    return normal_form(memory.content), memory.status


def _display_order(memory: Memory) -> tuple[str, str, str, str]:
    return memory.scope, memory.category, format_instant(memory.first_seen) if memory.first_seen else "", memory.id
