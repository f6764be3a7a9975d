"""Other memories beside kept over the same items: what adding and asking take in processor time, and memory. Peers that are absent
are skipped.

    python benchmarks/peers.py FACTS.jsonl QUERIES.jsonl --items 1000 --peer chromadb=/venv/bin/python --peer mem0=/other/bin/python

FACTS and QUERIES are JSON lines with a ``text`` and a ``query``. All get the vectors of kept's own model, made before, so the time
of the model is in no figure; kept archives, indexes by words and stores the vectors, as it always does. A peer is the interpreter
of an environment in which it is installed; mem0 stores without a language model (``infer=False``). Each runs in a process of its
own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import process_time

ASKED = 20
OPEN = ExitStack()  # what stays open until the process ends
Ask = Callable[[str, list[float]], object]
Filled = tuple[Callable[[], object], Ask]


def chromadb(items: list[str], vectors: list[list[float]], folder: str) -> Filled:
    import chromadb as chroma  # noqa: PLC0415 - installed where this runs

    settings = chroma.config.Settings(anonymized_telemetry=False)
    made = chroma.PersistentClient(path=folder, settings=settings).create_collection("facts", embedding_function=None)

    def add() -> None:
        for start in range(0, len(items), 100):
            part = slice(start, start + 100)
            ids = [str(n) for n in range(start, min(start + 100, len(items)))]
            made.add(ids=ids, documents=items[part], embeddings=vectors[part])

    return add, lambda _, vector: made.query(query_embeddings=[vector], n_results=10)


def mem0(items: list[str], vectors: list[list[float]], folder: str) -> Filled:
    os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none", "MEM0_DIR": folder, "HOME": folder}
    from mem0 import Memory  # noqa: PLC0415 - as above

    store = {"provider": "qdrant", "config": {"path": f"{folder}/vectors", "embedding_model_dims": 384, "on_disk": True}}
    memory = Memory.from_config({"vector_store": store, "history_db_path": f"{folder}/history.db"})
    known = dict(zip(items, vectors, strict=True))

    class Known:
        """An embedder that has been asked before."""

        config = memory.embedding_model.config

        def embed(self, text: str, *_: object) -> list[float]:
            return known[text]

        def embed_batch(self, texts: list[str], *_: object) -> list[list[float]]:
            return [known[each] for each in texts]

    memory.embedding_model = Known()

    def ask(text: str, vector: list[float]) -> object:
        known[text] = vector
        return memory.search(text, filters={"user_id": "u"}, top_k=10)

    return lambda: [memory.add(each, user_id="u", infer=False) for each in items], ask


def kept(items: list[str], vectors: list[list[float]], folder: str) -> Filled:
    import numpy as np  # noqa: PLC0415 - only here

    from kept.evaluation.retrieval import archive  # noqa: PLC0415
    from kept.paths import Paths  # noqa: PLC0415
    from kept.recall import embed  # noqa: PLC0415 - peers have no kept
    from kept.recall.index import Kind  # noqa: PLC0415
    from kept.recall.indexing import bring_up_to_date  # noqa: PLC0415
    from kept.recall.search import search  # noqa: PLC0415
    from kept.workspace import opened  # noqa: PLC0415

    known = dict(zip(items, vectors, strict=True))

    class Known:
        """As above."""

        name = "known/1"

        def embed(self, texts: list[str], *, question: bool = False) -> object:  # noqa: ARG002
            return np.array([known[each] for each in texts], np.float32)

    embed._local = lambda **_: Known()  # type: ignore[assignment] # noqa: SLF001 - stands for the model that made the vectors
    embed.PACK = Path(__file__)
    workspace = OPEN.enter_context(opened(Paths(root=Path(folder), user=Path(folder)), zone="UTC"))

    def add() -> None:
        archive(workspace, [{"id": str(n), "session": f"s{n // 40}", "role": "user", "text": each} for n, each in enumerate(items)])
        bring_up_to_date(workspace, float("inf"))

    def ask(text: str, vector: list[float]) -> object:
        known[text] = vector
        return search(workspace, text, where=(Kind.TURN,))

    return add, ask


WAYS = {"kept": kept, "chromadb": chromadb, "mem0": mem0}


def measured(way: str, path: Path) -> dict[str, float]:
    """Processor seconds of adding everything, of a question (the median), and megabytes at most."""
    given = json.loads(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        add, ask = WAYS[way](given["items"], given["vectors"], folder)
        started = process_time()
        add()
        adding, asking = process_time() - started, []
        for text, vector in zip(given["queries"], given["asked"], strict=True):
            started = process_time()
            ask(text, vector)
            asking.append(process_time() - started)
    return {"adding": adding, "asking": median(asking), "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def prepared(facts: Path, queries: Path, count: int, target: Path) -> None:
    from kept.recall.embed import embedder  # noqa: PLC0415 - peers have no kept

    def read(path: Path, name: str) -> list[str]:
        return list(dict.fromkeys(json.loads(line)[name] for line in path.read_text(encoding="utf-8").splitlines()))

    model = embedder("local")
    if model is None:
        raise SystemExit("the model's pack is not here: make run")
    items, asked = read(facts, "text")[:count], read(queries, "query")[:ASKED]
    body = {"items": items, "vectors": model.embed(items).tolist(), "queries": asked, "asked": model.embed(asked).tolist()}
    target.write_text(json.dumps(body))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("facts", type=Path, nargs="?")
    parser.add_argument("queries", type=Path, nargs="?")
    parser.add_argument("--items", type=int, default=1_000)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(given.measure[0], Path(given.measure[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.json"
        prepared(given.facts, given.queries, given.items, path)
        print("| memory | adds a processor second | a question, processor ms | MB |\n|---|---|---|---|")
        for name, python in [("kept", sys.executable), *(each.split("=", 1) for each in given.peer)]:
            if name not in WAYS or not Path(python).exists():
                print(f"| {name} | absent | | |")
                continue
            done = subprocess.run([python, __file__, "--measure", name, path], capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"| {name} | failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:120]} | | |")
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            print(
                f"| {name} | {given.items / found['adding']:,.0f} | {found['asking'] * 1000:.1f} | {found['mb']:.0f} |", flush=True
            )


if __name__ == "__main__":
    main()
