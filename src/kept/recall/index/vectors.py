"""The vector file: one memory-mapped file beside the store that every search scans. It is derived data and can be deleted.

A row contains an int8 vector with its scale and its sign bits. It is the vector of a unit or of one piece of a long unit. A row
with ``need`` is the vector of a request for which a memory is needed, or of a turn together with the turns beside it. A search of
at most :data:`_EXACT` rows computes all cosines. A search of more rows computes only the cosines of those whose sign bits are
nearest to the question's. A file contains the vectors of one model. This module knows neither the content of a unit nor how a text
becomes a vector.
"""

import fcntl
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kept.core.value import dataclass
from kept.recall.embed.threads import single_thread
from kept.recall.index import UnitKind
from kept.recall.index.head import SIZE as HEAD_SIZE
from kept.recall.index.head import format_head, parse_head

Floats = NDArray[np.float32]

_EXACT = 50_000  # with at most this many rows, reading every vector is faster than preselecting by sign bits
_CHOSEN = 1_000  # minimum number of rows preselected by sign bits. Even 200 would lose almost nothing.
_CHUNK = 8_192
_TOLD = 8  # if this many numbers at the start of a vector are zero, its first half is zero
_PIECES = 4  # maximum number of rows per unit
_KINDS = {UnitKind.MEMORY: 1, UnitKind.SUMMARY: 2, UnitKind.TURN: 3}  # 0 marks a deleted row
_MARK = 2**64 - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class VectorEntry:
    """A vector to store. It belongs to the unit ``item`` of a kind or, with ``need``, to a request for which that unit is needed.

    ``mark`` is the hash of the unit's whole text.
    """

    kind: UnitKind
    item: int
    mark: int
    vector: Floats
    need: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class NearUnit:
    """A unit near a question: the cosine of its best piece, and the mark of the text from which the vector was made."""

    similarity: float
    mark: int


@lru_cache(maxsize=4)
def _row_type(dimensions: int) -> np.dtype[Any]:
    return np.dtype(
        [
            ("item", "<i8"),
            ("mark", "<u8"),
            ("kind", "u1"),
            ("need", "u1"),
            ("spare", "u1", 2),
            ("scale", "<f4"),
            ("signs", "<u8", (-(-dimensions // 64),)),
            ("body", "i1", (-(-dimensions // 8) * 8,)),
        ]
    )


class Vectors:
    """The vectors that a file contains when it is opened. There are none if the file is missing or another model made it.

    The first ``half`` numbers of a vector come from a model for one language. They are zero for a text in another language.
    """

    def __init__(self, path: Path, model: str, half: int = 0) -> None:
        self._half = half
        self.rows: NDArray[Any] = np.zeros(0, _row_type(64))
        self.dimensions = 0
        try:
            with path.open("rb") as file:
                head = parse_head(file.read(HEAD_SIZE))
                if head is None or head["model"] != model:
                    return
                count, self.dimensions = head["count"], head["dimensions"]
                size = HEAD_SIZE + count * _row_type(self.dimensions).itemsize
                if count and os.fstat(file.fileno()).st_size >= size:
                    held = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
                    self.rows = np.frombuffer(held, _row_type(self.dimensions), count, HEAD_SIZE)
        except OSError:
            return

    def find_nearest(
        self, kind: UnitKind, question: Floats, most: int, among: Iterable[int] | None = None, *, need: bool = False
    ) -> dict[int, NearUnit]:
        """The ``most`` units of a kind that are nearest to a question, a unit vector. ``need`` means the same as in :meth:`of`."""
        return self._rank_rows(self._select_rows(self._find_rows(kind, among, need=need), question, most), question, most)

    def of(self, kind: UnitKind, items: Iterable[int], question: Floats, *, need: bool = False) -> dict[int, NearUnit]:
        """Unit → its cosine with a question. With ``need``, the cosine is that of the unit's nearest request.

        Units without a vector are left out.
        """
        rows = self._find_rows(kind, items, need=need)
        return self._rank_rows(rows, question, len(rows))

    def of_texts(self, kind: UnitKind, marks: Mapping[int, int]) -> dict[int, Floats]:
        """Unit → its vector, for the units whose vector was made from the text with the given mark.

        ``marks`` maps each wanted unit to the mark of its text. A long text gets the vector of its first piece.
        """
        found: dict[int, Floats] = {}
        for row in self.rows[self._find_rows(kind, marks)]:
            if int(row["mark"]) == marks[int(row["item"])]:
                found.setdefault(int(row["item"]), row["body"][: self.dimensions].astype(np.float32) * row["scale"])
        return found

    def _find_rows(self, kind: UnitKind, among: Iterable[int] | None, *, need: bool = False) -> NDArray[np.int64]:
        fits = (self.rows["kind"] == _KINDS[kind]) & (self.rows["need"] == need)
        if among is not None:
            fits &= np.isin(self.rows["item"], np.fromiter(among, np.int64))
        return np.flatnonzero(fits)

    def _select_rows(self, rows: NDArray[np.int64], question: Floats, most: int) -> NDArray[np.int64]:
        if len(rows) <= _EXACT:
            return rows
        apart = np.bitwise_count(self.rows["signs"] ^ _sign_bits(question[None])[0]).sum(axis=1, dtype=np.uint16)
        if len(rows) < len(self.rows):
            apart = apart[rows]
        few = max(_CHOSEN, 2 * most)
        return rows if len(rows) <= few else rows[np.argpartition(apart, few)[:few]]

    @single_thread()
    def _rank_rows(self, rows: NDArray[np.int64], question: Floats, most: int) -> dict[int, NearUnit]:
        if not len(rows) or len(question) != self.dimensions:
            return {}
        cosines = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _CHUNK):
            some = rows[start : start + _CHUNK]
            cosines[start : start + _CHUNK] = self.rows["body"][some, : self.dimensions].astype(np.float32) @ question
        cosines *= self.rows["scale"][rows]
        if question[: self._half].any():  # a text in another language is compared by the second model alone
            unknown = ~self.rows["body"][rows, :_TOLD].any(axis=1)
            cosines[unknown] /= np.linalg.norm(question[self._half :])
        few = _PIECES * most  # enough rows for ``most`` units
        front = np.argpartition(-cosines, few)[:few] if few < len(rows) else np.arange(len(rows))
        order = front[np.lexsort((front, -cosines[front]))]
        best: dict[int, NearUnit] = {}
        for place in order:
            if len(best) >= most:
                break
            row = self.rows[rows[place]]
            best.setdefault(int(row["item"]), NearUnit(similarity=float(cosines[place]), mark=int(row["mark"])))
        return best

    def __len__(self) -> int:
        return int(np.count_nonzero(self.rows["kind"]))


def update_vectors(path: Path, model: str, gone: Mapping[UnitKind, Sequence[int]], entries: Sequence[VectorEntry]) -> None:
    """Delete the vectors of the units in ``gone``, add ``entries``, and flush both to the disk. Raises OSError.

    A file that is damaged, or that has another model or other dimensions, is emptied first. After a crash the file may contain rows
    beyond its count, or lack entries. Repeating the call repairs both.
    """
    with _lock_file(path) as file:
        head = parse_head(os.pread(file, HEAD_SIZE, 0))
        dimensions = len(entries[0].vector) if entries else (head or {}).get("dimensions", 0)
        if head is None or head["model"] != model or head["dimensions"] != dimensions:
            os.ftruncate(file, 0)
            head = {"model": model, "dimensions": dimensions, "count": 0}
        kind_of_row = _row_type(dimensions)
        count: int = head["count"]
        os.ftruncate(file, HEAD_SIZE + count * kind_of_row.itemsize)
        if count:
            with mmap.mmap(file, 0) as held:
                _blank_rows(np.frombuffer(held, kind_of_row, count, HEAD_SIZE), gone)
                held.flush()
        if entries:
            os.pwrite(file, _pack_rows(entries, dimensions).tobytes(), HEAD_SIZE + count * kind_of_row.itemsize)
            os.fsync(file)
        os.pwrite(file, format_head(head | {"count": count + len(entries)}), 0)
        os.fsync(file)


def _blank_rows(rows: NDArray[Any], gone: Mapping[UnitKind, Sequence[int]]) -> None:
    for kind, items in gone.items():
        hit = np.flatnonzero((rows["kind"] == _KINDS[kind]) & np.isin(rows["item"], np.asarray(items, np.int64)))
        if len(hit):
            rows[hit] = np.zeros(len(hit), rows.dtype)


def _pack_rows(entries: Sequence[VectorEntry], dimensions: int) -> NDArray[Any]:
    rows = np.zeros(len(entries), _row_type(dimensions))
    vectors = np.stack([entry.vector for entry in entries]).astype(np.float32)
    scale = np.abs(vectors).max(axis=1) / 127
    scale[scale == 0] = 1
    rows["item"] = [entry.item for entry in entries]
    rows["mark"] = [entry.mark & _MARK for entry in entries]
    rows["kind"] = [_KINDS[entry.kind] for entry in entries]
    rows["need"] = [entry.need for entry in entries]
    rows["scale"] = scale
    rows["body"][:, :dimensions] = np.round(vectors / scale[:, None])
    rows["signs"] = _sign_bits(vectors)
    return rows


def _sign_bits(vectors: Floats) -> NDArray[np.uint64]:
    bits = np.packbits(vectors > 0, axis=1)
    width = -(-vectors.shape[1] // 64) * 8
    return np.ascontiguousarray(np.pad(bits, ((0, 0), (0, width - bits.shape[1])))).view(np.uint64)


@contextmanager
def _lock_file(path: Path) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)
