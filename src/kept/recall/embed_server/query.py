"""Find memories and turns near a message in meaning, with the model in this process. Read-only.

Search finds the turns. This module ranks them and decides which are near enough to be shown unasked. The results are ids and
numbers. Callers read the texts from the store. A hook may run this in its own process, so it does not import the workspace.
"""

from collections.abc import Iterable, Mapping
from math import inf, log1p
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from kept.core.digest import text_hash
from kept.core.errors import KeptError
from kept.core.text import index_words, tokenize
from kept.core.value import fields
from kept.local.recall_settings import RecallSettings
from kept.recall.context import TurnLookup
from kept.recall.index import UnitKind
from kept.recall.meaning import MeaningQuery, QueryContext, QueryPaths, QuerySettings
from kept.recall.nearby import NearnessLookup, NearnessReader
from kept.recall.question import is_telling, telling_words
from kept.recall.rank import SaidTurn
from kept.recall.relevance import is_similar_request, stem
from kept.recall.search import find_near_memories, find_said_turns

if TYPE_CHECKING:
    from kept.workspace import Workspace


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
    """The turns near enough to be shown unasked, best first. Maps keys to nearness, as :data:`kept.recall.context.TurnLookup`.

    Raises the errors of :func:`kept.recall.search.search`.
    """
    shown = [turn for turn in rank_past_turns(place, message, scope, session=session) if turn.near]
    beside = {turn.later for turn in shown}
    return {f"{turn.key} {turn.later}".rstrip(): turn.near for turn in shown if turn.later or turn.key not in beside}


# Fitted to judged prompts by benchmarks/train_said.py; the cosine weighs 1.
_WORDED = 0.11  # weight of the squared share of the message's telling words that the turn contains
_TYPED, _MOST_TYPED = 0.032, 80  # weight of the logarithm of the words that the person typed, of which no more than this count
_WEIGHED = 20  # the typed words of this many of the nearest turns are counted, because telling them from pasted ones takes long
# docs/log.md says how these limits were chosen.
_NEAR = 0.53  # minimum score of a turn that is shown unasked
_LONG, _NEAR_LONG = 15, 0.7  # the same for a message of at least so many words, because it says itself most of what it needs
_APART = 0.09  # minimum difference between the score of a turn that is shown unasked and the best one that is not
_DOUBTED = 0.1  # taken off the score for each unit of doubt that the message asks for anything remembered
_DOUBTFUL = 2.5  # if the doubt is larger, no turn is shown unasked
# When a later turn is about the same as one that is shown.
_LIKE = 0.4  # minimum cosine of the two
_SHARED = 0.2  # minimum share of the earlier turn's telling words that the later one contains
_LATER = 40  # maximum number of typed words of the later one, because a long text touches many subjects


class PastTurn(NamedTuple):
    """A turn that the person typed. ``near`` is its score, or 0 if the turn should not be shown unasked. ``later`` is the key of a
    later turn about the same, if the turn is shown and there is one.
    """

    key: str
    text: str
    score: float
    near: float
    later: str = ""


def rank_past_turns(
    place: "Workspace | QueryContext", message: str, scope: str, *, meaning: bool = True, session: str = "", most: int = 2
) -> tuple[PastTurn, ...]:
    """The turns of a project's other sessions that a message may refer to, best first.

    Raises the errors of :func:`kept.recall.search.search`.
    """
    if not is_telling(message):
        return ()
    doubt, turns, asked = find_said_turns(place, message, scope, meaning=meaning)
    others = [turn for turn in turns if turn.session != session]
    near = sorted((_score_nearness(turn), turn.key, turn) for turn in others)
    distinct = sorted(
        {" ".join(turn.text.split()).casefold(): (score, key, turn) for score, key, turn in near}.values(), reverse=True
    )
    weighed = ((score + _weigh_length(turn), key, turn) for score, key, turn in distinct[: max(most, _WEIGHED)])
    best = sorted(weighed, reverse=True)[: max(most, 3)]
    first, second, third, *_ = [*(score for score, *_ in best), 0.0, 0.0, 0.0]
    apart = 1 if first - second >= _APART else 2 if second - third >= _APART else 0
    least = _NEAR_LONG if len(tokenize(message)) >= _LONG else _NEAR
    floor = least + _DOUBTED * doubt if doubt <= _DOUBTFUL else inf
    return tuple(
        PastTurn(key, turn.text, score, score, _find_later(asked, turn, others))
        if rank < apart and score >= floor and not is_similar_request(message, turn.text)
        else PastTurn(key, turn.text, score, 0.0)
        for rank, (score, key, turn) in enumerate(best[:most])
    )


def _find_later(asked: MeaningQuery | None, turn: SaidTurn, others: Iterable[SaidTurn]) -> str:
    """The key of the later turn that is nearest to a turn, if it is about the same; else empty."""
    later = {other.item: other for other in others if other.at > turn.at and other.text != turn.text}
    if asked is None or not later:
        return ""
    words = {stem(word) for word in telling_words(turn.text)}
    for item, unit in asked.find_like(UnitKind.TURN, turn.item, text_hash(turn.text), later).items():
        typed = list_typed_words(later[item].text) if unit.similarity >= _LIKE else []
        shared = words.intersection(map(stem, typed))
        if len(shared) >= max(1, _SHARED * len(words)) and len(typed) <= _LATER:
            return later[item].key
    return ""


def _score_nearness(turn: SaidTurn) -> float:
    """How near a turn is. If meanings cannot be compared, its words alone decide, and that is too little to be shown unasked."""
    return turn.worded / 10 if turn.meant is None else turn.meant + _WORDED * turn.shared**2


def _weigh_length(turn: SaidTurn) -> float:
    """What is added to a turn's score for its typed words, because a turn of a few words seldom says what somebody asks later."""
    return _TYPED * log1p(min(len(list_typed_words(turn.text)), _MOST_TYPED)) if turn.meant is not None else 0.0


def list_typed_words(text: str) -> list[str]:
    """The index words of a prompt that the person typed and did not paste."""
    from kept.core.spans import find_spans  # noqa: PLC0415 - takes longer to import than a hook that compares no meanings may take

    return index_words(" ".join(text[span.start : span.end] for span in find_spans(text) if span.is_typed)).split()
