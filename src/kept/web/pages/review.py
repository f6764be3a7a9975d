"""The review pages: held proposals, lingering memories and refused proposals, each with its evidence.

One key press decides on one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kept.core.errors import MissingError, UsageError
from kept.core.memory import HELPFUL, CandidateVerdict, Memory, Refused, Status
from kept.core.text import Change, diff_words, jaccard_similarity, normal_form, tokenize
from kept.core.times import format_optional_instant
from kept.memories import waiting as ranking
from kept.memories.browse import list_contents, trace_memory
from kept.memories.decisions import find_decidable
from kept.outputs.routing import client_has_hooks, find_displaced
from kept.pipeline.sleep import UNUSED, list_lingering, why_lingering
from kept.web.context import request_workspace, wait_for_files, web_context
from kept.web.pages.memories import Ids, build_conversations, render_form, row_values
from kept.web.pages.story import find_next_starts
from kept.web.render import NavigationPage, render_page, render_part
from kept.workspace import Workspace

router = APIRouter()
_STRETCH = 40
_QUOTES = 3
_ALIKE = 0.6  # minimum Jaccard similarity of two proposals that say nearly the same


def count_pending(workspace: Workspace) -> int:
    """The number of proposals that the person is asked about: those that are probably right."""
    return ranking.count_pending_proposals(workspace)[1]


def _count_with_status(workspace: Workspace, wanted: Status) -> int:
    return sum(count for (status, _, _), count in workspace.store.log.count_memories(workspace.clock()).items() if status is wanted)


PAGE = NavigationPage(id="review", title="Review", path="/review", key="v", router=router, count=count_pending)


@router.get("/review")
def review(
    request: Request,
    *,
    every: Annotated[bool, Query(alias="all")] = False,
    shown: Annotated[int, Query(ge=1, le=10_000)] = _STRETCH,
    queue_name: Annotated[str, Query(alias="queue", max_length=20)] = "",
    project: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show the review queue by project, best first.

    By default it has the proposals that are probably right, at most ten for each project. ``all`` includes the other proposals.
    ``project`` restricts the queue to one scope. ``queue`` is the name of a queue that was shown before. Such a queue keeps its
    order, and still shows the memories that were decided on since.
    """
    with request_workspace(request) as workspace:
        waiting = ranking.list_pending_proposals(workspace)
        projects = Counter(item.memory.scope for item in (waiting if every else ranking.best_of_each_scope(waiting)))
        pool = [item for item in waiting if project in ("", item.memory.scope)]
        pending = {item.memory.id: item.memory for item in pool}
        web = web_context(request)
        queue = web.queues.get(queue_name, ())
        if not queue:
            queue = tuple(item.memory.id for item in (pool if every else ranking.best_of_each_scope(pool)))
            queue_name = web.store_queue(queue)
        rows = [(number, memory) for number in queue[:shown] if (memory := pending.get(number) or _find_decided(workspace, number))]
        scopes = [(scope, list(items)) for scope, items in groupby(rows, key=lambda item: item[1].scope)]
        total = sum(number in pending for number in queue)
        values: dict[str, Any] = {
            "scopes": scopes,
            "projects": projects.most_common(),
            "project": project,
            "of": f"&project={quote(project)}" if project else "",
            "budget": _describe_budget(workspace),
            "pending": pending,
            "queue_name": queue_name,
            "others": len(pool) - total,
            "total": total,
            "rest": len(queue) - shown,
            "shown": shown,
            "stretch": _STRETCH,
        }
        memories = [memory for number, memory in rows if number in pending]
        values["alike"] = _find_alike(memories, [item.memory for item in pool])
        return render_page(
            request, workspace, "review.html", here=PAGE.id, tab="held", **(_review_values(workspace, memories) | values)
        )


def _find_decided(workspace: Workspace, number: str) -> Memory | None:
    with suppress(MissingError, UsageError):  # the memory was forgotten
        return find_decidable(workspace, number)
    return None


def _describe_budget(workspace: Workspace) -> str:
    """A sentence that says how an approved memory gets into a session."""
    if client_has_hooks(workspace, "claude"):
        return "If you keep it, a hook adds it to the next sessions of its project, if there is room."
    path = workspace.paths.output_path(workspace.profile.outputs.memory_file or ".")
    states = workspace.store.output_states(str(path))[:1]
    stand = sum(workspace.store.log.memory(line.key) is not None for state in states for line in state.lines if line.key)
    active = _count_with_status(workspace, Status.ACTIVE)
    full = f" (room for {stand} of {active} memories now)" if stand < active else ""
    return f"If you keep it, sessions see it at their start, before inferred memories{full}."


@router.get("/review/reach")
def reach_part(request: Request, number: Ids) -> Response:
    """Show whether the next sessions get the approved memories, and which memories left the file to make room for them.

    Waits until the files are written.
    """
    wait_for_files(request)
    with request_workspace(request) as workspace:
        decided = {item: memory for item in number if (memory := _find_decided(workspace, item))}
        starts = find_next_starts(workspace, [*decided.values()])
        displaced = find_displaced(workspace, [*decided.values()])
        reached = [(item, memory, start) for (item, memory), start in zip(decided.items(), starts, strict=True)]
        return render_part(workspace, "review_reach.html", reached=reached, displaced=displaced)


@router.get("/review/lingering")
def lingering_page(request: Request) -> Response:
    """Show the lingering memories, which are old and were never confirmed, or are fading."""
    with request_workspace(request) as workspace:
        lingering_memories = list_lingering(workspace)
        why = {lingering.memory.id: lingering.reason for lingering in lingering_memories}
        memories = [lingering.memory for lingering in lingering_memories]
        return render_page(
            request,
            workspace,
            "review_lingering.html",
            here=PAGE.id,
            tab="lingering",
            queue=memories,
            **_review_values(workspace, memories, why),
        )


@router.get("/review/refused")
def refused_page(request: Request, reason: str = "", shown: Annotated[int, Query(ge=1, le=10_000)] = _STRETCH) -> Response:
    """Show the refused proposals by reason and project, so that a person can accept them. The most frequent reason comes first.

    In each group, the latest proposal comes first.
    """
    with request_workspace(request) as workspace:
        refused = ranking.list_refused(workspace)
        reasons = Counter(map(find_refusal_reason, refused)).most_common()
        places = {name: number for number, (name, _) in enumerate(reasons)}
        names = workspace.scope_names()
        chosen = [judged for judged in refused if reason in ("", find_refusal_reason(judged))]
        chosen.sort(key=lambda judged: format_optional_instant(judged.candidate.at) or "", reverse=True)
        chosen.sort(
            key=lambda judged: (places[find_refusal_reason(judged)], names.get(judged.candidate.scope, ""), _scope_of(judged))
        )
        groups = [
            (name, [(scope, list(inside)) for scope, inside in groupby(judged, _scope_of)])
            for name, judged in groupby(chosen[:shown], find_refusal_reason)
        ]
        return render_page(
            request,
            workspace,
            "review_refused.html",
            here=PAGE.id,
            tab="refused",
            reasons=reasons,
            reason=reason,
            groups=groups,
            total=len(chosen),
            shown=shown,
            stretch=_STRETCH,
            why=ranking.REFUSALS,
            taken={candidate for memory in workspace.store.log.memories() for candidate in memory.candidates if memory.content},
            rejected=_count_with_status(workspace, Status.REJECTED),
            **row_values(workspace),
        )


@router.get("/review/{number}/card")
def review_card(request: Request, number: str, *, conversation: bool = False) -> Response:
    """Show a memory as a card of the queue. A decided one is shown in short form.

    ``conversation`` adds the conversation around each quote.
    """
    with request_workspace(request) as workspace:
        memory = find_decidable(workspace, number)
        why = "" if memory.owned else why_lingering(workspace, memory)
        shown = _review_values(workspace, [memory], {memory.id: why} if why else {})
        if conversation:
            found = trace_memory(workspace, memory, context=5).evidence[:_QUOTES]
            shown["evidence"] = build_conversations(found, memory.evidence)
        return render_part(workspace, "review_card.html", memory=memory, row=number, **shown)


@router.get("/review/{number}/edit")
def edit_form(request: Request, number: str) -> Response:
    """Show the form that edits a proposal. Saving it approves the proposal."""
    with request_workspace(request) as workspace:
        return render_form(workspace, find_decidable(workspace, number), "review_edit.html", row=f"/review/{number}/card")


def _find_alike(shown: Sequence[Memory], pool: Sequence[Memory]) -> Mapping[str, Sequence[Memory]]:
    """For each shown memory, by id, the other proposals that say nearly the same."""
    words = {memory.id: tokenize(memory.content) for memory in pool}
    return {
        memory.id: [
            other for other in pool if other is not memory and jaccard_similarity(words[memory.id], words[other.id]) >= _ALIKE
        ]
        for memory in shown
    }


def _review_values(workspace: Workspace, memories: Sequence[Memory], lingers: Mapping[str, str] | None = None) -> dict[str, Any]:
    proposed = {memory.id: words for memory in memories if (words := _last_rewording(workspace, memory))}
    return {
        **row_values(workspace),
        "quotes": _QUOTES,
        "says_again": lambda quote, memory: normal_form(quote) == normal_form(memory.content),
        "lingers": lingers or {},
        "usual": UNUSED,
        "helpful": HELPFUL,
        "proposals": {item.id for item in memories if workspace.store.log.memory(item.id) is None},
        "proposed": proposed,
        "newer": ranking.find_newer(workspace, memories),
        "alike": {},
        "evidence": [],
        "first": 0,
        "around": 5,
    }


def _last_rewording(workspace: Workspace, memory: Memory) -> tuple[Change, ...]:
    """The word diff from a held memory's previous text to its present one. Empty if there is no previous text."""
    if memory.status is not Status.HELD:
        return ()
    before = next((item for item in reversed(list_contents(workspace.store, memory)) if item != memory.content), "")
    return diff_words(before, memory.content) if before else ()


def find_refusal_reason(judged: CandidateVerdict) -> str:
    """The reason for which a proposal was refused. Empty if it was not refused."""
    return judged.verdict.reason if isinstance(judged.verdict, Refused) else ""


def _scope_of(judged: CandidateVerdict) -> str:
    return judged.candidate.scope
