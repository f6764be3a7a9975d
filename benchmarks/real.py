"""Make sets for judged.py from annotated memories of real projects and, for two of them, from prompts that people typed there.

    python benchmarks/real.py ../shared/gold OUT && python benchmarks/judged.py --data OUT/entire [--needs OUT/entire/mixed.tsv]

prompts.tsv of ``real`` has project, kind, the wanted memories, the harmless ones, and a prompt: the id of a turn in the gold,
or a text. Prompts of the kinds ``none`` and ``tempting`` want nothing. written.tsv has requests of an author who had not seen the
prompts: three long ones for each memory, as the question asked until 29 November 2026, and three short ones. They become the files
long.tsv, short.tsv, and mixed.tsv (two long ones and a short one, as the question asks now).
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judged import rows

HERE = Path(__file__).with_name("real")
GOLD = {"project:cli": "entire", "project:getspecstory": "get", "project:geppetto": "gep"}
SHORT = {"entire": "e", "get": "get", "gep": "gep"}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def memories(gold: Path, turns: dict[str, dict[str, Any]], named: frozenset[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The set and the row of each active memory. Those of ``league`` are of importance 2 and 3, or ``named``."""
    for folder in ("entireio", "others"):
        for each in read(gold / folder / "gold.jsonl"):
            name = "entire" if folder == "entireio" and each["scope"] == "user" else GOLD.get(each["scope"])
            if name and each["final"] == "active":
                project = "user" if each["scope"] == "user" else name
                yield name, (project, SHORT[name] + each["id"].rsplit("-", 1)[1], each["category"], each["text"], "")
    kept = (each for each in read(gold / "turns" / "labels.jsonl") if each["label"] == "keep")
    league = (each for each in kept if turns[each["id"]]["source"] == "league_analyzer")
    for number, each in enumerate(league, 1):
        name = f"l{number:03}"
        if name != "l020" and (each["importance"] >= 2 or name in named):  # l020 repeats l017
            yield "league", ("league", name, each["category"], each["memory"], "")


def main() -> None:
    gold, out = Path(sys.argv[1]), Path(sys.argv[2])
    turns = {each["id"]: each for each in read(gold / "turns" / "turns.jsonl")}
    written: dict[str, dict[str, list[str]]] = defaultdict(lambda: {"long": [], "short": []})
    for memory, request, length in rows(HERE, "written.tsv"):
        written[memory][length].append(request)
    files: dict[tuple[str, str], list[tuple[str, ...]]] = defaultdict(list)
    for name, row in memories(gold, turns, frozenset(written)):
        files[name, "memories"].append(row)
        long, short = written[row[1]].values() if row[1] in written else ([], [])
        for kind, requests in (("long", long), ("short", short), ("mixed", long[:2] + short[:1])):
            files[name, kind] += [(row[1], request) for request in requests]
    for name, kind, wanted, harmless, prompt in rows(HERE, "prompts.tsv"):
        text = " ".join(turns[prompt]["text"].split()) if prompt in turns else prompt
        files[name, "prompts"].append((name, kind, "en", wanted, harmless, text))
    for (name, kind), lines in files.items():
        (out / name).mkdir(parents=True, exist_ok=True)
        (out / name / f"{kind}.tsv").write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
