"""One session: its transcript in kept's own folder, to which messages are written at once, and working memory, which is a
fold over it.

Working memory observes a conversation event by event, and returns certain candidates at once. It uses the batch engine, so episodes
and candidates are the same. While an episode is open, its candidates are only a preview, because later events may change their
words. The candidates of a closed episode are exactly those of a later run over the transcript. Observing stores nothing.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from uuid import uuid4

from kept.core.errors import UsageError
from kept.core.event import Cursor, Event
from kept.core.memory import WITHDRAWAL, Accepted, Candidate, Memory
from kept.core.operation import TAKEN_BACK
from kept.core.redact import redact
from kept.core.summary import WorkNote
from kept.core.times import format_instant
from kept.core.value import dataclass
from kept.days.summaries import build_notes
from kept.extraction.coverage import find_topics
from kept.extraction.gate import judge
from kept.extraction.rules.candidates import extract_candidates
from kept.extraction.rules.patterns import LOOKBACK
from kept.extraction.segment import segment
from kept.extraction.stretches import LIVE
from kept.intake.clean import Limits, clean
from kept.profiles.language import choose_lexicon
from kept.profiles.lexicons import Lexicon
from kept.profiles.profile import Profile
from kept.sources.json_lines import REWRITTEN
from kept.sources.registry import SkippedFile, identify_file
from kept.workspace import Workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionContext:
    """The inputs of extraction besides events: the profile, and the scope of the project."""

    profile: Profile
    scope: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedConversation:
    """The state of a conversation: the events that extraction may still read, the index of the open episode's first event among
    them, and the ids of the candidates already shown.
    """

    events: tuple[Event, ...] = ()
    start: int = 0
    shown: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Noticed:
    """The candidates that one event yields. ``live`` are certain candidates of the open episode that were not shown before.
    ``closed`` are all candidates of the episodes that the event closed.
    """

    live: tuple[Candidate, ...] = ()
    closed: tuple[Candidate, ...] = ()


def observe_event(watched: ObservedConversation, event: Event, context: ExtractionContext) -> tuple[ObservedConversation, Noticed]:
    """Add the next event of a conversation. Events must come in the order of the transcript, cleaned and redacted."""
    events = (*watched.events, event)
    episodes = segment(events[watched.start :], context.profile.buffer)
    closed: list[Candidate] = []
    start = watched.start
    for episode in episodes[:-1]:
        closed += _extract_range(events, watched.start + episode.start, watched.start + episode.stop, context)
        start = watched.start + episode.stop
    lexicon = _lexicon_around(events, start, len(events), context)
    candidates = _extract_range(events, start, len(events), context)
    sure = [candidate for candidate in candidates if candidate.confidence >= LIVE and _is_accepted(candidate, context, lexicon)]
    live = tuple(candidate for candidate in sure if candidate.id not in watched.shown)
    keep = max(0, start - LOOKBACK)
    shown = frozenset(candidate.id for candidate in sure) if closed else watched.shown | {candidate.id for candidate in live}
    return ObservedConversation(events=events[keep:], start=start - keep, shown=shown), Noticed(live=live, closed=tuple(closed))


def _extract_range(events: tuple[Event, ...], start: int, stop: int, context: ExtractionContext) -> list[Candidate]:
    if stop <= start:
        return []
    lexicon = _lexicon_around(events, start, stop, context)
    return list(extract_candidates(events, start, stop, profile=context.profile, lexicon=lexicon, scope=context.scope))


def _lexicon_around(events: tuple[Event, ...], start: int, stop: int, context: ExtractionContext) -> Lexicon:
    return choose_lexicon(events[max(0, start - LOOKBACK) : stop], context.profile.languages)


def _is_accepted(candidate: Candidate, context: ExtractionContext, lexicon: Lexicon) -> bool:
    return isinstance(judge(candidate, context.profile, lexicon=lexicon), Accepted)


GENERIC = "generic"  # the format of observed messages
_LONGEST = 200_000  # maximum characters of one entry
MOST, KEEP = 50, 20  # if there are more than MOST entries, the latest KEEP stay verbatim and the others are summarised


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Working memory: ``notes`` about the past, and the latest ``entries`` verbatim, in order.

    ``summarized`` is the number of entries that the notes summarize.
    """

    notes: tuple[WorkNote, ...] = ()
    entries: tuple[Event, ...] = ()
    summarized: int = 0


class Session:
    """The transcript at ``path`` and the candidates in it. ``directory`` identifies the project. If there are more than ``most``
    entries, the older ones become notes, and the latest ``keep`` stay.
    """

    def __init__(self, workspace: Workspace, path: Path, directory: str, *, most: int = MOST, keep: int = KEEP) -> None:
        if not 0 < keep <= most:
            raise UsageError("working memory needs 0 < keep <= most", hint=f"the usual is keep={KEEP}, most={MOST}")
        self.path = path
        self.window = Window()
        self.scope = workspace.scope(directory, str(path))
        self._workspace, self.directory, self._most, self._keep = workspace, directory, most, keep
        self._cursor, self._watched = Cursor(), ObservedConversation()
        self.profile = workspace.profile_for(GENERIC, directory, str(path))
        self._engine = ExtractionContext(profile=self.profile, scope=self.scope)
        self._clean = partial(clean, redact=partial(redact, key=workspace.store.key("redaction")), limits=Limits())
        self.read_new()

    def find_unread(self) -> list[Path]:
        """Return this transcript, and the transcripts beside it that have content which is not archived yet."""
        archive = self._workspace.store.archive
        paths = {path: archive.cursor(GENERIC, str(path)) for path in sorted(self.path.parent.glob("*.jsonl"))}
        return [
            path for path, cursor in paths.items() if path == self.path or cursor is None or cursor.offset < path.stat().st_size
        ]

    def append_records(self, records: Sequence[Mapping[str, object]]) -> None:
        """Append records without their secrets. When this returns, they are on disk. Raises OSError."""
        key = self._workspace.store.key("redaction")
        for record in records:
            defaults: dict[str, object] = {"timestamp": format_instant(self._workspace.clock()), "id": uuid4().hex}
            own = {"content": str(record["content"])[:_LONGEST], "session_id": self.path.stem, "cwd": self.directory}
            self._append_line(_redact_fields({**defaults, **record, **own}, key))

    def _append_line(self, body: Mapping[str, object]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        line = (json.dumps(body, ensure_ascii=False, default=str) + "\n").encode("utf-8", "replace")
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            size = os.fstat(handle).st_size
            rest = line if not size or os.pread(handle, 1, size - 1) == b"\n" else b"\n" + line  # a crash left an incomplete line
            while rest:
                rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
        finally:
            os.close(handle)

    def read_new(self) -> Noticed:
        """Add the new part of the transcript to working memory, and return its candidates. If the transcript was rewritten because
        something was forgotten, rebuild working memory.
        """
        live: list[Candidate] = []
        closed: list[Candidate] = []
        source = identify_file(self.path) if self.path.exists() else None
        if source is None or isinstance(source, SkippedFile):
            self.window, self._cursor, self._watched = Window(), Cursor(), ObservedConversation()
            return Noticed()
        for piece in source.read(self.path, self._cursor):
            if REWRITTEN in piece.account.noted:
                self.window, self._watched = Window(), ObservedConversation()
            self._cursor = piece.cursor
            for event in piece.events:
                self.window = _roll_window(self._workspace, self.window, event, most=self._most, keep=self._keep)
                self._watched, noticed = observe_event(self._watched, self._clean(event).event, self._engine)
                live += noticed.live
                closed += noticed.closed
        return Noticed(live=tuple(live), closed=tuple(closed))


def find_withdrawals(
    workspace: Workspace, run: int, paths: Sequence[Path], scopes: Sequence[str]
) -> tuple[list[Memory], tuple[str, ...]]:
    """Return the memories that a run retired because the person withdrew them, and messages about withdrawals without effect."""
    log, archive = workspace.store.log, workspace.store.archive
    threads = (thread for path in paths for thread in archive.threads(path=str(path)))
    asked = [
        (proposal.pass_id, proposal.judged.candidate)
        for thread in threads
        for proposal in log.thread_proposals(thread.id, 0)
        if proposal.judged.candidate.trigger == WITHDRAWAL and proposal.judged.candidate.scope in scopes
    ]
    own_passes = {made.id for made in log.passes({number for number, _ in asked}) if made.run == run} if asked else set()
    candidates = [candidate for number, candidate in asked if number in own_passes]
    taken = [item for item in log.memories() if item.reason.startswith(TAKEN_BACK) and item.scope in scopes] if candidates else []
    latest = {memory.id: log.operations_on(memory.id)[-1] for memory in taken}
    withdrawn = [memory for memory in taken if latest[memory.id][0].run == run]
    met = {latest[memory.id][1].at for memory in withdrawn}
    unmet = dict.fromkeys(candidate.content for candidate in candidates if candidate.at not in met)
    return withdrawn, tuple(f"{content!r} does not identify one memory; list() shows all, forget() erases one" for content in unmet)


def _roll_window(workspace: Workspace, window: Window, event: Event, *, most: int, keep: int) -> Window:
    """Add an entry to working memory. Above ``most`` entries, the latest ``keep`` stay and the older ones become notes."""
    entries = (*window.entries, event)
    if len(entries) <= most:
        return Window(notes=window.notes, entries=entries, summarized=window.summarized)
    older = entries[:-keep]
    return Window(
        notes=(*window.notes, *_make_notes(workspace, older, window.summarized)),
        entries=entries[-keep:],
        summarized=window.summarized + len(older),
    )


def _make_notes(workspace: Workspace, events: Sequence[Event], base: int) -> Iterator[WorkNote]:
    runs = [(topic.start, topic.stop) for topic in find_topics(events, lexicon=choose_lexicon(events, workspace.languages))]
    return build_notes(events, runs, lambda at: at.astimezone(workspace.zone).date(), base=base)


def _redact_fields(fields: Mapping[str, object], key: bytes) -> dict[str, object]:
    return {redact(str(name), key=key).text: _redact_value(value, key) for name, value in fields.items()}


def _redact_value(value: object, key: bytes) -> object:
    match value:
        case str():
            return redact(value, key=key).text
        case Mapping():
            return _redact_fields(value, key)
        case list() | tuple():
            return [_redact_value(item, key) for item in value]
    return value
