"""Curation by a model, which proposes changes to the memories of each category with new memories.

The rules curate first, and the model proposes changes to the result. Each change is checked. All changes of a group form one pass,
which a guard can stop and a person can undo. Without a usable reply nothing changes, and the next run asks again.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from kept.core.fingerprint import is_known_statement
from kept.core.fold import find_undone_passes
from kept.core.memory import GROUP_SEPARATOR, Actor, Memory
from kept.core.operation import Add, Approve, Merge, Operation, Promote, Revise, operation_kind
from kept.core.value import dataclass, field, replace
from kept.curation.advice import (
    MemoryTable,
    build_curation_ask,
    build_tables,
    fill_curation_prompt,
    read_curation_reply,
    select_applicable,
    should_ask_about,
)
from kept.curation.guard import find_overreach, find_protected_changes
from kept.curation.passes import CURATE, CurationReport, curate_group
from kept.llm.ask import Asking, CompleteReply
from kept.profiles.profile import Profile
from kept.profiles.prompts import question_text
from kept.store.values import Draft
from kept.workspace import Workspace

ADVISE = "advise"
_SPEAKING = (Add, Revise, Merge, Approve, Promote)

Group = tuple[str, str]


@dataclass(kw_only=True, slots=True)
class LlmCurationReport:
    """The result of curation by a model.

    It has the number of usable replies, the operations by kind, the refused changes by reason, and a description of each pass that
    a guard stopped. ``left`` is the number of groups that the next run asks about again.
    """

    asked: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    stopped: list[str] = field(default_factory=list)
    left: int = 0


def curate_with_llm(
    workspace: Workspace, run: Callable[[], int], asking: Asking, *, by: str, allow: bool = False
) -> LlmCurationReport:
    """Ask a model about every category that has new memories since it was last asked. Raises StoreError, ConfigError.

    ``by`` is the model's name. ``run`` returns the number of the run. It is called only if something is committed. With ``allow``,
    passes that would deactivate too many memories are committed too.
    """
    result, curated = LlmCurationReport(), CurationReport()
    text, version = question_text("curation")
    for group, fresh in _memories_since_last_ask(workspace).items():
        profile = next((profile for profile in workspace.profiles if profile.id == group[0]), None)
        if profile is None:
            continue
        memories = workspace.store.log.memories(group=group)
        tables = list(_tables_to_ask(profile, memories, fresh))
        asks = [build_curation_ask(table, system=fill_curation_prompt(text, table.category), version=version) for table in tables]
        replies = asking(asks) if asks else ()
        proposed: list[Operation] = []
        for table, reply in zip(tables, replies, strict=True):
            if isinstance(reply, CompleteReply):
                advice = read_curation_reply(reply.body, table)
                result.asked += 1
                result.refused.update(advice.refused)
                proposed += advice.operations
        if not all(isinstance(reply, CompleteReply) for reply in replies):
            result.left += 1  # the next run asks everything again, and finds the replies it already has in the cache
            continue
        operations = select_applicable((item for item in proposed if not _has_forgotten_words(workspace, item)), memories)
        with workspace.store.transaction():
            _commit_group(workspace, run, group, operations, result, note=f"{by}, prompt {version}", allow=allow)
            if operations:  # update counts and dates
                curate_group(workspace, run, group, curated, blocked=workspace.store.log.blocked_candidates(), allow=allow)
    return result


def _memories_since_last_ask(workspace: Workspace) -> dict[Group, frozenset[str]]:
    """The ids of memories whose words are new since a model was last asked about their group, by group.

    Groups without such memories are left out.
    """
    heads = tuple(workspace.store.log.pass_heads())
    undone, since = find_undone_passes(heads), dict[str, list[int]]()
    for head in heads:
        if head.stage == ADVISE:  # also if the pass is undone, so that the model is not asked again for advice that a person undid
            since[head.subject] = []
        elif head.id not in undone and head.stage == CURATE:
            since.setdefault(head.subject, []).append(head.id)
    fresh: dict[Group, set[str]] = {}
    for pass_ in workspace.store.log.passes(only=[number for numbers in since.values() for number in numbers]):
        profile, _, scope = pass_.subject.partition(GROUP_SEPARATOR)
        ids = {operation.memory for operation in pass_.operations if isinstance(operation, _SPEAKING)}
        fresh.setdefault((profile, scope), set()).update(ids)
    return {group: frozenset(ids) for group, ids in sorted(fresh.items()) if ids}


def _tables_to_ask(profile: Profile, memories: tuple[Memory, ...], fresh: frozenset[str]) -> Iterator[MemoryTable]:
    active = [memory for memory in memories if should_ask_about(memory)]
    for category in profile.categories:
        for table in build_tables(category, active, fresh):
            if not all(memory.owned or memory.pinned for memory in table.entries):
                yield table


def _has_forgotten_words(workspace: Workspace, operation: Operation) -> bool:
    """True if the words that an operation writes match a forgotten statement."""
    words, forgotten = getattr(getattr(operation, "facts", None), "content", ""), workspace.store.log.forgotten_fingerprints()
    return bool(forgotten and words) and is_known_statement(words, forgotten, workspace.store.key("forget"))


def _commit_group(
    workspace: Workspace,
    run: Callable[[], int],
    group: Group,
    operations: tuple[Operation, ...],
    result: LlmCurationReport,
    *,
    note: str,
    allow: bool,
) -> None:
    """Commit the advised operations on a group in one pass. If a guard stops them, the pass is committed without operations.

    A pass is committed in both cases, because it records that the model was asked about the group.
    """
    memories, subject = workspace.store.log.memories(group=group), GROUP_SEPARATOR.join(group)
    stops = [str(guard_stop) for guard_stop in find_overreach(memories, operations)] if not allow else []
    stops += [
        f"it would change {change}, which is pinned or the user's own" for change in find_protected_changes(memories, operations)
    ]
    draft = Draft(
        run=run(),
        stage=ADVISE,
        subject=subject,
        actor=Actor.MACHINE,
        recorded_at=workspace.clock(),
        operations=operations,
        note=note,
    )
    if stops:
        warnings = "; ".join(stops)
        result.stopped.append(f"{workspace.name(group[1])}: {warnings}")
        draft = replace(draft, operations=(), note=f"{note}; stopped by the guard: {warnings}")
    workspace.store.log.commit(draft)
    result.operations.update(map(operation_kind, draft.operations))
