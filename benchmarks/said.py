"""Measure whether the right earlier turn is found: the prompts describe the situation of a turn, mostly without its words.

    kept --home DIR run TRANSCRIPTS… && python benchmarks/said.py DIR PROJECT [--prompts FILE] [--held | --work] [--words] [--show]

A line of a file of prompts has the first characters of an event's key and a prompt. ``judged/said.tsv`` is about entireio/cli,
``said-league.tsv`` about AmbidextrousCoatie/league_analyzer, ``said-rts.tsv`` about theSystem85/gemini-rts-game and
``said-spec.tsv`` about specstoryai/getspecstory. ``said-weeks-*.tsv`` are later prompts about three of these, some of them in
German, French or Spanish. Of these and of ``said.tsv``, prompts on even lines (``--work``) were for work on the ranking
and those on odd lines (``--held``) are held out. Each prompt is searched after all sessions were read, so nothing is hidden from
it. The files ``judged/unrelated*.txt`` have prompts about nothing that was said, of which as many as possible should bring no turn.
In brackets: 95 % intervals.
"""

import argparse
import os
from pathlib import Path

from kept.evaluation.retrieval import bootstrap_interval
from kept.local import queue
from kept.local.recall_settings import RecallSettings
from kept.recall.embed_server.query import make_query_context, rank_past_turns

HERE = Path(__file__).with_name("judged")
RANKS = (1, 2, 5, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home")
    parser.add_argument("scope", help="the project's scope: project:…")
    parser.add_argument("--prompts", type=Path, default=HERE / "said.tsv")
    parser.add_argument("--held", action="store_true", help="the prompts that were set apart")
    parser.add_argument("--work", action="store_true", help="the others")
    parser.add_argument("--words", action="store_true", help="without meaning")
    parser.add_argument("--show", action="store_true", help="print each prompt and what comes")
    given = parser.parse_args()
    place = make_query_context(queue.state_folder(given.home), RecallSettings(), os.environ)
    rows = [line.split("\t") for line in given.prompts.read_text(encoding="utf-8").splitlines()]
    rows = rows[given.held :: 2 if given.held or given.work else 1]
    ranks: list[int] = []
    shown = helps = 0
    for key, prompt in rows:
        turns = rank_past_turns(place, prompt, given.scope, meaning=not given.words, most=max(RANKS))
        right = [number for number, each in enumerate(turns, 1) if each.key.startswith(key)]
        ranks += right[:1] or [max(RANKS) + 1]
        enough = [each for each in turns if each.near][:2]
        shown += len(enough)
        helps += sum(each.key.startswith(key) for each in enough)
        if given.show:
            print(f"{prompt}  rank {right[:1]}")
            for each in turns[:3]:
                print(f"    {each.near:.2f} {each.score:.2f} {each.key[:8]} {' '.join(each.text.split())[:110]}")
    told = []
    for most in RANKS:
        found = [(float(rank <= most), 1.0) for rank in ranks]
        count, (low, high) = sum(rank <= most for rank in ranks), bootstrap_interval(found)
        told.append(f"first {most}: {count} ({count / len(rows):.2f}, {low:.2f} to {high:.2f})")
    print(f"{len(rows)} prompts; {', '.join(told)}; {shown} shown unasked, {helps} of them the turn itself")
    files = ("unrelated.txt", "unrelated-strangers.txt")
    unrelated = [line for name in files for line in (HERE / name).read_text(encoding="utf-8").splitlines()]
    empty = [not any(each.near for each in rank_past_turns(place, prompt, given.scope)) for prompt in unrelated]
    print(f"{sum(empty)} of {len(empty)} unrelated prompts bring nothing")


if __name__ == "__main__":
    main()
