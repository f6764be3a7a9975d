"""The review queue: held memories and wishes that were said once, ordered by score.

The order is computed on each call; only the counts are cached (``COUNTS``). A wish said once is a candidate, not a memory. If a
person approves it, it becomes a memory with its evidence (:func:`kept.memories.person.accept_refused`). If they reject it, it is
not shown again.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from kept.core.codec import to_canonical_json
from kept.core.digest import digest
from kept.core.errors import KeptError
from kept.core.memory import SAID_ONCE, TOLD, UNLIKELY, UNSTATED, UNTRIED, Candidate, CandidateVerdict, Memory, Refused, Status
from kept.core.operation import find_undone_passes
from kept.core.text import normal_form
from kept.core.times import format_day
from kept.core.value import dataclass, replace
from kept.local import files
from kept.memories.browse import WORDS, find_by_prefix
from kept.store.values import Proposal
from kept.workspace import Workspace

if TYPE_CHECKING:
    from kept.extraction.score import Score

BEST = 10  # maximum number of proposals shown for each project and day
_RUNS = 1_000  # maximum number of latest runs searched for the decisions of today
_DECISIONS = frozenset({"approve", "reject", "past", "admit"})  # commands with which a person decides on proposals
COUNTS = "held.json"  # cache file in the state folder, because counting takes longer than the rest of `kept status`
JUDGED = "judged.jsonl"
_SHARED_WORDS = 3  # words that two sentences about the same thing must share
_LONG_WORD = 6  # letters of a long word; the sentences must share two of these
_SHARED_SHARE = 0.4  # share of the shorter sentence's words that must be shared


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingProposal:
    """A pending proposal as a memory. ``stored`` means that the store has it as a held memory.

    ``rank`` is its place (from 1) among the ``of`` proposals of its scope. ``decided`` is the number of proposals of this scope
    that a person decided on today. Proposals that may contradict something said later come first, the newest first. Those that are
    probably wrong come last.
    """

    memory: Memory
    stored: bool
    rank: int
    of: int
    score: "Score"
    decided: int = 0


def list_pending_proposals(workspace: Workspace) -> tuple[PendingProposal, ...]:
    """All pending proposals, grouped by scope. The scopes and the proposals of each are sorted best first.

    Raises StoreError, DamagedError.
    """
    from kept.extraction.score import compute_features, score  # noqa: PLC0415 - slow to load, and not needed for cached counts

    # The stamp is taken before reading, so that counts are not cached if another process changes the store meanwhile.
    stamp = _stamp_store(workspace)
    pool: dict[str, list[tuple[Memory, bool, Score]]] = defaultdict(list)
    for memory, stored in collect_pending(workspace):
        pool[memory.scope].append((memory, stored, score(compute_features(memory.content, trigger=memory.trigger))))
    ranked = sorted(
        (sorted(members, key=_review_order) for members in pool.values()), key=lambda members: _review_order(members[0])
    )
    decided = _count_decided_today(workspace)
    proposals = tuple(
        PendingProposal(memory=memory, stored=stored, rank=rank, of=len(members), score=value, decided=decided[memory.scope])
        for members in ranked
        for rank, (memory, stored, value) in enumerate(members, 1)
    )
    _save_counts(workspace, stamp, proposals)
    return proposals


# Explanations of the refusal reasons that are not clear by themselves.
REFUSALS: Mapping[str, str] = WORDS["refusals"]


def list_refused(workspace: Workspace) -> tuple[CandidateVerdict, ...]:
    """The refused candidates, each with its last verdict, except wishes said once, which are pending. Raises StoreError."""
    refused = (each for each in workspace.store.log.refused() if each.judged.candidate.content and not _is_wish(each))
    return tuple({each.judged.candidate.id: each.judged for each in refused}.values())


def best_of_each_scope(proposals: Sequence[PendingProposal]) -> tuple[PendingProposal, ...]:
    """The proposals to show today: the best ones of each scope, if they are probably right.

    A scope has at most ``BEST`` of them, minus those that were decided today.
    """
    return tuple(item for item in proposals if item.rank + item.decided <= BEST and _is_likely(item.memory, item.score))


def list_new_wishes(workspace: Workspace, run: int) -> frozenset[str]:
    """The ids, as proposals, of the wishes said once that a run found. Raises StoreError."""
    passes = {head.id for head in workspace.store.log.pass_heads() if head.run == run}
    found = (wish for wish in workspace.store.log.refused(SAID_ONCE) if wish.pass_id in passes)
    return frozenset(accepted_memory_id(wish.judged.candidate.id) for wish in found)


def best_of_all(proposals: Sequence[PendingProposal], most: int) -> tuple[PendingProposal, ...]:
    """The best ``most`` proposals of all scopes."""
    return tuple(sorted(proposals, key=lambda item: _review_order((item.memory, item.stored, item.score)))[:most])


def _count_decided_today(workspace: Workspace) -> Counter[str]:
    """The number of proposals that a person decided on today, by scope. Undone decisions do not count."""
    start, _ = workspace.day_bounds(workspace.clock().astimezone(workspace.zone).date())
    runs = {run.id for run in workspace.store.log.runs(_RUNS) if run.started_at >= start and run.command in _DECISIONS}
    if not runs:
        return Counter()
    heads = tuple(workspace.store.log.pass_heads())
    off = find_undone_passes(heads)
    passes = workspace.store.log.passes(only=[head.id for head in heads if head.run in runs and head.id not in off])
    decided = {operation.memory for made in passes for operation in made.operations}
    return Counter(memory.scope for memory in workspace.store.log.some(sorted(decided)))


def count_pending_proposals(workspace: Workspace) -> tuple[int, int]:
    """The number of all pending proposals, and of those in :func:`best_of_each_scope`. Cached until the store changes."""
    with suppress(ValueError, TypeError, RecursionError):
        stamp, every, best = json.loads(files.read_file(workspace.paths.state / COUNTS).data or b"[]")
        if stamp == _stamp_store(workspace):
            return every, best
    proposals = list_pending_proposals(workspace)
    return len(proposals), len(best_of_each_scope(proposals))


def _stamp_store(workspace: Workspace) -> list[int | str]:
    """A value that changes when the cached counts are out of date. It depends on the store, on this module, and on the day.

    The day matters because proposals may expire. Empty if the store is not a file.
    """
    with suppress(OSError):
        store, own = workspace.paths.store.stat(), Path(__file__).stat()
        today = format_day(workspace.clock(), workspace.zone)
        last = [run.id for run in workspace.store.log.runs(1)]
        return [today, own.st_ino, own.st_mtime_ns, store.st_ino, store.st_size, store.st_mtime_ns, *last]
    return []


def _save_counts(workspace: Workspace, stamp: list[int | str], proposals: Sequence[PendingProposal]) -> None:
    path = workspace.paths.state / COUNTS
    before = files.read_file(path)
    data = json.dumps([stamp, len(proposals), len(best_of_each_scope(proposals))]).encode()
    if stamp and data != before.data:
        with suppress(KeptError):  # if it is not written, the next call counts again
            files.write_if_unchanged(path, data, expect=before.stamp, root=workspace.paths.root)


def _is_likely(memory: Memory, value: "Score") -> bool:
    """True if a proposal is worth a person's time.

    A proposal that may contradict something said later always is. A statement that only matters for the current task or is too
    short is not, nor is one of a model that failed its trial. A sentence that a rule found is worth it if its score is high enough,
    its form does not speak against it (``UNSTATED``), and it stands alone. All other proposals of agents and models are worth it.
    """
    if memory.superseded_by or memory.reason.endswith(UNLIKELY):
        return bool(memory.superseded_by)
    stated = value.likely and not memory.reason.endswith(UNSTATED)
    return memory.trigger not in TOLD or (stated and _stands_alone(memory.content))


def describe_set_aside(reasons: Mapping[str, int], most: int | None = 3) -> str:
    """A text with the number of wishes said once, and the number of refused candidates with their ``most`` frequent reasons (None:
    all).

    If there is only one reason, it has no number. Empty if there are neither wishes nor refused candidates.
    """
    refused = Counter({reason: count for reason, count in reasons.items() if count and reason != SAID_ONCE})
    why = ", ".join(f"{count:,} {reason}" if len(refused) > 1 else reason for reason, count in refused.most_common(most))
    wishes = reasons.get(SAID_ONCE, 0)
    once = f"{wishes:,} {'wish' if wishes == 1 else 'wishes'} {SAID_ONCE}" if wishes else ""
    return ", ".join(filter(None, (once, f"{refused.total():,} refused ({why})" if refused else "")))


def find_pending_wish(workspace: Workspace, wish_id: str) -> Memory:
    """The wish said once whose id is ``wish_id`` or begins with it, as the memory that it would become. Raises MissingError."""
    wishes = [memory for memory, stored in collect_pending(workspace) if not stored]
    by_id = {item: memory for memory in wishes for item in (memory.id, *memory.candidates)}
    return find_by_prefix(by_id, wish_id, f"no held proposal has the id {wish_id!r}", "see `kept review --all` for ids")


def accepted_memory_id(candidate: str) -> str:
    """The id of the memory that a refused candidate becomes when a person accepts or rejects it."""
    return digest("admitted", candidate, size=5)


def find_refused(workspace: Workspace, candidate_id: str) -> CandidateVerdict:
    """The refused candidate whose id is ``candidate_id`` or begins with it. Raises MissingError."""
    refused = {proposal.judged.candidate.id: proposal.judged for proposal in workspace.store.log.refused()}
    by_id = refused | {accepted_memory_id(candidate): judged for candidate, judged in refused.items()}
    return find_by_prefix(by_id, candidate_id, f"no refused proposal has the id {candidate_id!r}", "see `kept list --refused`")


def _review_order(member: "tuple[Memory, bool, Score]") -> tuple[bool, bool, float, str]:
    memory, _, value = member
    if memory.superseded_by:
        return (False, False, -memory.last_seen.timestamp() if memory.last_seen else 0.0, memory.id)
    return (True, not _is_likely(memory, value), -value.value, memory.id)


def find_later_contradiction(workspace: Workspace, memory: Memory) -> Memory | None:
    """The later memory that a held memory may contradict. None if it is held for another reason. Raises StoreError."""
    return workspace.store.log.memory(memory.superseded_by) if memory.status is Status.HELD and memory.superseded_by else None


def find_newer(workspace: Workspace, memories: Iterable[Memory]) -> Mapping[str, Memory]:
    """For each held memory, by its id, an active memory that was said later and may replace it. Raises StoreError.

    It is the memory that the held one may contradict, else the most similar one of the same profile and scope. It is only shown to
    the person.
    """
    from kept.extraction.rules.passages import content_words  # noqa: PLC0415 - its word lists are slow to load

    found, now = {}, workspace.clock()
    for group, members in groupby(sorted(memories, key=_group_of), key=_group_of):
        later = [
            item for item in workspace.store.log.memories(group=group) if item.status_at(now) is Status.ACTIVE and item.first_seen
        ]
        for memory in members:
            own = content_words(memory.content)
            near = [
                (len(shared) / min(len(own), len(words)), item)
                for item in later
                if memory.last_seen and item.first_seen and item.first_seen > memory.last_seen
                if len(shared := own & (words := content_words(item.content))) >= _SHARED_WORDS
                if sum(len(word) >= _LONG_WORD for word in shared) > 1 and len(shared) >= _SHARED_SHARE * min(len(own), len(words))
            ]
            newer = find_later_contradiction(workspace, memory) or max(near, key=lambda each: each[0], default=(0, None))[1]
            if newer is not None:
                found[memory.id] = newer
    return found


def _group_of(memory: Memory) -> tuple[str, str]:
    return (memory.profile, memory.scope)


def collect_pending(workspace: Workspace) -> list[tuple[Memory, bool]]:
    """The held memories (True) and the wishes said once as memories (False). Raises StoreError.

    A wish is omitted if a memory is based on it or says the same, or if an earlier wish of the same scope does.
    """
    now = workspace.clock()
    pool = [(memory, True) for memory in workspace.store.log.held() if memory.content and memory.status_at(now) is Status.HELD]
    wishes = [
        proposal.judged.candidate
        for proposal in sorted(workspace.store.log.refused(SAID_ONCE), key=_proposal_order)
        if _is_wish(proposal)
    ]
    groups = {(candidate.profile, candidate.scope) for candidate in wishes}
    memories = [memory for group in groups for memory in workspace.store.log.memories(group=group) if memory.content]
    taken = {number for memory in memories for number in memory.candidates}
    seen = {_form(memory) for memory in memories if not memory.reason.endswith(UNTRIED)}
    for candidate in wishes:
        if candidate.id not in taken and (form := _form(candidate)) not in seen:
            seen.add(form)
            pool.append((replace(to_held_memory(candidate), id=accepted_memory_id(candidate.id)), False))
    return pool


def _form(source: Memory | Candidate) -> tuple[str, str, str]:
    return (source.profile, source.scope, normal_form(source.content))


def _proposal_order(proposal: Proposal) -> tuple[str, str]:
    candidate = proposal.judged.candidate
    return (candidate.at.isoformat() if candidate.at else "", candidate.id)


def _is_wish(proposal: Proposal) -> bool:
    """True if a proposal is a wish said once that has enough content words to stand alone."""
    verdict = proposal.judged.verdict
    return isinstance(verdict, Refused) and verdict.reason == SAID_ONCE and _stands_alone(proposal.judged.candidate.content)


def _stands_alone(words: str) -> bool:
    from kept.extraction.rules.passages import LEAST, count_content_words  # noqa: PLC0415 - compiling its patterns is slow

    return count_content_words(words) >= LEAST


def to_held_memory(candidate: Candidate) -> Memory:
    """Convert a candidate to the held memory that it would become. The memory is not stored."""
    return Memory(
        id=candidate.id,
        profile=candidate.profile,
        category=candidate.category,
        scope=candidate.scope,
        status=Status.HELD,
        content=candidate.content,
        confidence=candidate.confidence,
        origin=candidate.origin,
        first_seen=candidate.at,
        last_seen=candidate.at,
        artifacts=candidate.artifacts,
        evidence=candidate.evidence,
        candidates=(candidate.id,),
        valid_until=candidate.valid_until,
        trigger=candidate.trigger,
        fingerprint=candidate.fingerprint,
        subject=candidate.subject,
        about=candidate.about,
        reason=f"held: {SAID_ONCE}",
    )


def record_judgement(workspace: Workspace, memory: Memory, reason: str, *, again: bool = False) -> None:
    """Record in ``judged.jsonl`` why a person calls a memory wrong, with the terms of its score. An empty ``reason`` withdraws it.

    ``again`` means that it is recorded only if the file already has an entry for the memory. The file stays on this machine.
    ``benchmarks/train_score.py`` trains the score with it. Raises KeptError.
    """
    from kept.core.invisible import strip_invisible  # noqa: PLC0415 - counting proposals does not need it
    from kept.core.redact import redact  # noqa: PLC0415 - as above
    from kept.extraction.score import compute_features, score  # noqa: PLC0415 - as above

    path = workspace.paths.state / JUDGED
    before = files.read_file(path)
    if again and f'"memory":"{memory.id}"'.encode() not in before.data:
        return
    terms = dict(score(compute_features(memory.content, trigger=memory.trigger)).terms)
    clean = redact(strip_invisible(reason)[0], key=workspace.store.key("redaction")).text
    row = {"memory": memory.id, "words": memory.content, "trigger": memory.trigger, "terms": terms, "reason": clean}
    files.write_if_unchanged(
        path, before.data + f"{to_canonical_json(row)}\n".encode(), expect=before.stamp, root=workspace.paths.root
    )
