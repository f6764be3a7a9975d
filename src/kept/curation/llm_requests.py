"""Sample requests, written by a model, that decide in which tasks a memory is shown. A memory has up to three of them.

The model is not asked about memories that came with requests from the agent that suggested them. It is asked once about each other
memory, and again only if the words of the memory change. Requests are not trusted: they only affect when a memory is shown, and
no session sees them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kept.core.memory import GROUP_SEPARATOR, TOLD, Actor, Memory, Status
from kept.core.operation import Anticipate
from kept.core.text import format_count, one_line
from kept.core.value import dataclass
from kept.extraction.verdicts import select_requests
from kept.llm.ask import Ask, Asking, CompleteReply, TokenLimits
from kept.llm.reply import parse_as, schema_of
from kept.profiles.lexicons import load_lexicon
from kept.profiles.prompts import question_text
from kept.store.values import Draft
from kept.workspace import Workspace

REQUESTS = "requests"  # the purpose of these questions to the model, and the stage of the passes that store the answers
MOST_TOKENS = 4_096
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
    workspace: Workspace, run: Callable[[], int], asking: Asking, *, by: str, limits: TokenLimits | None = None
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
    return complete_requests_ask(
        "\n".join(lines), about={item.session for each in memories for item in each.evidence if item.session}
    )


def complete_requests_ask(prompt: str, *, about: Iterable[str] = ()) -> Ask:
    """Build the question to the model from its text. ``about`` has the sessions from which the memories come."""
    system, version = question_text(REQUESTS)
    return Ask(
        purpose=REQUESTS,
        version=version,
        system=system,
        prompt=prompt,
        schema=SCHEMA,
        most=MOST_TOKENS,
        about=tuple(sorted(about)),
        waits=True,
    )


def read_requests(body: Mapping[str, Any], memories: Sequence[Memory]) -> list[tuple[Memory, tuple[str, ...]]]:
    """Read the requests in a reply. Returns pairs of a memory and its requests, as the model wrote them.

    If the reply has a number twice, the first one counts. Raises ValueError if the reply does not match the schema.
    """
    found: dict[int, tuple[str, ...]] = {}
    for item in parse_as(RequestsReply, body).memories:
        found.setdefault(item.id, item.requests)
    return [(memory, found.get(number, ())) for number, memory in enumerate(memories, 1)]


def _commit_requests(
    workspace: Workspace,
    run: Callable[[], int],
    written: Sequence[tuple[Memory, Sequence[str]]],
    result: LlmRequestsReport,
    *,
    note: str,
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
        draft = Draft(
            run=run(),
            stage=REQUESTS,
            subject=GROUP_SEPARATOR.join((profile_id, scope)),
            actor=Actor.MACHINE,
            recorded_at=workspace.clock(),
            operations=tuple(several),
            note=note,
        )
        log.commit(draft)
