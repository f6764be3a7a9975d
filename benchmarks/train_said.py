"""Fit the weights by which earlier turns are ranked, and measure the ranking on projects that were not used for fitting.

    kept --home DIR run TRANSCRIPTS… && python benchmarks/train_said.py DIR

Each prompt of ``judged/said*.tsv`` whose turn is in the store is searched after all sessions were read. The model is a softmax over
the turns that the search finds for a prompt: how likely is each of them the right one? Turns in the same words count as one. Every
figure for a project uses weights from the other projects. The weights of all, relative to that of the cosine, are the constants of
``recall/embed_server/query.py``. A second line of figures uses these constants as they are. In brackets: the 95 % interval of the
difference.
"""

import argparse
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kept.core.project import fallback_project_folder
from kept.local import queue
from kept.local.recall_settings import RecallSettings
from kept.recall.embed_server import query
from kept.recall.index import SearchLimits, UnitKind, open_index
from kept.recall.rank import SaidTurn
from kept.recall.search import find_said_turns

HERE = Path(__file__).with_name("judged")
NAMES = ("cosine", "shared words", "typed words")
RANKS = (2, 5, 10)
RIDGE = 1.0  # the strength of the penalty on weights, in standard deviations of a feature

Array = NDArray[np.float64]


class Asked(NamedTuple):
    """A prompt: the scope of its turn, the features of the turns that were found, and the row of the right one, -1 for none."""

    scope: str
    features: Array
    right: int


def list_turns(store: Path) -> dict[str, tuple[str, str]]:
    """The scope and text of every turn that a person typed, by its key."""
    with open_index(store) as index:
        scopes = {directory: scope for directory, scope, _ in index.list_projects()}
        units = index.load_units(UnitKind.TURN, index.items_within(UnitKind.TURN, SearchLimits(now="9"))).values()
    return {
        unit.id: (scopes.get(unit.directory or fallback_project_folder(unit.path), ""), unit.text)
        for unit in units
        if unit.author == "human"
    }


def features_of(turn: SaidTurn) -> tuple[float, ...]:
    typed = min(len(query.list_typed_words(turn.text)), query._MOST_TYPED)  # noqa: SLF001 - the constants that are fitted
    return turn.meant or 0.0, turn.shared**2, float(np.log1p(typed))


def normal(text: str) -> str:
    return " ".join(text.split()).casefold()


def read_prompts(home: str) -> Iterator[Asked]:
    place = query.make_query_context(queue.state_folder(home), RecallSettings(), os.environ)
    turns = list_turns(place.paths.store)
    for path in sorted(HERE.glob("said*.tsv")):
        for key, prompt in (line.split("\t")[:2] for line in path.read_text(encoding="utf-8").splitlines()):
            scope, text = next((found for each, found in turns.items() if each.startswith(key)), ("", ""))
            if not scope:
                continue
            turns_found = sorted(find_said_turns(place, prompt, scope)[1], key=lambda turn: turn.meant or 0.0)
            distinct = {normal(turn.text): features_of(turn) for turn in turns_found}
            right = [*distinct].index(normal(text)) if normal(text) in distinct else -1
            yield Asked(scope, np.array([*distinct.values()]), right)


def fit(prompts: Sequence[Asked]) -> Array:
    """Ridge softmax regression by Newton's method on standardized features; the returned weights are for the raw features."""
    spread = np.concatenate([each.features for each in prompts]).std(0)
    weights = np.zeros(len(NAMES))
    for _ in range(60):
        slope, curve = RIDGE * weights, RIDGE * np.eye(len(NAMES))
        for each in (each for each in prompts if each.right >= 0):
            inputs = each.features / spread
            odds = np.exp(inputs @ weights - (inputs @ weights).max())
            odds /= odds.sum()
            usual = odds @ inputs
            slope = slope + usual - inputs[each.right]
            curve = curve + (inputs * odds[:, None]).T @ inputs - np.outer(usual, usual)
        weights = weights - np.linalg.solve(curve, slope) / 2  # a whole step can go too far
    return weights / spread


def rank_of(each: Asked, weights: Array) -> int:
    """The rank of the right turn, or 99 if it was not found."""
    scores = each.features @ weights
    return 1 + int((scores > scores[each.right]).sum()) if each.right >= 0 else 99


def tell(name: str, ranks: Array, others: Array) -> None:
    draws = np.random.default_rng(12).integers(0, len(ranks), (2_000, len(ranks)))
    told = []
    for most in RANKS:
        apart = (ranks <= most).astype(float) - (others <= most)
        low, high = np.quantile(apart[draws].mean(1), (0.025, 0.975))
        told.append(f"first {most}: {(ranks <= most).mean():.3f} ({apart.mean():+.3f}, {low:+.3f} to {high:+.3f})")
    print(f"{name}: {', '.join(told)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home")
    prompts = list(read_prompts(parser.parse_args().home))
    projects: dict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(prompts):
        projects[each.scope].append(place)
    print(f"{len(prompts)} prompts: {dict(Counter(each.scope for each in prompts))}")
    without = np.array([rank_of(each, np.array([1, 0.3, 0])) for each in prompts])
    ranks = np.zeros(len(prompts))
    for scope, places in projects.items():
        weights = fit([each for each in prompts if each.scope != scope])
        ranks[places] = [rank_of(prompts[place], weights) for place in places]
    tell("cosine and shared words by hand", without, without)
    tell("out of fold", ranks, without)
    landed = np.array([1, query._WORDED, query._TYPED])  # noqa: SLF001 - as above
    tell("constants", np.array([rank_of(each, landed) for each in prompts]), without)
    for scope, places in projects.items():
        counts = [f"{(without[places] <= most).sum()} → {(ranks[places] <= most).sum()}" for most in RANKS]
        print(f"  {scope}, {len(places)} prompts: {', '.join(counts)}")
    weights = fit(prompts)
    print(*(f"{name} {weight:.3f}" for name, weight in zip(NAMES, weights / weights[0], strict=True)), sep=", ")


if __name__ == "__main__":
    main()
