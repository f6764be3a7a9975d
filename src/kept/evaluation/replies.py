"""Recorded replies: what becomes of what readers answered to kept's own questions about annotated transcripts, without any model.

A folder of replies holds one file a question (see ``benchmarks/replies``), found again by :mod:`kept.evaluation.recordings`.
Reading, checks and curation are those of a run, so that it shows what they let through, and where each passage worth keeping was
lost.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kept.core.errors import UsageError
from kept.core.memory import UNDERSTOOD, Accepted, Held, Judged, Refused
from kept.curation.passes import curate_dirty
from kept.evaluation.recordings import Recording, Shelf, manifest, recordings
from kept.evaluation.turns import Annotated, Keep, TurnScore, against, annotations, overlap, plain
from kept.extraction.extract_threads import extract_pending
from kept.extraction.llm_extraction import hear
from kept.intake.projects import record
from kept.intake.reading import archive_files, discover
from kept.llm.ask import Ask
from kept.local.progress import Progress, silent
from kept.memories.browse import exported
from kept.store.run_number import RunNumber
from kept.workspace import Opener, Workspace

_OPENING = 60  # characters of a passage by which it is found in a question
_BY, _COMMAND = "recorded replies", "eval"
_LEFT_OUT = re.compile(r"…|\.{3}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """What the replies of one reader come to: how many of them answer a question of today, and how many there are (``replies``);
    the same of the typed ``turns`` that they are about; why others could not be read; how the memories of the model stand
    (``score``); by importance what became of each passage worth keeping (``losses``).
    """

    reader: str
    replies: tuple[int, int]
    turns: tuple[int, int]
    questions: int
    unreadable: Mapping[str, str]
    score: TurnScore
    losses: Mapping[int, Counter[str]]


ACTIVE, UNSHOWN, UNPROPOSED, MERGED = "active", "not in the prompt", "not proposed", "merged or replaced"


def prepared(open_desk: Opener, transcripts: Path, *, progress: Progress = silent) -> tuple[dict[str, Ask], dict[str, str]]:
    """Every question that a run would ask about transcripts, by its id; and by session the name of its file."""
    shelf = Shelf()
    with _read_without_model(open_desk, [transcripts], progress) as workspace:
        hear(workspace, RunNumber(workspace.store.log, workspace.clock, _COMMAND), shelf, by=_BY)
        files = {each.session: Path(each.path).name for each in workspace.store.archive.threads()}
    return shelf.asked, files


def replayed(
    open_desk: Opener, folder: Path, annotated: Path, transcripts: Path, *, progress: Progress = silent
) -> tuple[Replayed, ...]:
    """What the recorded replies come to, reader by reader (a folder each). Raises UsageError where there are none."""
    told = {name for row in manifest(folder).values() for name in row.get("files", ())}
    files = [path for path in sorted(transcripts.rglob("*")) if path.name in told]
    turns = annotations(annotated)
    if files:  # of other files nobody was asked
        turns = tuple(each for each in turns if each.session in {path.stem for path in files})
    readers = {path.name: found for path in (folder, *sorted(folder.iterdir())) if path.is_dir() and (found := recordings(path))}
    if not readers:
        raise UsageError("there are no replies in this folder or one below it", where=str(folder))
    with _read_without_model(open_desk, files or [transcripts], progress) as workspace:
        return tuple(_replay(workspace, name, readers[name], turns) for name in sorted(readers))


@contextmanager
def _read_without_model(open_desk: Opener, transcripts: Sequence[Path], progress: Progress) -> Iterator[Workspace]:
    """A store, gone afterwards, in which transcripts are read and no model was asked."""
    with TemporaryDirectory(prefix="kept-eval-") as made, open_desk(Path(made)) as workspace:
        number = RunNumber(workspace.store.log, workspace.clock, _COMMAND)
        reading = archive_files(workspace, discover(workspace, transcripts), progress=progress)
        record(workspace, reading)
        extract_pending(workspace, number, progress=progress)
        curate_dirty(workspace, number)
        yield workspace


def _replay(workspace: Workspace, reader: str, recorded: Sequence[Recording], turns: Sequence[Annotated]) -> Replayed:
    shelf = Shelf(recorded=recorded)
    with workspace.store.trial():  # the next reader finds the store as this one did
        number = RunNumber(workspace.store.log, workspace.clock, _COMMAND)
        hear(workspace, number, shelf, by=_BY)
        curate_dirty(workspace, number)
        memories = [exported(workspace, each) | {"trigger": each.trigger} for each in workspace.store.log.memories()]
        judged = [each for each in workspace.store.log.every_proposal() if each.candidate.trigger == UNDERSTOOD]
    return _compared(reader, shelf, turns, memories, judged)


def _compared(
    reader: str, shelf: Shelf, turns: Sequence[Annotated], memories: Sequence[Mapping[str, Any]], judged: Sequence[Judged]
) -> Replayed:
    answered = plain("\n".join(shelf.shown))
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
    return Replayed(
        reader=reader,
        replies=(len(shelf.matched), len(shelf.recorded)),
        turns=(sum(map(len, shelf.matched.values())), sum(len(each.typed) for each in shelf.recorded)),
        questions=len(shelf.bodies),
        unreadable=shelf.unreadable,
        score=score,
        losses=losses,
    )


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
