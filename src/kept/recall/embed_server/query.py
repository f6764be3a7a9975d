"""Facts near to a message by meaning: from the embedding server, else from the model in this process.

Tells ids and cosines only: the texts are read from the store by whoever shows them. A hook in a process of its own may wait for
this, so it does not import the workspace.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.core.errors import KeptError
from kept.core.value import dataclass, fields
from kept.local.recall_settings import RecallSettings
from kept.recall.context import Said
from kept.recall.nearby import Meant, Nearest
from kept.recall.said import rank_said_turns
from kept.recall.search import SearchContext, find_near_memories

_SAID = 4  # turns that are told; two of them are shown


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryPaths:
    """Where the store and the vectors lie."""

    store: Path
    vectors: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class QuerySettings:
    """The settings of recall."""

    recall: RecallSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryContext:
    """What a search needs of a workspace, without the workspace."""

    paths: QueryPaths
    settings: QuerySettings
    zone: ZoneInfo
    env: Mapping[str, str]

    def clock(self) -> datetime:
        """The present moment."""
        return datetime.now(UTC)


def make_query_context(state: Path | str, recall: RecallSettings, env: Mapping[str, str]) -> QueryContext:
    """The place of a search, by the folder of kept's state."""
    home = QueryPaths(store=Path(state, "kept.db"), vectors=Path(state, "vectors.bin"))
    return QueryContext(paths=home, settings=QuerySettings(recall=recall), zone=ZoneInfo("UTC"), env=env)


def parse_recall_settings(table: Mapping[str, object]) -> RecallSettings:
    """The settings in a table that nobody checked. Raises TypeError for what is no setting."""
    known = {field.name for field in fields(RecallSettings)}
    # A value of the wrong type raises where it is used.
    return RecallSettings(**{name: value for name, value in table.items() if name in known})  # type: ignore[arg-type]


def memories_in_process(place: SearchContext, message: str) -> Nearest:
    """How a context is given what is near by meaning, computed in this process when it is taken up; nothing where it cannot be."""

    def begin(scopes: list[str]) -> Meant:
        def compare_in_process() -> Mapping[str, float]:
            try:
                return find_near_memories(place, message, scopes)
            except KeptError:
                return {}  # what words find is shown all the same

        return compare_in_process

    return begin


def turns_in_process(place: SearchContext, message: str, session: str = "") -> Said:
    """How a context is given what was said in other sessions, computed in this process; nothing where it cannot be."""

    def look_up(scope: str) -> Mapping[str, float]:
        try:
            return find_near_turns(place, message, scope, session)
        except KeptError:
            return {}

    return look_up


def find_near_turns(place: SearchContext, message: str, scope: str, session: str) -> dict[str, float]:
    """The turns near enough to be brought unasked, by key, best first. Raises what :func:`kept.recall.search.search` raises."""
    return {turn.key: turn.near for turn in rank_said_turns(place, message, scope, session=session, most=_SAID) if turn.near}
