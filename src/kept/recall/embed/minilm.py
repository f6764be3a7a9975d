"""all-MiniLM-L6-v2 and its tokenizer in numpy: 384 dimensions, without torch, a model hub or the network.

The model (Wang et al. 2020; sentence-transformers) has six BERT layers. A text's vector is the mean over its tokens, normalized to
length one.
``scripts/pack_models.py`` stores the weights in a pack as int8 with one scale per channel. They are converted to float32 layer by
layer to save memory. The sequences of a batch share the dense products. They are not padded and do not attend to one another, so
a text has the same vector alone and in a batch.

The tokenizer follows the reference (Devlin et al. 2019). It cleans the text, separates CJK characters, strips accents, converts to
lower case and splits at punctuation. Then it repeatedly takes the longest known piece of the rest of a word.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kept.recall.embed.adapter import Adapter
from kept.recall.embed.pack import Pack
from kept.recall.embed.threads import single_thread

_LONGEST_WORD = 100  # characters. A longer word counts as unknown, as in the reference.
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """The WordPiece tokenizer for a vocabulary, which maps each piece to its number."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._unknown = vocabulary["[UNK]"]
        self._frame = (vocabulary["[CLS]"], vocabulary["[SEP]"])

    def tokenize(self, text: str, most: int) -> list[int]:
        """The start token, the numbers of a text's pieces, and the end token: at most ``most`` numbers in all."""
        found: list[int] = []
        # The text beyond this is not read, because the text before it normally fills the limit.
        for word in _split_words(text[: most * 40]):
            found += self._split_pieces(word)
            if len(found) >= most - 2:
                break
        start, end = self._frame
        return [start, *found[: most - 2], end]

    def _split_pieces(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        found: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                number = self._vocabulary.get(word[start:end] if start == 0 else f"##{word[start:end]}")
                if number is not None:
                    found.append(number)
                    start = end
                    break
            else:
                return [self._unknown]
        return found


def _split_words(text: str) -> Iterator[str]:
    cleaned = "".join(map(_clean_char, text))
    plain = "".join(char for char in unicodedata.normalize("NFD", cleaned) if unicodedata.category(char) != "Mn").lower()
    for word in plain.split():
        part = ""
        for char in word:
            if _is_punctuation(char):
                if part:
                    yield part
                yield char
                part = ""
            else:
                part += char
        if part:
            yield part


@lru_cache(maxsize=10_000)
def _clean_char(char: str) -> str:
    if char in "\t\n\r":
        return " "
    code = ord(char)
    if code in (0, 0xFFFD) or unicodedata.category(char)[0] == "C":
        return ""
    if any(low <= code <= high for low, high in _CJK):
        return f" {char} "
    return " " if char.isspace() else char


@lru_cache(maxsize=10_000)
def _is_punctuation(char: str) -> bool:
    code = ord(char)
    if code < 128:
        return not char.isalnum() and 33 <= code <= 126
    return unicodedata.category(char)[0] == "P"


Floats = NDArray[np.float32]

_HEADS = 12
_LAYERS = 6
_MOST_TOKENS = 256  # the maximum length in the model's training
_BATCH_TOKENS = 1_024  # with this many rows, matrix products run near peak speed and their results stay below 10 MB
_GELU_ROWS = 32  # rows of a block of 200 KB


class MiniLM:
    """The model in a pack, with the changes of an adapter. Raises DamagedError if the file is not a pack."""

    def __init__(self, path: Path, adapter: Adapter | None = None) -> None:
        self._pack = Pack(path)
        self._adapter = adapter
        self.name = self._pack.name
        self.dimensions = self._pack.dimensions
        self._tensor = self._pack.tensor
        self._wide: dict[str, Floats] = {}
        self._widened = False

    def widen_weights(self) -> None:
        """Keep the float32 weights from now on. This takes 43 MB more memory and makes short texts several times faster."""
        self._widened = True

    @cached_property
    def _tokens(self) -> WordPiece:
        words = self._tensor("vocabulary").tobytes().decode("utf-8").split("\n")
        return WordPiece({word: number for number, word in enumerate(words)})

    @single_thread()
    def embed(self, texts: Sequence[str], *, question: bool = False) -> Floats:  # noqa: ARG002 - the same for a question
        """One unit vector per text, shape (texts, dimensions). Only the first 256 tokens of a text count."""
        numbers = [self._tokens.tokenize(text, _MOST_TOKENS) for text in texts]
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        batch: list[int] = []
        total = 0
        for place in sorted(range(len(texts)), key=lambda each: len(numbers[each])):
            if batch and total + len(numbers[place]) > _BATCH_TOKENS:
                vectors[batch] = self._forward([numbers[item] for item in batch])
                batch, total = [], 0
            batch.append(place)
            total += len(numbers[place])
        if batch:
            vectors[batch] = self._forward([numbers[item] for item in batch])
        return vectors

    def _forward(self, sequences: Sequence[Sequence[int]]) -> Floats:
        """One unit vector per sequence of token numbers, shape (sequences, dimensions)."""
        ends = np.cumsum([len(item) for item in sequences])
        spans = [(int(end) - len(each), int(end)) for each, end in zip(sequences, ends, strict=True)]
        ids = np.concatenate([np.asarray(item, np.int64) for item in sequences])
        places = np.concatenate([np.arange(len(item)) for item in sequences])
        rows = self._tensor("words")[ids].astype(np.float32) * self._tensor("words.scale")[ids, None]
        state = self._normalize_layer(rows + self._tensor("places")[places], "embeddings")
        for layer in range(_LAYERS):
            mixed = self._apply_attention(state, spans, f"{layer}.")
            state = self._normalize_layer(state + self._apply_dense(mixed, f"{layer}.output"), f"{layer}.attention")
            inner = _gelu(self._apply_dense(state, f"{layer}.up"))
            state = self._normalize_layer(state + self._apply_dense(inner, f"{layer}.down"), f"{layer}.feed")
        means: Floats = np.stack([state[start:stop].mean(axis=0) for start, stop in spans])
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), np.float32(1e-12))
        return means

    def _apply_attention(self, state: Floats, spans: Sequence[tuple[int, int]], layer: str) -> Floats:
        joined = self._apply_dense(state, f"{layer}attend")  # queries, keys and values side by side
        width = state.shape[1] // _HEADS
        mixed = np.empty_like(state)
        for start, stop in spans:
            query, key, value = joined[start:stop].reshape(stop - start, 3, _HEADS, width).transpose(1, 2, 0, 3)
            scores = query @ key.transpose(0, 2, 1) * np.float32(width**-0.5)
            scores = np.exp(scores - scores.max(axis=2, keepdims=True))
            scores /= scores.sum(axis=2, keepdims=True)
            mixed[start:stop] = (scores @ value).transpose(1, 0, 2).reshape(stop - start, -1)
        return mixed

    def _apply_dense(self, state: Floats, name: str) -> Floats:
        weights = self._wide.get(name)  # (in, out)
        if weights is None:
            weights = self._tensor(f"{name}.weight").astype(np.float32)
            if self._widened:
                self._wide[name] = weights
        product: Floats = state @ weights
        product *= self._tensor(f"{name}.scale")
        change = self._adapter.find_change(name) if self._adapter else None
        if change is not None:
            product += (state @ change[0]) @ change[1]
        product += self._tensor(f"{name}.bias")
        return product

    def _normalize_layer(self, state: Floats, name: str) -> Floats:
        centred = state - state.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(1e-12))
        normed: Floats = centred / spread * self._tensor(f"{name}.norm.weight") + self._tensor(f"{name}.norm.bias")
        return normed


def _gelu(values: Floats) -> Floats:
    """Apply the GELU function in place: multiply each value x by Φ(x). It works on blocks that fit the cache.

    The error function in Φ is approximated by formula 7.1.26 of Abramowitz and Stegun (error below 1.5e-7).
    """
    for start in range(0, len(values), _GELU_ROWS):
        part = values[start : start + _GELU_ROWS]
        size = np.abs(part)
        size *= np.float32(0.7071067811865476)
        share = size * np.float32(0.3275911)
        share += np.float32(1)
        np.reciprocal(share, out=share)
        tail = share * np.float32(1.061405429)
        for item in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
            tail += np.float32(item)
            tail *= share
        size *= size
        np.negative(size, out=size)
        np.exp(size, out=size)
        tail *= size
        np.subtract(np.float32(1), tail, out=tail)
        np.copysign(tail, part, out=tail)
        tail += np.float32(1)
        tail *= np.float32(0.5)
        part *= tail
    return values
