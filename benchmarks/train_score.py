"""Trains the weights by which waiting proposals are ranked, and says how good the ranking is where it was not trained.

    python benchmarks/train_score.py TURNS [--write]

TURNS is a folder with ``turns.jsonl`` and ``labels.jsonl``. The model learns from every sentence that was typed (right: it
shares half of its words with a passage the annotator kept); the ranking is judged on what would wait: explicit tellings in
doubt and wishes said once. Every figure leaves the source out that it is about. ``--write`` writes the weights of all sources
together to ``extraction/score.json``.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from math import exp
from pathlib import Path
from typing import NamedTuple

import numpy as np

import kept.extraction.score
from kept.core.event import Author, Event, EventKind, Pointer, Precision
from kept.core.memory import WISH
from kept.core.sentences import split_sentences
from kept.core.spans import typed_spans
from kept.evaluation.turns import AnnotatedTurn, load_annotations
from kept.extraction.rules.candidates import propose_prompt_tellings
from kept.extraction.score import NEAR, ScoreModel, features, score
from kept.profiles import load_profile
from kept.profiles.language import choose_lexicon
from kept.profiles.lexicons import load_lexicon

RIDGE = 10.0  # the strength of the penalty on weights, in standard deviations of a feature
BEST = (10, 20, 40)
BANDS = 5


class Row(NamedTuple):
    """A typed sentence: whether the annotator kept it, and whether it would wait as a proposal."""

    source: str
    words: str
    values: dict[str, float]
    right: bool
    waits: bool


def events_of(turns: Sequence[AnnotatedTurn]) -> list[Event]:
    said = [
        (kind, author, text, turn.id)
        for turn in turns
        for kind, author, text in ((EventKind.RESPONSE, Author.ASSISTANT, turn.before), (EventKind.PROMPT, Author.HUMAN, turn.text))
        if text.strip()
    ]
    return [
        Event(
            key=f"{kind.value} {turn}",
            twin="",
            session="annotated",
            record="",
            parent="",
            turn="",
            kind=kind,
            author=author,
            label_reason="",
            text=text,
            at=None,
            precision=Precision.NONE,
            project="",
            branch="",
            tool=None,
            pointer=Pointer(path="", line=place, start=0, end=0),
        )
        for place, (kind, author, text, turn) in enumerate(said)
    ]


def rows_of(turns: Sequence[AnnotatedTurn]) -> list[Row]:
    """The sentences of one session's typed turns."""
    by, events, rows = load_profile("coding"), events_of(turns), []
    every = load_lexicon(by.languages).spoken
    of_turn = {turn.id: turn for turn in turns}
    for place, event in enumerate(events):
        if event.kind is not EventKind.PROMPT:
            continue
        turn = of_turn[event.key.split(" ", 1)[1]]
        replied = any(each.author is Author.ASSISTANT for each in events[max(0, place - NEAR) : place])
        words = choose_lexicon([event], by.languages)
        proposed = {
            candidate.content: candidate
            for candidate in propose_prompt_tellings(
                events, place, place + 1, profile=by, lexicon=words, scope=lambda _: "project:annotated"
            )
        }
        for span in typed_spans(event):
            for sentence in split_sentences(event.text, span.start, span.end):
                text = event.text[sentence.start : sentence.end]
                made = next((one for content, one in proposed.items() if content in text), None)
                if len(text) < 15 or sentence.aside:
                    continue
                content, trigger = (made.content, made.trigger) if made else (text, WISH)
                values = features(content, trigger=trigger, after_reply=replied, patterns=every)
                waits = made is not None and bool(made.doubt)
                rows.append(Row(source=turn.source, words=content, values=values, right=turn.is_worth_keeping(text), waits=waits))
    return rows


def train(rows: Sequence[Row]) -> ScoreModel:
    """Ridge logistic regression by Newton's method, on standardized features; the weights are those of the plain ones."""
    names = list(rows[0].values)
    plain = np.array([[row.values[name] for name in names] for row in rows])
    right = np.array([row.right for row in rows], float)
    mean, spread = plain.mean(0), plain.std(0) + 1e-9
    inputs = np.c_[np.ones(len(rows)), (plain - mean) / spread]
    penalty = RIDGE * np.eye(len(names) + 1)
    penalty[0, 0] = 0
    weights = np.zeros(len(names) + 1)
    for _ in range(30):
        odds = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (odds - right) + penalty @ weights
        weights -= np.linalg.solve((inputs.T * (odds * (1 - odds))) @ inputs + penalty, slope)
    scaled = weights[1:] / spread
    named = {name: round(float(weight), 3) for name, weight in zip(names, scaled, strict=True)}
    return ScoreModel(bias=round(float(weights[0] - scaled @ mean), 3), weights=named)


def ranked(model: ScoreModel, rows: Sequence[Row]) -> list[tuple[float, bool]]:
    """Probability and truth of the rows that would wait, each text once, the best first."""
    found = {row.words: (1 / (1 + exp(-score(row.values, model).value)), row.right) for row in rows if row.waits}
    return sorted(found.values(), key=lambda pair: -pair[0])


def calibration(pairs: Sequence[tuple[float, bool]]) -> float:
    """The expected calibration error over bands of equal size."""
    bands = [band for band in np.array_split(np.array(sorted(pairs), float), BANDS) if len(band)]
    return float(sum(len(band) * abs(band[:, 0].mean() - band[:, 1].mean()) for band in bands) / len(pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("turns", type=Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    by_session: dict[tuple[str, str], list[AnnotatedTurn]] = defaultdict(list)
    for turn in load_annotations(args.turns):
        by_session[turn.source, turn.session].append(turn)
    rows = [row for turns in by_session.values() for row in rows_of(turns)]
    print(f"{len(rows)} sentences, {sum(row.right for row in rows)} of them kept")
    totals, every = dict.fromkeys(BEST, (0, 0)), []
    for source in sorted({row.source for row in rows}):
        pairs = ranked(train([row for row in rows if row.source != source]), [row for row in rows if row.source == source])
        best = {most: (sum(right for _, right in pairs[:most]), len(pairs[:most])) for most in BEST}
        totals = {most: (totals[most][0] + best[most][0], totals[most][1] + best[most][1]) for most in BEST}
        every += pairs
        shares = ", ".join(f"best {most}: {right} of {of}" for most, (right, of) in best.items())
        right = sum(right for _, right in pairs)
        print(f"{source}: {right} of {len(pairs)} right; {shares}; calibration error {calibration(pairs):.3f}")
    print(
        "together:", ", ".join(f"best {most}: {right} of {of} ({100 * right / of:.0f} %)" for most, (right, of) in totals.items())
    )
    print(f"calibration error of all, out of fold: {calibration(every):.3f}")
    model = train(rows)
    print(f"bias {model.bias}", *(f"{name} {weight:+.3f}" for name, weight in model.weights.items()), sep="\n  ")
    if args.write:
        body = {"bias": model.bias, "weights": model.weights}
        Path(kept.extraction.score.__file__).with_name("score.json").write_text(f"{json.dumps(body, indent=2)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
