"""Collect the context of a journal entry: the content of its days' sessions, and the memories as of the evening before.

Nothing that was said after the last day is used. This excludes later replies to a prompt, and later wordings of a memory.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from operator import itemgetter

from kept.core.event import is_note
from kept.core.memory import Accepted, Candidate, Memory, Status
from kept.core.pattern import Pattern
from kept.core.summary import SummaryPart, SummaryPoint, WorkNote
from kept.core.text import jaccard_similarity, normal_form, number_tokens, tokenize
from kept.core.times import ALWAYS
from kept.days.day_notes import PARTS, drop_repeated_notes
from kept.days.summaries import MOST_LINES, build_notes, heaviest_bullets, order_bullets, part_of_category, to_bullets, work_bullet
from kept.extraction.questions.claims import merge_points
from kept.journal.entry import ContextItem, Slot, TrustLevel
from kept.memories.history import memories_at
from kept.profiles.language import choose_lexicon
from kept.sources.base import ENTRY
from kept.store.values import ThreadNote
from kept.workspace import JOURNAL, Workspace

_SLOTS = {SummaryPart.DECIDED: Slot.DECIDED, SummaryPart.LEARNT: Slot.LEARNT, SummaryPart.OPEN: Slot.OPEN}
_REAL = (Status.ACTIVE, Status.SUPERSEDED, Status.RESOLVED, Status.RETIRED)
_LOOKBACK = timedelta(days=14)
_REPEATED = 0.6  # minimum Jaccard similarity of two items of a project that count as repeating each other
_FILES = 8  # maximum number of file names listed for each project
_EVENTS_READ = 4_000  # maximum number of events read of a thread
_JOURNALS = "journal"  # source name of other journals
_LEAST_HEADING_WORDS, _HEADING_CHARS = 4, 200
_NUMBERED = Pattern(r"(?i)^(?:(?:step|phase|part) \d+(?:\.\d+)*|\d+(?:\.\d+)*)\s*[:.)–—-]\s+")  # the number of a heading
_HEADING_WEIGHT = 2.0
_MEMORY_WEIGHT, _LEARNT_WEIGHT, _POINT_WEIGHT = 1.0, 30.0, 10.0


def worked_days(workspace: Workspace, first: date, last: date) -> tuple[date, ...]:
    """The days of a span on which work was done, in order. Raises StoreError."""
    start, stop = workspace.day_bounds(first)[0], workspace.day_bounds(last)[1]
    times = [note.note.at for note in workspace.store.days.notes_between(start, stop)]
    times += [at for at, _ in _journal_headings(workspace, start, stop)]
    return tuple(sorted({time.astimezone(workspace.zone).date() for time in times}))


def session_ids_between(workspace: Workspace, first: date, last: date) -> tuple[str, ...]:
    """The ids of the sessions with events on these days. kept's own journal entries are omitted. Raises StoreError."""
    sessions = workspace.store.archive.session_activity(workspace.day_bounds(first)[0], workspace.day_bounds(last)[1])
    return tuple(sorted({activity.session for activity in sessions if activity.source != ENTRY}))


def collect_context(workspace: Workspace, first: date, last: date, *, detailed: bool = False) -> tuple[ContextItem, ...]:
    """Collect the context items of these days: work, solved errors, decisions, learnings, open questions, commits, files.

    Items that several days repeat are included once. ``detailed`` is for a model: each exchange becomes an item of its own, and the
    points that a model noted about the sessions are included. Raises StoreError.
    """
    start, stop = workspace.day_bounds(first)[0], workspace.day_bounds(last)[1]
    found = [(note, workspace.scope(note.project, note.path)) for note in _notes_until(workspace, start, stop)]
    written = tuple(dict.fromkeys(item for _, item in _journal_headings(workspace, start, stop)))
    points = _point_items(workspace, start, stop) if detailed else ()
    return _drop_repeats((*_work_items(found, detailed=detailed), *written, *points, *_memory_items(workspace, start, stop)))


def _drop_repeats(items: Sequence[ContextItem]) -> tuple[ContextItem, ...]:
    """Drop items that repeat another item of the same slot and project. The one with the greatest weight stays.

    If the weights are equal, the longest one stays. Commits and files are not compared.
    """
    chosen: dict[int, ContextItem] = {}
    known: list[tuple[Slot, str, frozenset[str]]] = []
    for place, item in sorted(enumerate(items), key=lambda pair: (-pair[1].weight, -len(pair[1].text))):
        words = tokenize(item.text)
        if item.slot not in (Slot.COMMITS, Slot.FILES) and any(
            (slot, scope) == (item.slot, item.scope)
            and (words <= other or (jaccard_similarity(words, other) > _REPEATED and number_tokens(words) == number_tokens(other)))
            for slot, scope, other in known
        ):
            continue
        known.append((item.slot, item.scope, words))
        chosen[place] = item
    return tuple(chosen[place] for place in sorted(chosen))


def _point_items(workspace: Workspace, start: datetime, stop: datetime) -> Iterator[ContextItem]:
    """Yield the points that a model noted about the sessions of a time span. Points about kept's own entries are omitted."""
    scopes: dict[str, list[SummaryPoint]] = {}
    for point in workspace.store.days.points_between(start, stop):
        if not _is_entry_path(workspace, point.path):
            scopes.setdefault(workspace.scope(point.project, point.path), []).append(point.passage.point)
    for scope, points in scopes.items():
        for merged in merge_points(points):
            slot = _SLOTS.get(PARTS[merged.kind], Slot.WORKED)
            yield ContextItem(slot=slot, text=merged.text, scope=scope, weight=_POINT_WEIGHT)


def _is_entry_path(workspace: Workspace, path: str) -> bool:
    """True if a file is in the folder of kept's own entries."""
    return path.rpartition("/")[0] == str(workspace.paths.root / workspace.settings.journal.folder)


def _journal_headings(workspace: Workspace, start: datetime, stop: datetime) -> Iterator[tuple[datetime, ContextItem]]:
    """Yield the section headings of a time span in other journals, written by a person or an agent, with their times.

    A heading that a file repeats is skipped, because it is part of the journal's form.
    """
    for thread in workspace.store.archive.threads():
        if thread.source != _JOURNALS or thread.first_at is None or thread.last_at is None:
            continue
        if thread.first_at < stop and thread.last_at >= start:
            scope = workspace.scope(thread.project, thread.path)
            events = [
                event for event in workspace.store.archive.events(thread.id, 0, min(thread.events, _EVENTS_READ)) if is_note(event)
            ]
            repeated = Counter(_section_heading(event.text) for event in events)
            for event in events:
                words = _section_heading(event.text)
                if event.at is not None and start <= event.at < stop and words and repeated[words] == 1:
                    yield event.at, ContextItem(slot=Slot.WORKED, text=words, scope=scope, weight=_HEADING_WEIGHT)


def _section_heading(text: str) -> str:
    """The heading of a section without its number.

    Empty if the section has no heading, or if the heading has fewer than four words and so may fit any day.
    """
    first = text.partition("\n")[0]
    words = _NUMBERED.sub("", first.lstrip("#").strip()) if first.startswith("#") else ""
    return words if len(words.split()) >= _LEAST_HEADING_WORDS and len(words) <= _HEADING_CHARS else ""


def _work_items(found: list[tuple[ThreadNote, str]], *, detailed: bool) -> Iterator[ContextItem]:
    of_event = {note.note.event: note.note for note, _ in found}
    bullets = order_bullets(bullet for note, scope in found for bullet in to_bullets(note.note, scope))
    topics = [bullet for bullet in bullets if bullet.part is SummaryPart.WORKED]
    others = [bullet for bullet in bullets if bullet.part is not SummaryPart.WORKED]
    chosen = bullets if detailed else [*heaviest_bullets(topics, MOST_LINES), *heaviest_bullets(others, MOST_LINES // 2)]
    for bullet in (bullet for bullet in bullets if bullet in chosen):
        text = bullet.text if detailed or bullet in others else _narrate_note(of_event[bullet.source])
        slot = _SLOTS.get(bullet.part, Slot.WORKED)
        yield ContextItem(slot=slot, text=text, scope=bullet.scope, weight=float(bullet.weight))
    commits = dict.fromkeys((scope, commit) for note, scope in found for commit in note.note.commits)
    yield from (ContextItem(slot=Slot.COMMITS, text=text, scope=scope, weight=0.5) for scope, text in commits)
    changed: dict[str, Counter[str]] = {}
    for note, scope in found:
        changed.setdefault(scope, Counter()).update(note.note.names)
    for scope, names in changed.items():
        if names:
            listed = ", ".join(name for name, _ in sorted(names.items(), key=lambda item: (-item[1], item[0]))[:_FILES])
            yield ContextItem(slot=Slot.FILES, text=listed, scope=scope, weight=0.4)


def _narrate_note(note: WorkNote) -> str:
    """A work note as a paragraph: what was asked for, how it ended, and the changed files."""
    ended = [text for text in (note.outcome, *(f"Committed: {subject}" for subject in note.commits[:2])) if text]
    sentence = " ".join((f"**{_end_sentence(note.asked)}**", *map(_end_sentence, ended)))
    files = [name for name in note.names[:3] if name not in sentence]
    return sentence + (f" Changed: {', '.join(files)}." if files else "")


def _end_sentence(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", "…", "。", "！", "？")) else f"{sentence}."


def _notes_until(workspace: Workspace, start: datetime, stop: datetime) -> Iterator[ThreadNote]:
    """Yield the notes of a time span, without repeated ones.

    A note about an exchange that goes on after the span is cut at its end.
    """
    ends: Mapping[int, datetime | None] = {thread.id: thread.last_at for thread in workspace.store.archive.threads()}
    listed = workspace.store.days.notes_between(start, stop)
    last = {note.thread: note.note.ordinal for note in sorted(listed, key=lambda note: note.note.ordinal)}
    for item in drop_repeated_notes(listed):
        end = ends.get(item.thread)
        grows = last[item.thread] == item.note.ordinal and end is not None and end >= stop
        yield replace(item, note=_cut_note_at(workspace, item, stop)) if grows else item


def _cut_note_at(workspace: Workspace, noted: ThreadNote, stop: datetime) -> WorkNote:
    """Build a note again, from the events before ``stop`` only."""
    first = noted.note.ordinal
    events = workspace.store.archive.events(noted.thread, first, first + _EVENTS_READ)
    before = next((place for place, event in enumerate(events) if event.at is not None and event.at >= stop), len(events))
    if before == len(events):
        return noted.note
    spoken = choose_lexicon(events[:before], workspace.languages).spoken
    notes = build_notes(events[:before], [(0, before)], lambda at: at.astimezone(workspace.zone).date(), spoken=spoken, base=first)
    return next(
        (note for note in notes if note.event == noted.note.event),
        WorkNote(ordinal=first, event=noted.note.event, at=noted.note.at, asked=noted.note.asked),
    )


def _accepted_candidates(workspace: Workspace) -> dict[str, Candidate]:
    return {
        judged.candidate.id: judged.candidate
        for judged in workspace.store.log.all_judged_candidates()
        if isinstance(judged.verdict, Accepted)
    }


def _memory_items(workspace: Workspace, start: datetime, stop: datetime) -> Iterator[ContextItem]:
    """Yield the memories that sessions of a time span support, in the words that these sessions used."""
    proposals = {
        name: candidate for name, candidate in _accepted_candidates(workspace).items() if not _is_from_entry(workspace, candidate)
    }
    for memory in workspace.store.log.memories_between(start, stop):
        if memory.status not in _REAL:
            continue
        if within := _candidates_between(memory, proposals, start, stop):
            newest = within[-1]
            slot = Slot.SOLVED if newest.fingerprint else _SLOTS[part_of_category(memory.category)]
            yield ContextItem(slot=slot, text=newest.content, scope=memory.scope, reference=memory.id, weight=_LEARNT_WEIGHT)


def _is_from_entry(workspace: Workspace, candidate: Candidate) -> bool:
    """True if all evidence of a candidate is from kept's own entries.

    It is then not used, because an entry must not repeat another one.
    """
    return bool(candidate.evidence) and all(_is_entry_path(workspace, item.path) for item in candidate.evidence)


def _candidates_between(memory: Memory, proposals: Mapping[str, Candidate], start: datetime, stop: datetime) -> list[Candidate]:
    """The candidates of a memory that were proposed in a time span and have no later evidence, oldest first."""
    own = [proposals[name] for name in memory.candidates if name in proposals]
    within = [candidate for candidate in own if candidate.at is not None and start <= candidate.at < stop]
    known = [candidate for candidate in within if all(item.at is None or item.at < stop for item in candidate.evidence)]
    return sorted(known, key=lambda candidate: (str(candidate.at), candidate.id))


def memories_before_day(workspace: Workspace, day: date) -> tuple[ContextItem, ...]:
    """The memories that were active just before a day, in their wording at that time. Raises StoreError."""
    start = workspace.day_bounds(day)[0]
    proposals = _accepted_candidates(workspace)
    found: list[tuple[tuple[str, bool, str, str], ContextItem]] = []
    for memory in memories_at(workspace, start - timedelta(microseconds=1)):
        words = _wording_at(memory, proposals, start)
        if memory.status_at(start) is Status.ACTIVE and words and memory.first_seen is not None and memory.first_seen < start:
            day_made = memory.first_seen.astimezone(workspace.zone).date()
            category = workspace.category(memory)
            weight = _MEMORY_WEIGHT + (category.weight if category else 0.0)
            context_item = ContextItem(
                slot=Slot.BEFORE,
                text=words,
                grade=TrustLevel.MEMORY,
                source=TrustLevel.MEMORY.value,
                reference=memory.id,
                day=day_made,
                scope=memory.scope,
                weight=weight,
                kind=part_of_category(memory.category).value,
            )
            found.append(((day_made.isoformat(), memory.profile == JOURNAL, words, memory.id), context_item))
    once: dict[str, ContextItem] = {}
    for _, item in sorted(found, key=itemgetter(0)):
        once.setdefault(normal_form(item.text), item)  # a session and the entry about it may say the same
    return tuple(once.values())


def last_work_before_day(workspace: Workspace, day: date, scopes: Collection[str]) -> Iterator[ContextItem]:
    """Yield the last work note of each scope from the two weeks before a day. Raises StoreError."""
    start = workspace.day_bounds(day)[0]
    last: dict[str, WorkNote] = {}
    for thread_note in workspace.store.days.notes_between(start - _LOOKBACK, start):
        scope = workspace.scope(thread_note.project, thread_note.path)
        if scope in scopes:
            last[scope] = thread_note.note
    for scope, note in last.items():
        yield ContextItem(
            slot=Slot.BEFORE,
            text=work_bullet(note, scope).text,
            grade=TrustLevel.MEMORY,
            source=TrustLevel.MEMORY.value,
            day=note.at.astimezone(workspace.zone).date(),
            scope=scope,
            weight=_LEARNT_WEIGHT,
            kind="last worked on",
        )


def _wording_at(memory: Memory, proposals: Mapping[str, Candidate], start: datetime) -> str:
    """The wording that a memory had before ``start``; empty if it had none.

    If a person owns the memory, or if its present wording was already proposed by then, that is the present wording. Otherwise, it
    is the wording of the newest candidate that was proposed by then.
    """
    if memory.owned or not memory.candidates:
        return memory.content
    earlier = _candidates_between(memory, proposals, ALWAYS[0], start)
    if any(candidate.content == memory.content for candidate in earlier):
        return memory.content
    return earlier[-1].content if earlier else ""
