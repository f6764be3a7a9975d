"""Measure whether the right earlier turn is found: the prompts describe the situation of a turn, without its words.

    kept --home DIR run TRANSCRIPTS… && python benchmarks/said.py DIR PROJECT [--held] [--words]

judged/said.tsv contains the first characters of an event's key and a prompt; the transcripts are those of entireio/cli. Prompts on
even lines are for work on the ranking, those on odd lines (``--held``) are held out. Each prompt is searched after all sessions
were read, so nothing is hidden from it.
"""

import argparse
import os
from pathlib import Path

from kept.local import queue
from kept.local.recall_settings import RecallSettings
from kept.recall.embed_server.query import make_query_context, rank_past_turns

HERE = Path(__file__).with_name("judged")
RANKS = (1, 2, 5, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home")
    parser.add_argument("scope", help="the project's scope: project:…")
    parser.add_argument("--held", action="store_true", help="the prompts that were set apart")
    parser.add_argument("--words", action="store_true", help="without meaning")
    parser.add_argument("--show", action="store_true", help="print each prompt and what comes")
    given = parser.parse_args()
    place = make_query_context(queue.state_folder(given.home), RecallSettings(), os.environ)
    rows = [line.split("\t") for line in (HERE / "said.tsv").read_text(encoding="utf-8").splitlines()][given.held :: 2]
    found: dict[int, int] = dict.fromkeys(RANKS, 0)
    shown = helps = 0
    for key, prompt in rows:
        turns = rank_past_turns(place, prompt, given.scope, meaning=not given.words, most=10)
        ranks = [number for number, each in enumerate(turns, 1) if each.key.startswith(key)]
        for most in RANKS:
            found[most] += bool(ranks) and ranks[0] <= most
        enough = [each for each in turns if each.near][:2]
        shown += len(enough)
        helps += sum(each.key.startswith(key) for each in enough)
        if given.show:
            print(f"{prompt}  rank {ranks[:1]}")
            for each in turns[:3]:
                print(f"    {each.near:.2f} {each.score:.2f} {each.key[:8]} {' '.join(each.text.split())[:110]}")
    told = ", ".join(f"first {most}: {count} ({count / len(rows):.0%})" for most, count in found.items())
    print(f"{len(rows)} prompts; {told}; {shown} shown above the floor, {helps} of them the turn itself")


if __name__ == "__main__":
    main()
