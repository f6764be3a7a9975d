"""Measure a search over so many turns, by words and by meaning: processor milliseconds (median), and memory.

    python benchmarks/search.py [1000 10000 100000 1000000] [--folder DIR]

Turns are made up. Each has 20 words out of 8,000, with frequencies like those of a language (the commonest word is in one turn of
seven; stop words are not searched anyway). One turn of three is an assistant's. The vectors are random and as long as those of the
real model, whose time for a question is measured separately. ``--folder`` says where the stores are made (on a RAM disk a million
turns take minutes).
"""

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np

from kept.core.digest import text_hash
from kept.core.event import Author, Cursor, Event, Pointer, Precision, RecordAccount
from kept.core.event import EventKind as What
from kept.paths import Paths
from kept.recall.embed import create_embedder, hashing
from kept.recall.index import UnitKind
from kept.recall.index.vectors import VectorEntry, update_vectors
from kept.recall.search import search
from kept.workspace import Workspace, open_workspace

SYLLABLES = ("ka", "lo", "mi", "ren", "tas", "vel", "dor", "shi", "pun", "gra", "bel", "quo", "zan", "fir", "hus", "ne")
ROUNDS = 15
CHUNK = 20_000
SESSION = 40
START = datetime(2020, 1, 1, tzinfo=UTC)


class Talk:
    """Made-up texts."""

    def __init__(self) -> None:
        self.chance = random.Random(7)
        self.words = ["".join(self.chance.choices(SYLLABLES, k=self.chance.randint(2, 4))) for _ in range(8_000)]
        self.often = list(accumulate(1 / (rank + 20) for rank in range(len(self.words))))

    def text(self, length: int) -> str:
        """A text of ``length`` words."""
        return " ".join(self.chance.choices(self.words, cum_weights=self.often, k=length))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    talk = Talk()
    model = create_embedder("local", stays=True)
    if model is not None:
        model.embed(["kept"])
        spent = timed(lambda: model.embed([talk.text(6)]))
        several = [talk.text(12) for _ in range(100)]
        started = process_time()
        model.embed(several)
        rate = len(several) / (process_time() - started)
        print(f"{model.name}: a question of six words {spent:.1f} ms; {rate:,.0f} sentences of some 30 tokens a processor second")
    for size in given.sizes:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            subprocess.run([sys.executable, "-c", PROGRAM, folder, str(size)], check=True, cwd=Path(__file__).parent)


PROGRAM = "import sys; from pathlib import Path; import search; search.measured(Path(sys.argv[1]), int(sys.argv[2]))"


def measured(folder: Path, size: int) -> None:
    """Measure one size, each kind of search in a separate process, so that its memory is measured alone."""
    talk = Talk()
    with open_workspace(Paths(root=folder, user=folder), zone="UTC", env={"KEPT_EMBEDDINGS": "hashing"}) as workspace:
        started, clock = process_time(), perf_counter()
        filled(workspace, size, talk)
        made = f"archived at {size / (process_time() - started):,.0f} a processor second ({perf_counter() - clock:.0f} s)"
        mb = [each.stat().st_size / 2**20 for each in (workspace.paths.store, workspace.paths.vectors)]
        print(f"{size:,} turns {made}; store {mb[0]:.0f} MB, vectors {mb[1]:.0f} MB")
    for way in ("words", "words and meaning"):  # in separate processes, to measure the memory of each
        subprocess.run([sys.executable, "-c", ASK, str(folder), way], check=True, cwd=Path(__file__).parent)


ASK = "import sys; from pathlib import Path; import search; search.told(Path(sys.argv[1]), sys.argv[2])"


def told(folder: Path, way: str) -> None:
    talk, meaning = Talk(), way != "words"
    hashing.HashingEmbedder = Random  # type: ignore[assignment,misc] # replaces the model that made the vectors
    with open_workspace(Paths(root=folder, user=folder), zone="UTC", env={"KEPT_EMBEDDINGS": "hashing"}) as workspace:
        for kind, where in (("turns", (UnitKind.TURN,)), ("everything", tuple(UnitKind))):
            search(workspace, talk.text(6), where=where, meaning=meaning)
            ask = partial(search, workspace, where=where, meaning=meaning)
            spent = [timed(lambda ask=ask: ask(talk.text(6)), 1) for _ in range(ROUNDS)]
            print(f"  {way}, {kind}: {median(spent):.1f} ms of the processor (most {max(spent):.0f})")
    told_memory()


def told_memory() -> None:
    """Print the peak memory of this process, and how much memory is its own rather than pages of files."""
    status = Path("/proc/self/status")
    found = dict(line.split(":", 1) for line in status.read_text().splitlines()) if status.exists() else {}
    most, own = (int(found.get(name, "0").split()[0]) / 1024 for name in ("VmHWM", "RssAnon"))
    print(f"  memory at most {most:.0f} MB, its own {own:.0f} MB")


def filled(workspace: Workspace, size: int, talk: Talk) -> None:
    model = Random()
    for start in range(0, size, CHUNK):
        events = [turn(number, talk.text(20)) for number in range(start, min(start + CHUNK, size))]
        with workspace.store.transaction():
            for session, group in groupby(events, key=lambda each: each.session):
                said = list(group)
                account = RecordAccount(records=len(said), kept=len(said), events=len(said))
                workspace.store.archive.add_slice("eval", session, said, account, Cursor(), anew=False)
        mine = [(start + place + 1, each.text) for place, each in enumerate(events) if each.author is Author.HUMAN]
        vectors = model.embed([text for _, text in mine])
        entries = [
            VectorEntry(kind=UnitKind.TURN, item=row, mark=text_hash(text), vector=vector)
            for (row, text), vector in zip(mine, vectors, strict=True)
        ]
        update_vectors(workspace.paths.vectors, model.name, {}, entries)
    workspace.store.queue.remove(workspace.store.queue.pending_units())


def turn(number: int, text: str) -> Event:
    reply, session = number % 3 == 2, f"s{number // SESSION}"
    return Event(
        key=str(number),
        twin="",
        session=session,
        record=str(number),
        parent="",
        turn="",
        kind=What.RESPONSE if reply else What.PROMPT,
        author=Author.ASSISTANT if reply else Author.HUMAN,
        label_reason="made up",
        text=text,
        at=START + timedelta(minutes=number),
        precision=Precision.SESSION,
        project="",
        branch="",
        tool=None,
        pointer=Pointer(path=session, line=1, start=0, end=0),
    )


class Random:
    """A model with random vectors: as long as those of the real one, always the same for a text, and made at no cost."""

    name = "random/1"

    def embed(self, texts: Sequence[str], *, question: bool = False) -> np.ndarray:  # noqa: ARG002 - as the others
        """One unit vector per text."""
        made = np.stack([np.random.default_rng(text_hash(each)).standard_normal(896, np.float32) for each in texts])
        return made / np.linalg.norm(made, axis=1, keepdims=True)


def timed(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The median processor milliseconds of an action."""
    spent = []
    for _ in range(rounds):
        started = process_time()
        action()
        spent.append(process_time() - started)
    return median(spent) * 1000


if __name__ == "__main__":
    main()
