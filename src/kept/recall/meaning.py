"""The meaning of a query: its vector, the stored vectors, and the scale of their cosines.

A hook searches before every prompt, so this module imports little. A :class:`QueryContext` can stand in for the workspace. Numpy
and the model are imported only if there are vectors to compare.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from kept.core.value import dataclass, replace
from kept.local.recall_settings import RecallSettings
from kept.recall.embed import create_embedder
from kept.recall.embed.levels import SimilarityScale, find_scale
from kept.recall.index import UnitKind

if TYPE_CHECKING:
    from kept.recall.index.vectors import Floats, NearUnit, Vectors
    from kept.workspace import Workspace

LONGEST = 2_000  # only this many characters at the end of a question are embedded, because pasted text comes before the question


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryPaths:
    """The paths of the store and of the vectors."""

    store: Path
    vectors: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class QuerySettings:
    """The settings of recall."""

    recall: RecallSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryContext:
    """The parts of a workspace that a search needs, for processes that do not open a workspace."""

    paths: QueryPaths
    settings: QuerySettings
    zone: ZoneInfo
    env: Mapping[str, str]

    def clock(self) -> datetime:
        """The present moment."""
        return datetime.now(UTC)


class MeaningQuery(NamedTuple):
    """The stored vectors, the vector of a question, and the scale for their cosines."""

    model: str
    vectors: "Vectors"
    question: "Floats"
    level: SimilarityScale

    def find_nearest(
        self, kind: UnitKind, most: int, among: Iterable[int] | None = None, *, need: bool = False
    ) -> "dict[int, NearUnit]":
        """Like :meth:`Vectors.find_nearest`, with cosines on the common scale."""
        return self._to_common_scale(self.vectors.find_nearest(kind, self.question, most, among, need=need))

    def of(self, kind: UnitKind, items: Iterable[int], *, need: bool = False) -> "dict[int, NearUnit]":
        """Like :meth:`Vectors.of`, with cosines on the common scale."""
        return self._to_common_scale(self.vectors.of(kind, items, self.question, need=need))

    def find_like(self, kind: UnitKind, item: int, mark: int, among: Iterable[int]) -> "dict[int, NearUnit]":
        """The unit nearest to another one, with the cosine on the common scale. Empty if that one has no vector of its text."""
        vector = self.vectors.of_texts(kind, {item: mark}).get(item)
        if vector is None:
            return {}
        return self._to_common_scale(self.vectors.find_nearest(kind, vector / (vector @ vector) ** 0.5, 1, among))

    def _to_common_scale(self, near: "Mapping[int, NearUnit]") -> "dict[int, NearUnit]":
        return {item: replace(unit, similarity=self.level.to_common_scale(unit.similarity)) for item, unit in near.items()}


def embed_query(workspace: "Workspace | QueryContext", query: str, *, request: bool) -> MeaningQuery | None:
    """Embed a question, or with ``request`` what somebody typed for an agent.

    Returns None without vectors, model or text, and if the model does not know the language.
    """
    if not workspace.paths.vectors.exists() or not query.strip():
        return None
    recall = workspace.settings.recall
    model = create_embedder(recall.embeddings, recall.embeddings_model, workspace.env, local=recall.model, requests=request)
    level = find_scale(model.name, query[-LONGEST:], request=request) if model is not None else None
    if model is None or level is None:
        return None
    from kept.recall.index.vectors import Vectors  # noqa: PLC0415 - numpy is heavy, and needed only if there are vectors

    vectors = Vectors(workspace.paths.vectors, model.name, getattr(model, "half", 0))
    if not vectors.dimensions:
        return None
    (question,) = model.embed([query[-LONGEST:]], question=True)
    return MeaningQuery(model.name, vectors, question, level)
