"""Split a gold set and an export into two halves by session, or by source, and run the scorer on each part.

    python benchmarks/halves.py GOLD_DIR EXPORT.jsonl [--by source] [--scorer ../shared/gold/score_memories.py] [--only PART]
    [--misses]

The hash of a session's name (a transcript file) decides to which half it belongs, so nobody chose it. Rules are written by looking
at ``dev`` only, and the other half shows how good they are on unseen sessions. A source is the first folder of the gold's paths: a
rule made on one source is tested on the others.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCORER = Path(__file__).parents[2] / "shared" / "gold" / "score_memories.py"
HALVES = ("dev", "held-out")


def half(path: str) -> str:
    """The half to which a transcript belongs, by the SHA-256 of its name."""
    return HALVES[hashlib.sha256(Path(path).name.encode()).digest()[0] % 2]


def sources(gold: list[dict[str, Any]]) -> list[str]:
    """The first folders of the gold's paths, sorted."""
    return sorted({place(each).split("/")[0] for each in gold})


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def place(row: dict[str, Any]) -> str:
    """The transcript of a gold item, a negative or a memory: that of its first evidence."""
    first = (row.get("evidence") or [row])[0]
    return str(first.get("file") or first.get("source") or row.get("file") or "")


def is_of(path: str, name: str, *, by: str) -> bool:
    """Whether a transcript belongs to a part."""
    return half(path) == name if by == "half" else f"/{name}/" in f"/{path}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", type=Path)
    parser.add_argument("export", type=Path)
    parser.add_argument("--scorer", type=Path, default=SCORER)
    parser.add_argument("--by", choices=("half", "source"), default="half")
    parser.add_argument("--only")
    parser.add_argument("--misses", action="store_true")
    given = parser.parse_args()
    names = list(HALVES) if given.by == "half" else sources(rows(given.gold / "gold.jsonl"))
    for name in names if given.only is None else (given.only,):
        with tempfile.TemporaryDirectory() as folder:
            for source, target in (
                (given.gold / "gold.jsonl", "gold"),
                (given.gold / "negatives.jsonl", "negatives"),
                (given.export, "memories"),
            ):
                mine = [each for each in rows(source) if is_of(place(each), name, by=given.by)]
                (Path(folder) / f"{target}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in mine), "utf-8")
            command = [sys.executable, str(given.scorer), "--gold", folder, "--memories", f"{folder}/memories.jsonl"]
            print(f"== {name}", flush=True)
            subprocess.run([*command, *(["--misses"] if given.misses else [])], check=True)


if __name__ == "__main__":
    main()
