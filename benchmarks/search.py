"""How long a search takes: fresh and warm, by words and by meaning, as ratios to an empty Python process in the same run.

python benchmarks/search.py [1000 10000 ...]
"""

import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from kept.adapters.embed import embedder
from kept.adapters.index import Kind
from kept.app.desk import Desk, Home, opened
from kept.app.evaluating import archive
from kept.app.indexing import bring_up_to_date
from kept.app.recalling import search

SYLLABLES = ("ka", "lo", "mi", "ren", "tas", "vel", "dor", "shi", "pun", "gra", "bel", "quo", "zan", "fir", "hus", "ne")
ROUNDS = 15


def main() -> None:
    chance = random.Random(7)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(8_000)]
    floor = timed(lambda: subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True))
    print(f"an empty Python process: {floor * 1000:.0f} ms (every ratio below is to this)")
    model = embedder("local")
    if model is not None:
        texts = [" ".join(chance.choices(words, k=12)) for _ in range(200)]
        started = perf_counter()
        model.embed(texts)
        print(f"embedding: {len(texts) / (perf_counter() - started):,.0f} sentences of some 30 tokens a second ({model.name})")
    for size in map(int, sys.argv[1:] or ("1000", "10000")):
        with (
            tempfile.TemporaryDirectory() as folder,
            opened(home(Path(folder)), zone="UTC", env={"KEPT_EMBEDDINGS": "hashing"}) as desk,
        ):
            filled(desk, size, words, chance)
            told(desk, size, words, chance, floor)


def home(folder: Path) -> Home:
    return Home(root=folder, user=folder)


def filled(desk: Desk, size: int, words: list[str], chance: random.Random) -> None:
    started = perf_counter()
    archive(
        desk,
        [
            {"id": str(n), "session": f"s{n // 40}", "role": "user", "text": " ".join(chance.choices(words, k=20))}
            for n in range(size)
        ],
    )
    archived = perf_counter() - started
    started = perf_counter()
    bring_up_to_date(desk, float("inf"))
    print(f"{size:,} turns: archived at {size / archived:,.0f}/s, vectors noted at {size / (perf_counter() - started):,.0f}/s")


def told(desk: Desk, size: int, words: list[str], chance: random.Random, floor: float) -> None:
    for name, meaning in (("by words", False), ("by words and meaning", True)):
        spent = timed(
            lambda meaning=meaning: search(desk, " ".join(chance.choices(words, k=6)), where=(Kind.TURN,), meaning=meaning)
        )
        print(f"  warm, {name}: {spent * 1000:.1f} ms, ratio {spent / floor:.2f}")
    for name, choice in (("off", "off"), ("local", "local")):
        program = (
            "import os; from pathlib import Path; from kept.app.desk import Home, opened; from kept.app.recalling import search\n"
            f"with opened(Home(root=Path({str(desk.home.root)!r}), user=Path('/')), zone='UTC', "
            f"env={{'KEPT_EMBEDDINGS': {choice!r}}}) as desk: search(desk, {' '.join(words[:6])!r})"
        )
        spent = timed(lambda program=program: subprocess.run([sys.executable, "-c", program], check=True), 5)
        print(f"  fresh process, embeddings {name}: {spent * 1000:.0f} ms, ratio {spent / floor:.1f}")
    print(f"  memory of this process at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB (size {size:,})")


def timed(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    spent = []
    for _ in range(rounds):
        started = perf_counter()
        action()
        spent.append(perf_counter() - started)
    return median(spent)


if __name__ == "__main__":
    main()
