"""Test whether a passage that sounds lasting in its meaning should rank higher among what is held (it does not help; see the log).

    python benchmarks/lasting.py TURNS

``lasting/sentences.tsv`` has sentences written for this: rules, decisions and facts (``lasting``), and orders for now, reports,
questions and thanks with the same words ("we", "never", "only", "no"). ``lasting/turns.tsv`` marks each sentence of the turns in
``projects``: ``k`` lasts, ``-`` does not, ``?`` is debatable and left out. The prompts in ``projects`` ask for something, so they
do not last. Each model gets a logistic model of its unit vectors: MiniLM of English texts, the universal encoder of the others.
First it is measured on kinds of projects that it did not see. Then it is a sixth feature of the score (``train_score.py``).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from events import build_event
from train_score import measure, read_rows

from kept.core.sentences import split_sentences
from kept.core.spans import typed_spans
from kept.recall.embed import LOCAL, create_embedder
from kept.recall.embed.levels import detect_language

HERE = Path(__file__).parent
WRITTEN, TURN, PROMPT = 1.0, 0.2, 0.02  # weight of a sentence of each kind
FEW = 10  # sentences of a project with fewer are not measured
LEAST = 15  # characters of a sentence that counts
RIDGE = 3.3  # strength of the penalty on weights of unit vectors
MARKS = {"k": True, "-": False}


class Sentence(NamedTuple):
    """A sentence, its project, whether it lasts, and its weight."""

    project: str
    text: str
    lasting: bool
    weight: float


def read_sentences() -> list[Sentence]:
    rows = (line.split("\t") for line in (HERE / "lasting" / "sentences.tsv").read_text(encoding="utf-8").splitlines())
    found = [Sentence(f"{language} {project}", text, kind == "lasting", WRITTEN) for language, project, kind, text in rows]
    marked = (line.split("\t") for line in (HERE / "lasting" / "turns.tsv").read_text(encoding="utf-8").splitlines())
    marks = {(project, turn): every for project, turn, every in marked}
    for path in sorted((HERE / "projects").glob("*.tsv")):
        for kind, *row in (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()):
            texts = split(row[-1].replace("\\n", "\n")) if kind in ("t", "p") else []
            if kind == "t" and (path.stem, row[0]) in marks:
                own = zip(texts, marks[path.stem, row[0]], strict=True)
                found += [Sentence(path.stem, text, MARKS[mark], TURN) for text, mark in own if mark in MARKS]
            elif kind == "p":
                found += [Sentence(path.stem, text, lasting=False, weight=PROMPT) for text in texts]
    return found


def split(text: str) -> list[str]:
    event = build_event(text, "", "")
    places = (place for span in typed_spans(event) for place in split_sentences(event.text, span.start, span.end))
    parts = (event.text[place.start : place.end].strip() for place in places)
    return [part for part in parts if len(part) >= LEAST]


def fit(sentences: Sequence[Sentence], vectors: np.ndarray) -> np.ndarray:
    """The direction: weights of a ridge logistic regression of unit vectors, scaled to deviations of the sentences."""
    right = np.array([each.lasting for each in sentences], float)
    weights = np.array([each.weight for each in sentences])
    inputs = np.c_[np.ones(len(vectors)), vectors].astype(float)
    penalty = np.diag([0.0] + [RIDGE] * vectors.shape[1])
    found = np.zeros(inputs.shape[1])
    for _ in range(8):
        odds = 1 / (1 + np.exp(-inputs @ found))
        slope = inputs.T @ (weights * (odds - right)) + penalty @ found
        found -= np.linalg.solve((inputs.T * (weights * odds * (1 - odds))) @ inputs + penalty, slope)
    direction: np.ndarray = found[1:] / (vectors @ found[1:]).std()
    return direction


def rate(name: str, sentences: Sequence[Sentence], vectors: np.ndarray) -> None:
    """Print the average precision in each kind of project that was written, with a direction learnt from everything else."""
    found = []
    for project in sorted({each.project for each in sentences if each.weight == WRITTEN}):
        seen = [place for place, each in enumerate(sentences) if each.project != project]
        rest = [place for place, each in enumerate(sentences) if each.project == project]
        if len(rest) >= FEW:
            scores = vectors[rest] @ fit([sentences[place] for place in seen], vectors[seen])
            hits = np.flatnonzero(np.array([sentences[place].lasting for place in rest])[np.argsort(-scores)]) + 1
            found.append(float((np.arange(1, len(hits) + 1) / hits).mean()))
    print(f"{name}: {len(sentences)} sentences; average precision in {len(found)} projects it did not see {np.mean(found):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("turns", type=Path)
    args = parser.parse_args()
    both: Any = create_embedder(LOCAL, stays=True)
    if not hasattr(both, "half"):
        raise SystemExit("the models' packs are not here: make run brings them")
    every = read_sentences()
    print(f"{len(every)} sentences, {sum(each.lasting for each in every)} of them lasting")
    rows = read_rows(args.turns)
    asked = both.embed([row.words for row in rows])
    lasting = np.zeros(len(rows))
    for english, part in ((True, slice(both.half)), (False, slice(both.half, None))):
        own = [each for each in every if is_english(each.text) == english]
        vectors = both.embed([each.text for each in own])[:, part]
        direction = fit(own, vectors)
        rate("English" if english else "other languages", own, vectors)
        places = [place for place, row in enumerate(rows) if is_english(row.words) == english]
        lasting[places] = asked[places][:, part] @ direction - (vectors @ direction).mean()
    sources = sorted({row.source for row in rows})
    print("\nThe features of the words:")
    measure(rows, sources)
    print("\nWith how lasting the passage sounds:")
    measure(
        [row._replace(values=row.values | {"sounds lasting": float(each)}) for row, each in zip(rows, lasting, strict=True)],
        sources,
    )


def is_english(text: str) -> bool:
    return detect_language(text) == "english"


if __name__ == "__main__":
    main()
