"""Compare kept with other memories for agents on the same work: add sentences, search, build a context. Prints a table of time,
memory, size and recall; peers that are not given are left out.

    python benchmarks/agents.py FACTS.jsonl QUERIES.jsonl --spaces 2 --peer chromadb=PYTHON --peer mem0=PYTHON --peer langmem=PYTHON

The lines of FACTS have ``ns, text, sources``, those of QUERIES ``ns, query, gold.turn``. A question counts as answered if one of
the first ten results has a source among the gold turns. Each ``ns`` is a separate user. All memories get precomputed vectors of
kept's own model, so no figure includes the time of the model. A peer is given as the interpreter of an environment in which it is
installed. mem0 stores without a language model (``infer=False``), LangMem with its tools, which need none. Each memory runs in its
own process.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

FIRST = 10
TOKENS = 400  # of a context
CHARACTERS = 3  # characters per token, as kept counts them


class Ways(NamedTuple):
    """The functions of a memory: add a user's text, find the best texts, and build the context for a message."""

    add: Callable[[str, str], object]
    search: Callable[[str, str], Sequence[str]]
    context: Callable[[str, str], str] | None = None


def dimensions(vectors: dict[str, list[float]]) -> int:
    """The number of dimensions of the vectors."""
    return len(next(iter(vectors.values())))


def chromadb(vectors: dict[str, list[float]], folder: str) -> Ways:
    import chromadb as chroma  # noqa: PLC0415 - installed where this runs

    settings = chroma.config.Settings(anonymized_telemetry=False)
    made = chroma.PersistentClient(path=folder, settings=settings).create_collection("facts", embedding_function=None)

    def add(user: str, text: str) -> None:
        made.add(ids=[f"{user} {text}"], documents=[text], embeddings=[vectors[text]], metadatas=[{"user": user}])

    def search(user: str, query: str) -> Sequence[str]:
        found = made.query(query_embeddings=[vectors[query]], n_results=FIRST, where={"user": user})["documents"]
        return tuple(found[0]) if found else ()

    return Ways(add, search)


def mem0(vectors: dict[str, list[float]], folder: str) -> Ways:
    os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none", "MEM0_DIR": folder, "HOME": folder}
    from mem0 import Memory  # noqa: PLC0415 - as above

    store = {
        "provider": "qdrant",
        "config": {"path": f"{folder}/vectors", "embedding_model_dims": dimensions(vectors), "on_disk": True},
    }
    memory = Memory.from_config({"vector_store": store, "history_db_path": f"{folder}/history.db"})

    class Known:
        """An embedder that returns the precomputed vectors."""

        config = memory.embedding_model.config

        def embed(self, text: str, *_: object) -> list[float]:
            return vectors[text]

        def embed_batch(self, texts: list[str], *_: object) -> list[list[float]]:
            return [vectors[each] for each in texts]

    memory.embedding_model = Known()

    def search(user: str, query: str) -> Sequence[str]:
        found = memory.search(query, filters={"user_id": user}, top_k=FIRST)["results"]
        return tuple(each["memory"] for each in found)

    return Ways(lambda user, text: memory.add(text, user_id=user, infer=False), search)


def _store(vectors: dict[str, list[float]]) -> Any:
    from langgraph.store.memory import InMemoryStore  # noqa: PLC0415 - as above

    return InMemoryStore(
        index={"dims": dimensions(vectors), "embed": lambda texts: [vectors[each] for each in texts], "fields": ["content"]}
    )


def langgraph(vectors: dict[str, list[float]], _: str) -> Ways:
    store = _store(vectors)

    def search(user: str, query: str) -> Sequence[str]:
        return tuple(str(each.value["content"]) for each in store.search((user,), query=query, limit=FIRST))

    return Ways(lambda user, text: store.put((user,), text, {"content": text}), search)


def langmem(vectors: dict[str, list[float]], _: str) -> Ways:
    from langmem import create_manage_memory_tool, create_search_memory_tool  # noqa: PLC0415 - as above

    store = _store(vectors)
    named = {"namespace": ("{user}",), "store": store}
    manage, find = create_manage_memory_tool(**named), create_search_memory_tool(**named, response_format="content")

    def search(user: str, query: str) -> Sequence[str]:
        found = find.invoke({"query": query, "limit": FIRST}, config={"configurable": {"user": user}})
        return tuple(str(each["value"]["content"]) for each in json.loads(found))

    def add(user: str, text: str) -> object:
        return manage.invoke({"content": text, "action": "create"}, config={"configurable": {"user": user}})

    return Ways(add, search)


def kept(vectors: dict[str, list[float]], folder: str) -> Ways:
    import numpy as np  # noqa: PLC0415 - only here

    from kept import Memory  # noqa: PLC0415 - peers have no kept
    from kept.core.errors import UsageError  # noqa: PLC0415
    from kept.recall import embed  # noqa: PLC0415

    class Known:
        """An embedder that returns the precomputed vectors."""

        name = "known/1"

        def embed(self, texts: list[str], *, question: bool = False) -> object:  # noqa: ARG002
            return np.array([vectors[each] for each in texts], np.float32)

    embed._load_local_model = lambda **_: Known()  # type: ignore[assignment] # noqa: SLF001 - the model that made the vectors
    embed.PACK = Path(__file__)
    memories: dict[str, Memory] = {}

    def of(user: str) -> Memory:
        return memories.setdefault(user, memories.get(user) or Memory.open(folder, user=user))

    def add(user: str, text: str) -> None:
        vectors.setdefault(text.rstrip("."), vectors[text])
        try:
            of(user).add(text, "project_fact")
        except UsageError:  # it is already remembered in other words
            return

    def search(user: str, query: str) -> Sequence[str]:
        return tuple(each.text for each in of(user).search(query, limit=FIRST))

    return Ways(add, search, lambda user, query: of(user).context(query, budget=TOKENS).text)


WAYS = {"kept": kept, "chromadb": chromadb, "mem0": mem0, "langgraph": langgraph, "langmem": langmem}


def measured(way: str, path: Path) -> dict[str, float]:
    """Milliseconds of an add and a search (wall clock: median; processor: mean), megabytes of memory and disk, and the shares of
    questions that ten results answer and that a context answers.
    """
    given = json.loads(path.read_text(encoding="utf-8"))
    sources = {(each["ns"], plain(each["text"])): set(each["sources"]) for each in given["facts"]}
    clock: dict[str, list[float]] = {"add": [], "search": []}
    spent: dict[str, float] = {}
    answered, stands = [], []
    with tempfile.TemporaryDirectory() as folder:
        ways = WAYS[way](given["vectors"], folder)
        began = process_time()
        for each in given["facts"]:
            started = perf_counter()
            ways.add(each["ns"], each["text"])
            clock["add"].append(perf_counter() - started)
        spent["add"] = process_time() - began
        began = process_time()
        results = []
        for each in given["queries"]:
            started = perf_counter()
            results.append(ways.search(each["ns"], each["query"]))
            clock["search"].append(perf_counter() - started)
        spent["search"] = process_time() - began
        for each, found in zip(given["queries"], results, strict=True):
            gold, user = set(each["gold"]["turn"]), each["ns"]
            answered.append(any(sources.get((user, plain(text)), set()) & gold for text in found))
            before = ways.context(user, each["query"]) if ways.context else "\n".join(found)[: TOKENS * CHARACTERS]
            there = (origin for (owner, text), origin in sources.items() if owner == user and text in before)
            stands.append(any(origin & gold for origin in there))
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    return {
        "add": median(clock["add"]) * 1000,
        "add_cpu": spent["add"] / len(given["facts"]) * 1000,
        "search": median(clock["search"]) * 1000,
        "search_cpu": spent["search"] / len(given["queries"]) * 1000,
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "disk": size / 1e6,
        "recall": sum(answered) / len(answered),
        "context": sum(stands) / len(stands),
    }


def plain(text: str) -> str:
    """A text without the final dot and space that kept removes."""
    return text.strip().rstrip(".")


def prepared(facts: Path, queries: Path, spaces: int, target: Path) -> tuple[int, int]:
    """Write facts, questions and vectors to a file; returns the numbers of facts and questions."""
    from kept.recall.embed import create_embedder  # noqa: PLC0415 - peers have no kept

    def read(path: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    model = create_embedder("local")
    if model is None:
        raise SystemExit("the model's pack is not here: make run")
    items = read(facts)
    chosen = list(dict.fromkeys(each["ns"] for each in items))[:spaces]
    items = [each for each in items if each["ns"] in chosen]
    asked = [each | {"query": each["query"].strip()} for each in read(queries) if each["ns"] in chosen and each["gold"]["turn"]]
    texts = list(dict.fromkeys([*(each["text"] for each in items), *(each["query"] for each in asked)]))
    vectors = dict(zip(texts, model.embed(texts).tolist(), strict=True))
    target.write_text(json.dumps({"facts": items, "queries": asked, "vectors": vectors}))
    return len(items), len(asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("facts", type=Path, nargs="?")
    parser.add_argument("queries", type=Path, nargs="?")
    parser.add_argument("--spaces", type=int, default=2)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(given.measure[0], Path(given.measure[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.json"
        texts, questions = prepared(given.facts, given.queries, given.spaces, path)
        print(f"{texts} sentences, {questions} questions, {given.spaces} users; ms of the clock (of the processor)\n")
        print("| memory | add, ms | search, ms | MB | MB on disk | answered in 10 | in 400 tokens |\n|---|---|---|---|---|---|---|")
        for name, python in [("kept", sys.executable), *(each.split("=", 1) for each in given.peer)]:
            if name not in WAYS or not Path(python).exists():
                print(f"| {name} | absent | | | | | |")
                continue
            done = subprocess.run([python, __file__, "--measure", name, path], capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"| {name} | failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:120]} | | | | | |")
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            print(
                f"| {name} | {found['add']:.1f} ({found['add_cpu']:.1f}) | {found['search']:.1f} ({found['search_cpu']:.1f}) "
                f"| {found['mb']:.0f} | {found['disk']:.1f} | {found['recall']:.2f} | {found['context']:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
