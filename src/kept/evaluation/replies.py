"""Recorded replies: what becomes of what readers answered to kept's own questions about annotated transcripts, without any model.

A folder of replies holds one file a question, named by the question's id (see ``benchmarks/replies``). Reading, checks and curation
are those of a run, so that it shows what they let through, and where each passage worth keeping was lost.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kept.core.digest import digest
from kept.core.errors import UsageError
from kept.core.memory import UNDERSTOOD, Accepted, Held, Judged, Refused
from kept.curation.passes import curate_dirty
from kept.evaluation.turns import Annotated, Keep, TurnScore, against, annotations, overlap, plain
from kept.extraction.llm_extraction import hear
from kept.extraction.questions import END
from kept.llm.ask import Answered, Ask, Fault, Reply, Unreachable, Unreadable
from kept.llm.reply import Wrong, understand
from kept.local.progress import Progress, silent
from kept.memories.browse import exported
from kept.pipeline.run import Options, run
from kept.store.run_number import RunNumber
from kept.workspace import Opener, Workspace

_OPENING = 60  # characters of a passage by which it is found in a question
_BY, _COMMAND = "recorded replies", "eval"
_LEFT_OUT = re.compile(r"…|\.{3}")


def question_id(ask: Ask) -> str:
    """The id of a question: of the words that are read, whatever the prompt around them says."""
    return digest(ask.prompt.rpartition(END)[0])[:10]


@dataclass(kw_only=True, slots=True)
class Shelf:
    """An asking that takes replies from texts by the ids of their questions, and notes which questions there were."""

    texts: Mapping[str, str] = field(default_factory=dict)
    asked: dict[str, Ask] = field(default_factory=dict)
    bodies: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)

    def __call__(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        """A reply to each question: the recorded one, or none."""
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask) -> Reply:
        number = question_id(ask)
        self.asked[number] = ask
        if number not in self.texts:
            return Unreachable(reason="no recorded reply", fault=Fault.SETUP)
        found = understand(self.texts[number], ask.schema)
        if isinstance(found, Wrong):
            self.unreadable[number] = found.reason
            return Unreadable(reason=found.reason, fault=found.fault)
        self.bodies[number] = found
        return Answered(body=found)


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """What the replies of one reader come to: how many ``questions`` were answered, why others could not be read, how the memories
    of the model stand (``score``), and by importance what became of each passage worth keeping (``losses``).
    """

    reader: str
    questions: int
    unreadable: Mapping[str, str]
    score: TurnScore
    losses: Mapping[int, Counter[str]]


ACTIVE, UNSHOWN, UNPROPOSED, MERGED = "active", "not in the prompt", "not proposed", "merged or replaced"


def prepared(open_desk: Opener, transcripts: Path, *, progress: Progress = silent) -> dict[str, Ask]:
    """Every question that a run would ask about transcripts, by its id."""
    shelf = Shelf()
    with _read_without_model(open_desk, transcripts, progress) as workspace:
        hear(workspace, RunNumber(workspace.store.log, workspace.clock, _COMMAND), shelf, by=_BY)
    return shelf.asked


def replayed(
    open_desk: Opener, folder: Path, annotated: Path, transcripts: Path, *, progress: Progress = silent
) -> tuple[Replayed, ...]:
    """What the recorded replies come to, reader by reader (a folder each). Raises UsageError where there are none."""
    turns = annotations(annotated)
    readers = sorted(path for path in (folder, *folder.iterdir()) if path.is_dir() and any(path.glob("*.json")))
    if not readers:
        raise UsageError("there are no replies in this folder or one below it", where=str(folder))
    with _read_without_model(open_desk, transcripts, progress) as workspace:
        return tuple(_replay(workspace, reader, turns) for reader in readers)


@contextmanager
def _read_without_model(open_desk: Opener, transcripts: Path, progress: Progress) -> Iterator[Workspace]:
    """A store, gone afterwards, in which transcripts are read and no model was asked."""
    with TemporaryDirectory(prefix="kept-eval-") as made, open_desk(Path(made)) as workspace:
        run(workspace, [transcripts], Options(model=False), progress=progress)
        yield workspace


def _replay(workspace: Workspace, reader: Path, turns: Sequence[Annotated]) -> Replayed:
    shelf = Shelf(texts={path.stem: path.read_text(encoding="utf-8", errors="replace") for path in reader.glob("*.json")})
    with workspace.store.trial():  # the next reader finds the store as this one did
        number = RunNumber(workspace.store.log, workspace.clock, _COMMAND)
        hear(workspace, number, shelf, by=_BY)
        curate_dirty(workspace, number)
        memories = [exported(workspace, each) | {"trigger": each.trigger} for each in workspace.store.log.memories()]
        judged = [each for each in workspace.store.log.every_proposal() if each.candidate.trigger == UNDERSTOOD]
    return _compared(reader.name, shelf, turns, memories, judged)


def _compared(
    reader: str, shelf: Shelf, turns: Sequence[Annotated], memories: Sequence[Mapping[str, Any]], judged: Sequence[Judged]
) -> Replayed:
    answered = plain("\n".join(shelf.asked[number].prompt for number in shelf.bodies))
    every = plain("\n".join(ask.prompt for ask in shelf.asked.values()))
    proposed = [quote for body in shelf.bodies.values() for claim in body["memories"] for quote in _quotes(claim)]
    losses: dict[int, Counter[str]] = {level: Counter() for level in (3, 2, 1)}
    scope = [turn for turn in turns if _stands(turn.text, answered)]
    for turn in turns:
        for keep in turn.keep:
            if not _stands(keep.quote, every):
                losses[keep.importance][UNSHOWN] += 1
            elif _stands(keep.quote, answered):
                losses[keep.importance][_fate(turn, keep, proposed, judged, memories)] += 1
    score = against(scope, (each for each in memories if each["trigger"] == UNDERSTOOD))
    return Replayed(reader=reader, questions=len(shelf.bodies), unreadable=shelf.unreadable, score=score, losses=losses)


def _fate(
    turn: Annotated, keep: Keep, proposed: Iterable[str], judged: Sequence[Judged], memories: Iterable[Mapping[str, Any]]
) -> str:
    """What became of a passage worth keeping."""
    live = (quote["quote"] for each in memories if each["status"] == "active" for quote in each["evidence"])
    if any(_covers(quote, turn, keep) for quote in live):
        return ACTIVE
    if not any(_covers(quote, turn, keep) for quote in proposed):
        return UNPROPOSED
    fates = [each.verdict for each in judged if any(_covers(one.quote, turn, keep) for one in each.candidate.evidence)]
    if any(isinstance(verdict, Accepted) for verdict in fates):
        return MERGED
    held = next((f"held: {verdict.reason}" for verdict in fates if isinstance(verdict, Held)), "")
    return held or next((f"refused: {verdict.reason}" for verdict in fates if isinstance(verdict, Refused)), "lost in reading")


def _covers(quote: str, turn: Annotated, keep: Keep) -> bool:
    return _stands(quote, plain(turn.text)) and overlap(quote, keep.quote)


def _stands(passage: str, text: str) -> bool:
    """Whether a passage begins somewhere in a text that is plain already."""
    opening = plain(_LEFT_OUT.split(passage)[0])[:_OPENING]
    return bool(opening) and opening in text


def _quotes(claim: Mapping[str, Any]) -> list[str]:
    return [claim["passage"], *(each["quote"] for each in claim["quotes"])]
