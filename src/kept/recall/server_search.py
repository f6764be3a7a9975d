"""Search the memories on a PostgreSQL server, for machines without a copy of them.

A run sends the server the vectors that this machine made. Questions are embedded on this machine. A question that contains a secret
is refused and not sent.
"""

import json
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime

from kept.core.digest import text_hash
from kept.core.memory import Status
from kept.core.project import PROJECT
from kept.core.redact import refuse_secrets
from kept.local.recall_settings import RecallSettings
from kept.recall.embed import create_embedder
from kept.recall.embed.levels import find_scale
from kept.recall.index import UnitKind
from kept.recall.index.head import vector_model
from kept.recall.meaning import LONGEST
from kept.recall.rank import fuse_scores
from kept.recall.search import TELLING, Hit
from kept.store.memories import memory_of_row
from kept.store.postgres import Found, connect_server
from kept.workspace import Workspace

_POOL = 300  # maximum number of rows found by words. Up to 100 more are found by meaning.


def send_vectors(workspace: Workspace) -> int:
    """Send the server the vectors of memories that it lacks and this machine has. Return their number. Raises StoreError."""
    model, url = vector_model(workspace.paths.vectors), workspace.settings.store.url
    if not (url and model) or workspace.paths.settings_folder:
        return 0
    with closing(connect_server(url)) as server:
        missing = server.memories_without_vector(model) if server.has_vectors else ()
        if not missing:
            return 0
        from kept.recall.index.vectors import Vectors  # noqa: PLC0415 - numpy is heavy, and mostly nothing is missing

        marks = {number: text_hash(json.loads(body).get("content", "")) for number, _, body in missing}
        made = Vectors(workspace.paths.vectors, model).of_texts(UnitKind.MEMORY, marks)
        server.put_vectors(model, [(number, known, made[number].tolist()) for number, known, _ in missing if number in made])
    return len(made)


def search_server(
    url: str, question: str, recall: RecallSettings, env: Mapping[str, str], now: datetime, *, limit: int = 10
) -> tuple[Hit, ...]:
    """The hits for a question, best first, at most ``limit``.

    They come from the memories of the URL's database role, and from the lines that the role's teams share with it. The server
    scores the words. Cosines are scaled and scores are fused as in every other search.

    Raises UsageError for a question that contains a secret, StoreError, and ConfigError.
    """
    question = question[-LONGEST:].encode("utf-8", "replace").decode()
    refuse_secrets(question, where="the question", hint="leave it out; nothing was sent")
    model = create_embedder(recall.embeddings, recall.embeddings_model, env, local=recall.model)
    level = find_scale(model.name, question) if model and question.strip() else None
    vector = model.embed([question], question=True)[0] if model and level else ()
    with closing(connect_server(url)) as server:
        found = server.search_rows(question, model.name if model else "", vector, _POOL)
    near: dict[int, float] = {}
    if level is not None and not isinstance(vector, tuple):
        second = float((vector[getattr(model, "half", 0) :] ** 2).sum() ** 0.5)
        cosines = {
            place: each.cosine / (second if each.half else 1.0) for place, each in enumerate(found) if each.cosine is not None
        }
        near = {place: level.to_common_scale(cosine) for place, cosine in cosines.items()}
    words = {place: each.words for place, each in enumerate(found) if each.words}
    scores = fuse_scores(words, {place: cosine for place, cosine in near.items() if place in words or cosine >= recall.floor})
    hits = (_to_hit(found[place], score, near.get(place), now, worded=place in words) for place, score in scores.items())
    return tuple(sorted(filter(None, hits), key=lambda hit: (-hit.score, hit.id))[:limit])


def _to_hit(found: Found, score: float, similarity: float | None, now: datetime, *, worded: bool) -> Hit | None:
    """Convert a row to a hit. Return None for a memory that is neither active nor held.

    The hit for a team's line has the team as its scope and the line's owner as its author.
    """
    meaning = f"its meaning ({similarity:.2f})" if similarity is not None and similarity >= TELLING else ""
    reasons = tuple(filter(None, ("its words" if worded else "", meaning)))
    if found.team:
        return Hit(
            kind=UnitKind.MEMORY,
            id=found.id,
            text=found.content or "",
            score=score,
            similarity=similarity,
            reasons=reasons,
            first_at=None,
            last_at=datetime.fromisoformat(found.at) if found.at else None,
            scope=f"team:{found.team}",
            project=found.team,
            category=found.category or "",
            status=Status.ACTIVE,
            author=found.owner or "",
        )
    memory = memory_of_row({"id": found.id, "body": found.body, "checksum": found.checksum})
    status = memory.status_at(now)
    if status not in (Status.ACTIVE, Status.HELD):
        return None
    return Hit(
        kind=UnitKind.MEMORY,
        id=memory.id,
        text=memory.content,
        score=score,
        similarity=similarity,
        reasons=reasons,
        first_at=memory.first_seen,
        last_at=memory.last_seen,
        scope=memory.scope,
        project=memory.scope.removeprefix(PROJECT),
        category=memory.category,
        status=status,
        confidence=memory.confidence,
    )
