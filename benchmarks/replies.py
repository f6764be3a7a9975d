"""Choose questions that readers answer instead of a model, and score the recorded replies.

    python benchmarks/replies.py prepare TRANSCRIPTS --turns GOLD/turns --out FOLDER [--most 60]
    python benchmarks/replies.py trial --out FOLDER
    python benchmarks/replies.py check FOLDER
    python benchmarks/replies.py score TRANSCRIPTS --turns GOLD/turns [--replies benchmarks/replies]

``prepare`` writes each chosen question to FOLDER/questions/ID.md, the schema to FOLDER/schema.json and the list of chosen questions
to FOLDER/manifest.json. A reader writes each reply to FOLDER/replies/READER/ID.json. ``trial`` writes the questions of the trial to
FOLDER/trial/NN.md; their replies go to FOLDER/replies/READER/trial/NN.json. ``check`` reports replies that cannot be read.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from kept.evaluation.replies import collect_questions, format_typed
from kept.evaluation.turns import AnnotatedTurn, load_annotations, normalize_text
from kept.extraction.questions.question import END, SCHEMA
from kept.llm.adapter import estimate_tokens, format_full_prompt
from kept.llm.ask import Ask
from kept.llm.reply import InvalidReply, parse_reply
from kept.paths import Paths
from kept.pipeline.trial import trial_asks
from kept.workspace import Workspace, open_workspace

HOME = Path(__file__).parent / "replies"
SHARES = {3: 0.5, 2: 0.2, 1: 0.1, 0: 0.2}  # shares of the questions, by the importance of the best passage in them
OPENING = 60
FORM = """{system}

# The part to read

{prompt}
"""


def open_desk(folder: Path) -> AbstractContextManager[Workspace]:
    return open_workspace(Paths(root=folder, user=folder), zone="UTC")


def stratum(ask: Ask, turns: list[AnnotatedTurn]) -> tuple[int, str, int]:
    """The importance of the best passage in a question, the source of its turns, and the number of annotated turns in it."""
    text = normalize_text(ask.prompt)
    held = [turn for turn in turns if normalize_text(turn.text)[:OPENING] in text and len(normalize_text(turn.text)) > OPENING // 3]
    best = max((keep.importance for turn in held for keep in turn.keep if normalize_text(keep.quote)[:OPENING] in text), default=0)
    return best, (held[0].source if held else ""), len(held)


def choose(asks: dict[str, Ask], turns: list[AnnotatedTurn], most: int) -> dict[str, tuple[int, str, int]]:
    """Choose at most ``most`` questions: from each importance its share, and from its sources in turn."""
    strata: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    found = {number: stratum(ask, turns) for number, ask in sorted(asks.items())}
    for number, (best, source, held) in found.items():
        if held:
            strata[best][source].append(number)
    chosen: list[str] = []
    for level, share in SHARES.items():
        queues = [list(strata[level][source]) for source in sorted(strata[level])]
        wanted = round(most * share)
        while wanted and any(queues):
            for queue in queues:
                if queue and wanted:
                    chosen.append(queue.pop(0))
                    wanted -= 1
    return {number: found[number] for number in chosen}


def prepare(transcripts: Path, annotated: Path, out: Path, most: int) -> None:
    asks, files = collect_questions(open_desk, transcripts)
    chosen = choose(asks, list(load_annotations(annotated)), most)
    (out / "questions").mkdir(parents=True, exist_ok=True)
    for number in chosen:
        ask = asks[number]
        (out / "questions" / f"{number}.md").write_text(FORM.format(system=ask.system, prompt=ask.prompt), encoding="utf-8")
    schema = next(iter(asks.values())).schema
    (out / "schema.json").write_text(json.dumps(schema, indent=1) + "\n", encoding="utf-8")
    rows = [
        {
            "id": number,
            "source": source,
            "importance": best,
            "turns": held,
            "tokens": len(asks[number].prompt) // 4,
            "sessions": list(asks[number].about),
            "files": sorted({files[session] for session in asks[number].about}),
            "typed": format_typed(asks[number]),
        }
        for number, (best, source, held) in chosen.items()
    ]
    body = {"prompts": sorted({asks[number].version for number in chosen}), "of": len(asks), "questions": rows}
    (out / "manifest.json").write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    print(f"{len(rows)} of {len(asks)} questions, about {sum(row['tokens'] for row in rows):,} tokens, in {out}")
    ask = next(iter(asks.values()))
    fixed = estimate_tokens(format_full_prompt(replace(ask, prompt=ask.prompt.rpartition(END)[2])))
    print(f"of a question {fixed:,} tokens depend on no conversation, counted high")


def write_trial(out: Path) -> None:
    (out / "trial").mkdir(parents=True, exist_ok=True)
    for number, ask in enumerate(trial_asks(), 1):
        (out / "trial" / f"{number:02}.md").write_text(FORM.format(system=ask.system, prompt=ask.prompt), encoding="utf-8")


def check(folder: Path) -> int:
    wanted = {path.relative_to(folder).with_suffix("") for path in folder.glob("*/*.md")}
    wrong = 0
    for reader in sorted((folder / "replies").iterdir()):
        files = {Path("questions") / path.stem: path for path in reader.glob("*.json")}
        files |= {Path("trial") / path.stem: path for path in reader.glob("trial/*.json")}
        for number, path in sorted(files.items()):
            found = parse_reply(path.read_text(encoding="utf-8"), SCHEMA)
            if isinstance(found, InvalidReply) or number not in wanted:
                wrong += 1
                print(f"{path}: {found.reason if isinstance(found, InvalidReply) else 'no question has this id'}")
        print(f"{reader.name}: {len(files)} replies, {len(wanted - files.keys())} questions without one")
    return wrong


def score(transcripts: Path, annotated: Path, replies: Path) -> int:
    command = ["eval", "extraction", "--replies", str(replies), "--turns", str(annotated), "--corpus", str(transcripts)]
    return subprocess.run([sys.executable, "-m", "kept", *command], check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("prepare", "trial", "check", "score"))
    parser.add_argument("where", type=Path, nargs="?")
    parser.add_argument("--turns", type=Path)
    parser.add_argument("--out", type=Path, default=HOME)
    parser.add_argument("--replies", type=Path, default=HOME / "replies")
    parser.add_argument("--most", type=int, default=60)
    given = parser.parse_args()
    match given.what:
        case "prepare":
            prepare(given.where, given.turns, given.out, given.most)
        case "trial":
            write_trial(given.out)
        case "check":
            return check(given.where)
        case "score":
            return score(given.where, given.turns, given.replies)
    return 0


if __name__ == "__main__":
    sys.exit(main())
