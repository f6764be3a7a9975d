"""What is only looked at, over the API: the knowledge graph, the days, and what a session would get to see."""

from dataclasses import asdict
from datetime import date
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, BeforeValidator, Field

from kept.core.codec import json_fields, to_json
from kept.core.errors import MissingError
from kept.core.fence import Piece, block
from kept.core.summary import Bullet
from kept.core.times import to_text
from kept.journal import calendar
from kept.memories.browse import exported
from kept.memories.day_view import day as look_at
from kept.outputs.knowledge_graph import MOST, knowledge
from kept.recall.preview import preview
from kept.web.api.forms import Body, MemoryOut, whole
from kept.web.room import at_desk
from kept.workspace import Workspace

router = APIRouter(tags=["looking"])

DAY = r"^[1-9]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"
MESSAGE = 20_000  # characters of a message; of a longer one its ends tell as much


class NodeOut(BaseModel):
    """A person, project, thing or memory."""

    id: str = Field(description="The id of a memory, else the path a knowledge page about it has.")
    kind: Literal["you", "project", "entity", "resource", "memory"]
    label: str
    weight: float
    detail: str
    page: str = Field(description="The file of its knowledge page below the home; empty where none is written.")


class EdgeOut(BaseModel):
    """What ties two nodes together, and how many memories that rests on."""

    source: str
    target: str
    kind: Literal["about", "names", "together"]
    weight: int


class GraphOut(BaseModel):
    """The graph, the weightiest nodes first, and how many of each kind are left out."""

    nodes: list[NodeOut]
    edges: list[EdgeOut]
    left_out: dict[str, int]


class CellOut(BaseModel):
    """A day in a calendar."""

    day: date
    sessions: int
    worked: int
    learnt: int
    decided: int
    open: int
    entry: bool


class MonthOut(BaseModel):
    """A month, and the nearest months before and after it in which something happened."""

    first: date
    cells: list[CellOut]
    before: date | None
    after: date | None


class BulletOut(BaseModel):
    """One line of what a day was."""

    part: str
    text: str
    at: str | None
    source: str
    scope: str
    weight: int
    by: str = Field(description="Who put the words together; empty for the words used then.")


class SessionOut(BaseModel):
    """A session's part in a day."""

    session: str
    source: str
    path: str
    scope: str
    prompts: int
    events: int
    first_at: str
    last_at: str
    worked: list[BulletOut]


class DayOut(BaseModel):
    """What a day was."""

    day: date
    condensed: list[BulletOut]
    detailed: list[BulletOut]
    sessions: list[SessionOut]
    learnt: list[MemoryOut]
    confirmed: list[MemoryOut]
    open: list[MemoryOut] = Field(description="The questions that were open when the day ended.")
    entry: str | None = Field(description="The journal entry of the day as Markdown.")


class Said(Body):
    """What is about to be said, where, and to whom."""

    message: Annotated[str, Field(max_length=MESSAGE)] = ""
    directory: Annotated[
        str, Field(max_length=4_000, pattern=r"^(/[^\x00]*)?$", description="An absolute path; empty for none.")
    ] = ""
    budget: Annotated[int, Field(ge=0, le=100_000, description="Tokens at most; 0 for the setting."), BeforeValidator(whole)] = 0
    client: Literal["claude", "codex", "none"] = "claude"


class PieceOut(BaseModel):
    """A line, and why it is there; ``omitted`` says why it is not shown."""

    layer: str
    key: str
    text: str
    day: str
    near: float
    score: float
    reason: str
    omitted: str = ""


class ContextOut(BaseModel):
    """What would be put before a session."""

    tokens: int
    block: str = Field(description="The text as a session gets it.")
    lines: list[PieceOut]
    omitted: list[PieceOut]
    left_out: dict[str, int]


@router.get("/graph", response_model=GraphOut)
def the_graph(
    request: Request,
    *,
    project: Annotated[str, Query(max_length=200, description="Only projects with this in their name.")] = "",
    most: Annotated[int, Query(ge=1, le=5_000, description="Nodes at most.")] = MOST,
) -> dict[str, Any]:
    """The knowledge graph of what is remembered."""
    with at_desk(request) as workspace:
        found = knowledge(workspace, project=project, most=most)
        left_out = {kind.value: count for kind, count in found.left_out.items()}
        return {
            "nodes": to_json(found.nodes),
            "edges": to_json(found.edges),
            "left_out": left_out,
        }


@router.get("/months/{month}", response_model=MonthOut)
def one_month(
    request: Request, month: Annotated[str, Path(pattern=r"^[1-9]\d{3}-(0[1-9]|1[0-2])$", description="YYYY-MM.")]
) -> dict[str, Any]:
    """How much each day of a month held."""
    with at_desk(request) as workspace:
        found: dict[str, Any] = asdict(calendar.month(workspace, date.fromisoformat(f"{month}-01")))
        return found


@router.get("/days/{day}", response_model=DayOut)
def one_day(request: Request, day: Annotated[str, Path(pattern=DAY, description="YYYY-MM-DD.")]) -> dict[str, Any]:
    """What a day was."""
    return _day(request, _date(day))


def _date(day: str) -> date:
    """A day of the calendar. Raises MissingError for what has the form of one alone, as 30 February."""
    try:
        return date.fromisoformat(day)
    except ValueError as error:
        raise MissingError(f"there is no day {day}", hint="days are YYYY-MM-DD") from error


def _day(request: Request, day: date) -> dict[str, Any]:
    with at_desk(request) as workspace:
        found = look_at(workspace, day)
        entry = calendar.diary(workspace, day)
        return {
            "day": day,
            "condensed": [_bullet(each) for each in found.summary.condensed],
            "detailed": [_bullet(each) for each in found.summary.detailed],
            "sessions": [_session_body(each) for each in calendar.sessions(workspace, day)],
            "learnt": _memories(workspace, found.learnt),
            "confirmed": _memories(workspace, found.confirmed),
            "open": _memories(workspace, calendar.still_open(workspace, day)),
            "entry": entry.text if entry else None,
        }


def _memories(workspace: Workspace, memories: Any) -> list[dict[str, Any]]:
    return [exported(workspace, each) for each in memories]


def _bullet(each: Bullet) -> dict[str, Any]:
    at = to_text(each.at) if each.at else None
    return {
        "part": each.part.value,
        "text": each.text,
        "at": at,
        "source": each.source,
        "scope": each.scope,
        "weight": each.weight,
        "by": each.by,
    }


def _session_body(each: calendar.Session) -> dict[str, Any]:
    names = ("session", "source", "path", "prompts", "events", "first_at", "last_at")
    return json_fields(each.sitting, *names) | {"scope": each.scope, "worked": [_bullet(bullet) for bullet in each.worked]}


@router.post("/context", response_model=ContextOut)
def the_context(request: Request, body: Said) -> dict[str, Any]:
    """What would be put before a session now, line by line with its reason. Changes nothing."""
    with at_desk(request) as workspace:
        found = preview(workspace, body.message, directory=body.directory, budget=body.budget, client=body.client)
        return {
            "tokens": found.tokens,
            "block": block(found.pieces),
            "lines": [_piece(each) for each in found.pieces],
            "omitted": [_piece(each, why) for each, why in found.omitted],
            "left_out": found.left_out,
        }


def _piece(piece: Piece, omitted: str = "") -> dict[str, Any]:
    return piece._asdict() | {"omitted": omitted}
