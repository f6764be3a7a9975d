"""What the person said in earlier sessions of a project, where no memory answers a message: dated passages of what they typed.

The ranking is that of search; this adds a floor and leaves out what must not come back. Read-only.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from kept.recall.index import UnitKind
from kept.recall.question import is_telling
from kept.recall.search import Filters, Hit, SearchContext, search

_POOL = 80
_SHARED_WORDS = 2  # telling words that a turn shares with a message at least, where its meaning is not near by itself
_ALONE = 0.65  # a cosine that is enough by itself
_NEAR = 0.5  # one that is enough where the turn stands out,
_BESIDE = 0.3  # and one where it shares words, too
_STANDS_OUT = 0.88  # of the best score, which the next turn's is below
_TWO_STAND_OUT = 0.7  # of the second score, which the third's is below


class SaidTurn(NamedTuple):
    """A turn that the person typed; ``near`` is 0 where it is not near enough to be brought unasked."""

    key: str
    text: str
    score: float
    near: float
    at: str
    session: str


def rank_said_turns(
    place: SearchContext, message: str, scope: str, *, meaning: bool = True, session: str = "", most: int = 2
) -> tuple[SaidTurn, ...]:
    """The turns of a project's other sessions that a message may mean, best first. Raises what :func:`search` raises."""
    if not is_telling(message):
        return ()
    hits = search(place, message, where=(UnitKind.TURN,), limit=_POOL, filters=Filters(scopes=(scope,)), meaning=meaning)
    own = (hit for hit in hits if hit.author == "human" and hit.session != session)
    best = tuple(islice(_without_repeats(own), max(most, 3)))
    scores = [*(hit.score for hit in best[:3]), 0.0, 0.0, 0.0]
    apart = 1 if scores[1] <= _STANDS_OUT * scores[0] else 2 if scores[2] <= _TWO_STAND_OUT * scores[1] else 0
    return tuple(_turn_of_hit(hit, stands_out=place < apart) for place, hit in enumerate(best[:most]))


def _turn_of_hit(hit: Hit, *, stands_out: bool) -> SaidTurn:
    """A hit as a turn. What only resembles the message as much as others do is not what was meant."""
    similarity = hit.similarity or 0.0
    shared = next((reason.count(",") + 1 for reason in hit.reasons if reason.startswith("its words: ")), 0)
    close = similarity >= _NEAR or (shared >= _SHARED_WORDS and similarity >= _BESIDE)
    near = max(similarity, _BESIDE) if similarity >= _ALONE or (stands_out and close) else 0.0
    return SaidTurn(hit.id, hit.text, hit.score, near, hit.last_at.isoformat() if hit.last_at else "", hit.session)


def _without_repeats(hits: Iterator[Hit]) -> Iterator[Hit]:
    seen: set[str] = set()
    for hit in hits:
        text = " ".join(hit.text.split()).casefold()
        if text not in seen:
            seen.add(text)
            yield hit
