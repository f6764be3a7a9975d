"""Replay recorded replies to kept's questions about annotated transcripts without calling a model.

A reader is a model or person that answered the questions without seeing the annotations. Each reader has a folder with one file per
question (see ``benchmarks/replies``). The subfolder ``trial`` contains the reader's replies to the ten trial
questions (01.json to 10.json). Parsing, checks and curation are those of a run, so the result shows what they accept, and where
each passage worth keeping is lost.

A reply names events by number, but the numbers change if a conversation is read or split differently. Therefore a manifest near the
replies lists, for each question, its sessions, and for each typed event a hash of the beginning of its words. With these hashes,
the events are found in the current questions. Each claim goes to the question that contains the event it names.

The folder ``adversarial`` contains replies that are meant to deceive: ``session.jsonl`` (one conversation) and ``cases.jsonl``
(``name`` and ``reply``, an object or a text). For each case, several runs in a fresh store ask a scripted model, which answers
every question about the conversation with that reply. The result shows the active memories, and whether a question is paid for
twice.
"""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kept.core.digest import digest
from kept.core.errors import UsageError
from kept.core.memory import UNDERSTOOD, Accepted, CandidateVerdict, Held, Refused, Status
from kept.core.spans import typed_text
from kept.core.text import one_line
from kept.core.value import dataclass, field, replace
from kept.curation.passes import curate_changed_groups
from kept.evaluation.turns import (
    ACTIVE,
    AnnotatedTurn,
    KeepPassage,
    TurnScore,
    compare_with_turns,
    is_overlapping,
    load_annotations,
    normalize_text,
)
from kept.extraction.extract_threads import extract_pending
from kept.extraction.llm_extraction import Trust, extract_with_llm
from kept.extraction.questions.question import END, PURPOSE, SCHEMA
from kept.intake.discovery import discover
from kept.intake.projects import record_projects
from kept.intake.reading import archive_files
from kept.llm.adapters.scripted import ScriptedModel
from kept.llm.ask import Ask, CompleteReply, Fault, Reply, UnreachableReply, UnreadableReply
from kept.llm.client import LlmClient
from kept.llm.replies import TRIES, ReplyCache
from kept.llm.reply import InvalidReply, parse_reply
from kept.local.progress import Progress, ignore_progress
from kept.memories.browse import to_export
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.trial import TrialScore, load_questions, score_replies
from kept.workspace import Opener, RunNumber, Workspace

MANIFEST = "manifest.json"
_BEGIN = "<conversation>"
_OPENING = 60  # characters at the beginning of typed words or of a passage by which they are found
_EVENT = re.compile(r"(?m)^\[e(\d+)\] (\w+)")
_TAG = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r"\d+")
_NONE = UnreachableReply(reason="no recorded reply", fault=Fault.SETUP)

Typed = Sequence[tuple[int, str]]
"""The typed events of a question, as pairs of the event's number and a hash of the beginning of its words."""


def question_id(ask: Ask) -> str:
    """The id of a question: a hash of its conversation and its lead (earlier events that are shown as context).

    The id does not depend on hints, reminder and system prompt.
    """
    return digest(ask.prompt.rpartition(END)[0])[:10]


def typed_events(ask: Ask) -> tuple[tuple[int, str], ...]:
    """The typed events of a question's conversation (:data:`Typed`). The lead (earlier events as context) is left out."""
    openings = (
        (number, normalize_text(_TAG.sub(" ", text))[:_OPENING]) for number, who, text in _parse_events(ask) if who == "person"
    )
    return tuple((number, digest(opening)[:8]) for number, opening in openings if opening)


def _parse_events(ask: Ask) -> Iterator[tuple[int, str, str]]:
    """Yield the number, author and text of each event of the conversation."""
    text = ask.prompt.partition(_BEGIN)[2].rpartition(END)[0]
    heads = list(_EVENT.finditer(text))
    for head, stop in zip(heads, [*(found.start() for found in heads[1:]), len(text)], strict=False):
        yield int(head[1]), head[2], text[head.end() + 1 : stop]


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """A recorded reply, with the sessions and typed events of its question.

    If no manifest lists the question, both are empty, and the reply only answers the question with the same id.
    """

    id: str
    text: str
    sessions: frozenset[str] = frozenset()
    typed: tuple[tuple[int, str], ...] = ()


def load_recordings(reader: Path) -> tuple[Recording, ...]:
    """Load the replies in the folder of one reader. Raises UsageError if the manifest cannot be read."""
    manifest = load_manifest(reader)
    return tuple(
        Recording(
            id=path.stem,
            text=path.read_text(encoding="utf-8", errors="replace"),
            sessions=frozenset(manifest.get(path.stem, {}).get("sessions", ())),
            typed=tuple(_read_typed(manifest.get(path.stem, {}).get("typed", ""))),
        )
        for path in sorted(reader.glob("*.json"))
        if path.name != MANIFEST
    )


def load_manifest(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """Load the manifest in the folder or, if it has none, up to two folders above. Returns its rows by question id.

    Empty if there is no manifest. Raises UsageError if it cannot be read.
    """
    path = next((place / MANIFEST for place in (folder, *folder.parents[:2]) if (place / MANIFEST).is_file()), None)
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["questions"] if path else []
        return {str(row["id"]): row for row in rows}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UsageError(f"the manifest cannot be read: {error}", where=str(path)) from error


def format_typed(ask: Ask) -> str:
    """Format the typed events of a question as in the manifest."""
    return " ".join(f"{number}:{mark}" for number, mark in typed_events(ask))


def _read_typed(text: str) -> Iterator[tuple[int, str]]:
    for part in text.split():
        number, _, mark = part.partition(":")
        yield int(number), mark


@dataclass(kw_only=True, slots=True)
class RecordedReplies:
    """Answers questions with recorded replies about the same typed words.

    ``asked`` and ``bodies`` map question ids to the questions and to their replies. ``matched`` maps recordings to those of their
    typed events that current questions contain. ``unreadable`` maps unreadable recordings to the reason. ``shown`` lists the texts
    of the matched events. For a recording without typed events, it lists the texts of all events of the question.
    """

    recorded: Sequence[Recording] = ()
    asked: dict[str, Ask] = field(default_factory=dict)
    bodies: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    matched: dict[str, set[int]] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)

    def __call__(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        """Return the recorded reply to each question, or :data:`_NONE` if there is none."""
        return [self._find_recorded(ask) for ask in asks]

    def _find_recorded(self, ask: Ask) -> Reply:
        if ask.purpose != PURPOSE:
            return _NONE
        number, sessions, typed = question_id(ask), frozenset(ask.about), typed_events(ask)
        self.asked[number] = ask
        bodies: list[Mapping[str, Any]] = []
        wrong: UnreadableReply | None = None
        for recording in self.recorded:
            pairs = _pair_events(recording.typed, typed) if recording.sessions & sessions else ()
            if not pairs and recording.id != number:
                continue
            body = parse_reply(recording.text, SCHEMA)
            self.matched.setdefault(recording.id, set()).update(old for old, _ in pairs)
            if isinstance(body, InvalidReply):
                self.unreadable[recording.id] = body.reason
                wrong = UnreadableReply(reason=body.reason, fault=body.fault)
            else:
                here = {event: text for event, _, text in _parse_events(ask)}
                bodies.append(body if recording.id == number else _renumber_reply(body, pairs, here.keys()))
                self.shown += [here[new] for _, new in pairs] if recording.typed else here.values()
        if not bodies:
            return wrong or _NONE
        self.bodies[number] = {
            "memories": [claim for body in bodies for claim in body["memories"]],
            "notes": {kind: [point for body in bodies for point in body["notes"][kind]] for kind in bodies[0]["notes"]},
        }
        return CompleteReply(body=self.bodies[number])


def _pair_events(old: Typed, new: Typed) -> tuple[tuple[int, int], ...]:
    """Return the typed events that two questions share, in order, as pairs of their numbers (old, new)."""
    matcher = SequenceMatcher(None, [mark for _, mark in old], [mark for _, mark in new], autojunk=False)
    blocks = matcher.get_matching_blocks()
    return tuple((old[at.a + n][0], new[at.b + n][0]) for at in blocks for n in range(at.size))


def _renumber_reply(body: Mapping[str, Any], pairs: Sequence[tuple[int, int]], here: Collection[int]) -> Mapping[str, Any]:
    """Renumber the events in a reply for another question. Claims and points about events that are not in it are removed."""
    starts = [old for old, _ in pairs]

    def renamed(name: str) -> str:
        match = _NUMBER.search(name)
        if match is None:
            return name
        old, new = pairs[max(0, bisect_right(starts, int(match[0])) - 1)]
        return f"e{int(match[0]) - old + new}"

    def is_here(names: Iterable[str]) -> bool:
        first = next((renamed(name) for name in names if name), "")
        return first[1:].isdigit() and int(first[1:]) in here

    def cited(quotes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [{**quote, "event": renamed(quote["event"])} for quote in quotes]

    return {
        "memories": [
            {**claim, "event": renamed(claim["event"]), "quotes": cited(claim["quotes"])}
            for claim in body["memories"]
            if is_here([claim["event"], *(quote["event"] for quote in claim["quotes"])])
        ],
        "notes": {
            kind: [{**point, "events": [renamed(name) for name in point["events"]]} for point in points if is_here(point["events"])]
            for kind, points in body["notes"].items()
        },
    }


TRIAL = "trial"  # the subfolder with a reader's replies to the trial
_BY, _COMMAND = "recorded replies", "eval"
_LEFT_OUT = re.compile(r"…|\.{3}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayResult:
    """The result of one reader's replies.

    ``replies`` is a pair: the number of replies that answer a current question, and of all replies. ``turns`` is such a pair for
    the typed turns they are about. ``questions`` counts the answered questions. ``unreadable`` maps replies to the error in them.
    ``memories`` are the exported memories of the model, and ``score`` is their score. ``losses`` counts, by importance, the
    outcomes of the passages worth keeping. ``trial`` is the trial's score, if the reader took it. The claims of a reader that
    failed the trial are held, as in a run.
    """

    reader: str
    replies: tuple[int, int]
    turns: tuple[int, int]
    questions: int
    unreadable: Mapping[str, str]
    score: TurnScore
    losses: Mapping[int, Counter[str]]
    memories: tuple[Mapping[str, Any], ...]
    trial: TrialScore | None


UNSHOWN, UNPROPOSED, MERGED = "not in the prompt", "not proposed", "merged or replaced"


def collect_questions(
    open_workspace: Opener, transcripts: Path, *, progress: Progress = ignore_progress
) -> tuple[dict[str, Ask], dict[str, str]]:
    """Return the questions that a run would ask about transcripts by id, and the file names of the transcripts by session."""
    recorded_replies = RecordedReplies()
    with _read_without_model(open_workspace, [transcripts], progress) as workspace:
        extract_with_llm(workspace, RunNumber(workspace, _COMMAND), recorded_replies, by=_BY)
        files = {thread.session: Path(thread.path).name for thread in workspace.store.archive.threads()}
    return recorded_replies.asked, files


def replay_recordings(
    open_workspace: Opener, folder: Path, annotated: Path, transcripts: Path, *, progress: Progress = ignore_progress
) -> tuple[ReplayResult, ...]:
    """Replay the recorded replies of each reader (one folder each). Raises UsageError if there are none."""
    listed = {name for row in load_manifest(folder).values() for name in row.get("files", ())}
    files = [path for path in sorted(transcripts.rglob("*")) if path.name in listed]
    turns = load_annotations(annotated)
    if files:  # the reader was asked only about these files
        turns = tuple(turn for turn in turns if turn.session in {path.stem for path in files})
    readers = {
        path: load_recordings(path)
        for path in (folder, *sorted(folder.iterdir()))
        if path.is_dir() and (any(path.glob("*.json")) or (path / TRIAL).is_dir())
    }
    if not readers:
        raise UsageError("there are no replies in this folder or one below it", where=str(folder))
    with _read_without_model(open_workspace, files or [transcripts], progress) as workspace:
        return tuple(_replay_reader(workspace, path, readers[path], turns) for path in sorted(readers))


@contextmanager
def _read_without_model(open_workspace: Opener, transcripts: Sequence[Path], progress: Progress) -> Iterator[Workspace]:
    """Provide a workspace with a temporary store in which the transcripts have been read without a model."""
    with TemporaryDirectory(prefix="kept-eval-") as home, open_workspace(Path(home)) as workspace:
        number = RunNumber(workspace, _COMMAND)
        reading = archive_files(workspace, discover(workspace, transcripts), progress=progress)
        record_projects(workspace, reading)
        extract_pending(workspace, number, progress=progress)
        curate_changed_groups(workspace, number)
        yield workspace


def _replay_reader(
    workspace: Workspace, reader: Path, recorded: Sequence[Recording], turns: Sequence[AnnotatedTurn]
) -> ReplayResult:
    recorded_replies, trial = RecordedReplies(recorded=recorded), _score_trial(reader)
    trust = Trust.NOTHING if trial is not None and not trial.passes else Trust.CLAIMS
    with workspace.store.trial_transaction():  # rolled back, so that the next reader starts from the same store
        number = RunNumber(workspace, _COMMAND)
        extract_with_llm(workspace, number, recorded_replies, by=_BY, trust=trust)
        curate_changed_groups(workspace, number)
        memories = [to_export(workspace, memory) | {"trigger": memory.trigger} for memory in workspace.store.log.memories()]
        judged = [verdict for verdict in workspace.store.log.all_judged_candidates() if verdict.candidate.trigger == UNDERSTOOD]
    return replace(_compare_replies(reader.name, recorded_replies, turns, memories, judged), trial=trial)


def _score_trial(reader: Path) -> TrialScore | None:
    """Score a reader's trial. None if it did not take the trial. A question without a reply counts as unreadable."""
    if not (reader / TRIAL).is_dir():
        return None
    paths = [reader / TRIAL / f"{number:02}.json" for number in range(1, len(load_questions()) + 1)]
    found = [parse_reply(path.read_text(encoding="utf-8") if path.is_file() else "", SCHEMA) for path in paths]
    replies = [
        UnreadableReply(reason=body.reason) if isinstance(body, InvalidReply) else CompleteReply(body=body) for body in found
    ]
    return score_replies(reader.name, replies)


def _compare_replies(
    reader: str,
    recorded_replies: RecordedReplies,
    turns: Sequence[AnnotatedTurn],
    memories: Sequence[Mapping[str, Any]],
    judged: Sequence[CandidateVerdict],
) -> ReplayResult:
    answered = normalize_text("\n".join(recorded_replies.shown))
    every = normalize_text("\n".join(ask.prompt for ask in recorded_replies.asked.values()))
    proposed = [quote for body in recorded_replies.bodies.values() for claim in body["memories"] for quote in _claim_quotes(claim)]
    losses: dict[int, Counter[str]] = {level: Counter() for level in (3, 2, 1)}
    scope = [turn for turn in turns if _is_in_text(turn.text, answered)]
    for turn in turns:
        for keep in turn.keep:
            if not _is_in_text(keep.quote, every):
                losses[keep.importance][UNSHOWN] += 1
            elif _is_in_text(keep.quote, answered):
                losses[keep.importance][_passage_outcome(turn, keep, proposed, judged, memories)] += 1
    understood = tuple(memory for memory in memories if memory["trigger"] == UNDERSTOOD)
    return ReplayResult(
        reader=reader,
        trial=None,
        replies=(len(recorded_replies.matched), len(recorded_replies.recorded)),
        turns=(
            sum(map(len, recorded_replies.matched.values())),
            sum(len(recording.typed) for recording in recorded_replies.recorded),
        ),
        questions=len(recorded_replies.bodies),
        unreadable=recorded_replies.unreadable,
        score=compare_with_turns(scope, understood),
        losses=losses,
        memories=understood,
    )


def _passage_outcome(
    turn: AnnotatedTurn,
    keep: KeepPassage,
    proposed: Iterable[str],
    judged: Sequence[CandidateVerdict],
    memories: Iterable[Mapping[str, Any]],
) -> str:
    live = (quote["quote"] for memory in memories if memory["status"] == ACTIVE for quote in memory["evidence"])
    if any(_is_covered_by(quote, turn, keep) for quote in live):
        return ACTIVE
    if not any(_is_covered_by(quote, turn, keep) for quote in proposed):
        return UNPROPOSED
    fates = [
        candidate_verdict.verdict
        for candidate_verdict in judged
        if any(_is_covered_by(item.quote, turn, keep) for item in candidate_verdict.candidate.evidence)
    ]
    if any(isinstance(verdict, Accepted) for verdict in fates):
        return MERGED
    held = next((f"held: {verdict.reason}" for verdict in fates if isinstance(verdict, Held)), "")
    return held or next((f"refused: {verdict.reason}" for verdict in fates if isinstance(verdict, Refused)), "lost in reading")


def _is_covered_by(quote: str, turn: AnnotatedTurn, keep: KeepPassage) -> bool:
    return _is_in_text(quote, normalize_text(turn.text)) and is_overlapping(quote, keep.quote)


def _is_in_text(passage: str, text: str) -> bool:
    """True if a normalized text contains the beginning of a passage."""
    opening = normalize_text(_LEFT_OUT.split(passage)[0])[:_OPENING]
    return bool(opening) and opening in text


def _claim_quotes(claim: Mapping[str, Any]) -> list[str]:
    return [claim["passage"], *(item["quote"] for item in claim["quotes"])]


FOLDER = "adversarial"
_NOTHING: Mapping[str, Any] = {"operations": [], "problems": [], "solutions": [], "decisions": [], "questions": []}


@dataclass(frozen=True, kw_only=True, slots=True)
class AdversarialResult:
    """The result of an adversarial reply.

    ``believed`` are the active memories with words that the person did not type. ``taken`` are those with words that the person
    typed. ``paid`` counts the requests beyond the one that each question needs.
    """

    name: str
    believed: tuple[str, ...]
    taken: tuple[str, ...]
    paid: int


def run_adversarial_cases(open_workspace: Opener, folder: Path) -> tuple[AdversarialResult, ...]:
    """Run each adversarial case of a folder. Empty if it has none."""
    cases = folder / FOLDER / "cases.jsonl"
    if not cases.is_file():
        return ()
    rows = [json.loads(line) for line in cases.read_text(encoding="utf-8").splitlines() if line.strip()]
    return tuple(_run_adversarial_case(open_workspace, row, cases.with_name("session.jsonl")) for row in rows)


def _run_adversarial_case(open_workspace: Opener, row: Mapping[str, Any], session: Path) -> AdversarialResult:
    asked: list[str] = []

    def reply(ask: Ask) -> Mapping[str, Any] | str:
        if ask.purpose != PURPOSE:
            return _NOTHING
        asked.append(ask.prompt)
        said: Mapping[str, Any] | str = row["reply"]
        return said

    with TemporaryDirectory(prefix="kept-eval-") as home, open_workspace(Path(home)) as opened:
        asker = LlmClient(lambda: ScriptedModel(reply), replies=ReplyCache(opened.paths.replies), clock=opened.clock)
        workspace = replace(opened, llm=asker)
        run_pipeline(workspace, [session], RunOptions())
        due = TRIES if asker.tally.unreadable else 1
        for _ in range(due):
            run_pipeline(workspace, [session], RunOptions())
        log, archive = workspace.store.log, workspace.store.archive
        events = (event for thread in archive.threads() for event in archive.events(thread.id, 0, thread.events))
        typed = one_line("\n".join(map(typed_text, events)))
        words = [
            one_line(memory.content) for memory in log.memories() if memory.trigger == UNDERSTOOD and memory.status is Status.ACTIVE
        ]
    return AdversarialResult(
        name=row["name"],
        believed=tuple(word for word in words if word not in typed),
        taken=tuple(word for word in words if word in typed),
        paid=max(0, len(asked) - due * len(set(asked))),
    )
