"""Fit the models that select facts for a prompt: does it ask for anything remembered, and which memory helps? Prints figures out of
fold.

    python benchmarks/asking.py [--write]

The data are ``judged`` and ``requests`` (memories, prompts and judgements of invented projects by two authors), the prompts in
``requests/asks.tsv`` (``work``: a rule may apply; ``other``: none does), and the unrelated prompts of ``paraphrases``. The first
model decides from a prompt's vector whether it asks for anything remembered; it also learns from the prompts of ``projects``. The
second, a logistic score of the features in
``Likeness``, decides which memory helps; its coefficients are the constants of ``recall/relevance.py``. Each project is scored with
weights that were fitted without its prompts, memories and judgements. One feature is what a kind of request needs. It is learnt
from ``requests/needs.tsv`` (requests, each with the kinds of rules that apply) and ``requests/rules.tsv`` (rules of these kinds),
which belong to no project. ``--write`` writes ``recall/embed/asking.json``.
"""

import argparse
import json
import tempfile
from base64 import b64encode
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import judged
import numpy as np
from judged import Prompt
from numpy.typing import NDArray

import kept.recall.embed.levels
import kept.recall.search
from kept.local.recall_settings import RecallSettings
from kept.paths import find_paths
from kept.recall import nearby
from kept.recall.embed import LOCAL, create_embedder
from kept.recall.relevance import DEFAULT_WEIGHTS, Likeness

FOLDERS = ("judged", "requests")
CERTAIN = kept.recall.embed.levels._CERTAIN  # noqa: SLF001 - the threshold to which the weights belong
SCALED = 10.0  # factor for the inputs of the first fit, to match its penalty
KINDS = ("plain", "few", "none")
PARTS = ("telling", "bare topic", "topic beside more", "meaning", "always", "need")
RIDGE = 0.1  # penalty of the second fit, whose inputs are between 0 and 4
DIRECTIONS, RANK = 128, 48  # number of main directions in which needs are learnt, and rank of the stored product
NEED_RIDGE, STEPS = 0.3, 250
NEED_SHARE = 0.5  # share of the fitted weight of the need that is written, because in real projects the whole ranks worse
MOST = 3  # maximum lines shown before a prompt
SHARES = (0.8, 0.9, 0.95, 0.97)

Array = NDArray[np.float64]
Meanings = Callable[..., Array]


class Row(NamedTuple):
    """A memory that was considered for a prompt."""

    prompt: int
    memory: str
    parts: tuple[float, ...]


def logistic(inputs: Array, right: Array, ridge: float) -> Array:
    """Ridge logistic regression by Newton's method; the first weight is the bias."""
    whole = np.c_[np.ones(len(inputs)), inputs]
    penalty = ridge * np.eye(whole.shape[1])
    penalty[0, 0] = 0
    weights = np.zeros(whole.shape[1])
    for _ in range(30):
        odds = 1 / (1 + np.exp(-np.clip(whole @ weights, -30, 30)))
        slope = whole.T @ (odds - right) + penalty @ weights
        weights -= np.linalg.solve((whole.T * (odds * (1 - odds) + 1e-9)) @ whole + penalty, slope)
    return weights


def learn_needs(asks: Array, rules: Array, right: Array) -> tuple[Array, Array]:
    """Two matrices whose product maps the unit vector of a request to the vector that is compared with rules.

    Logistic regression on products of the vectors' main directions, besides the nearness of a rule; accelerated gradient descent.
    """
    main = np.linalg.svd(np.concatenate([asks, rules]), full_matrices=False)[2][:DIRECTIONS].T
    cosines = asks @ rules.T
    near = (cosines - cosines.mean(1, keepdims=True)) / cosines.std(1, keepdims=True)
    bias, weight = logistic(near.reshape(-1, 1), right.ravel(), RIDGE)
    left, across = asks @ main, rules @ main
    steepest = np.linalg.norm(left, 2) ** 2 * np.linalg.norm(across, 2) ** 2 / 8 + NEED_RIDGE
    found = ahead = np.zeros((DIRECTIONS, DIRECTIONS))
    for step in range(STEPS):
        odds = 1 / (1 + np.exp(-(left @ ahead @ across.T + bias + weight * near)))
        slope = left.T @ (odds - right) @ across + NEED_RIDGE * ahead
        found, before = ahead - slope / steepest, found
        ahead = found + step / (step + 3) * (found - before)
    from_left, sizes, to_right = np.linalg.svd(found)
    return main @ (from_left[:, :RANK] * sizes[:RANK] ** 0.5), main @ (to_right[:RANK].T * sizes[:RANK] ** 0.5)


def considered(store: Path, prompts: Sequence[Prompt]) -> list[Row]:
    """All memories that the program considers for each prompt, with the features of their likeness."""
    rows: list[Row] = []
    now = [0]

    def note(look: nearby.ContextLookup, memory: object, words: object, parts: Likeness) -> object:
        bare = nearby.detect_intent(look.asked.message).bare
        found = (parts.telling, parts.topic * bare, parts.topic * (not bare), parts.meaning or 0.0, float(parts.always), 0.0)
        rows.append(Row(now[0], memory.id, found))  # type: ignore[attr-defined]
        return kept_piece(look, memory, words, parts)  # type: ignore[arg-type]

    kept_piece = nearby._missed_piece  # noqa: SLF001 - this function gets all features
    nearby._missed_piece = note  # type: ignore[assignment] # noqa: SLF001
    for place, prompt in enumerate(prompts):
        now[0] = place
        every = RecallSettings(floor=-1.0, most=1_000)
        judged.shown(store, prompt, frozenset(), words=False, weights=DEFAULT_WEIGHTS._replace(floor=9.0), recall=every, missed=[])
    nearby._missed_piece = kept_piece  # noqa: SLF001
    return rows


def show_curve(name: str, prompts: Sequence[Prompt], rows: Sequence[Row], scores: Array) -> dict[float, float]:
    """Print precision and recall at the floors at which each share of ``SHARES`` of unrelated prompts gets nothing; returns the
    floors.
    """
    of: dict[int, list[tuple[float, str]]] = {}
    for row, score in zip(rows, scores, strict=True):
        of.setdefault(row.prompt, []).append((score, row.memory))
    best = {place: sorted(each, reverse=True)[:MOST] for place, each in of.items()}
    unrelated = sorted(best.get(place, [(-99.0, "")])[0][0] for place, each in enumerate(prompts) if each.kind == "none")
    floors = {share: unrelated[min(len(unrelated) - 1, int(np.ceil(share * len(unrelated))))] + 1e-9 for share in SHARES}
    for share, floor in floors.items():
        told = []
        for kind, across in (("plain", None), ("plain", False), ("plain", True), ("few", None)):
            hits = misses = wanted = 0
            for place, each in enumerate(prompts):
                if each.kind != kind or (across is not None and across != (each.language != "en")):
                    continue
                keys = {memory for score, memory in best.get(place, ()) if score >= floor}
                hits, misses = hits + len(keys & each.wanted), misses + len(keys - each.wanted - each.harmless)
                wanted += len(each.wanted)
            label = kind if across is None else "not English" if across else "English"
            told.append(f"{label} {hits / max(1, hits + misses):.2f} / {hits / max(1, wanted):.2f}")
        print(f"{name} {share:.0%} of unrelated prompts empty at {floor:5.2f}: {', '.join(told)}")
    return floors


def read_all(here: Path, meaning_of: Meanings, needs: tuple[Array, Array]) -> tuple[list[Prompt], list[Row]]:
    """The prompts of all folders, and the memories considered for them; need and nearness are separate features."""
    asking, helping = needs

    def find_asked(_model: str, question: Array) -> tuple[float, Array]:
        meaning = question[-len(asking) :] / (np.linalg.norm(question[-len(asking) :]) or 1.0)
        return 0.0, np.r_[np.zeros(len(question) - len(asking)), helping @ (meaning @ asking)].astype(np.float32)

    kept.recall.search.find_asked = find_asked  # type: ignore[assignment]
    prompts: list[Prompt] = []
    rows: list[Row] = []
    for folder in FOLDERS:
        own = [each for each in judged.read_prompts(here / folder) if each.kind in KINDS]
        with tempfile.TemporaryDirectory() as home:
            judged.fill(Path(home), here / folder)
            found = considered(find_paths(home, {"HOME": home}).store, own)
        texts = {row[1]: row[3] for row in judged.rows(here / folder, "memories.tsv")}
        told = dict(zip(texts, meaning_of(list(texts.values())) @ helping, strict=True))
        wanted = meaning_of([each.text for each in own], asked=True) @ asking
        for row in found:
            *parts, meaning, always, _ = row.parts
            need = float(wanted[row.prompt] @ told[row.memory])
            rows.append(Row(row.prompt + len(prompts), row.memory, (*parts, meaning - need if meaning else 0.0, always, need)))
        prompts += own
    return prompts, rows


def fit_asking(meanings: Array, asking: NDArray[np.bool_], projects: NDArray[np.str_]) -> Array:
    """The doubt about each prompt, with weights fitted without its project."""
    odds = np.zeros(len(projects))
    for project in sorted(set(projects)):
        apart = np.r_[projects != project, np.ones(len(meanings) - len(projects), bool)]
        weights = logistic(meanings[apart], asking[apart], SCALED)
        odds[projects == project] = (weights[0] + meanings[: len(projects)] @ weights[1:])[projects == project]
    ranks, work = odds.argsort().argsort(), asking[: len(projects)]
    area = (ranks[work].mean() - (work.sum() - 1) / 2) / (~work).sum()
    print(f"out of fold a prompt that asks stands above one that does not in {area:.1%} of pairs")
    return np.maximum(0.0, CERTAIN - odds)


def fit_helping(prompts: Sequence[Prompt], rows: Sequence[Row], doubt: Array) -> float:
    """Print the weights of the features, and the results with weights fitted without a prompt's project. Returns the weight of the
    need relative to that of the meaning, in deviations.
    """
    inputs, of = np.array([row.parts for row in rows]), np.array([row.prompt for row in rows])
    projects = np.array([each.project for each in prompts])[of]
    right = np.array([row.memory in prompts[row.prompt].wanted for row in rows])
    fits = np.array([prompts[row.prompt].kind != "none" and row.memory not in prompts[row.prompt].harmless for row in rows])
    scores = np.zeros(len(rows))
    for project in sorted(set(projects)):
        weights = logistic(inputs[fits & (projects != project)], right[fits & (projects != project)], RIDGE)
        scores[projects == project] = (weights[0] + inputs @ weights[1:])[projects == project]
    show_curve("helping alone,", prompts, rows, scores)
    floors = show_curve("with doubt,", prompts, rows, scores - doubt[of])
    weights = logistic(inputs[fits], right[fits], RIDGE)
    print(f"bias {weights[0]:.2f}", *(f"{name} {weight:+.2f}" for name, weight in zip(PARTS, weights[1:], strict=True)), sep=", ")
    print(f"at a floor of 0.3 for 97 %: bias {weights[0] - floors[0.97] + float(np.log(0.3 / 0.7)):.2f}")
    return float(weights[6] / weights[4])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    here = Path(__file__).parent
    model, asker = (create_embedder(LOCAL, stays=True, requests=requests) for requests in (False, True))
    if model is None or asker is None:
        raise SystemExit("the model's pack is not here: make run brings it")

    def meaning_of(texts: Sequence[str], *, asked: bool = False) -> Array:
        return (asker if asked else model).embed(texts)[:, getattr(model, "half", 0) :].astype(float)

    rules, needing = judged.rows(here / "requests", "rules.tsv"), judged.rows(here / "requests", "needs.tsv")
    right = np.array([[kind in kinds.split() for kind, _ in rules] for kinds, _ in needing], float)
    needs = learn_needs(meaning_of([text for _, text in needing], asked=True), meaning_of([text for _, text in rules]), right)
    prompts, rows = read_all(here, meaning_of, needs)
    asks = judged.rows(here / "requests", "asks.tsv")
    unrelated = [text for _, *texts in judged.rows(here / "paraphrases", "unrelated.tsv") for text in texts]
    typed = [row for path in sorted((here / "projects").iterdir()) for row in judged.rows(path.parent, path.name) if row[0] == "p"]
    texts = [each.text for each in prompts] + [text for *_, text in (*asks, *typed)] + unrelated
    meanings = SCALED * meaning_of(texts, asked=True)
    asking = np.array(
        [each.kind != "none" for each in prompts]
        + [kind == "work" for kind, *_ in asks]
        + [kind != "none" for _, kind, *_ in typed]
        + [False] * len(unrelated)
    )
    gain = fit_helping(prompts, rows, fit_asking(meanings, asking, np.array([each.project for each in prompts])))
    if given.write:
        bias, *found = logistic(meanings, asking, SCALED)
        scale = float(np.abs(found).max() / 127)
        largest = np.abs(needs).max()
        body = {
            "bias": round(bias, 3),
            "scale": round(scale * SCALED, 5),
            "need": round(float(NEED_SHARE * gain * (largest / 127) ** 2), 8),
            "needs": b64encode(np.round(np.array(needs) / largest * 127).astype(np.int8).tobytes()).decode(),
            "weights": np.round(np.array(found) / scale).astype(int).tolist(),
        }
        path = Path(kept.recall.embed.levels.__file__).with_name("asking.json")
        path.write_text(json.dumps({model.name: body}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
