"""Sessions that answer a question: the search of turns, added up by session. Read-only."""

from dataclasses import replace

from kept.recall.index import UnitKind
from kept.recall.search import NO_FILTERS, Filters, Hit, SearchContext, search

_TURNS = 200  # turns whose sessions are ranked
_SECOND = 0.5  # what the second best turn of a session counts beside its best


def search_sessions(workspace: SearchContext, query: str, *, limit: int = 10, filters: Filters = NO_FILTERS) -> tuple[Hit, ...]:
    """The sessions in which something was said that answers a question, best first, each as its best turn with the session's score.

    Raises what :func:`kept.recall.search.search` raises.
    """
    turns: dict[str, list[Hit]] = {}
    for hit in search(workspace, query, where=(UnitKind.TURN,), limit=_TURNS, filters=filters):
        turns.setdefault(hit.session, []).append(hit)
    found = [replace(hits[0], score=hits[0].score + _SECOND * sum(hit.score for hit in hits[1:2])) for hits in turns.values()]
    return tuple(sorted(found, key=lambda hit: (-hit.score, hit.session))[:limit])
