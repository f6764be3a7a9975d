"""Extraction by a model: pending chunks, questions, replies, and judged candidates beside those of the rules.

A conversation is asked about chunk by chunk, and no transaction is open meanwhile. What was answered is committed even where other
chunks were not; those wait for the next run, which gets every reply that was paid for out of the cache. Knows no model and no
price.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kept.core.codec import digest
from kept.core.event import Event
from kept.core.fingerprint import recognised
from kept.core.memory import Accepted, Actor, Candidate, Held, Judged, Refused, Verdict
from kept.core.redact import redact
from kept.core.redact.scanner import scanner
from kept.core.summary import Form, Passage
from kept.extraction.coverage import Coverage, Topic, known, marked, topics
from kept.extraction.extract_threads import Within, overlaps
from kept.extraction.gate import judge
from kept.extraction.questions import TRIGGER, Answer, Chunk, Hint, Reading, answer, as_memories, chunks, hints, narrowed, question
from kept.llm.ask import Answered, Ask, Asking, Reply
from kept.local.progress import Late, Progress, never, silent
from kept.profiles.language import lexicon_of
from kept.profiles.profile import Occasion, Profile
from kept.profiles.prompts import Prompt
from kept.store.values import MODEL, Draft, Proposal, Span, Thread
from kept.workspace import Workspace

CHUNK_TOKENS = 12_000  # far below every price step, and little enough for a small model to keep in view
WINDOW = 4_000  # events looked at together: bounds memory whatever the length of a session
LOOKBACK = 50
_TOGETHER = 24  # questions handed over at once
_REDACTED = "[redacted:"


@dataclass(kw_only=True, slots=True)
class Heard:
    """What asking a model came to.

    ``chunks`` were read, ``again`` of them asked about once more because something looked missed. The candidates are the model's:
    ``confirmed`` of those accepted rest on one of the rules'; ``overruled`` counts those of the rules that it turned down or
    doubts. ``dropped`` counts parts of replies that could not be used. ``left`` threads wait for the next run. ``prompts`` says by
    profile which prompt was used (where it comes from, its version).
    """

    threads: int = 0
    chunks: int = 0
    again: int = 0
    accepted: int = 0
    held: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    confirmed: int = 0
    overruled: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    left: int = 0
    prompts: dict[str, tuple[str, str]] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """The account as JSON."""
        return {
            "sessions": self.threads,
            "chunks": self.chunks,
            "asked_again": self.again,
            "accepted": self.accepted,
            "held": self.held,
            "refused": dict(self.refused),
            "confirmed": self.confirmed,
            "overruled": self.overruled,
            "dropped": dict(self.dropped),
            "left": self.left,
            "prompts": {name: {"origin": origin, "version": version} for name, (origin, version) in self.prompts.items()},
        }

    def count(self, judged: Judged) -> None:
        """Add a judged candidate of the model's."""
        match judged.verdict:
            case Accepted():
                self.accepted += 1
                self.confirmed += bool(judged.candidate.rewords)
            case Held():
                self.held += 1
            case Refused(reason=reason):
                self.refused[reason] += 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A chunk of a thread with its question, and with what the reply is read."""

    thread: Thread
    reading: Reading
    prompt: Prompt
    ask: Ask


def profile_of(workspace: Workspace, thread: Thread) -> Profile:
    """The profile that remembers what a thread tells."""
    return workspace.profile_for(thread.source, thread.project, thread.path)


def parts(workspace: Workspace, thread: Thread, closed: int, *, limit: int = CHUNK_TOKENS) -> Iterator[Part]:
    """The chunks of a thread from the ordinal ``closed`` on with their questions, in order. Raises StoreError, ConfigError."""
    profile = profile_of(workspace, thread)
    prompt = workspace.prompt(profile)
    scope = workspace.scope(thread.project, thread.path)
    proposed = [each.judged for each in workspace.store.log.proposals_from(thread.id, 0)]
    place = closed
    while place < thread.events:
        base, stop = max(0, place - LOOKBACK), min(place + WINDOW, thread.events)
        events = workspace.store.archive.events(thread.id, base, stop)
        found = chunks(events, offset=base, start=place, limit=limit)
        usable = found if stop == thread.events else [each for each in found if each.closed] or found
        shown = {base + number: event for number, event in enumerate(events)}
        for each in usable:
            near = _near(shown, each)
            reading = Reading(
                chunk=each,
                events=near,
                hints=_hints(each, shown, proposed),
                profile=profile,
                lexicon=lexicon_of(tuple(near.values()), profile.languages),
                scope=scope,
            )
            yield Part(thread=thread, reading=reading, prompt=prompt, ask=_ask(reading, prompt, thread))
        place = usable[-1].stop


def _near(shown: dict[int, Event], chunk: Chunk) -> dict[int, Event]:
    return {place: shown[place] for place in range(chunk.start - LOOKBACK, chunk.stop) if place in shown}


def _hints(chunk: Chunk, shown: dict[int, Event], proposed: Iterable[Judged]) -> tuple[Hint, ...]:
    """What rules propose of a chunk, and did not refuse: by the last event it rests on."""
    places = {shown[place].key: place for place in range(chunk.start, chunk.stop)}
    found = []
    for each in proposed:
        cited = [places.get(one.event, -1) for one in each.candidate.evidence]
        if not isinstance(each.verdict, Refused) and cited and max(cited) >= 0:
            found.append((max(cited), each.candidate))
    return hints([each for _, each in sorted(found, key=lambda each: (each[0], each[1].id))])


def _ask(reading: Reading, prompt: Prompt, thread: Thread, missed: Sequence[str] = ()) -> Ask:
    return question(
        reading.chunk, reading.hints, system=prompt.system, version=prompt.version, about=(thread.session,), missed=missed
    )


def hear(
    workspace: Workspace,
    run: Callable[[], int],
    asking: Asking,
    *,
    by: str,
    force: bool = False,
    within: Within | None = None,
    occasion: Occasion = Occasion.NIGHTLY,
    progress: Progress = silent,
    late: Late = never,
) -> Heard:
    """Ask about every thread that grew since a model read it (every thread whole where ``force``), and note what comes of it.

    ``by`` names the model; it is noted with each pass. Only threads with events in [start, stop) where ``within`` is given, and
    whose profile is extracted on the ``occasion``. ``run`` gives the number of the run, asked for only where something is to be
    noted. Where ``late`` says so nothing more is asked. Raises StoreError, ConfigError, and what ``asking`` raises; what was noted
    before stays.
    """
    waiting = tuple((each, 0) for each in workspace.store.archive.threads()) if force else workspace.store.archive.unheard()
    chosen = [
        (each, closed)
        for each, closed in waiting
        if (within is None or overlaps(each, within)) and profile_of(workspace, each).when.on(occasion)
    ]
    work = _Work(
        workspace=workspace,
        run=run,
        asking=asking,
        by=by,
        heard=Heard(threads=len(chosen)),
        forgotten=workspace.store.log.forgotten(),
    )
    gathered: list[Part] = []
    for number, (thread, closed) in enumerate(chosen):
        if late():
            work.heard.left = len(chosen) - number
            break
        progress("asking", number, len(chosen))
        for part in parts(workspace, thread, closed):
            work.heard.prompts[part.prompt.profile] = (part.prompt.origin, part.prompt.version)
            gathered.append(part)
            if len(gathered) >= _TOGETHER:
                work.take(gathered)
                gathered = []
    if gathered:
        work.take(gathered)
    progress("asking", len(chosen), len(chosen))
    work.heard.left += len(work.blocked)
    return work.heard


@dataclass(kw_only=True, slots=True)
class _Work:
    """A hearing under way. ``blocked`` are the threads of which a chunk was not answered: they are asked about again from there."""

    workspace: Workspace
    run: Callable[[], int]
    asking: Asking
    by: str
    heard: Heard
    forgotten: frozenset[str]
    blocked: set[int] = field(default_factory=set)

    def take(self, gathered: Sequence[Part]) -> None:
        """Ask about some parts, about what was missed in them, and note the outcome thread by thread."""
        answers = self._asked(gathered, [each.ask for each in gathered])
        points = [passages_of(part, found, self._signed(part)) for part, found in zip(gathered, answers, strict=True)]
        judged = [self._judged(part, found) for part, found in zip(gathered, answers, strict=True)]
        complete = [found is not None for found in answers]
        gaps = [(n, gap) for n, each in enumerate(gathered) if complete[n] and (gap := self._gap(each, judged[n])) is not None]
        again = self._asked([gap for _, gap in gaps], [gap.ask for _, gap in gaps])
        self.heard.again += len(gaps)
        for (number, gap), found in zip(gaps, again, strict=True):
            complete[number] = found is not None
            judged[number] += _fresh(self._judged(gap, found), judged[number])
            points[number] += passages_of(gap, found, self._signed(gap))
        for thread in dict.fromkeys(each.thread.id for each in gathered):
            own = [n for n, each in enumerate(gathered) if each.thread.id == thread]
            self._note(
                [gathered[n] for n in own],
                [judged[n] for n in own],
                [answers[n] is not None for n in own],
                [complete[n] for n in own],
                [points[n] for n in own],
            )

    def _asked(self, gathered: Sequence[Part], asks: Sequence[Ask]) -> list[Answer | None]:
        if not asks:
            return []
        return [self._read(part, reply) for part, reply in zip(gathered, self.asking(asks), strict=True)]

    def _read(self, part: Part, reply: Reply) -> Answer | None:
        """What a reply comes to; None where there is none, or none that may be used. Whoever asked accounts for that."""
        if not isinstance(reply, Answered):
            return None
        found = answer(reply.body, part.reading)
        self.heard.dropped.update(found.dropped)
        return found

    def _judged(self, part: Part, found: Answer | None) -> list[tuple[int, Judged]]:
        if found is None:
            return []
        good = {each.candidate.id for each in found.claims if not each.refusal}
        claims = [
            (
                each.ordinal,
                Judged(candidate=each.candidate, verdict=self._verdict(part.reading, each.candidate, each.refusal)),
            )
            for each in found.claims
            if not each.refusal or each.candidate.id not in good  # the same said twice, word for word, is no other claim
        ]
        return [(place, _without_secrets(self.workspace, each)) for place, each in claims] + list(found.overruled)

    def _verdict(self, reading: Reading, candidate: Candidate, refusal: str) -> Verdict:
        if refusal:
            return Refused(reason=refusal)
        if self._is_forgotten(candidate.content):
            return Refused(reason="forgotten")
        return judge(candidate, reading.profile, lexicon=reading.lexicon)

    def _is_forgotten(self, words: str) -> bool:
        return bool(self.forgotten) and recognised(words, self.forgotten, self.workspace.store.key("forget"))

    def _signed(self, part: Part) -> str:
        return f"{self.by}, {told(part.prompt)}"

    def _gap(self, part: Part, judged: Sequence[tuple[int, Judged]]) -> Part | None:
        """What looks missed in a chunk as a part of its own; None where nothing does."""
        reading = part.reading
        missed = missed_of(reading, [each for _, each in judged])
        chunk = narrowed(reading.chunk, [(each.start + reading.chunk.start, each.stop + reading.chunk.start) for each in missed])
        if not missed or not chunk.turns:
            return None
        narrow = replace(reading, chunk=chunk, hints=())
        ask = _ask(narrow, part.prompt, part.thread, tuple(each.told for each in missed))
        return replace(part, reading=narrow, ask=ask)

    def _note(
        self,
        own: Sequence[Part],
        judged: Sequence[list[tuple[int, Judged]]],
        answered: Sequence[bool],
        complete: Sequence[bool],
        points: Sequence[list[Passage]],
    ) -> None:
        """Commit what was answered of a thread, and how far it was read without a hole."""
        thread, start, stop = own[0].thread, own[0].reading.chunk.start, own[-1].reading.chunk.stop
        holes = [part.reading.chunk for part, good in zip(own, answered, strict=True) if not good]
        self.heard.chunks += sum(answered)
        for each in (each for one in judged for each in one):
            if each[1].candidate.trigger == TRIGGER:
                self.heard.count(each[1])
            else:
                self.heard.overruled += 1
        with self.workspace.store.transaction():
            if any(answered):
                before = self.workspace.store.log.proposals_from(thread.id, start, MODEL)
                kept = [
                    (each.ordinal, each.judged)
                    for each in before
                    if each.ordinal >= stop or any(hole.start <= each.ordinal < hole.stop for hole in holes)
                ]
                found = [each for one in judged for each in one]
                span = Span(thread=thread.id, start=start, judged=(*found, *kept))
                commit(self.workspace, self.run, thread, span, before=before, note=self._signed(own[0]))
                for chunk, found_points in zip((each.reading.chunk for each in own), points, strict=True):
                    if chunk not in holes:
                        fresh = [each for each in found_points if not self._is_forgotten(each.text)]
                        self.workspace.store.days.note_points(thread.id, chunk.start, chunk.stop, fresh)
            self._progressed(thread, own, complete)

    def _progressed(self, thread: Thread, own: Sequence[Part], complete: Sequence[bool]) -> None:
        if thread.id in self.blocked:
            return
        first = next((part.reading.chunk for part, good in zip(own, complete, strict=True) if not good), None)
        if first is not None:
            self.blocked.add(thread.id)
            self.workspace.store.archive.heard(thread.id, closed=first.start, seen=first.start)
            return
        last = own[-1].reading.chunk
        self.workspace.store.archive.heard(thread.id, closed=last.stop if last.closed else last.start, seen=last.stop)


def passages_of(part: Part, found: Answer | None, by: str) -> list[Passage]:
    """The points of a reply about a part, as they are stored; those that no time is known of belong to no day, and are left."""
    events = {each.key: (place, each) for place, each in part.reading.events.items()}
    made: list[Passage] = []
    for point in found.points if found else ():
        cited = [events[key] for key in point.events if key in events]
        times = [each.at for _, each in cited if each.at is not None]
        place = max((place for place, _ in cited), default=part.reading.chunk.start)
        place = min(max(place, part.reading.chunk.start), part.reading.chunk.stop - 1)
        if times:
            made.append(
                Passage(
                    id=digest(str(part.thread.id), str(place), point.kind, point.text, size=7),
                    form=Form.POINT,
                    kind=point.kind,
                    text=point.text,
                    at=max(times),
                    events=point.events,
                    sessions=(part.thread.session,),
                    thread=part.thread.id,
                    ordinal=place,
                    by=by,
                )
            )
    return made


def told(prompt: Prompt) -> str:
    """A prompt in a few words: its version, and whose it is where it is not built in."""
    return f"prompt {prompt.version}{f' of {prompt.origin}' if prompt.overridden else ''}"


def commit(
    workspace: Workspace, run: Callable[[], int], thread: Thread, span: Span, *, before: Sequence[Proposal], note: str
) -> None:
    """Note what a model proposes of a thread, unless it is what it proposed ``before``. Raises StoreError."""
    if [(each.ordinal, each.judged) for each in before] == list(span.judged):
        return  # the model says what it said before
    subject = f"{thread.source}:{thread.session}"
    workspace.store.log.commit(
        Draft(run=run(), stage=MODEL, subject=subject, actor=Actor.MACHINE, recorded_at=workspace.clock(), span=span, note=note)
    )


def _fresh(found: Sequence[tuple[int, Judged]], before: Sequence[tuple[int, Judged]]) -> list[tuple[int, Judged]]:
    known = {each.candidate.id for _, each in before}
    return [each for each in found if each[1].candidate.id not in known]


def _without_secrets(workspace: Workspace, judged: Judged) -> Judged:
    """A candidate whose words hold a secret (one that a model guessed or put together) is refused, and kept without it."""
    words = judged.candidate.content
    safe = redact(words, key=workspace.store.key("redaction"), more=scanner()).text
    if _REDACTED not in safe:
        return judged
    return Judged(candidate=replace(judged.candidate, content=safe, artifacts=()), verdict=Refused(reason="secret"))


def missed_of(reading: Reading, judged: Iterable[Judged]) -> tuple[Topic, ...]:
    """The topics of a chunk, found without asking what was extracted, in which the person's words look worth remembering and
    nothing is.
    """
    events = [reading.events[place] for place in range(reading.chunk.start, reading.chunk.stop)]
    live = [(each.candidate, isinstance(each.verdict, Accepted)) for each in judged if not isinstance(each.verdict, Refused)]
    live += [(each.candidate, True) for each in reading.hints]
    return tuple(
        each for each in marked(topics(events, lexicon=reading.lexicon), known(as_memories(live))) if each.state is Coverage.MISSED
    )
