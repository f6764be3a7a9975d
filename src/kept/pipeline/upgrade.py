"""Upgrade a store: extract everything again with the current rules, after a preview, as one run that can be undone.

Earlier rules made memories from sentences that contained nothing to remember, and reworded others. An upgrade extracts all archived
sessions again. It retires memories without support, and restores a person's statements in their own words. No guard limits the
share of changes, because this is a correction. Memories that a person wrote, edited, approved or pinned stay, and so do those that
a model proposed.
"""

from kept.changes import apply_person_change
from kept.core.memory import TOLD, Memory, Status
from kept.core.text import normal_form, word_set
from kept.core.times import format_instant
from kept.core.value import dataclass, replace
from kept.curation.passes import CurationReport, curate_changed_groups
from kept.extraction.extract_threads import extract_pending
from kept.local.files import hold_lock
from kept.recall.indexing import create_meaning_scorer
from kept.workspace import RunNumber, Workspace

COMMAND = "upgrade"
_STANDING = (Status.ACTIVE, Status.HELD)
#: Triggers that made memories in earlier versions, but no longer do.
RETIRED_TRIGGERS = word_set(
    "agreement aim behaviour cause constraint correction decision fact goal identity lesson noted_decision noted_question "
    "noted_rule person practice preference question stack statement taste teaching theme"
)


def find_outdated_memories(workspace: Workspace) -> tuple[Memory, ...]:
    """The memories that only rules of earlier versions made or reworded, and that nobody has confirmed. Raises StoreError."""
    return tuple(
        memory
        for memory in workspace.store.log.outdated_memories(RETIRED_TRIGGERS, verbatim=TOLD)
        if memory.status in _STANDING and not (memory.settled or memory.advised)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class UpgradeReport:
    """The effect of an upgrade: ``retired`` memories, and the memories ``made`` in their place.

    ``run`` is 0 for a preview, and if there is nothing to do.
    """

    retired: tuple[Memory, ...] = ()
    made: tuple[Memory, ...] = ()
    run: int = 0
    problems: tuple[str, ...] = ()

    @property
    def active(self) -> int:
        """The number of retired memories that were active."""
        return sum(memory.status is Status.ACTIVE for memory in self.retired)


def preview_upgrade(workspace: Workspace) -> UpgradeReport:
    """Return what :func:`run_upgrade` would do. Changes nothing. Raises StoreError."""
    with hold_lock(workspace.paths.lock), workspace.store.trial_transaction():
        return _upgrade_memories(workspace, RunNumber(workspace, COMMAND))


def run_upgrade(workspace: Workspace) -> UpgradeReport:
    """Extract everything again and write the outputs. ``kept undo`` reverts it. Raises StoreError."""
    number = RunNumber(workspace, COMMAND)

    def upgrade_locked() -> UpgradeReport:
        with hold_lock(workspace.paths.lock):
            return _upgrade_memories(workspace, number)

    done, written = apply_person_change(workspace, upgrade_locked)
    number.end({"retired": [memory.id for memory in done.retired], "made": [memory.id for memory in done.made]})
    return replace(done, run=number() if number.started else 0, problems=(*done.problems, *written.problems))


def _upgrade_memories(workspace: Workspace, number: RunNumber) -> UpgradeReport:
    if not find_outdated_memories(workspace):
        return UpgradeReport()
    before = {memory.id: memory for memory in workspace.store.log.memories()}
    every = {thread.id for thread in workspace.store.archive.threads()}
    extracted = extract_pending(workspace, number, from_start=every)
    curated: CurationReport = curate_changed_groups(workspace, number, allow=True, meaning=create_meaning_scorer(workspace))
    after = {memory.id: memory for memory in workspace.store.log.memories()}
    retired = [memory for memory in before.values() if memory.status in _STANDING and after[memory.id].status not in _STANDING]
    made = [
        memory
        for memory in after.values()
        if memory.status in _STANDING and (memory.id not in before or before[memory.id].content != memory.content)
    ]
    # A memory that is made again with the same words and status is not a change.
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
