"""Curation by a model: it proposes changes to memories, and sample requests that decide in which tasks a memory is shown.

The rules curate first. Then the model proposes changes, for each category with new memories and for the whole project. There it
also sees what the user typed since. Each change is checked. All changes of a group form one pass, which a guard can stop and a
person can undo. Without a usable reply nothing changes, and the next run asks again.

A memory has up to three sample requests. The model is not asked about memories that came with requests from the agent that
suggested them. It is asked once about each other memory, and again only if the words of the memory change. Requests are not
trusted: they only affect when a memory is shown, and no session sees them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kept.core.fingerprint import is_known_statement
from kept.core.memory import GROUP_SEPARATOR, TOLD, Memory, Status
from kept.core.operation import Add, Anticipate, Approve, Merge, Operation, Promote, Revise, find_undone_passes, operation_kind
from kept.core.text import format_count, one_line
from kept.core.value import dataclass, field
from kept.curation.advice import (
    OUTDATED,
    MemoryTable,
    NewSentence,
    SaidPrompt,
    build_curation_ask,
    build_project_tables,
    build_tables,
    fill_curation_prompt,
    read_curation_reply,
    select_applicable,
    should_ask_about,
)
from kept.curation.guard import find_overreach, find_protected_changes
from kept.curation.new_prompts import load_new_prompts, save_shown_prompts
from kept.curation.passes import CurationReport, curate_group
from kept.curation.successors import add_successors
from kept.extraction.verdicts import select_requests
from kept.llm.ask import Ask, Asking, CompleteReply, Reply, TokenLimits, UnreadableReply, build_ask
from kept.llm.reply import parse_as, schema_of
from kept.profiles.lexicons import load_lexicon
from kept.profiles.profile import Profile
from kept.profiles.prompts import question_text
from kept.store.values import CURATE
from kept.workspace import RunNumber, Workspace

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


def curate_with_llm(workspace: Workspace, run: RunNumber, asking: Asking, *, by: str, allow: bool = False) -> LlmCurationReport:
    """Ask a model about every category with new memories, and every project with new prompts, since it was last asked. Raises
    StoreError, ConfigError.

    ``by`` is the model's name. ``run`` returns the number of the run. It is called only if something is committed. With ``allow``,
    passes that would deactivate too many memories are committed too.
    """
    result, curated = LlmCurationReport(), CurationReport()
    _, version = question_text("curation")
    changed, said, unshown = _memories_since_last_ask(workspace), load_new_prompts(workspace), set[str]()
    for group in sorted({*changed, *said.groups}):
        fresh = changed.get(group, frozenset())
        profile = next((profile for profile in workspace.profiles if profile.id == group[0]), None)
        if profile is None:
            continue
        memories = workspace.store.log.memories(group=group)
        tables = list(_tables_to_ask(profile, memories, fresh, said.by_scope.get(group[1], ())))
        asks = list(map(_build_ask, tables))
        replies = asking(asks) if asks else ()
        proposed: list[Operation] = []
        sentences: list[NewSentence] = []
        for table, reply in zip(tables, replies, strict=True):
            if isinstance(reply, CompleteReply):
                advice = read_curation_reply(reply.body, table)
                result.asked += 1
                result.refused.update(advice.refused)
                proposed += advice.operations
                sentences += advice.sentences
        if any(_is_missing(reply, table) for table, reply in zip(tables, replies, strict=True)):
            unshown.add(group[1])
            result.left += 1  # the next run asks everything again, and finds the replies it already has in the cache
            continue
        operations = select_applicable((item for item in proposed if not _has_forgotten_words(workspace, item)), memories)
        operations = add_successors(workspace, profile, operations, sentences, memories)
        if not (fresh or operations):
            continue
        with workspace.store.transaction():
            _commit_group(workspace, run, group, operations, result, note=f"{by}, prompt {version}", allow=allow)
            if operations:  # update counts and dates
                curate_group(workspace, run, group, curated, blocked=workspace.store.log.blocked_candidates(), allow=allow)
    save_shown_prompts(workspace, said, except_in=unshown)
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


def _tables_to_ask(
    profile: Profile, memories: tuple[Memory, ...], fresh: frozenset[str], said: Sequence[SaidPrompt]
) -> Iterator[MemoryTable]:
    active = [memory for memory in memories if should_ask_about(memory)]
    for category in profile.categories:
        for table in build_tables(category, active, fresh):
            if not all(memory.owned or memory.pinned for memory in table.entries):
                yield table
    yield from build_project_tables(memories, fresh, said)


def _is_missing(reply: Reply, table: MemoryTable) -> bool:
    """True if a group must be asked about again. What is outdated is asked with the next new memory anyway."""
    unreadable = isinstance(reply, UnreadableReply)
    return not isinstance(reply, CompleteReply) and not (unreadable and table.category is None)


def _build_ask(table: MemoryTable) -> Ask:
    text, version = question_text("curation" if table.category else OUTDATED)
    return build_curation_ask(table, system=fill_curation_prompt(text, table.category) if table.category else text, version=version)


def _has_forgotten_words(workspace: Workspace, operation: Operation) -> bool:
    """True if the words that an operation writes match a forgotten statement."""
    words, forgotten = getattr(getattr(operation, "facts", None), "content", ""), workspace.store.log.forgotten_fingerprints()
    return bool(forgotten and words) and is_known_statement(words, forgotten, workspace.store.key("forget"))


def _commit_group(
    workspace: Workspace,
    run: RunNumber,
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
    if stops:
        warnings = "; ".join(stops)
        result.stopped.append(f"{workspace.name(group[1])}: {warnings}")
        operations, note = (), f"{note}; stopped by the guard: {warnings}"
    run.commit(ADVISE, operations, subject=subject, note=note)
    result.operations.update(map(operation_kind, operations))


REQUESTS = "requests"  # the purpose of these questions to the model, and the stage of the passes that store the answers
MEMORIES = 20  #: maximum number of memories per question
_REPLY_TOKENS = 120  # maximum number of tokens in a reply, per memory
_LONGEST = 800  # at most this many characters of a memory are sent to the model


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryRequests:
    """The requests in a reply for the memory with the number ``id``."""

    id: int
    requests: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestsReply:
    """The reply of a model to one question."""

    memories: tuple[MemoryRequests, ...]


SCHEMA = schema_of(RequestsReply)


@dataclass(kw_only=True, slots=True)
class LlmRequestsReport:
    """Counts: memories that were ``asked`` about, memories whose requests were ``written``, questions ``left`` for the next run."""

    asked: int = 0
    written: int = 0
    left: int = 0


def write_requests(
    workspace: Workspace, run: RunNumber, asking: Asking, *, by: str, limits: TokenLimits | None = None
) -> LlmRequestsReport:
    """Ask a model for requests, for all memories that can be recalled and have none yet. Raises StoreError, ConfigError.

    ``by`` is the model's name. ``run`` returns the number of the run. It is called only if something is committed.
    """
    result = LlmRequestsReport()
    batches = list_batches(workspace, limits or TokenLimits())
    replies = asking([build_requests_ask(batch) for batch in batches]) if batches else ()
    written: list[tuple[Memory, Sequence[str]]] = []
    for batch, reply in zip(batches, replies, strict=True):
        if isinstance(reply, CompleteReply):
            written += read_requests(reply.body, batch)
        else:
            result.left += 1
    with workspace.store.transaction():
        _commit_requests(workspace, run, written, result, note=f"{by}, prompt {question_text(REQUESTS)[1]}")
    return result


def list_batches(workspace: Workspace, limits: TokenLimits) -> list[tuple[Memory, ...]]:
    """The memories to ask about, one batch per question. Memories that a person stated or decided on come first, then the latest.

    Batches are filled from the oldest memory on. So new memories do not change a question whose reply is still pending.
    """
    now, asked = workspace.clock(), _asked_before(workspace)
    unasked = [
        memory
        for memory in workspace.store.log.memories()
        if memory.content
        and not memory.needed_for
        and memory.status_at(now) is Status.ACTIVE
        and workspace.profile_of(memory) is not None
        and (memory.id, memory.content) not in asked
    ]
    unasked.sort(key=lambda memory: (memory.first_seen.timestamp() if memory.first_seen else 0.0, memory.id))
    stated: list[Memory] = []
    inferred: list[Memory] = []
    for memory in unasked:
        (stated if memory.settled or memory.trigger in TOLD else inferred).append(memory)
    most = max(1, min(MEMORIES, limits.reply // _REPLY_TOKENS))
    return [
        tuple(memories[start : start + most]) for memories in (stated, inferred) for start in range(0, len(memories), most)[::-1]
    ]


def _asked_before(workspace: Workspace) -> frozenset[tuple[str, str]]:
    """The memories that a model was asked about, as pairs of id and words at that time.

    They include memories whose answers were undone, so that these are not asked for again.
    """
    log = workspace.store.log
    passes = log.passes(only=[head.id for head in log.pass_heads() if head.stage == REQUESTS])
    return frozenset(
        (operation.memory, operation.content)
        for pass_ in passes
        for operation in pass_.operations
        if isinstance(operation, Anticipate)
    )


def build_requests_ask(memories: Sequence[Memory]) -> Ask:
    """Build the question to the model about some memories."""
    lines = (
        f"{number} ({memory.category}): {one_line(memory.content)[:_LONGEST]}"
        + (f" (about: {one_line(memory.about)[:_LONGEST]})" if memory.about else "")
        for number, memory in enumerate(memories, 1)
    )
    about = sorted({item.session for each in memories for item in each.evidence if item.session})
    return build_ask(REQUESTS, "\n".join(lines), SCHEMA, about=about)


def read_requests(body: Mapping[str, Any], memories: Sequence[Memory]) -> list[tuple[Memory, tuple[str, ...]]]:
    """Read the requests in a reply. Returns pairs of a memory and its requests, as the model wrote them.

    If the reply has a number twice, the first one counts. Raises ValueError if the reply does not match the schema.
    """
    found: dict[int, tuple[str, ...]] = {}
    for item in parse_as(RequestsReply, body).memories:
        found.setdefault(item.id, item.requests)
    return [(memory, found.get(number, ())) for number, memory in enumerate(memories, 1)]


def _commit_requests(
    workspace: Workspace, run: RunNumber, written: Sequence[tuple[Memory, Sequence[str]]], result: LlmRequestsReport, *, note: str
) -> None:
    """Commit the usable requests in one pass per profile and scope. A memory without usable requests is recorded as asked about."""
    log, forgotten, key = workspace.store.log, workspace.store.log.forgotten_fingerprints(), workspace.store.key("forget")
    operations: dict[tuple[str, str], list[Anticipate]] = defaultdict(list)
    for memory, requests in written:
        profile, now = workspace.profile_of(memory), log.memory(memory.id)
        if profile is None or now is None or now.content != memory.content:  # changed or forgotten while the model replied
            continue
        usable = select_requests(requests, load_lexicon(profile.languages), forgotten, key)
        reason = f"a model wrote {format_count(len(usable), 'request')} that should bring it"
        operations[memory.profile, memory.scope].append(
            Anticipate(memory=memory.id, at=None, reason=reason, content=memory.content, needed_for=usable)
        )
        result.asked += 1
        result.written += bool(usable)
    for (profile_id, scope), several in sorted(operations.items()):
        run.commit(REQUESTS, several, subject=GROUP_SEPARATOR.join((profile_id, scope)), note=note)
