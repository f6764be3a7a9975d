"""Facts near to a message by meaning, for a hook: heavier than words by the model it loads, so asked only where a person wants that."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.app.recalling import Filters, facts
from kept.model.context import FACTS, Piece
from kept.model.recall import Recall

SURE = 0.5  # a cosine from which on meaning alone brings a fact before a prompt; above the seed's floor, for nobody asked for it


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    """Where the store and the vectors lie."""

    store: Path
    vectors: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The settings of recall."""

    recall: Recall


@dataclass(frozen=True, kw_only=True, slots=True)
class Spot:
    """What a search needs of a desk, without the desk."""

    home: Files
    settings: Choice
    zone: ZoneInfo
    env: Mapping[str, str]
    now: datetime

    def clock(self) -> datetime:
        """The present moment."""
        return self.now


def nearest(
    *, state: str, recall: Mapping[str, object], env: Mapping[str, str], message: str, scopes: list[str], zone: tzinfo | None
) -> list[Piece]:
    """The facts of these scopes near to a message by meaning, as pieces. ``recall`` is the table of the settings.

    Raises KeptError, and TypeError for settings that are none.
    """
    place = Path(state)
    spot = Spot(
        home=Files(store=place / "kept.db", vectors=place / "vectors.bin"), settings=Choice(recall=Recall(**recall)),  # type: ignore[arg-type] # checked by `kept config`; what is not raises TypeError
        zone=ZoneInfo("UTC"), env=env, now=datetime.now(UTC),
    )  # fmt: skip
    found = facts(spot, message, filters=Filters(statuses=("active",), scopes=tuple(scopes)))
    return [
        Piece(
            FACTS, each.id, each.text, each.last_at.astimezone(zone).date().isoformat() if each.last_at else "", each.similarity,
            each.score, "; ".join(each.reasons),
        )
        for each in found
        if each.similarity is not None and each.similarity >= SURE
    ]  # fmt: skip
