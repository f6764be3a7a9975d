"""The pages for memories: the list with search and filters, and the forms. The URL has the filters, so that bookmarks keep them."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kept.core.errors import MissingError
from kept.core.event import Author, Event, EventKind
from kept.core.memory import USER_SCOPE, Evidence, Memory, Status
from kept.core.sentences import split_sentences
from kept.core.spans import label_event_text
from kept.core.times import format_instant
from kept.core.value import dataclass, fields, replace
from kept.intake.survey import survey
from kept.memories.browse import TRUST, filter_memories, matching_scopes, memory_revision
from kept.memories.person import find_memory
from kept.memories.wording import MEMORY_CHARS
from kept.pipeline.erase.forget import find_erasure_places, make_erasure_request
from kept.profiles.profile import category_title, format_kind
from kept.recall.index import UnitKind
from kept.recall.question import telling_words
from kept.recall.search import EVERYWHERE, NO_FILTERS, Filters, Hit, leave_out_far, search
from kept.recall.spelling import correct_spelling, excerpt, has_meaning
from kept.web.context import request_workspace
from kept.web.listing import LABELS, ListQuery, field_choices, list_memories
from kept.web.render import NavigationPage, is_htmx_request, render_page, render_part
from kept.workspace import Workspace

router = APIRouter()
PAGE = NavigationPage(id="memories", title="Memories", path="/", key="m", router=router)

_LONGEST = 500  # maximum characters of a query parameter
_STRETCH = 60  # number of rows shown before "show more"

Ids = Annotated[list[str], Query(alias="id", min_length=1, max_length=1_000)]


LAYERS: Mapping[str, tuple[str, tuple[UnitKind, ...]]] = {  # label, kinds of units searched
    "memories": ("memories", (UnitKind.MEMORY,)),
    "days": ("days", (UnitKind.SUMMARY,)),
    "turns": ("conversations", (UnitKind.TURN,)),
}
_SEARCHED = (Status.ACTIVE, Status.HELD)
_MOST_FOUND, _EXCERPT, _ID = 300, 320, 4  # maximum hits; characters shown of a hit; minimum characters of an id
_PREVIEW = 12  # number of days, and of conversations, shown below the memories
_MOST_OF_ALL = 100_000  # maximum hits of a search whose hits are filtered afterwards


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResultRow:
    """A search result: a memory, or an excerpt (``text``) of a turn or of a line about a day."""

    memory: Memory | None = None
    hit: Hit | None = None
    text: str = ""

    @property
    def held(self) -> bool:
        """True for a held memory. Held memories are listed below the active ones."""
        return self.memory is not None and self.memory.status is Status.HELD


@router.get("/")
def memories(request: Request, *, exact: bool = False, shown: Annotated[int, Query(ge=1, le=100_000)] = _STRETCH) -> Response:
    """Show the list of memories or, if there is a search text, the search results. A request of htmx gets only the list."""
    asked = {field.name: request.query_params.get(field.name, "")[:_LONGEST].strip() for field in fields(ListQuery)}
    wish = ListQuery(**asked)
    with request_workspace(request) as workspace:
        if wish.q:
            values = _found_values(workspace, wish, shown, exact=exact)
            if is_htmx_request(request):
                return render_part(workspace, "search_list.html", **values)
        outlines = workspace.store.log.outlines(workspace.clock())
        if not wish.q:
            listing = list_memories(workspace, outlines, wish, shown)
            values = {"wish": wish, "listing": listing, "shown": shown, "stretch": _STRETCH}
            values |= row_values(workspace, past=wish.as_of(workspace.zone))
            if is_htmx_request(request):
                return render_part(workspace, "memories_list.html", **values)
        values["choices"] = field_choices(workspace, outlines)
        return render_page(request, workspace, "memories.html", here=PAGE.id, stored=len(outlines), **values)


@router.get("/turn")
def turn_page(
    request: Request, event: Annotated[str, Query(max_length=1_000)], around: Annotated[int, Query(ge=0, le=200)] = 8
) -> Response:
    """Show an archived turn with the turns ``around`` it."""
    with request_workspace(request) as workspace:
        turns = [to_turn_view(item) for item in workspace.store.archive.events_around(event, around, around)]
        if not turns:
            raise MissingError("this turn is not in the archive", hint="search again")
        values: dict[str, Any] = {"turns": turns, "event": event, "around": around}
        if is_htmx_request(request):
            return render_part(workspace, "turn.html", **values)
        return render_page(request, workspace, "turn_page.html", here=PAGE.id, **values)


@router.get("/found")
def count_transcripts(request: Request) -> Response:
    """Show the number of transcripts on this machine, for the first visit.

    The page requests this separately, because counting is slow.
    """
    with request_workspace(request) as workspace:
        tools = [tool for tool in survey(workspace).tools if tool.files]
        return render_part(workspace, "memories_found.html", tools=tools)


@router.get("/memories/new")
def new_memory_form(request: Request) -> Response:
    """Show the form for a new memory."""
    with request_workspace(request) as workspace:
        kinds = [
            (format_kind(profile.id, category.id), category_title(workspace.profiles, profile.id, category.id))
            for profile in workspace.profiles
            for category in profile.categories
        ]
        scopes = sorted(workspace.scope_names().items(), key=lambda each: each[1])
        return render_part(workspace, "memory_new.html", kinds=kinds, scopes=scopes, most=MEMORY_CHARS)


@router.get("/memories/merge")
def merge_form(request: Request, number: Ids) -> Response:
    """Show the form that merges several memories."""
    with request_workspace(request) as workspace:
        memories = [find_memory(workspace, item) for item in number]
        body = json.dumps({"memories": [{"id": memory.id, "revision": memory_revision(memory)} for memory in memories]})
        return render_part(workspace, "memories_merge.html", memories=memories, body=body, most=MEMORY_CHARS)


@router.get("/memories/forget")
def forget_form(request: Request, number: Ids) -> Response:
    """Show the form that forgets memories. It lists the places with their words, and the memories that say nearly the same."""
    with request_workspace(request) as workspace:
        asked = make_erasure_request(workspace, [find_memory(workspace, item) for item in dict.fromkeys(number)])
        erasure_matches = find_erasure_places(workspace, asked, quick=True)
        exact = sorted((place for place in erasure_matches if not place.near), key=lambda place: place.holder)
        held = [(holder, list(group)) for holder, group in groupby(exact, key=lambda place: place.holder)]
        near = [place for place in erasure_matches if place.near]
        transcripts = sorted({quote.path for memory in asked.memories for quote in memory.evidence if quote.path})
        return render_part(
            workspace, "memories_forget.html", memories=asked.memories, held=held, near=near, transcripts=transcripts
        )


@router.get("/memories/{number}/row")
def memory_row(request: Request, number: str) -> Response:
    """Show a memory as a row of the list."""
    with request_workspace(request) as workspace:
        return render_part(workspace, "memory_row.html", memory=find_memory(workspace, number), **row_values(workspace))


@router.get("/memories/{number}/forms/{kind}")
def memory_form(
    request: Request, number: str, kind: Literal["edit", "answer", "wrong"], *, head: Annotated[bool, Query()] = False
) -> Response:
    """Show the form that edits a memory, answers a question or reports an error.

    The form replaces the memory's row or, with ``head``, the head of its page.
    """
    with request_workspace(request) as workspace:
        memory = find_memory(workspace, number)
        return render_form(workspace, memory, f"memory_{kind}.html", row=f"/memories/{memory.id}/{'head' if head else 'row'}")


@router.get("/memories/{number}/split")
def split_form(request: Request, number: str) -> Response:
    """Show the form that splits a memory, with a proposal for the two texts and the quotes of the evidence."""
    with request_workspace(request) as workspace:
        memory = find_memory(workspace, number)
        first = _find_first_part(memory.content)
        return render_part(
            workspace,
            "memory_split.html",
            memory=memory,
            revision=memory_revision(memory),
            parts=(first.rstrip(" ,;"), _JOINED.sub("", memory.content[len(first) :]).strip()),
            passages=list(dict.fromkeys(quote.quote for quote in memory.evidence if quote.quote)),
            most=MEMORY_CHARS,
        )


_CUT = re.compile(r"[,;:–—]\s+|\s(?=(?:and|und|et|y|e)\s)")
_JOINED = re.compile(r"^[\s,;:–—]*(?:(?:and|und|et|y|e)\s+)?(?:that\s+|dass\s+|que\s+)?")


def _find_first_part(text: str) -> str:
    """The first part of a text that is to be split. If it has several sentences, that is the first sentence.

    A single sentence is split at the punctuation mark, or before the "and", that is nearest to its middle.
    """
    end = split_sentences(text, 0, len(text))[0].end
    cuts = [match.start() for match in _CUT.finditer(text)] if end >= len(text.rstrip()) else [end]
    return text[: min(cuts, key=lambda cut: abs(cut - len(text) / 2), default=len(text))]


def render_form(workspace: Workspace, memory: Memory, template: str, row: str) -> Response:
    """Render a form for a memory. ``row`` is the URL of the part that replaces the form when it is closed."""
    profile = workspace.profile_of(memory) or workspace.profile
    kinds = [(category.id, category.title) for category in profile.categories]
    scopes = [(USER_SCOPE, "everywhere"), *sorted(workspace.scope_names().items(), key=lambda item: item[1].lower())]
    return render_part(
        workspace, template, memory=memory, revision=memory_revision, kinds=kinds, scopes=scopes, row=row, most=MEMORY_CHARS
    )


def row_values(workspace: Workspace, words: Sequence[str] = (), *, past: datetime | None = None) -> dict[str, Any]:
    """The template values for rows. The words in ``words`` are marked. Rows for a ``past`` moment have no actions."""
    now = past or workspace.clock()
    filed = {(profile.id, one.id) for profile in workspace.profiles if (one := profile.category_for("open_question"))}
    return {
        "revision": memory_revision,
        "status_of": lambda each: each.status_at(now).value,
        "trust": TRUST,
        "words": words,
        "past": past,
        "asks": lambda each: (each.profile, each.category) in filed,
    }


def _found_values(workspace: Workspace, wish: ListQuery, shown: int, *, exact: bool) -> dict[str, Any]:
    """The template values for search results, by layer. ``exact`` switches spelling correction off."""
    asked = wish.q if exact else correct_spelling(workspace, wish.q)
    sections, more = _find_sections(workspace, wish, asked, shown)
    counts = {layer: len(rows) for layer, rows in sections.items()}
    others = 0
    if wish.narrowed and not any(counts.values()):  # count the hits that the filters exclude
        others = sum(len(rows) for rows in _find_sections(workspace, ListQuery(q=wish.q), asked, shown)[0].values())
    return {
        "wish": wish,
        "layers": [(each, label) for each, (label, _) in LAYERS.items()],
        "asked": asked if asked != wish.q else "",
        "sections": [
            (layer, LAYERS[layer][0], rows[: shown if layer == "memories" or wish.within else _PREVIEW], counts[layer])
            for layer, rows in sections.items()
            if rows
        ],
        "found": sum(counts.values()),
        "others": others,
        "more": more,
        "shown": shown,
        "stretch": _STRETCH,
        **row_values(workspace, telling_words(asked)),
    }


def _find_sections(workspace: Workspace, wish: ListQuery, asked: str, shown: int) -> tuple[dict[str, list[SearchResultRow]], bool]:
    """The hits of a search by layer, and True if there are more."""
    which = wish.to_filter(workspace.clock())
    first, last = wish.days(workspace.zone)
    only_memories = bool(wish.category or wish.origin or wish.status)
    where = [UnitKind.MEMORY] if only_memories else LAYERS.get(wish.within, ("", EVERYWHERE))[1]
    scopes = tuple(sorted(matching_scopes(workspace.scope_names(), wish.project))) if wish.project else ()
    if wish.project and not scopes:
        return {}, False
    filters = Filters(
        scopes=scopes,
        category=wish.category.rpartition(".")[2],
        since=first or which.since,
        until=last or which.before,
        statuses=tuple(status.value for status in Status) if wish.status else NO_FILTERS.statuses,
    )
    chosen_after = bool(wish.origin or wish.status)  # the search itself cannot filter by these
    most = _MOST_OF_ALL if chosen_after else min(shown, _MOST_FOUND)
    found = search(workspace, asked, where=where, limit=most + 1, filters=filters, meaning=has_meaning(asked), of_each=True)
    hits = leave_out_far(found)
    named = [] if len(wish.q) < _ID else workspace.store.log.memory_ids_with_prefix(wish.q) if wish.q.isalnum() else []
    memories = {
        number: memory
        for number in (*named, *(hit.id for hit in hits if hit.kind is UnitKind.MEMORY))
        if (memory := workspace.store.log.memory(number)) is not None
    }
    wanted = which if wish.status else replace(which, statuses=_SEARCHED)
    fits = {memory.id for memory in filter_memories(workspace, tuple(memories.values()), wanted, workspace.clock())}
    by_id = [SearchResultRow(memory=memories[item]) for item in named if item in fits]
    is_id = any(char.isdigit() for char in wish.q)  # without a digit it may be a word, such as "face"
    hit_memories = [
        SearchResultRow(memory=memories[hit.id], hit=hit)
        for hit in hits
        if hit.kind is UnitKind.MEMORY and hit.id in fits and hit.id not in named
    ]
    words = telling_words(asked)
    sections = {"memories": [*by_id, *hit_memories] if is_id else [*hit_memories, *by_id]} | {
        layer: [SearchResultRow(hit=hit, text=excerpt(hit.text, words, _EXCERPT)) for hit in hits if hit.kind in kinds]
        for layer, (_, kinds) in LAYERS.items()
        if layer != "memories"
    }
    if wish.sort in LABELS["sorts"]:
        for rows in sections.values():
            rows.sort(key=_row_time, reverse=wish.sort == "newest")
    longest = max(map(len, sections.values()))
    more = longest > shown and (chosen_after or shown < _MOST_FOUND)
    return {layer: rows[:shown] for layer, rows in sections.items()}, more


def _row_time(row: SearchResultRow) -> str:
    """The time at which a memory was last seen or a hit was said, as text in the store's format. Empty if it is unknown."""
    at = row.memory.last_seen if row.memory else row.hit.first_at if row.hit else None
    return format_instant(at) if at else ""


_BEFORE, _AFTER, _OTHER = 700, 1_100, 900  # characters shown before and after a quote; of a turn without a quote


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnView:
    """A turn, split at its quote, which is empty if the turn is not cited.

    ``cut`` is the number of characters omitted at the end.
    """

    event: Event
    before: str
    quote: str
    after: str
    cut: int

    @property
    def is_tool(self) -> bool:
        """True for a tool call and for a tool's output."""
        return self.event.author is Author.TOOL or self.event.kind in (EventKind.TOOL_CALL, EventKind.TOOL_OUTPUT)

    @property
    def label(self) -> str:
        """The name and target of a tool call. Empty for other turns."""
        tool = self.event.tool
        if tool is None or self.event.kind is not EventKind.TOOL_CALL:
            return ""
        shown = tool.target in (self.event.text, "") or not self.event.text  # the text of the turn is the target
        return tool.name if shown else f"{tool.name} {tool.target}"[:200]


def to_turn_view(event: Event, evidence: Evidence | None = None) -> TurnView:
    """Convert an event to a turn. With ``evidence``, the text is split at its quote."""
    text, quote = event.text, evidence.quote if evidence is not None else ""
    if not text:
        target = event.tool.target if event.tool else ""
        return TurnView(event=event, before=target[:_OTHER], quote="", after="", cut=max(0, len(target) - _OTHER))
    at = text.find(quote) if quote else -1
    if at < 0:
        return TurnView(event=event, before=label_event_text(event, 0, _OTHER), quote="", after="", cut=max(0, len(text) - _OTHER))
    end = at + len(quote)
    before = ("… " if at > _BEFORE else "") + label_event_text(event, max(0, at - _BEFORE), at)
    after = label_event_text(event, end, end + _AFTER)
    return TurnView(event=event, before=before, quote=quote, after=after, cut=max(0, len(text) - end - _AFTER))


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationView:
    """The turns around a piece of evidence. They are empty if they are no longer archived.

    ``place`` is the number of the piece (from 0) among the evidence of its memory.
    """

    place: int
    evidence: Evidence
    turns: tuple[TurnView, ...]


def build_conversations(
    pieces: Sequence[tuple[Evidence, tuple[Event, ...]]], every: Sequence[Evidence], *, first: int = 0
) -> tuple[ConversationView, ...]:
    """Build the conversations around ``pieces`` of evidence. The first piece is number ``first`` (from 0) of its memory.

    A piece that is already shown in an earlier conversation is skipped. ``every`` has all evidence of the memory, whose quotes are
    marked wherever they occur.
    """
    cited = {evidence.event: evidence for evidence in reversed(every)}
    seen: set[str] = set()
    conversations = []
    for place, (evidence, events) in enumerate(pieces, first):
        if evidence.event in seen:
            continue
        seen |= {event.key for event in events}
        turns = tuple(to_turn_view(event, cited.get(event.key)) for event in events)
        conversations.append(ConversationView(place=place, evidence=evidence, turns=turns))
    return tuple(conversations)
