"""Google's Universal Sentence Encoder for 16 languages (multilingual 3) in numpy: 512 dimensions.

The model (Yang et al. 2019) gives each piece of a text a vector, and applies convolutions over two, three and five adjacent pieces.
Then it sums the results and applies a small feed-forward network. It has no attention, so it takes a tenth of the time of a
transformer. Unrelated texts have a cosine near zero in every language, and translations of a text have similar vectors. The
sentences of a batch share the dense products but do not affect one another.

The tokenizer is that of SentencePiece (Kudo 2018). It normalizes the text to NFKC, puts a mark before each word, and chooses the
likeliest way to cut a word into known pieces. The vocabulary is looked up in the mapped file, because loading 128,000 pieces before
a prompt takes too long.
"""

import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from kept.recall.embed.adapter import Adapter
from kept.recall.embed.levels import detect_language
from kept.recall.embed.minilm import MiniLM
from kept.recall.embed.pack import Pack
from kept.recall.embed.threads import single_thread

_MARK = "▁"
_LONGEST = 16  # characters of the longest piece
_CACHED = 20_000  # number of words whose pieces are cached: the common words of a language
_UNLIKELY = 10.0  # difference between the scores of the rarest piece and an unknown character, as in the reference


class Vocabulary(NamedTuple):
    """The pieces, as a pack stores them. Each piece has a number. Numbers 0, 1 and 2 mean unknown, begin and end.

    ``text`` contains the bytes of all pieces. ``starts`` contains the offset of each piece in it, and the end of the last piece.
    ``scores`` contains the log-likelihood of each piece, and ``rarest`` is the lowest score. ``slots`` is a hash table with open
    addressing. A slot contains a piece's number + 1, or 0 if it is free.
    """

    text: bytes
    starts: Sequence[int]
    scores: Sequence[float]
    rarest: float
    slots: Sequence[int]


_UNKNOWN, _BEGIN, _END = range(3)


def slot_of(piece: bytes, slots: int) -> int:
    """The first slot in which to look for a piece. ``slots`` is the number of slots in the hash table, a power of two."""
    return crc32(piece) & (slots - 1)


class Unigram:
    """The unigram tokenizer for a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._unlikely = vocabulary.rarest - _UNLIKELY
        self._pieces = lru_cache(_CACHED)(self._split_word)

    def tokenize(self, text: str, most: int) -> list[int]:
        """The begin token, the numbers of a text's pieces, and the end token: at most ``most`` numbers in all."""
        found: list[int] = []
        plain = unicodedata.normalize("NFKC", text[: most * _LONGEST])
        for word in "".join(char for char in plain if char.isspace() or unicodedata.category(char)[0] != "C").split():
            found += self._pieces(_MARK + word)
            if len(found) >= most - 2:
                break
        return [_BEGIN, *found[: most - 2], _END]

    def rate_word(self, word: str) -> float:
        """The log-likelihood of a word, as it is or with a capital letter: that of its pieces together."""
        scores, unlikely = self._vocabulary.scores, self._unlikely
        splits = (self._pieces(_MARK + each) for each in (word, word.capitalize()))
        return max(sum(scores[number] if number else unlikely for number in pieces) for pieces in splits)

    def _split_word(self, word: str) -> tuple[int, ...]:
        """The numbers of the pieces in the likeliest split of a word, by the Viterbi algorithm."""
        scores = self._vocabulary.scores
        # best[n] describes the best split of the first n characters: its score, its last piece, and the start of that piece.
        best: list[tuple[float, int, int]] = [(0.0, 0, 0)]
        best += [(float("-inf"), 0, 0)] * len(word)
        for start in range(len(word)):
            reached = best[start][0]
            if reached + self._unlikely > best[start + 1][0]:
                best[start + 1] = (reached + self._unlikely, _UNKNOWN, start)
            for end in range(start + 1, min(start + _LONGEST, len(word)) + 1):
                number = self._find_piece(word[start:end])
                if number >= 0 and reached + scores[number] > best[end][0]:
                    best[end] = (reached + scores[number], number, start)
        found: list[int] = []
        end = len(word)
        while end:
            _, number, end = best[end]
            found.append(number)
        return tuple(reversed(found))

    def _find_piece(self, piece: str) -> int:
        text, starts, _, _, slots = self._vocabulary
        raw = piece.encode("utf-8", "replace")
        slot = slot_of(raw, len(slots))
        while held := slots[slot]:
            if text[starts[held - 1] : starts[held]] == raw:
                return held - 1
            slot = (slot + 1) % len(slots)
        return -1


Floats = NDArray[np.float32]

ORDERS = (2, 3, 5)  # widths of the convolutions. Width n covers (n - 1) // 2 pieces before a piece and n // 2 after it.
_WIDTH = 256  # output dimensions of a convolution
_BEFORE, _AFTER = 2, 2
_MOST_TOKENS = 400
_BATCH_TOKENS = 512  # keeps intermediate arrays below 4 MB
_EPSILON = 1e-12


class UniversalEncoder:
    """The model in a pack, with the changes of an adapter. Raises DamagedError if the file is not a pack."""

    def __init__(self, path: Path, adapter: Adapter | None = None) -> None:
        self._pack = Pack(path)
        self._adapter = adapter
        self.name = self._pack.name
        self.dimensions = self._pack.dimensions
        self._weights = lru_cache(None)(self._load_weights)

    @cached_property
    def _tokens(self) -> Unigram:
        text, starts, scores, slots = (self._pack.tensor(f"vocabulary{part}") for part in ("", ".starts", ".scores", ".slots"))
        return Unigram(Vocabulary(text.tobytes(), starts.data, scores.data, float(scores.min()), slots.data))

    def rate_word(self, word: str) -> float:
        """See :meth:`Unigram.rate_word`."""
        return self._tokens.rate_word(word)

    @single_thread()
    def embed(self, texts: Sequence[str], *, question: bool = False) -> Floats:  # noqa: ARG002 - the same for a question
        """One unit vector per text, shape (texts, dimensions). Only the first 400 tokens of a text count."""
        numbers = [self._tokens.tokenize(text, _MOST_TOKENS) for text in texts]
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        start = tokens = 0
        for place, some in enumerate(numbers):
            if tokens + len(some) > _BATCH_TOKENS and start < place:
                vectors[start:place] = self._forward(numbers[start:place])
                start, tokens = place, 0
            tokens += len(some)
        if start < len(texts):
            vectors[start:] = self._forward(numbers[start:])
        return vectors

    def _forward(self, sequences: Sequence[Sequence[int]]) -> Floats:
        """One unit vector per sequence of token numbers, shape (sequences, dimensions)."""
        lengths = np.array([len(item) for item in sequences])
        ids = np.concatenate([np.asarray(item, np.int64) for item in sequences])
        starts = np.cumsum(lengths) - lengths
        features = self._normalize_layer(
            self._compute_features(self._piece_vectors(ids), _windows(starts, lengths)), "ln_g", "ln_b"
        )
        sums = np.add.reduceat(features, starts, axis=0) @ self._weights("cnn_W")
        count = lengths.astype(np.float32)[:, None]
        means = (sums + count * self._weights("cnn_b")) / np.sqrt(count)
        first = np.maximum(means @ self._weights("d0"), 0)
        second = np.maximum(means @ self._weights("p1") + first @ self._weights("d1"), 0)
        third = np.maximum(second @ self._weights("d2"), 0)
        found: Floats = np.tanh(second @ self._weights("p3") + third @ self._weights("d3"))
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.float32(1e-12))
        return found

    def _compute_features(self, words: Floats, windows: NDArray[np.int64]) -> Floats:
        """Each token's vector, concatenated with the results of the convolutions around it."""
        state = words @ self._weights("proj.branches")
        state += self._weights("proj_b.branches")
        state = self._normalize_layer(state, "ln_g.branches", "ln_b.branches")
        found = [words]
        around = np.zeros((len(words) + 1, _WIDTH), np.float32)  # the last row pads the ends of a sentence
        for place, order in enumerate(ORDERS):
            own = state[:, place * _WIDTH : (place + 1) * _WIDTH]
            before = (order - 1) // 2
            columns = windows[:, _BEFORE - before : _BEFORE - before + order]
            for step in ("1", "2"):
                around[:-1] = own
                mixed = around[columns].reshape(len(words), -1) @ self._weights(f"w{step}_{order}")
                mixed += self._weights(f"b{step}_{order}")
                own = np.maximum(mixed, 0) + own
            found.append(own)
        return np.concatenate(found, axis=1)

    def _piece_vectors(self, ids: NDArray[np.int64]) -> Floats:
        scale, least = self._pack.tensor("words.scale"), self._pack.tensor("words.least")
        part = ids % len(scale)
        rows = unpack_six_bits(self._pack.tensor("words")[ids]).astype(np.float32)
        found: Floats = rows * scale[part, None] + least[part, None]
        return found

    def _normalize_layer(self, state: Floats, gain: str, shift: str) -> Floats:
        centred = state - state.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(_EPSILON))
        normed: Floats = centred / spread * self._weights(gain) + self._weights(shift)
        return normed

    def _load_weights(self, name: str) -> NDArray[Any]:
        weights = self._pack.tensor(name).astype(np.float32)
        change = self._adapter.find_change(name) if self._adapter else None
        return weights if change is None else weights + change[0] @ change[1]


def _windows(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each token, the five positions from two before it to two after it, shape (tokens, 5).

    A position outside the token's sentence is replaced by the number of tokens, which is the position of the padding.
    """
    count = int(lengths.sum())
    places = np.arange(count)[:, None] + np.arange(-_BEFORE, _AFTER + 1)
    inside = (places >= np.repeat(starts, lengths)[:, None]) & (places < np.repeat(starts + lengths, lengths)[:, None])
    found: NDArray[np.int64] = np.where(inside, places, count)
    return found


def pack_six_bits(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pack rows of numbers below 64. Four numbers take three bytes."""
    first, second, third, fourth = rows.reshape(len(rows), -1, 4).transpose(2, 0, 1)
    packed = np.stack([first | second << 6, second >> 2 | third << 4, third >> 4 | fourth << 2], axis=2)
    return packed.reshape(len(rows), -1)


def unpack_six_bits(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Unpack rows that :func:`pack_six_bits` packed."""
    first, second, third = packed.reshape(len(packed), -1, 3).transpose(2, 0, 1)
    rows = np.stack([first & 63, first >> 6 | (second & 15) << 2, second >> 4 | (third & 3) << 4, third >> 2], axis=2)
    return rows.reshape(len(packed), -1)


_ENGLISH = 0.7  # weight of the English model's cosine for an English question


class BlendedEmbedder:
    """Both models together. A vector consists of the English model's vector and the multilingual model's vector, in this order."""

    def __init__(self, english: MiniLM, many: UniversalEncoder) -> None:
        self._english = english
        self._many = many
        self.name = f"{english.name} + {many.name}"
        self.half = english.dimensions
        self.dimensions = english.dimensions + many.dimensions

    def widen_weights(self) -> None:
        """Call :meth:`MiniLM.widen_weights` of the English model."""
        self._english.widen_weights()

    def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:
        """One vector per text, shape (texts, dimensions).

        Each of its two parts is a unit vector, except that the English part of a text in another language is zero. With
        ``question``, the two parts of an English text are weighted. Its dot product with the vector of another English text is then
        a weighted mean of two cosines. Its dot product with the vector of a text in another language is the multilingual cosine
        times its weight.
        """
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        half = self.half
        vectors[:, half:] = self._many.embed(texts)
        known = [place for place, text in enumerate(texts) if detect_language(text) == "english"]
        if known:
            vectors[known, :half] = self._english.embed([texts[place] for place in known])
            if question:
                vectors[known, :half] *= _ENGLISH
                vectors[known, half:] *= 1 - _ENGLISH
        return vectors
