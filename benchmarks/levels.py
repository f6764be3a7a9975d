"""Measure a model's cosines of unrelated texts in ten languages, and how well they are separated from those of paraphrases.

    python benchmarks/levels.py [--table] [--requests] [small|multilingual]

``paraphrases/<language>.tsv`` contains the same 30 facts in each language, each with a question in other words; ``unrelated.tsv``
contains 12 prompts in each language that are about none of the facts. A question is unrelated to the 29 other facts. ``--table``
prints the model's entry in ``src/kept/recall/embed/levels.json``: the mean cosine of unrelated pairs and the cosine that one pair
in 200 reaches, for each language in which at least two in five questions rank their fact first. Without it: how often the right
fact comes first, and what passes certain floors on the common scale. With ``--requests`` the questions are embedded as requests.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kept.recall.embed import LOCAL, Embedder, create_embedder
from kept.recall.embed.levels import detect_language, find_scale

FOLDER = Path(__file__).with_name("paraphrases")
SELDOM = 0.995
KNOWN = 0.4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="multilingual", choices=("small", "multilingual"))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--requests", action="store_true")
    given = parser.parse_args()
    model = create_embedder(LOCAL, local=given.model, stays=True)
    asking = create_embedder(LOCAL, local=given.model, stays=True, requests=given.requests)
    if model is None or asking is None:
        raise SystemExit("the model's pack is not here: make run brings it")
    unrelated = {name: prompts for name, *prompts in map(str.split, lines(FOLDER / "unrelated.tsv"), "\t" * 99)}
    facts = {name: [each.split("\t") for each in lines(FOLDER / f"{name}.tsv")] for name in unrelated}
    if given.table:
        name = f"{model.name}, requests" if given.requests else model.name
        print(json.dumps({name: table(model, asking, facts, unrelated)}, indent=2))
        return
    stored = {name: model.embed([fact for fact, _ in pairs]) for name, pairs in facts.items()}
    print("language: right first, among English facts; right and unrelated at the hook's floor, at the search's, per prompt")
    for name, pairs in facts.items():
        asked = [question for _, question in pairs]
        rows, others, english = (
            levels(asking, questions, facts_of, request=given.requests)
            for questions, facts_of in ((asked, stored[name]), (unrelated[name], stored[name]), (asked, stored["en"]))
        )
        there = np.diag(rows)
        first = [float(np.mean(each.argmax(1) == np.arange(len(each)))) for each in (rows, english)]
        floors = [f"{np.mean(there >= floor):.2f} {np.sum(others >= floor) / len(others):.2f}" for floor in (0.57, 0.3)]
        print(f"{name}: {first[0]:.2f} {first[1]:.2f} | {' | '.join(floors)}")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def levels(model: Embedder, questions: list[str], stored: np.ndarray, *, request: bool) -> np.ndarray:
    """The cosines of questions and facts on the common scale; 0 if the model does not know the question's language."""
    raw = model.embed(questions, question=True) @ stored.T
    known = [find_scale(model.name, each, request=request) for each in questions]
    return np.array(
        [[each.to_common_scale(float(cosine)) if each else 0.0 for cosine in row] for each, row in zip(known, raw, strict=True)]
    )


def table(
    model: Embedder, asking: Embedder, facts: Mapping[str, list[list[str]]], unrelated: Mapping[str, list[str]]
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    first: dict[str, list[bool]] = {}
    for name, pairs in facts.items():
        stored = model.embed([fact for fact, _ in pairs])
        asked = [question for _, question in pairs]
        for questions, own in ((asked, True), (unrelated[name], False)):
            cosines = asking.embed(questions, question=True) @ stored.T
            for place, (question, row) in enumerate(zip(questions, cosines, strict=True)):
                language = detect_language(question)
                if (language == "english") != (name == "en"):
                    continue  # detected as another language
                found.setdefault(language, []).extend(np.delete(row, place) if own else row)
                if own:
                    first.setdefault(language, []).append(int(row.argmax()) == place)
    known = [name for name, hits in first.items() if name and np.mean(hits) >= KNOWN]
    return {name: [round(float(value), 3) for value in (np.mean(found[name]), np.quantile(found[name], SELDOM))] for name in known}


if __name__ == "__main__":
    main()
