"""Extracting: threads that grew → judged candidates in the log, one pass a thread.

A thread is read from the first of its episodes that was still open, with a bounded look back, so an appended line costs its own
episode and the outcome equals that of reading the whole at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kept.adapters.store import Draft, Proposal, Span, Thread
from kept.app.batches import batches
from kept.app.desk import Desk
from kept.app.progress import Progress, silent
from kept.model.event import Event
from kept.model.fingerprint import recognised
from kept.model.lexicon import Lexicon
from kept.model.memory import Accepted, Actor, Candidate, Evidence, Judged, Refused, Verdict
from kept.model.profile import Profile
from kept.model.threads import abandoned
from kept.stages.extract import LOOKBACK, extract
from kept.stages.gate import grounded, judge
from kept.stages.segment import segment

WINDOW = 4_000  # events looked at together: bounds memory whatever the length of a session


@dataclass(frozen=True, kw_only=True, slots=True)
class Extracted:
    """What extraction did: threads looked at, episodes analysed, candidates of the threads that changed."""

    threads: int = 0
    episodes: int = 0
    judged: tuple[Judged, ...] = ()


Within = tuple[datetime | None, datetime | None]


def extract_pending(
    desk: Desk, run: int, *, force: bool = False, within: Within | None = None, progress: Progress = silent
) -> Extracted:
    """Extract every thread that grew (all threads where ``force``); only those with events in [start, stop) where ``within`` is given.

    Raises StoreError.
    """
    threads = [each for each in desk.store.archive.threads(pending=not force) if within is None or _overlaps(each, within)]
    forgotten = desk.store.log.forgotten()
    key = desk.store.key("forget")
    episodes, found = 0, []
    number = 0
    for batch in batches(threads, _length, WINDOW):
        with desk.store.transaction():
            for thread in batch:
                progress("extracting", number, len(threads))
                number += 1
                span, closed, count = _span(desk, thread, forgotten, key, force=force)
                episodes += count
                found += [judged for _, judged in span.judged]
                _commit(desk, run, thread, span)
                desk.store.archive.progressed(thread.id, extracted=closed, seen=thread.events)
    progress("extracting", len(threads), len(threads))
    return Extracted(threads=len(threads), episodes=episodes, judged=tuple(found))


def _length(thread: Thread) -> int:
    return thread.events


def extract_anew(desk: Desk, run: int, thread: Thread) -> tuple[tuple[Proposal, ...], tuple[Judged, ...]]:
    """Extract a thread from its start, inside a transaction; what it proposed before, and what it proposes now. Raises StoreError."""
    before = desk.store.log.proposals_from(thread.id, 0)
    span, closed, _ = _span(desk, thread, desk.store.log.forgotten(), desk.store.key("forget"), force=True)
    _commit(desk, run, thread, span)
    desk.store.archive.progressed(thread.id, extracted=closed, seen=thread.events)
    return before, tuple(judged for _, judged in span.judged)


def _overlaps(thread: Thread, within: Within) -> bool:
    start, stop = within
    return (stop is None or (thread.first_at is not None and thread.first_at < stop)) and (
        start is None or (thread.last_at is not None and thread.last_at >= start)
    )


def _commit(desk: Desk, run: int, thread: Thread, span: Span) -> None:
    before = [(each.ordinal, each.judged) for each in desk.store.log.proposals_from(thread.id, span.start)]
    if before == list(span.judged):
        return  # the episodes say what they said before
    subject = f"{thread.source}:{thread.session}"
    draft = Draft(run=run, stage="extract", subject=subject, actor=Actor.MACHINE, recorded_at=desk.clock(), span=span)
    desk.store.log.commit(draft)


def _span(desk: Desk, thread: Thread, forgotten: frozenset[str], key: bytes, *, force: bool) -> tuple[Span, int, int]:
    """The candidates from the first open episode on; the ordinal up to which episodes are closed now; how many were analysed."""
    changed = _mark_branches(desk, thread)
    start = 0 if force else min([thread.extracted, *changed])
    scope, profile = desk.scope(thread.project, thread.path), desk.profile_for(thread.source, thread.project, thread.path)
    rules = _Rules(profile=profile, lexicon=desk.lexicon, forgotten=forgotten, key=key)
    judged: list[tuple[int, Judged]] = []
    place, closed, count = start, start, 0
    while place < thread.events:
        base = max(0, place - LOOKBACK)
        stop = min(place + WINDOW, thread.events)
        events = desk.store.archive.events(thread.id, base, stop)
        episodes = segment(events[place - base :], profile.buffer)
        final = stop == thread.events
        usable = [each for each in episodes if each.closed or final] or list(episodes)
        for each in usable:
            first, last = place - base + each.start, place - base + each.stop
            candidates = extract(events, first, last, profile=profile, lexicon=desk.lexicon, scope=lambda _: scope)
            judged += [(place + each.start, _judged(rules, located(one, events), events)) for one in candidates]
            count += 1
        closed = place + next((each.start for each in usable if not each.closed), usable[-1].stop)
        place = place + usable[-1].stop
    return Span(thread=thread.id, start=start, judged=tuple(judged)), closed, count


def _mark_branches(desk: Desk, thread: Thread) -> list[int]:
    """Update which events a rewind replaced; the ordinals whose mark changed before the first open episode."""
    if not desk.store.archive.forks(thread.id):
        return []  # as nearly always: the tree of a long conversation need not be held in memory
    nodes = desk.store.archive.nodes(thread.id)
    gone = {int(each) for each in abandoned([node for node, _ in nodes])}
    changes = [(node.order, node.order in gone) for node, marked in nodes if marked != (node.order in gone)]
    desk.store.archive.mark_abandoned(thread.id, changes)
    return [0] if any(ordinal < thread.extracted for ordinal, _ in changes) else []


def located(candidate: Candidate, events: Sequence[Event]) -> Candidate:
    """The candidate with its evidence told where it stands: session, file, time, author and trust are those of the cited event."""
    by_key = {each.key: each for each in events}
    evidence = tuple(_at(each, by_key[each.event]) if each.event in by_key else each for each in candidate.evidence)
    return replace(candidate, evidence=evidence)


def _at(evidence: Evidence, event: Event) -> Evidence:
    return replace(
        evidence, session=event.session, path=event.pointer.path, at=event.at, author=event.author.value, origin=event.origin
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rules:
    """What a thread's candidates are judged by."""

    profile: Profile
    lexicon: Lexicon
    forgotten: frozenset[str]
    key: bytes


def _judged(rules: _Rules, candidate: Candidate, events: Sequence[Event]) -> Judged:
    return Judged(candidate=candidate, verdict=_verdict(rules, candidate, events))


def _verdict(rules: _Rules, candidate: Candidate, events: Sequence[Event]) -> Verdict:
    if rules.forgotten and recognised(candidate.content, rules.forgotten, rules.key):
        return Refused(reason="forgotten")
    verdict = judge(candidate, rules.profile, lexicon=rules.lexicon)
    if isinstance(verdict, Accepted) and not grounded(candidate, texts(events)):
        return Refused(reason="ungrounded")
    return verdict


def texts(events: Sequence[Event]) -> dict[str, str]:
    """What each event says, its tool's side included, by key: what quotes and artifacts are looked for in."""
    return {each.key: "\n".join(filter(None, (each.text, *_tool_text(each)))) for each in events}


def _tool_text(event: Event) -> tuple[str, ...]:
    return (event.tool.target, event.tool.detail) if event.tool else ()
