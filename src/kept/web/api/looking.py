"""What is only looked at, over the API: the knowledge graph, the days, and what a session would get to see."""

from dataclasses import asdict
from datetime import date
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, BeforeValidator, Field

from kept.core.codec import json_fields, to_json
from kept.core.errors import MissingError
from kept.core.fence import ContextPiece, render_block
from kept.core.summary import SummaryBullet
from kept.journal import calendar
from kept.memories.browse import to_export
from kept.memories.day_view import load_day_view as look_at
from kept.outputs.graph import MOST, build_knowledge_graph
from kept.recall.preview import preview_context
from kept.web.api.forms import Body, MemoryOut, to_whole_number
from kept.web.room import request_workspace
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


class MessageBody(Body):
    """What is about to be said, where, and to whom."""

    message: Annotated[str, Field(max_length=MESSAGE)] = ""
    directory: Annotated[
        str, Field(max_length=4_000, pattern=r"^(/[^\x00]*)?$", description="An absolute path; empty for none.")
    ] = ""
    budget: Annotated[
        int, Field(ge=0, le=100_000, description="Tokens at most; 0 for the setting."), BeforeValidator(to_whole_number)
    ] = 0
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
def get_graph(
    request: Request,
    *,
    project: Annotated[str, Query(max_length=200, description="Only projects with this in their name.")] = "",
    most: Annotated[int, Query(ge=1, le=5_000, description="Nodes at most.")] = MOST,
) -> dict[str, Any]:
    """The knowledge graph of what is remembered."""
    with request_workspace(request) as workspace:
        graph = build_knowledge_graph(workspace, project=project, most=most)
        left_out = {kind.value: count for kind, count in graph.left_out.items()}
        return {"nodes": to_json(graph.nodes), "edges": to_json(graph.edges), "left_out": left_out}


@router.get("/months/{month}", response_model=MonthOut)
def get_month(
    request: Request, month: Annotated[str, Path(pattern=r"^[1-9]\d{3}-(0[1-9]|1[0-2])$", description="YYYY-MM.")]
) -> dict[str, Any]:
    """How much each day of a month held."""
    with request_workspace(request) as workspace:
        found: dict[str, Any] = asdict(calendar.load_month(workspace, date.fromisoformat(f"{month}-01")))
        return found


@router.get("/days/{day}", response_model=DayOut)
def get_day(request: Request, day: Annotated[str, Path(pattern=DAY, description="YYYY-MM-DD.")]) -> dict[str, Any]:
    """What a day was."""
    return _day_body(request, _parse_date(day))


def _parse_date(day: str) -> date:
    """A day of the calendar. Raises MissingError for what has the form of one alone, as 30 February."""
    try:
        return date.fromisoformat(day)
    except ValueError as error:
        raise MissingError(f"there is no day {day}", hint="days are YYYY-MM-DD") from error


def _day_body(request: Request, day: date) -> dict[str, Any]:
    with request_workspace(request) as workspace:
        day_view = look_at(workspace, day)
        entry = calendar.load_journal_entry(workspace, day)
        return {
            "day": day,
            "condensed": [_bullet_body(bullet) for bullet in day_view.summary.condensed],
            "detailed": [_bullet_body(bullet) for bullet in day_view.summary.detailed],
            "sessions": [_session_body(session) for session in calendar.load_day_sessions(workspace, day)],
            "learnt": _memory_bodies(workspace, day_view.learnt),
            "confirmed": _memory_bodies(workspace, day_view.confirmed),
            "open": _memory_bodies(workspace, calendar.list_open_questions(workspace, day)),
            "entry": entry.text if entry else None,
        }


def _memory_bodies(workspace: Workspace, memories: Any) -> list[dict[str, Any]]:
    return [to_export(workspace, memory) for memory in memories]


def _bullet_body(each: SummaryBullet) -> dict[str, Any]:
    return json_fields(each, "part", "text", "at", "source", "scope", "weight", "by")


def _session_body(each: calendar.DaySession) -> dict[str, Any]:
    names = ("session", "source", "path", "prompts", "events", "first_at", "last_at")
    return json_fields(each.sitting, *names) | {"scope": each.scope, "worked": [_bullet_body(bullet) for bullet in each.worked]}


@router.post("/context", response_model=ContextOut)
def get_context(request: Request, body: MessageBody) -> dict[str, Any]:
    """What would be put before a session now, line by line with its reason. Changes nothing."""
    with request_workspace(request) as workspace:
        found = preview_context(workspace, body.message, directory=body.directory, budget=body.budget, client=body.client)
        return {
            "tokens": found.tokens,
            "block": render_block(found.pieces),
            "lines": [_piece_body(piece) for piece in found.pieces],
            "omitted": [_piece_body(each, why) for each, why in found.omitted],
            "left_out": found.left_out,
        }


def _piece_body(piece: ContextPiece, omitted: str = "") -> dict[str, Any]:
    return piece._asdict() | {"omitted": omitted}
