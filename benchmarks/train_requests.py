"""Train the low-rank changes with which the models embed a request (``src/kept/recall/embed/requests.adapter``).

    pip install jax optax && python benchmarks/train_requests.py [--without WRITER] [--out FILE]

``projects`` has invented projects by several writers: memories (``m``), turns of earlier sessions (``t``) and prompts (``p``, with
the memories that help, those that do no harm, and the turns that are meant). A prompt's vector learns to be nearer to these than to
all other memories or turns, and than to those of its own project, by two softmax losses. The vectors of memories and turns stay as
they are. Of the learnt change, ``SHARE`` is used, because a model between the old and the new one is better on texts of another
kind (Wortsman et al. 2022). ``--without`` leaves a writer out and prints for their prompts the mean average precision before and
after. Texts are cut after 48 tokens here.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from kept.recall.embed import ADAPTER, LOCAL, create_embedder
from kept.recall.embed.minilm import MiniLM
from kept.recall.embed.universal import ORDERS, UniversalEncoder

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from pack_models import write_pack

HERE = Path(__file__).with_name("projects")
SHARE = 0.6
TOKENS, BATCH, DROPOUT = 48, 32, 0.1
WIDTH, HEADS, LAYERS = 384, 12, 6
FLOOR = 1e-12  # added to variances, as in the models

Array = Any  # an array of jax or numpy
Tree = dict[str, Any]


class Plan(NamedTuple):
    """How one of the models is trained: the rank of the changes, the highest learning rate, and the passes over the prompts."""

    rank: int
    rate: float
    passes: int


PLANS = {"english": Plan(8, 5e-4, 2), "many": Plan(16, 1e-3, 4)}


class Text(NamedTuple):
    """A memory or a turn: the number of its project, whether it is a turn, and its text."""

    project: int
    turn: bool
    text: str


class Prompt(NamedTuple):
    """A prompt, the places of the texts that it needs, of those that do no harm, its project, and whether it needs turns."""

    writer: str
    language: str
    text: str
    right: tuple[int, ...]
    harmless: tuple[int, ...]
    project: int
    turn: bool


def read_projects() -> tuple[list[Text], list[Prompt]]:
    texts: list[Text] = []
    prompts: list[Prompt] = []
    for number, path in enumerate(sorted(HERE.glob("*.tsv"))):
        places: dict[str, int] = {}
        for kind, *row in (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()):
            if kind in ("m", "t"):
                places[row[0]] = len(texts)
                texts.append(Text(number, kind == "t", row[-1].replace("\\n", "\n")))
            elif kind == "p":
                _, language, *marks, text = row
                wanted, harmless, turns = (tuple(places[name] for name in mark.split() if name != "-") for mark in marks)
                if wanted or turns:
                    words = text.replace("\\n", "\n")
                    prompts.append(Prompt(path.stem[:2], language, words, turns or wanted, harmless, number, bool(turns)))
    return texts, prompts


def normalize(state: Array, gain: Array, shift: Array) -> Array:
    centred = state - state.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred * centred).mean(-1, keepdims=True) + FLOOR) * gain + shift


def unit(vectors: Array) -> Array:
    return vectors / jnp.maximum(jnp.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def drop(values: Array, key: Array | None) -> Array:
    return values if key is None else values * jax.random.bernoulli(key, 1 - DROPOUT, values.shape) / (1 - DROPOUT)


class English:
    """MiniLM, as :class:`kept.recall.embed.minilm.MiniLM` computes it, for arrays of texts of one length."""

    def __init__(self, model: MiniLM) -> None:
        tensor = model._tensor  # noqa: SLF001 - the weights
        self.tokenize = model._tokens.tokenize  # noqa: SLF001 - and the tokenizer
        names = [f"{layer}.{name}" for layer in range(LAYERS) for name in ("attend", "output", "up", "down")]
        self.weights = {name: tensor(f"{name}.weight").astype(np.float32) * tensor(f"{name}.scale") for name in names}
        self._shifts = {name: tensor(f"{name}.bias") for name in names}
        places = ["embeddings", *(f"{layer}.{name}" for layer in range(LAYERS) for name in ("attention", "feed"))]
        self._norms = {name: (tensor(f"{name}.norm.weight"), tensor(f"{name}.norm.bias")) for name in places}
        self._words, self._scales, self._places = tensor("words"), tensor("words.scale"), tensor("places")

    def rows(self, ids: np.ndarray) -> np.ndarray:
        """The first vector of each token, shape (texts, tokens, dimensions)."""
        found: np.ndarray = self._words[ids].astype(np.float32) * self._scales[ids][..., None]
        return found + self._places[: ids.shape[1]]

    def embed(self, change: Tree, rows: Array, mask: Array, key: Array | None) -> Array:
        """One unit vector per text, with changed weights. With a key, values are dropped at random, as in training."""
        keys = [None] * LAYERS if key is None else list(jax.random.split(key, LAYERS))

        def dense(values: Array, name: str) -> Array:
            left, right = change[name]
            return values @ self.weights[name] + self._shifts[name] + (values @ left) @ right

        state = normalize(rows, *self._norms["embeddings"])
        hidden = (1 - mask)[:, None, None, :] * -1e9
        for layer in range(LAYERS):
            parts = jnp.split(dense(state, f"{layer}.attend"), 3, -1)
            shape = (*state.shape[:2], HEADS, WIDTH // HEADS)
            query, keyed, value = (part.reshape(shape).transpose(0, 2, 1, 3) for part in parts)
            scores = query @ keyed.transpose(0, 1, 3, 2) * (WIDTH // HEADS) ** -0.5
            mixed = (jax.nn.softmax(scores + hidden, -1) @ value).transpose(0, 2, 1, 3).reshape(state.shape)
            state = normalize(state + dense(drop(mixed, keys[layer]), f"{layer}.output"), *self._norms[f"{layer}.attention"])
            inner = dense(jax.nn.gelu(dense(state, f"{layer}.up"), approximate=False), f"{layer}.down")
            state = normalize(state + drop(inner, keys[layer]), *self._norms[f"{layer}.feed"])
        return unit((state * mask[..., None]).sum(1) / mask.sum(1)[:, None])


class Many:
    """The universal sentence encoder, as :class:`kept.recall.embed.universal.UniversalEncoder` computes it."""

    def __init__(self, model: UniversalEncoder) -> None:
        self.tokenize = model._tokens.tokenize  # noqa: SLF001 - the tokenizer
        self._vectors, load = model._piece_vectors, model._weights  # noqa: SLF001 - and the weights
        steps = [f"{step}_{order}" for step in "12" for order in ORDERS]
        names = ["proj.branches", "cnn_W", "d0", "p1", "d1", "d2", "p3", "d3", *(f"w{step}" for step in steps)]
        self.weights = {name: load(name) for name in names}
        self._shifts = {name: load(name) for name in ("proj_b.branches", "cnn_b", *(f"b{step}" for step in steps))}
        self._norms = {name: (load(f"ln_g{name}"), load(f"ln_b{name}")) for name in ("", ".branches")}

    def rows(self, ids: np.ndarray) -> np.ndarray:
        """The first vector of each token, shape (texts, tokens, dimensions)."""
        return np.array(self._vectors(ids.ravel())).reshape(*ids.shape, -1)

    def embed(self, change: Tree, rows: Array, mask: Array, key: Array | None) -> Array:
        """One unit vector per text, with changed weights. With a key, values are dropped at random, as in training."""

        def dense(values: Array, name: str) -> Array:
            left, right = change[name]
            return values @ self.weights[name] + (values @ left) @ right

        inside = mask[..., None]
        state = normalize(dense(rows, "proj.branches") + self._shifts["proj_b.branches"], 1.0, 0.0)
        gain, shift = self._norms[".branches"]
        branches = jnp.split(state * gain + shift, len(ORDERS), -1)
        found = [rows]
        for order, branch in zip(ORDERS, branches, strict=True):
            own, before = branch, (order - 1) // 2
            for step in "12":
                padded = jnp.pad(own * inside, ((0, 0), (before, order - 1 - before), (0, 0)))
                around = jnp.concatenate([padded[:, place : place + own.shape[1]] for place in range(order)], -1)
                own = jnp.maximum(dense(around, f"w{step}_{order}") + self._shifts[f"b{step}_{order}"], 0) + own
            found.append(own)
        features = normalize(jnp.concatenate(found, -1), *self._norms[""])
        count = mask.sum(1)[:, None]
        means = (dense((features * inside).sum(1), "cnn_W") + count * self._shifts["cnn_b"]) / jnp.sqrt(count)
        means = drop(means, key)
        second = jnp.maximum(dense(means, "p1") + dense(jnp.maximum(dense(means, "d0"), 0), "d1"), 0)
        return unit(jnp.tanh(dense(second, "p3") + dense(jnp.maximum(dense(second, "d2"), 0), "d3")))


def tokens_of(model: English | Many, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the texts' tokens, padded to a multiple of 16, and which of them are real, shape (texts, tokens)."""
    numbers = [model.tokenize(text, TOKENS) for text in texts]
    longest = -(-max(map(len, numbers)) // 16) * 16
    ids = np.zeros((len(texts), longest), np.int32)
    mask = np.zeros((len(texts), longest), np.float32)
    for row, each in enumerate(numbers):
        ids[row, : len(each)] = each
        mask[row, : len(each)] = 1
    return ids, mask


def train(model: English | Many, plan: Plan, prompts: Sequence[Prompt], texts: Sequence[Text], stored: np.ndarray) -> Tree:
    """The changes of a model's weights: for each of its matrices a pair, shapes (in, rank) and (rank, out)."""
    random = np.random.default_rng(0)
    change: Tree = {}
    for name, matrix in model.weights.items():
        rows, columns = matrix.shape
        rank = min(plan.rank, columns)
        change[name] = [random.normal(size=(rows, rank)).astype(np.float32) / rows**0.5, np.zeros((rank, columns), np.float32)]
    owners = np.array([2 * each.project + each.turn for each in texts])
    usable = np.linalg.norm(stored, axis=1) > 0

    def loss(weights: Tree, *given: Array) -> Array:
        rows, mask, right, harmless, owner, key = given
        scores = model.embed(weights["change"], rows, mask, key) @ stored.T
        alike = (owners % 2 == owner[:, None] % 2) & usable & ~harmless
        lost = 0.0
        for among, sharpness in ((alike, "all"), (alike & (owners == owner[:, None]), "own")):
            odds = jnp.exp(weights[sharpness]) * scores
            each = odds - jax.nn.logsumexp(jnp.where(among, odds, -1e9), 1)[:, None]
            lost = lost - (right * each).sum(1) / right.sum(1)
        return lost.mean()

    steps = plan.passes * (len(prompts) // BATCH)
    rate = optax.warmup_cosine_decay_schedule(0, plan.rate, steps // 10, steps)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.01))
    weights: Tree = {"change": change, "all": jnp.array(2.9), "own": jnp.array(2.7)}
    state = optimizer.init(weights)

    @jax.jit
    def step(weights: Tree, state: Any, *given: Array) -> tuple[Tree, Any]:
        updates, state = optimizer.update(jax.grad(loss)(weights, *given), state, weights)
        return optax.apply_updates(weights, updates), state

    key = jax.random.key(0)
    for number in range(plan.passes):
        print(f"pass {number + 1} of {plan.passes} over {len(prompts)} prompts", flush=True)
        order = random.permutation(len(prompts))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            some = [prompts[place] for place in order[start : start + BATCH]]
            ids, mask = tokens_of(model, [each.text for each in some])
            right, harmless = np.zeros((BATCH, len(texts)), np.float32), np.zeros((BATCH, len(texts)), bool)
            for row, each in enumerate(some):
                right[row, list(each.right)] = 1
                harmless[row, list(each.harmless)] = True
            owner = np.array([2 * each.project + each.turn for each in some])
            key, used = jax.random.split(key)
            weights, state = step(weights, state, model.rows(ids), mask, right * usable, harmless, owner, used)
    return {name: (np.asarray(left), np.asarray(right) * SHARE) for name, (left, right) in weights["change"].items()}


def pack_change(part: str, change: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    """The tensors of a pack: both factors as int8, and the scale of their product."""
    found: dict[str, np.ndarray] = {}
    for name, pair in change.items():
        steps = [float(np.abs(each).max()) / 127 or 1.0 for each in pair]
        for end, each, size in zip(("", ".right"), pair, steps, strict=True):
            found[f"{part}.{name}{end}"] = np.round(each / size).astype(np.int8)
        found[f"{part}.{name}.scale"] = np.array([steps[0] * steps[1]], np.float32)
    return found


def precision_of(vector: np.ndarray, prompt: Prompt, texts: Sequence[Text], stored: np.ndarray) -> float:
    """The average precision of a prompt among the memories, or the turns, of its project."""
    own = [
        place
        for place, each in enumerate(texts)
        if (each.project, each.turn) == (prompt.project, prompt.turn) and place not in prompt.harmless
    ]
    ranked = sorted(own, key=lambda place: -float(stored[place] @ vector))
    ranks = [rank for rank, place in enumerate(ranked, 1) if place in prompt.right]
    return sum(hit / rank for hit, rank in enumerate(ranks, 1)) / len(ranks)


def report(
    embed: Callable[[Sequence[str]], np.ndarray], prompts: Sequence[Prompt], texts: Sequence[Text], stored: np.ndarray
) -> str:
    vectors = embed([each.text for each in prompts])
    found = {
        turn: [
            precision_of(vector, each, texts, stored) for vector, each in zip(vectors, prompts, strict=True) if each.turn == turn
        ]
        for turn in (False, True)
    }
    return f"memories {np.mean(found[False]):.3f}, turns {np.mean(found[True]):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without", default="", help="the first two letters of the files of one writer")
    parser.add_argument("--out", type=Path, default=ADAPTER)
    given = parser.parse_args()
    both: Any = create_embedder(LOCAL, stays=True)
    if not hasattr(both, "half"):
        raise SystemExit("the models' packs are not here: make run brings them")
    texts, prompts = read_projects()
    stored = both.embed([each.text for each in texts])
    tensors: dict[str, np.ndarray] = {}
    models = {"english": English(both._english), "many": Many(both._many)}  # noqa: SLF001 - as above
    halves = np.split(stored, [both.half], axis=1)
    for (part, model), vectors in zip(models.items(), halves, strict=True):
        mine = [
            each
            for each in prompts
            if (part == "many" or each.language == "en") and any(np.any(vectors[place]) for place in each.right)
        ]
        held = [each for each in mine if each.writer == given.without]
        change = train(model, PLANS[part], [each for each in mine if each not in held], texts, vectors)
        tensors |= pack_change(part, change)
        if held:
            none = {name: (left, right * 0) for name, (left, right) in change.items()}
            for name, some in (("before", none), ("after", change)):

                def embed(asked: Sequence[str], some: Tree = some, model: English | Many = model) -> np.ndarray:
                    ids, mask = tokens_of(model, asked)
                    return np.asarray(model.embed(some, model.rows(ids), mask, None))

                print(f"{part}, {len(held)} prompts of {given.without}, {name}: {report(embed, held, texts, vectors)}")
    write_pack(given.out, "requests/1", 0, tensors)


if __name__ == "__main__":
    main()
