"""Find memories and turns near a message in meaning, with the model in this process. Read-only.

Search ranks the turns, and this module decides which of them are near enough to be shown unasked. The results are ids and numbers.
Callers read the texts from the store. A hook may run this in its own process, so it does not import the workspace.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from kept.core.errors import KeptError
from kept.core.value import fields
from kept.local.recall_settings import RecallSettings
from kept.recall.context import TurnLookup
from kept.recall.index import UnitKind
from kept.recall.nearby import NearnessLookup, NearnessReader
from kept.recall.question import is_telling
from kept.recall.search import Filters, Hit, QueryContext, QueryPaths, QuerySettings, find_near_memories, search

if TYPE_CHECKING:
    from kept.workspace import Workspace

_SAID = 4  # maximum number of turns that are returned; a context shows two


def make_query_context(state: Path | str, recall: RecallSettings, env: Mapping[str, str]) -> QueryContext:
    """The context of a search in the store of a state folder."""
    home = QueryPaths(store=Path(state, "kept.db"), vectors=Path(state, "vectors.bin"))
    return QueryContext(paths=home, settings=QuerySettings(recall=recall), zone=ZoneInfo("UTC"), env=env)


def parse_recall_settings(table: Mapping[str, object]) -> RecallSettings:
    """The settings in a table that may have any content. Unknown names are ignored."""
    known = {field.name for field in fields(RecallSettings)}
    # Types are not checked here. A value of the wrong type raises an error where it is used.
    return RecallSettings(**{name: value for name, value in table.items() if name in known})  # type: ignore[arg-type]


def memories_in_process(place: "Workspace | QueryContext", message: str) -> NearnessLookup:
    """A lookup of near memories in this process. It computes when its result is read, and finds nothing if that fails."""

    def start(scopes: list[str]) -> NearnessReader:
        def compare_in_process() -> Mapping[str, float]:
            try:
                return find_near_memories(place, message, scopes)
            except KeptError:
                return {}  # results by words are still shown

        return compare_in_process

    return start


def turns_in_process(place: "Workspace | QueryContext", message: str, session: str = "") -> TurnLookup:
    """A lookup of turns of other sessions in this process. It finds nothing if the search fails."""

    def look_up(scope: str) -> Mapping[str, float]:
        try:
            return find_near_turns(place, message, scope, session)
        except KeptError:
            return {}

    return look_up


def find_near_turns(place: "Workspace | QueryContext", message: str, scope: str, session: str) -> dict[str, float]:
    """The turns near enough to be shown unasked, best first, as a mapping from key to nearness.

    Raises the errors of :func:`kept.recall.search.search`.
    """
    return {turn.key: turn.near for turn in rank_past_turns(place, message, scope, session=session, most=_SAID) if turn.near}


_POOL = 80
_SHARED_WORDS = 2  # minimum number of telling words shared with the message if the cosine is below _NEAR
_ALONE = 0.65  # minimum cosine of any turn
_NEAR = 0.5  # minimum cosine of a turn that stands out
_BESIDE = 0.3  # minimum cosine of a turn that stands out and shares telling words with the message
_STANDS_OUT = 0.88  # the best turn stands out if the second has at most this share of its score
_TWO_STAND_OUT = 0.7  # otherwise the best two stand out if the third has at most this share of the second's score


class PastTurn(NamedTuple):
    """A turn that the person typed. ``near`` is its nearness to the message, or 0 if that is too little to show it unasked."""

    key: str
    text: str
    score: float
    near: float
    at: str
    session: str


def rank_past_turns(
    place: "Workspace | QueryContext", message: str, scope: str, *, meaning: bool = True, session: str = "", most: int = 2
) -> tuple[PastTurn, ...]:
    """The turns of a project's other sessions that a message may refer to, best first. Raises the errors of :func:`search`."""
    if not is_telling(message):
        return ()
    hits = search(place, message, where=(UnitKind.TURN,), limit=_POOL, filters=Filters(scopes=(scope,)), meaning=meaning)
    own = (hit for hit in hits if hit.author == "human" and hit.session != session)
    best = tuple(islice(_without_repeats(own), max(most, 3)))
    scores = [*(hit.score for hit in best[:3]), 0.0, 0.0, 0.0]
    apart = 1 if scores[1] <= _STANDS_OUT * scores[0] else 2 if scores[2] <= _TWO_STAND_OUT * scores[1] else 0
    return tuple(_turn_of_hit(hit, stands_out=place < apart) for place, hit in enumerate(best[:most]))


def _turn_of_hit(hit: Hit, *, stands_out: bool) -> PastTurn:
    """A hit as a turn. If it does not stand out among the hits, only a high cosine makes it near."""
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
