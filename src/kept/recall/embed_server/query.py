"""Find memories and turns near a message in meaning, with the model in this process.

The results are ids and numbers; whoever shows the texts reads them from the store. A hook may run this in its own process, so it
does not import the workspace.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.core.errors import KeptError
from kept.core.value import dataclass, fields
from kept.local.recall_settings import RecallSettings
from kept.recall.context import TurnLookup
from kept.recall.nearby import NearnessLookup, NearnessReader
from kept.recall.past_turns import rank_past_turns
from kept.recall.search import SearchContext, find_near_memories

_SAID = 4  # maximum number of turns that are returned; a context shows two


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
    """A :class:`SearchContext` that needs no workspace."""

    paths: QueryPaths
    settings: QuerySettings
    zone: ZoneInfo
    env: Mapping[str, str]

    def clock(self) -> datetime:
        """The present moment."""
        return datetime.now(UTC)


def make_query_context(state: Path | str, recall: RecallSettings, env: Mapping[str, str]) -> QueryContext:
    """The context of a search in the store of a state folder."""
    home = QueryPaths(store=Path(state, "kept.db"), vectors=Path(state, "vectors.bin"))
    return QueryContext(paths=home, settings=QuerySettings(recall=recall), zone=ZoneInfo("UTC"), env=env)


def parse_recall_settings(table: Mapping[str, object]) -> RecallSettings:
    """The settings in an unchecked table; unknown names are ignored."""
    known = {field.name for field in fields(RecallSettings)}
    # A value of the wrong type raises where it is used.
    return RecallSettings(**{name: value for name, value in table.items() if name in known})  # type: ignore[arg-type]


def memories_in_process(place: SearchContext, message: str) -> NearnessLookup:
    """A lookup of near memories in this process, which computes when its result is read; it finds nothing if that fails."""

    def start(scopes: list[str]) -> NearnessReader:
        def compare_in_process() -> Mapping[str, float]:
            try:
                return find_near_memories(place, message, scopes)
            except KeptError:
                return {}  # results by words are still shown

        return compare_in_process

    return start


def turns_in_process(place: SearchContext, message: str, session: str = "") -> TurnLookup:
    """A lookup of turns of other sessions in this process; it finds nothing if that fails."""

    def look_up(scope: str) -> Mapping[str, float]:
        try:
            return find_near_turns(place, message, scope, session)
        except KeptError:
            return {}

    return look_up


def find_near_turns(place: SearchContext, message: str, scope: str, session: str) -> dict[str, float]:
    """The turns near enough to show unasked, key → nearness, best first. Raises what :func:`kept.recall.search.search` raises."""
    return {turn.key: turn.near for turn in rank_past_turns(place, message, scope, session=session, most=_SAID) if turn.near}
