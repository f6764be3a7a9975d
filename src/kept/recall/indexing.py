"""Make vectors for new texts after a run, within a time limit. The next run continues with the rest.

The local model reads about 250 words, so a long text gets a vector for each of its pieces. Vectors can be made again at any time.
Search by words does not need them, because the store has a full-text index.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from time import monotonic

from kept.core.digest import text_hash
from kept.core.errors import KeptError
from kept.core.value import dataclass
from kept.local.progress import Progress, ignore_progress
from kept.recall.embed import HASHING, Embedder, check_memory_limit, create_embedder, find_model_name
from kept.recall.embed.levels import find_scale
from kept.recall.index import Index, UnitKind, open_index
from kept.recall.index.head import count_units, vector_model
from kept.workspace import Workspace

# Errors that making vectors may raise. If memory is short, even the import of numpy fails.
UNMADE = (KeptError, OSError, ImportError, MemoryError)
CHANGE_SECONDS = 0.5  # time limit for making vectors after a person's own change
_AT_ONCE = 32
_FOR_MEMORIES = 8  # memories get this many times the seconds of the other kinds, which can wait for the nightly run
_LONGEST_LOG = 2**20  # at most this many bytes are read of the file in which hooks note uses


@dataclass(frozen=True, kw_only=True, slots=True)
class VectorStatus:
    """The state of search by meaning.

    ``model`` is empty if there is no model. ``embedded`` and ``waiting`` are the numbers of units with and without a vector.
    ``problem`` is the error message, if there is an error.
    """

    model: str
    embedded: int
    waiting: int
    problem: str = ""


def update_index(workspace: Workspace, seconds: float, progress: Progress = ignore_progress) -> int:
    """Count noted uses, drop outdated vectors, and make missing ones. Returns the number of units that got vectors.

    Each kind of unit gets ``seconds``. Memories get eight times as many, because every prompt is compared with them. Raises
    KeptError if the model cannot be used or the files cannot be written. Completed batches are kept in that case.
    """
    count_uses(workspace)
    model = _load_embedder(workspace)
    if model is None or (not _count_pending(workspace) and vector_model(workspace.paths.vectors) == model.name):
        drop_stale_vectors(workspace)
        return 0
    return _embed_pending(workspace, model, seconds, progress)


def create_meaning_scorer(workspace: Workspace) -> Callable[[Sequence[tuple[str, str]]], Sequence[float | None] | None] | None:
    """Load the model, and return a function that compares the meanings of pairs of texts. None if there is no model.

    The function returns a similarity for each pair, on the scale of :mod:`kept.recall.embed.levels`, or None for a pair in a
    language that the model does not know. It returns None instead of a list if the model fails. The model is loaded here, so that
    no transaction waits for it.
    """
    model = None
    with suppress(*UNMADE):
        model = _load_embedder(workspace)
    if model is None or model.name.startswith(HASHING):
        return None

    def score_pairs(pairs: Sequence[tuple[str, str]]) -> Sequence[float | None] | None:
        with suppress(*UNMADE):
            texts = list(dict.fromkeys(text for pair in pairs for text in pair))
            place = {text: number for number, text in enumerate(texts)}
            questions, answers = model.embed(texts, question=True), model.embed(texts)
            scales = {text: find_scale(model.name, text) for text in texts}
            return [
                scale.to_common_scale(float(questions[place[left]] @ answers[place[right]])) if (scale := scales[left]) else None
                for left, right in pairs
            ]
        return None

    return score_pairs


def drop_stale_vectors(workspace: Workspace) -> None:
    """Drop the vectors of units that changed or are gone, so that no vector of a forgotten text is left.

    Raises OSError, StoreError.
    """
    if not workspace.paths.vectors.exists():
        return
    units = workspace.store.queue.pending_units()
    if units:
        check_memory_limit()
        from kept.recall.index.vectors import update_vectors  # noqa: PLC0415 - numpy is heavy, and mostly nothing waits

        update_vectors(workspace.paths.vectors, vector_model(workspace.paths.vectors), _group_by_kind(units), ())


def vector_status(workspace: Workspace) -> VectorStatus:
    """The state of search by meaning. Raises StoreError."""
    waiting, recall = _count_pending(workspace), workspace.settings.recall
    try:
        model = find_model_name(recall.embeddings, recall.embeddings_model, workspace.env, local=recall.model)
    except KeptError as error:
        return VectorStatus(model="", embedded=0, waiting=waiting, problem=str(error))
    return VectorStatus(model=model, embedded=count_units(workspace.paths.vectors, model) if model else 0, waiting=waiting)


def _count_pending(workspace: Workspace) -> int:
    return sum(workspace.store.queue.count_pending().values())


def _load_embedder(workspace: Workspace) -> Embedder | None:
    recall = workspace.settings.recall
    return create_embedder(recall.embeddings, recall.embeddings_model, workspace.env, local=recall.model)


def _embed_pending(workspace: Workspace, model: Embedder, seconds: float, progress: Progress) -> int:
    from kept.recall.index.vectors import update_vectors  # noqa: PLC0415 - numpy is heavy, and mostly nothing waits

    path = workspace.paths.vectors
    if vector_model(path) != model.name:
        workspace.store.queue.requeue_all()
    units = workspace.store.queue.pending_units()
    if not units:
        return 0
    by_kind = _group_by_kind(units)
    update_vectors(path, model.name, by_kind, ())
    made = 0
    with open_index(workspace.paths.store) as index:
        for kind, items in by_kind.items():
            end = monotonic() + seconds * (_FOR_MEMORIES if kind is UnitKind.MEMORY else 1)
            for start in range(0, len(items), _AT_ONCE):
                if monotonic() > end:
                    break
                progress("embedding", made, len(units))
                some = [(kind, item) for item in items[start : start + _AT_ONCE]]
                _embed_batch(workspace, index, model, some)
                made += len(some)
    return made


def _embed_batch(workspace: Workspace, index: Index, model: Embedder, units: Sequence[tuple[UnitKind, int]]) -> None:
    from kept.recall.index.vectors import VectorEntry, update_vectors  # noqa: PLC0415 - as above

    parts: list[tuple[UnitKind, int, int, bool, str]] = []
    for kind, items in _group_by_kind(units).items():
        for item, unit in index.load_units(kind, items).items():
            mark = text_hash(unit.text)
            parts += [(kind, item, mark, False, piece) for piece in split_pieces(unit.text)]
            parts += [(kind, item, mark, True, request) for request in json.loads(unit.needed_for)]
        if kind is UnitKind.TURN:
            parts += [(kind, item, mark, True, text) for item, mark, text in _in_conversation(index, items)]
    if parts:
        vectors = model.embed([piece for *_, piece in parts])
        entries = [VectorEntry(kind=k, item=i, mark=m, vector=v, need=n) for (k, i, m, n, _), v in zip(parts, vectors, strict=True)]
        update_vectors(workspace.paths.vectors, model.name, {}, entries)
    workspace.store.queue.remove(units)


_BEFORE, _TURN, _AFTER = 300, 600, 400  # characters of a turn and of the turns beside it that are embedded together


def _in_conversation(index: Index, items: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """Turn, hash of its text, and its text between the end of the turn before it and the beginning of the turn after it.

    A turn such as "no, the second one" has its subject there. A turn without neighbours is left out.
    """
    around = index.surrounding_turns(items)
    units = index.load_units(UnitKind.TURN, {*around, *(other for others in around.values() for other, _ in others)})
    for item, others in around.items():
        texts = [units[other].text[-_BEFORE:] if other < item else units[other].text[:_AFTER] for other, _ in others]
        place = sum(other < item for other, _ in others)
        if texts:
            yield item, text_hash(units[item].text), "\n".join((*texts[:place], units[item].text[:_TURN], *texts[place:]))


def _group_by_kind(units: Sequence[tuple[str, int]]) -> dict[UnitKind, list[int]]:
    found: dict[UnitKind, list[int]] = defaultdict(list)
    for kind, item in units:
        found[UnitKind(kind)].append(item)
    return found


def count_uses(workspace: Workspace) -> None:
    """Add the uses that hooks noted in a file to the store. The file has one memory id per line. Invalid lines are ignored."""
    taken = workspace.paths.used.with_suffix(".taken")
    with suppress(OSError):
        workspace.paths.used.rename(taken)
    try:
        lines = taken.read_bytes()[:_LONGEST_LOG].decode("ascii", "replace").split()
    except FileNotFoundError:
        return
    workspace.store.queue.add_uses(Counter(memory for memory in lines if memory.isalnum() and len(memory) <= 32))
    taken.unlink(missing_ok=True)


LONGEST = 900  # maximum length of a piece in characters: about 200 tokens of English, which is fewer than the model reads
MOST = 4  # maximum number of pieces of one text; the beginning says most, and the end often contains the question


def split_pieces(text: str) -> tuple[str, ...]:
    """Split a text into at most :data:`MOST` pieces, at an empty line, line end, sentence end or space.

    If the text is longer than that, its last piece is the end of the text, and the part before this piece is left out.
    """
    whole = text.strip()
    if len(whole) <= LONGEST:
        return (whole,) if whole else ()
    found: list[str] = []
    rest = whole
    while rest and len(found) < MOST - 1:
        end = _piece_end(rest)
        found.append(rest[:end].strip())
        rest = rest[end:].strip()
    if rest:
        found.append(rest[-LONGEST:].strip())
    return tuple(filter(None, found))


def _piece_end(text: str) -> int:
    if len(text) <= LONGEST:
        return len(text)
    for mark in ("\n\n", "\n", ". ", "。", " "):
        at = text.rfind(mark, LONGEST // 2, LONGEST)
        if at > 0:
            return at + len(mark)
    return LONGEST
