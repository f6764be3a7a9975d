"""Write docs/figures.md: every figure with its command, its commit, the data on which it was measured, and its limits.

    python scripts/figures.py [--only NAME …] [--shared ../shared]

Each section contains what a command prints. ``--only`` measures some of them and leaves the others unchanged, with their commits. A
section whose data are missing is also left unchanged.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "figures.md"
HEAD = """# Figures

Made by `make figures`: each section is what its command prints, with the commit and the day it ran. `SHARED` is the folder of
shared samples beside the checkout, which is not part of it.

**Tuned** marks data on which rules, weights or wordings were developed. Figures for such data show what kept can do there, not what
to expect from yours. Times are from one busy machine (two shared x86-64 cores, Linux): compare ratios, not seconds. [The
log](log.md) says what was tried in vain, [Reliability](reliability.md) which faults were injected.
"""
TUNED = "**Tuned.** "


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A figure: its name for ``--only``, title and command, how many last lines of the output are shown (0: all), whether rules
    were made on its data, and its limits.
    """

    name: str
    title: str
    command: str
    says_not: str
    tuned: bool = False
    lines: int = 0


FIGURES = (
    Figure(
        name="turns",
        title="Extraction without a model, on annotated turns, by source",
        command="kept eval extraction --turns SHARED/gold/turns --corpus SHARED/transcripts",
        says_not="1,556 turns of four projects and three annotators, all of them software. Each source is scored separately, "
        "and no weight was fitted to them. But the rules were improved by reading these turns, so none of the sources is unseen. "
        "What an annotator wanted is one opinion: a second annotator kept 83 % of the same sentences.",
        tuned=True,
    ),
    Figure(
        name="replies",
        title="Extraction with recorded replies of models",
        command="kept eval extraction --turns SHARED/gold/turns --corpus SHARED/transcripts --replies benchmarks/replies/replies",
        says_not="The replies were recorded once and answer the first question alone, not the recheck. They are from "
        "careful and weak readers in the place of a model. The wording of the question was chosen on these turns. Nothing "
        "follows for a model that was not recorded.",
        tuned=True,
    ),
    Figure(
        name="judged",
        title="What a hook adds to a prompt, on the prompts that the ranking was developed on",
        command="python benchmarks/judged.py",
        says_not="190 prompts over 63 memories of five invented projects, memories and prompts by one author. Real projects are "
        "harder.",
        tuned=True,
    ),
    Figure(
        name="asking",
        title="What a hook adds to a prompt, with weights fitted to the other projects",
        command="python benchmarks/asking.py",
        says_not="Projects of two authors, who knew the program. Of a stranger's 60 plain requests .33 of what helps is found at a "
        "precision of .55, and 44 of 45 unrelated prompts stay empty (the log).",
    ),
    Figure(
        name="retrieval",
        title="Search in archived conversations: two conversations of LoCoMo",
        command="kept eval retrieval --corpus CORPUS --queries QUERIES",
        says_not="Chats between two friends, not sessions with agents; two of ten conversations, so the intervals are wide. "
        "`CORPUS` and `QUERIES` are the lines of `conv-26` and `conv-30` of SHARED/benchmarks/locomo.",
    ),
    Figure(
        name="hook",
        title="How long an agent waits for a hook, over 1,000 facts",
        command="python benchmarks/hook.py SHARED/benchmarks/locomo/facts_obs.jsonl SHARED/benchmarks/locomo/queries.jsonl "
        "--facts 1000 --rounds 5",
        says_not="Facts of chats, not of projects. The clock of a busy machine says little; the processor's time beside a bare "
        "interpreter's says more.",
    ),
    Figure(
        name="speed",
        title="Speed of a first run and of one with nothing new, on the bundled sample",
        command="python benchmarks/speed.py --large 2 --runs 1",
        says_not="The sample is 50 KB, so starting and loading the embedding models is most of it. For megabytes a second give "
        "`--transcripts FOLDER --large 100`, as the log does.",
    ),
    Figure(
        name="store",
        title="Size and speed of the store, with 1,000 memories",
        command="python benchmarks/store.py --sizes 1000 --transcript 1",
        says_not="Memories are made up; `--sizes 100000` takes an hour.",
    ),
)


def measure(figure: Figure, shared: Path, folder: Path) -> str | None:
    """Run a figure's command and return its section; None if the data are missing or the command fails."""
    places = {"SHARED": str(shared), "CORPUS": str(folder / "corpus.jsonl"), "QUERIES": str(folder / "queries.jsonl")}
    if re.search("SHARED|CORPUS", figure.command):
        if not shared.is_dir():
            return None
        _sample_locomo(shared, folder)
    words = [_fill(word, places) for word in shlex.split(figure.command)]
    program = [sys.executable, "-m", "kept", "--home", str(folder / figure.name)] if words[0] == "kept" else [sys.executable]
    env = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}
    done = subprocess.run([*program, *words[1:]], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        print(f"{figure.name}: {done.stderr.strip().splitlines()[-1:]}")
        return None
    return write_section(figure, done.stdout)


def write_section(figure: Figure, printed: str) -> str:
    """Format a section of the page from the output of its command."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    told = "\n".join(line.rstrip() for line in printed.rstrip().splitlines()[-figure.lines :])
    return (
        f"## {figure.title}\n\n`{figure.command}` · commit {commit} · {datetime.now(UTC):%Y-%m-%d}\n\n```\n{told}\n```\n\n"
        f"{TUNED if figure.tuned else ''}Limits: {figure.says_not}\n"
    )


def _fill(word: str, places: Mapping[str, str]) -> str:
    return re.sub("|".join(places), lambda found: places[found[0]], word)


def _sample_locomo(shared: Path, folder: Path) -> None:
    """Write a sample of LoCoMo: two conversations and the questions about them."""
    for name in ("corpus", "queries"):
        lines = (shared / "benchmarks" / "locomo" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        chosen = [line for line in lines if '"ns": "conv-26"' in line or '"ns": "conv-30"' in line]
        (folder / f"{name}.jsonl").write_text("".join(chosen), encoding="utf-8")


def read_sections(page: str) -> dict[str, str]:
    """The sections of a page, by title."""
    parts = re.split(r"(?m)^## (.+)\n", page)
    return {title: f"## {title}\n{text}".rstrip() + "\n" for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def main() -> None:
    """Measure the figures, and write the page after each of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=[figure.name for figure in FIGURES], default=[figure.name for figure in FIGURES]
    )
    parser.add_argument("--shared", type=Path, default=ROOT / ".." / "shared")
    options = parser.parse_args()
    sections = read_sections(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    for figure in FIGURES:
        if figure.name in options.only:
            with tempfile.TemporaryDirectory() as folder:
                found = measure(figure, options.shared.resolve(), Path(folder))
            sections |= {figure.title: found} if found else {}
            there = [sections[each.title] for each in FIGURES if each.title in sections]
            PAGE.write_text("\n".join((HEAD, *there)), encoding="utf-8")
            print(f"{figure.name}: {'written' if found else 'left as it stands'}")


if __name__ == "__main__":
    main()
