"""What waits for a person: memories that are held and wishes that were said once, ranked by one score when somebody asks.

Nothing here is stored, and nothing stored depends on it. A wish that was said once is no memory: approved, it becomes one with
its evidence (:func:`kept.memories.person.accept_refused`); turned down, it is noted and not shown again.
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
from kept.core.fold import find_undone_passes
from kept.core.memory import PASSING, SAID_ONCE, TOLD, UNTRIED, Candidate, CandidateVerdict, Memory, Refused, Status
from kept.core.text import normal_form
from kept.core.times import format_day
from kept.core.value import dataclass
from kept.local import files
from kept.memories.browse import find_by_prefix
from kept.store.values import Proposal
from kept.workspace import Workspace

if TYPE_CHECKING:
    from kept.extraction.score import Score

BEST = 10  # shown of a project in a day
_DECISIONS = frozenset({"approve", "reject", "past", "admit"})  # what a person's runs are called that decide
COUNTS = "held.json"  # how many proposals wait, below the state folder: to count them takes longer than all else of a status
JUDGED = "judged.jsonl"
_SHARED = 3  # words that two sentences about one thing have in common
_LONG = 6  # letters of a telling word, of which they have two in common
_ALIKE = 0.4  # of the words of the shorter one that they have in common


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingProposal:
    """A proposal that waits: as a memory, whether the store has it (held), its place among those of its scope, its score, and how
    many of the scope a person ``decided`` on today.

    What may contradict something said later comes first, the newest first; what is not likely comes last.
    """

    memory: Memory
    stored: bool
    rank: int
    of: int
    score: "Score"
    decided: int = 0


def list_pending_proposals(workspace: Workspace) -> tuple[PendingProposal, ...]:
    """Everything that waits, scope by scope, the best first: of the scopes, and in each. Raises StoreError, DamagedError."""
    from kept.extraction.score import features, score  # noqa: PLC0415 - its word lists take long to read, and counts are noted

    pool: dict[str, list[tuple[Memory, bool, Score]]] = defaultdict(list)
    for memory, stored in _collect_pending(workspace):
        pool[memory.scope].append((memory, stored, score(features(memory.content, trigger=memory.trigger))))
    ranked = sorted(
        (sorted(members, key=_review_order) for members in pool.values()), key=lambda members: _review_order(members[0])
    )
    today = _count_decided_today(workspace)
    every = tuple(
        PendingProposal(memory=memory, stored=stored, rank=rank, of=len(members), score=value, decided=today[memory.scope])
        for members in ranked
        for rank, (memory, stored, value) in enumerate(members, 1)
    )
    _note_counts(workspace, every)
    return every


def list_refused(workspace: Workspace) -> tuple[CandidateVerdict, ...]:
    """What was refused, with the reason, without the wishes said once that are held for a decision. Raises StoreError."""
    return tuple(each.judged for each in workspace.store.log.refused() if each.judged.candidate.content and not _is_wish(each))


def best_of_each_scope(every: Sequence[PendingProposal]) -> tuple[PendingProposal, ...]:
    """The best of each scope, ten a day, without those that are more often wrong than right: so the queue comes to an end."""
    return tuple(item for item in every if item.rank + item.decided <= BEST and _is_likely(item.memory, item.score))


def best_of_all(every: Sequence[PendingProposal], most: int) -> tuple[PendingProposal, ...]:
    """The best of all scopes together."""
    return tuple(sorted(every, key=lambda item: _review_order((item.memory, item.stored, item.score)))[:most])


def _count_decided_today(workspace: Workspace) -> Counter[str]:
    """On how many proposals a person decided today, by scope; what they took back does not count."""
    start, _ = workspace.day_bounds(workspace.clock().astimezone(workspace.zone).date())
    runs = {run.id for run in workspace.store.log.runs() if run.started_at >= start and run.command in _DECISIONS}
    if not runs:
        return Counter()
    heads = tuple(workspace.store.log.pass_heads())
    off = find_undone_passes(heads)
    passes = workspace.store.log.passes(only=[head.id for head in heads if head.run in runs and head.id not in off])
    decided = {operation.memory for made in passes for operation in made.operations}
    return Counter(memory.scope for memory in workspace.store.log.some(sorted(decided)))


def count_pending_proposals(workspace: Workspace) -> tuple[int, int]:
    """How many proposals wait, and how many of them would be shown as the best; as noted, where the store is as it was then."""
    with suppress(ValueError):
        stamp, every, best = json.loads(files.read_file(workspace.paths.state / COUNTS).data or b"[]")
        if stamp == _stamp_store(workspace):
            return every, best
    proposals = list_pending_proposals(workspace)
    return len(proposals), len(best_of_each_scope(proposals))


def _stamp_store(workspace: Workspace) -> list[int | str]:
    """What changes with every change of the store, of kept and of the day, on which proposals may expire."""
    with suppress(OSError):
        store, own = workspace.paths.store.stat(), Path(__file__).stat()
        today = format_day(workspace.clock(), workspace.zone)
        last = [run.id for run in workspace.store.log.runs(1)]
        return [today, own.st_ino, own.st_mtime_ns, store.st_ino, store.st_size, store.st_mtime_ns, *last]
    return []


def _note_counts(workspace: Workspace, every: Sequence[PendingProposal]) -> None:
    place, stamp = workspace.paths.state / COUNTS, _stamp_store(workspace)
    before = files.read_file(place)
    data = json.dumps([stamp, len(every), len(best_of_each_scope(every))]).encode()
    if stamp and data != before.data:
        with suppress(KeptError):  # what is not noted is counted again
            files.write_if_unchanged(place, data, expect=before.stamp, root=workspace.paths.root)


def _is_likely(memory: Memory, value: "Score") -> bool:
    """Whether a proposal is worth a person's look: the score knows only a person's sentences that rules chose, so what an agent or
    a model proposes is, unless the model did not pass its trial or says itself that it ends with its task, and what something later
    may contradict always is.
    """
    if memory.superseded_by or memory.trigger in TOLD:
        return bool(memory.superseded_by) or (value.likely and _stands_alone(memory.content))
    return not memory.reason.endswith((PASSING, UNTRIED))


def describe_set_aside(reasons: Mapping[str, int], most: int | None = 3) -> str:
    """What a run set aside: what was said once, which waits for a person, and what was refused. Empty where it was nothing."""
    refused = Counter({reason: count for reason, count in reasons.items() if count and reason != SAID_ONCE})
    why = ", ".join(f"{count:,} {reason}" for reason, count in refused.most_common(most))
    once = f"{reasons[SAID_ONCE]:,} {SAID_ONCE}" if reasons.get(SAID_ONCE) else ""
    return ", ".join(filter(None, (once, f"{refused.total():,} refused ({why})" if refused else "")))


def find_pending_wish(workspace: Workspace, number: str) -> Memory:
    """The wish said once that has this id, or a beginning of it, as a memory: its own, or the one under which it was remembered
    before that was undone. Raises MissingError.
    """
    wishes = [memory for memory, stored in _collect_pending(workspace) if not stored]
    known = {number: memory for memory in wishes for number in (memory.id, accepted_memory_id(memory.id))}
    return find_by_prefix(known, number, f"nothing that is held has the id {number!r}", "see `kept review --all` for ids")


def accepted_memory_id(candidate: str) -> str:
    """The id of the memory that a refused candidate becomes once a person decides on it."""
    return digest("admitted", candidate, size=5)


def find_refused(workspace: Workspace, number: str) -> CandidateVerdict:
    """The candidate that was refused and has this id, or a beginning of it. Raises MissingError."""
    refused = {proposal.judged.candidate.id: proposal.judged for proposal in workspace.store.log.refused()}
    return find_by_prefix(refused, number, f"nothing that was refused has the id {number!r}", "see `kept list --refused`")


def _review_order(member: "tuple[Memory, bool, Score]") -> tuple[bool, bool, float, str]:
    memory, _, value = member
    if memory.superseded_by:
        return (False, False, -memory.last_seen.timestamp() if memory.last_seen else 0.0, memory.id)
    return (True, not _is_likely(memory, value), -value.value, memory.id)


def find_later_contradiction(workspace: Workspace, memory: Memory) -> Memory | None:
    """What was said later that a memory which waits may contradict; None where it waits for another reason. Raises StoreError."""
    return workspace.store.log.memory(memory.superseded_by) if memory.status is Status.HELD and memory.superseded_by else None


def find_newer(workspace: Workspace, memories: Iterable[Memory]) -> Mapping[str, Memory]:
    """For memories that wait what holds and was said later: what may contradict one, else what says most of it in its project. By
    id, the nearest; a look for a person, no verdict. Raises StoreError.
    """
    from kept.extraction.rules.passages import content_words  # noqa: PLC0415 - as above

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
                if len(shared := own & (words := content_words(item.content))) >= _SHARED
                if sum(len(word) >= _LONG for word in shared) > 1 and len(shared) >= _ALIKE * min(len(own), len(words))
            ]
            newer = find_later_contradiction(workspace, memory) or max(near, key=lambda each: each[0], default=(0, None))[1]
            if newer is not None:
                found[memory.id] = newer
    return found


def _group_of(memory: Memory) -> tuple[str, str]:
    return (memory.profile, memory.scope)


def _collect_pending(workspace: Workspace) -> list[tuple[Memory, bool]]:
    """Held memories, and wishes said once that no memory rests on or says; each wording of a scope once."""
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
            pool.append((to_held_memory(candidate), False))
    return pool


def _form(said: Memory | Candidate) -> tuple[str, str, str]:
    return (said.profile, said.scope, normal_form(said.content))


def _proposal_order(proposal: Proposal) -> tuple[str, str]:
    candidate = proposal.judged.candidate
    return (candidate.at.isoformat() if candidate.at else "", candidate.id)


def _is_wish(proposal: Proposal) -> bool:
    """True for a wish said once that has as many words with matter as a passage needs to stand by itself."""
    verdict = proposal.judged.verdict
    return isinstance(verdict, Refused) and verdict.reason == SAID_ONCE and _stands_alone(proposal.judged.candidate.content)


def _stands_alone(words: str) -> bool:
    from kept.extraction.rules.passages import LEAST, count_content_words  # noqa: PLC0415 - its patterns take long to compile

    return count_content_words(words) >= LEAST


def to_held_memory(candidate: Candidate) -> Memory:
    """A candidate as the held memory it would become; the store has none such."""
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


def note_judgement(workspace: Workspace, memory: Memory, reason: str, *, again: bool = False) -> None:
    """Note beside the store why a person calls a memory wrong, or that they do not any more (no reason), with what its score is
    made of; ``again`` only where it was noted before.

    The file stays on this machine, where ``benchmarks/train_score.py`` may learn from it. Raises KeptError.
    """
    from kept.core.invisible import strip_invisible  # noqa: PLC0415 - counting what is held needs none of it
    from kept.core.redact import redact  # noqa: PLC0415 - as above
    from kept.extraction.score import features, score  # noqa: PLC0415 - as above

    path = workspace.paths.state / JUDGED
    before = files.read_file(path)
    if again and f'"memory":"{memory.id}"'.encode() not in before.data:
        return
    terms = dict(score(features(memory.content, trigger=memory.trigger)).terms)
    clean = redact(strip_invisible(reason)[0], key=workspace.store.key("redaction")).text
    told = {"memory": memory.id, "words": memory.content, "trigger": memory.trigger, "terms": terms, "reason": clean}
    files.write_if_unchanged(
        path, before.data + f"{to_canonical_json(told)}\n".encode(), expect=before.stamp, root=workspace.paths.root
    )
