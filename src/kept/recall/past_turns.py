"""Find what the person said in earlier sessions of a project, for messages that no memory answers. Read-only.

Search ranks the turns; this module decides which of them are near enough to be shown unasked.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from kept.recall.index import UnitKind
from kept.recall.question import is_telling
from kept.recall.search import Filters, Hit, SearchContext, search

_POOL = 80
_SHARED_WORDS = 2  # minimum number of telling words shared with the message if the cosine is below _NEAR
_ALONE = 0.65  # a cosine that suffices by itself
_NEAR = 0.5  # a cosine that suffices for a turn that stands out
_BESIDE = 0.3  # a cosine that suffices for a turn that stands out and shares words with the message
_STANDS_OUT = 0.88  # the best turn stands out if the second has at most this share of its score
_TWO_STAND_OUT = 0.7  # else the best two stand out if the third has at most this share of the second's score


class PastTurn(NamedTuple):
    """A turn that the person typed. ``near`` is how near it is to the message; 0 if that is not enough to show it unasked."""

    key: str
    text: str
    score: float
    near: float
    at: str
    session: str


def rank_past_turns(
    place: SearchContext, message: str, scope: str, *, meaning: bool = True, session: str = "", most: int = 2
) -> tuple[PastTurn, ...]:
    """The turns of a project's other sessions that a message may refer to, best first. Raises what :func:`search` raises."""
    if not is_telling(message):
        return ()
    hits = search(place, message, where=(UnitKind.TURN,), limit=_POOL, filters=Filters(scopes=(scope,)), meaning=meaning)
    own = (hit for hit in hits if hit.author == "human" and hit.session != session)
    best = tuple(islice(_without_repeats(own), max(most, 3)))
    scores = [*(hit.score for hit in best[:3]), 0.0, 0.0, 0.0]
    apart = 1 if scores[1] <= _STANDS_OUT * scores[0] else 2 if scores[2] <= _TWO_STAND_OUT * scores[1] else 0
    return tuple(_turn_of_hit(hit, stands_out=place < apart) for place, hit in enumerate(best[:most]))


def _turn_of_hit(hit: Hit, *, stands_out: bool) -> PastTurn:
    """A hit as a turn. If others resemble the message as much, it is near only if its cosine suffices alone."""
    similarity = hit.similarity or 0.0
    shared = next((reason.count(",") + 1 for reason in hit.reasons if reason.startswith("its words: ")), 0)
    close = similarity >= _NEAR or (shared >= _SHARED_WORDS and similarity >= _BESIDE)
    near = max(similarity, _BESIDE) if similarity >= _ALONE or (stands_out and close) else 0.0
    return PastTurn(hit.id, hit.text, hit.score, near, hit.last_at.isoformat() if hit.last_at else "", hit.session)


def _without_repeats(hits: Iterator[Hit]) -> Iterator[Hit]:
    seen: set[str] = set()
    for hit in hits:
        text = " ".join(hit.text.split()).casefold()
        if text not in seen:
            seen.add(text)
            yield hit
