"""Train the score that ranks held proposals, and measure its ranking and floor on sources that were not used for training.

    python benchmarks/train_score.py TURNS [--judged FILE] [--write]

TURNS is a folder with ``turns.jsonl`` and ``labels.jsonl``. The model learns from every typed sentence (right: it shares half of
its words with a passage that the annotator kept). The ranking is measured on what would be held: doubtful explicit statements, and
wishes stated once. Every figure for a source uses weights and a floor from the other sources; the floor is the score at which
precision falls to one half. ``--write`` writes the weights from all sources, and the floor of all out-of-fold scores, to
``extraction/score.json``. ``--judged`` also learns from what a person called wrong on their own machine ("this is wrong because
…"): the file ``judged.jsonl`` beside the store, in which the last line about a memory counts.
Average precision is that of all sentences, and of what would be held.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from math import exp, inf
from pathlib import Path
from typing import NamedTuple

import numpy as np
from events import build_event

import kept.extraction.score
from kept.core.memory import SAID_ONCE, WISH, Accepted, Candidate, Refused, Verdict
from kept.core.sentences import split_sentences
from kept.core.spans import typed_spans
from kept.core.value import replace
from kept.evaluation.turns import AnnotatedTurn, load_annotations
from kept.extraction.gate import judge
from kept.extraction.rules.candidates import propose_prompt_tellings
from kept.extraction.rules.passages import LEAST, count_content_words
from kept.extraction.score import ScoreModel, compute_features, score
from kept.profiles import load_profile
from kept.profiles.language import choose_lexicon

RIDGE = 10.0  # the strength of the penalty on weights, in standard deviations of a feature
RANKS = (1, 3, 10)
BANDS = 5


class Row(NamedTuple):
    """A typed sentence: whether the annotator kept it, and whether it would be held as a proposal."""

    source: str
    words: str
    values: dict[str, float]
    right: bool
    waits: bool


def read_rows(turns: Path) -> list[Row]:
    """The sentences in all annotated turns of a folder."""
    by_session: dict[tuple[str, str], list[AnnotatedTurn]] = defaultdict(list)
    for turn in load_annotations(turns):
        by_session[turn.source, turn.session].append(turn)
    rows = [row for each in by_session.values() for row in rows_of(each)]
    print(f"{len(rows)} sentences, {sum(row.right for row in rows)} of them kept")
    return rows


def rows_of(turns: Sequence[AnnotatedTurn]) -> list[Row]:
    """The sentences in the typed turns of one session."""
    by, events, rows = load_profile("coding"), [build_event(turn.text, turn.id, turn.session) for turn in turns], []
    for place, (event, turn) in enumerate(zip(events, turns, strict=True)):
        words = choose_lexicon([event], by.languages)
        proposed = {
            candidate.content: candidate
            for candidate in propose_prompt_tellings(events, place, place + 1, profile=by, lexicon=words, scope="project:annotated")
        }
        for span in typed_spans(event):
            for sentence in split_sentences(event.text, span.start, span.end):
                text = event.text[sentence.start : sentence.end]
                made = next((one for content, one in proposed.items() if content in text), None)
                if len(text) < 15 or sentence.parenthetical:
                    continue
                content, trigger = (made.content, made.trigger) if made else (text, WISH)
                waits = made is not None and is_pending(made, judge(made, by, lexicon=words))
                values = compute_features(content, trigger=trigger)
                rows.append(Row(source=turn.source, words=content, values=values, right=bool(turn.passages_in(text)), waits=waits))
    return rows


def read_judged(path: Path) -> list[Row]:
    """What a person called wrong, and what of that they took back."""
    last = {told["memory"]: told for told in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    return [
        Row(
            source="judged",
            words=told["words"],
            values=compute_features(told["words"], trigger=told["trigger"]),
            right=not told["reason"],
            waits=False,
        )
        for told in last.values()
        if told["words"]
    ]


def is_pending(candidate: Candidate, verdict: Verdict) -> bool:
    """Whether a candidate would be held for a person."""
    if isinstance(verdict, Refused):
        return verdict.reason == SAID_ONCE and count_content_words(candidate.content) >= LEAST
    return not isinstance(verdict, Accepted)


def train(rows: Sequence[Row]) -> ScoreModel:
    """Ridge logistic regression by Newton's method on standardized features; the returned weights are for the raw features."""
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
    return ScoreModel(bias=round(float(weights[0] - scaled @ mean), 3), floor=-inf, weights=named)


def ranked(model: ScoreModel, rows: Sequence[Row]) -> list[tuple[float, bool]]:
    """The score and the label of each distinct text that would be held, the best first."""
    found = {row.words: (score(row.values, model).value, row.right) for row in rows if row.waits}
    return sorted(found.values(), key=lambda pair: -pair[0])


def out_of_fold(rows: Sequence[Row], source: str) -> list[tuple[float, bool]]:
    """The held texts of a source, ranked with a model trained on all other sources, including the person's own judgements."""
    return ranked(train([row for row in rows if row.source != source]), [row for row in rows if row.source == source])


def find_floor(pairs: Sequence[tuple[float, bool]]) -> float:
    """The lowest score at which precision is above one half, with precision made monotonic in the score (isotonic regression)."""
    blocks: list[tuple[int, int, float]] = []
    for value, right in sorted(pairs, key=lambda pair: -pair[0]):
        block = (int(right), 1, value)
        while blocks and blocks[-1][0] * block[1] <= block[0] * blocks[-1][1]:
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], value)
        blocks.append(block)
    return min((least for right, of, least in blocks if 2 * right > of), default=inf)


def tell(pairs: Sequence[tuple[float, bool]]) -> str:
    right = sum(right for _, right in pairs)
    return f"{right} of {len(pairs)} ({100 * right / max(1, len(pairs)):.0f} %)"


def calibration(pairs: Sequence[tuple[float, bool]]) -> float:
    """The expected calibration error over bands with equal numbers."""
    odds = sorted((1 / (1 + exp(-value)), right) for value, right in pairs)
    bands = [band for band in np.array_split(np.array(odds, float), BANDS) if len(band)]
    return float(sum(len(band) * abs(band[:, 0].mean() - band[:, 1].mean()) for band in bands) / len(pairs))


def average_precision(model: ScoreModel, rows: Sequence[Row]) -> float:
    ordered = sorted(rows, key=lambda row: -score(row.values, model).value)
    hits = [rank for rank, row in enumerate(ordered, 1) if row.right]
    return sum(number / rank for number, rank in enumerate(hits, 1)) / max(1, len(hits))


def measure(rows: Sequence[Row], sources: Sequence[str]) -> ScoreModel:
    """Print the figures of each source with weights of the others. Returns the model of all sources."""
    folds = {source: out_of_fold(rows, source) for source in sources}
    every = [pair for source in sources for pair in folds[source]]
    shown: list[tuple[float, bool]] = []
    for source in sources:
        floor = find_floor([pair for other in sources if other != source for pair in folds[other]])
        likely = [pair for pair in folds[source] if pair[0] >= floor][: RANKS[-1]]
        shown += likely
        own, others = [row for row in rows if row.source == source], train([row for row in rows if row.source != source])
        precisions = [average_precision(others, some) for some in (own, [row for row in own if row.waits])]
        print(f"{source}: {tell(folds[source])} right; {tell(likely)} of those shown, above a floor of {floor:.2f}", end="; ")
        print("average precision {:.3f}, of what is held {:.3f}".format(*precisions))
    for rank in RANKS:
        print(f"ranks 1 to {rank} of each source, without a floor: {tell([p for fold in folds.values() for p in fold[:rank]])}")
    print(f"all that are shown: {tell(shown)}; calibration error out of fold: {calibration(every):.3f}")
    model = replace(train(rows), floor=round(find_floor(every), 3))
    above = [pair for pair in every if pair[0] >= model.floor]
    print(f"floor of all {model.floor}: {tell(above)} above it, {tell([p for p in every if p[0] < model.floor])} below")
    print(f"bias {model.bias}", *(f"{name} {weight:+.3f}" for name, weight in model.weights.items()), sep="\n  ")
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("turns", type=Path)
    parser.add_argument("--judged", type=Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    rows = read_rows(args.turns)
    sources = sorted({row.source for row in rows})
    if args.judged:
        rows += (judged := read_judged(args.judged))
        print(f"{sum(not row.right for row in judged)} memories that a person called wrong")
    model = measure(rows, sources)
    if args.write:
        body = {"bias": model.bias, "floor": model.floor, "weights": model.weights}
        Path(kept.extraction.score.__file__).with_name("score.json").write_text(f"{json.dumps(body, indent=2)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
