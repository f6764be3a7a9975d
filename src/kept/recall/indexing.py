"""Indexing by meaning: vectors for what is new, after a run, as far as its time reaches; the next run goes on from there.

Search by words needs none of this: the store keeps its words in order by itself.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from kept.core.errors import KeptError
from kept.local.progress import Progress, silent
from kept.recall.embed import HASHING, Embedder, embedder, need_room
from kept.recall.embed.levels import level_of
from kept.recall.index import Index, Kind, opened
from kept.recall.index.head import model_of
from kept.recall.index.queue import Queue, opened_queue
from kept.recall.ranking.pieces import pieces
from kept.recall.search import mark_of
from kept.workspace import Workspace

# What may keep vectors from being made: where memory is short, not even the library loads.
UNMADE = (KeptError, OSError, ImportError, MemoryError)
CHANGE_SECONDS = 2.0  # what a person's own change waits for
_AT_ONCE = 32
_LONGEST_LOG = 2**20  # bytes of noted uses that are read


@dataclass(frozen=True, kw_only=True, slots=True)
class VectorStatus:
    """How search by meaning stands: the model (empty: none), units with a vector, units that wait for one, and what went wrong."""

    model: str
    embedded: int
    waiting: int
    problem: str = ""


def bring_up_to_date(workspace: Workspace, seconds: float, progress: Progress = silent) -> int:
    """Count noted uses, drop the vectors of what changed or is gone, and make those that are missing. Returns how many units got
    one.

    Raises KeptError where the model cannot be asked or the files cannot be written; what was done stays.
    """
    count_uses(workspace)
    with opened_queue(workspace.paths.store) as queue:
        waiting = sum(queue.waiting().values())
    model = _embedder(workspace)
    if model is None or (not waiting and model_of(workspace.paths.vectors) == model.name):
        drop_stale(workspace)
        return 0
    return _embed(workspace, model, monotonic() + seconds, progress)


def nearness_of(workspace: Workspace) -> Callable[[Sequence[tuple[str, str]]], Sequence[float | None] | None] | None:
    """How near the texts of pairs are in meaning, on the scale of :mod:`kept.recall.embed.levels`; None where no model is at hand,
    and of a pair in a language that it does not know.

    The model is loaded here, before any transaction waits for it.
    """
    model = None
    with suppress(*UNMADE):
        model = _embedder(workspace)
    if model is None or model.name.startswith(HASHING):
        return None

    def nearness(pairs: Sequence[tuple[str, str]]) -> Sequence[float | None] | None:
        with suppress(*UNMADE):
            texts = list(dict.fromkeys(text for pair in pairs for text in pair))
            place = {text: number for number, text in enumerate(texts)}
            asked, said = model.embed(texts, question=True), model.embed(texts)
            levels = {text: level_of(model.name, text) for text in texts}
            return [
                level.of(float(asked[place[left]] @ said[place[right]])) if (level := levels[left]) else None
                for left, right in pairs
            ]
        return None

    return nearness


def drop_stale(workspace: Workspace) -> None:
    """Drop the vectors of everything that changed or is gone: nothing of what was forgotten stays in them. Raises OSError,
    StoreError.
    """
    if not workspace.paths.vectors.exists():
        return
    with opened_queue(workspace.paths.store) as queue:
        units = queue.next(10**9)
    if units:
        need_room()
        from kept.recall.index.vectors import update  # noqa: PLC0415 - numpy is heavy, and mostly nothing waits

        update(workspace.paths.vectors, model_of(workspace.paths.vectors), _by_kind(units), ())


def discard(vectors: Path) -> None:
    """Throw all vectors away; the next run makes them anew. Raises OSError."""
    vectors.unlink(missing_ok=True)


def vector_status(workspace: Workspace) -> VectorStatus:
    """How search by meaning stands."""
    with opened_queue(workspace.paths.store) as queue:
        waiting = sum(queue.waiting().values())
    try:
        model = _embedder(workspace)
    except KeptError as error:
        return VectorStatus(model="", embedded=0, waiting=waiting, problem=str(error))
    if model is None:
        return VectorStatus(model="", embedded=0, waiting=waiting)
    from kept.recall.index.vectors import Vectors  # noqa: PLC0415 - numpy is heavy

    return VectorStatus(model=model.name, embedded=Vectors(workspace.paths.vectors, model.name).units(), waiting=waiting)


def _embedder(workspace: Workspace) -> Embedder | None:
    recall = workspace.settings.recall
    return embedder(recall.embeddings, recall.embeddings_model, workspace.env, local=recall.model)


def _embed(workspace: Workspace, model: Embedder, deadline: float, progress: Progress) -> int:
    from kept.recall.index.vectors import update  # noqa: PLC0415 - numpy is heavy, and mostly nothing waits

    path = workspace.paths.vectors
    with opened_queue(workspace.paths.store) as queue:
        if model_of(path) != model.name:
            queue.refill()
        units = queue.next(10**9)
    if not units:
        return 0
    update(path, model.name, _by_kind(units), ())
    made = 0
    with opened(workspace.paths.store) as index:
        for start in range(0, len(units), _AT_ONCE):
            if monotonic() > deadline:
                break
            progress("embedding", start, len(units))
            some = units[start : start + _AT_ONCE]
            _embed_some(workspace, index, model, some)
            made += len(some)
    return made


def _embed_some(workspace: Workspace, index: Index, model: Embedder, units: Sequence[tuple[Kind, int]]) -> None:
    from kept.recall.index.vectors import Entry, update  # noqa: PLC0415 - as above

    parts: list[tuple[Kind, int, int, str]] = []
    for kind, items in _by_kind(units).items():
        for item, unit in index.units(kind, items).items():
            parts += [(kind, item, mark_of(unit.text), piece) for piece in pieces(unit.text)]
    if parts:
        vectors = model.embed([piece for *_, piece in parts])
        entries = [Entry(kind=k, item=i, mark=m, vector=v) for (k, i, m, _), v in zip(parts, vectors, strict=True)]
        update(workspace.paths.vectors, model.name, {}, entries)
    with opened_queue(workspace.paths.store) as queue:
        queue.done(units)


def _by_kind(units: Sequence[tuple[Kind, int]]) -> dict[Kind, list[int]]:
    found: dict[Kind, list[int]] = defaultdict(list)
    for kind, item in units:
        found[kind].append(item)
    return found


def count_uses(workspace: Workspace) -> None:
    """Take up the uses that hooks noted, if there are any: one id a line. Nothing is lost by a line that is none."""
    taken = workspace.paths.used.with_suffix(".taken")
    with suppress(OSError):
        workspace.paths.used.rename(taken)
    try:
        lines = taken.read_bytes()[:_LONGEST_LOG].decode("ascii", "replace").split()
    except FileNotFoundError:
        return
    with opened_queue(workspace.paths.store) as queue:
        _add(queue, Counter(lines))
    taken.unlink(missing_ok=True)


def _add(queue: Queue, times: Counter[str]) -> None:
    queue.used({memory: count for memory, count in times.items() if memory.isalnum() and len(memory) <= 32})
