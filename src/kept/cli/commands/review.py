"""``kept review``: decide on held memories with one key each. Each answer is stored at once, so stopping early loses nothing."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from kept.changes import apply_person_change
from kept.cli.command_support import command_workspace, edit_line, is_interactive, read_answer, read_choice
from kept.cli.commands.edit import print_problems
from kept.cli.console import (
    Line,
    format_count,
    format_id,
    format_path,
    hanging_line,
    line,
    more_lines,
    write_json,
    write_line,
    write_lines,
)
from kept.cli.lists import changed_line, format_rank, scope_name, turns_around
from kept.cli.registry import GlobalOptions
from kept.core.codec import json_fields
from kept.core.errors import StaleError, UsageError
from kept.core.memory import TEAM, Memory, Status
from kept.core.times import format_day
from kept.memories import browse, decisions, person
from kept.memories.browse import WHOSE, find_scopes, list_evidence, to_export
from kept.memories.history import undo
from kept.memories.waiting import PendingProposal, best_of_each_scope, find_newer, list_pending_proposals
from kept.pipeline.sleep import list_lingering
from kept.profiles.profile import category_title
from kept.workspace import Workspace

_QUOTES = 3
Decide = Callable[[Workspace, str], Memory]


def _choices(no: str, edit: str) -> Line:
    """The line that explains the keys; ``no`` and ``edit`` say what ``n`` and ``e`` do."""
    past = () if no == "retire" else (("p", "true then, not now", "bold"),)
    keys = (("y", "keep", "bold green"), ("n", no, "bold red"), *past, ("e", edit, "bold"), ("o", "open the conversation", "bold"))
    return line(
        *(span for key, does, style in keys for span in ((key, style), f" {does}  ")),
        ("u", "bold"),
        " undo the last  ",
        ("s", "bold"),
        " skip  ",
        ("q", "bold"),
        " stop",
    )


_LAST_CHOICES = ("That was the last.  ", ("u", "bold"), " undo it  ", ("Enter", "bold"), " stop")
_CHOICES, _STALE_CHOICES = _choices("reject", "edit and keep"), _choices("retire", "edit")


def review(
    call: GlobalOptions,
    *,
    list_: bool = False,
    approve: list[str] | None = None,
    reject: list[str] | None = None,
    past: list[str] | None = None,
    admit: list[str] | None = None,
    project: str = "",
    every: bool = False,
    stale: bool = False,
    as_json: bool = False,
) -> int:
    """Decide on the best held proposals: y keep, n reject, p true then but not now, e edit and keep, o open the conversation,
    u undo the last decision, s skip, q stop.

    A proposal is held if kept is not certain about it, or if it is a wish that you stated only once. kept asks about the likeliest
    ones, at most ten per project, and leaves out those that are more likely wrong than right.

    With --stale, decide on old memories that were never confirmed: y keep it as yours, n retire it.
    """
    with command_workspace(call) as workspace:
        was_so: Decide = partial(decisions.reject, past=True)
        asked: list[tuple[Decide, list[str] | None]] = [
            (decisions.approve, approve),
            (decisions.reject, reject),
            (was_so, past),
            (person.accept_refused, admit),
        ]
        if any(ids for _, ids in asked):
            return _decide_by_id(call, workspace, asked)
        if stale:
            return _review_stale(workspace, list_=list_, as_json=as_json)
        pool = list_pending_proposals(workspace)
        if project:
            scopes = find_scopes(workspace, project)
            pool = tuple(item for item in pool if item.memory.scope in scopes)
        queue = pool if every else best_of_each_scope(pool)
        if as_json:
            write_json([to_export(workspace, item.memory) | json_fields(item, "rank", "of", "stored") for item in queue])
        elif not pool:
            write_line("Nothing is held for you.")
        elif not queue:
            text = "That is all for today" if any(item.decided for item in pool) else "No held proposal is likely to be right"
            write_line(text, (f"; {len(pool):,} more → kept review --all", "dim"))
        elif list_ or not is_interactive():
            write_lines(shown_line for item in queue for shown_line in _pending_card(workspace, item))
            write_lines(more_lines(len(pool), len(queue), "kept review --all", indent=0))
        else:
            return _ask_decisions(workspace, tuple(item.memory for item in queue))
        return 0


def _pending_card(workspace: Workspace, item: PendingProposal) -> Iterator[Line]:
    yield from _decision_card(workspace, item.memory)
    yield line((f"    {format_rank(item)}", "dim"))


def _review_stale(workspace: Workspace, *, list_: bool, as_json: bool) -> int:
    lingering_by_id = {lingering.memory.id: lingering for lingering in list_lingering(workspace)}
    queue = tuple(lingering.memory for lingering in lingering_by_id.values())
    if as_json:
        write_json(
            [
                to_export(workspace, lingering.memory) | {"faded": round(lingering.faded, 3), "why": lingering.reason}
                for lingering in lingering_by_id.values()
            ]
        )
    elif not queue:
        write_line("No memory is old and unconfirmed.")
    elif list_ or not is_interactive():
        write_lines(
            shown_line
            for memory in queue
            for shown_line in (*_decision_card(workspace, memory), line((f"    {lingering_by_id[memory.id].reason}", "dim")))
        )
    else:
        return _ask_decisions(workspace, queue, {number: lingering.reason for number, lingering in lingering_by_id.items()})
    return 0


def _decide_by_id(call: GlobalOptions, workspace: Workspace, asked: Sequence[tuple[Decide, list[str] | None]]) -> int:
    def decide_all() -> list[Memory]:
        return [decide(workspace, number) for decide, numbers in asked for number in numbers or ()]

    done, written = apply_person_change(workspace, decide_all)
    if not call.quiet:
        write_lines(_decided_line(workspace, memory) for memory in done)
    return print_problems(written)


def _decided_line(workspace: Workspace, memory: Memory) -> Line:
    until = f" until {format_day(memory.ended_at, workspace.zone)}" if memory.outcome == "was so" and memory.ended_at else ""
    return changed_line(workspace, memory, "kept" if memory.status is Status.ACTIVE else f"{memory.outcome}{until}")


def _ask_decisions(workspace: Workspace, queue: tuple[Memory, ...], why: Mapping[str, str] | None = None) -> int:
    """Ask for a decision on each memory. ``why`` has a reason for each; if it is given, the memories are active and the person
    keeps or retires them.
    """
    reasons = why or {}
    answers, written = apply_person_change(workspace, lambda: _collect_answers(workspace, queue, reasons))
    kept, past = answers["y"] + answers["e"], f", {answers['p']} true then, not now" if answers["p"] else ""
    text = f"{kept} kept, {answers['n']} {'retired' if reasons else 'rejected'}{past}"
    left = len(queue) - kept - answers["n"] - answers["p"]
    rest = f"; {format_count(left, 'memory')} not decided" if left else ""
    back = " → kept undo takes the last back" if left < len(queue) else ""
    write_lines([line(), line((text, "green"), (f"{rest}{back}", "dim"))])
    return print_problems(written)


def _collect_answers(workspace: Workspace, queue: tuple[Memory, ...], why: Mapping[str, str]) -> Counter[str]:
    decided: list[tuple[int, str, str]] = []  # place in the queue, answer and run of each decision
    place, last = 0, ""
    while last != "q" and (place < len(queue) or decided):
        if place == len(queue):  # asks once more at the end, so that the last decision can be undone too
            write_line(*_LAST_CHOICES)
            last = "u" if read_choice("u\n\rq") == "u" else "q"
            place = _take_back(workspace, queue, decided) if last == "u" else place
            continue
        number = queue[place].id
        memory = decisions.find_decidable(workspace, number) if last == "u" else queue[place]
        reason = [line((f"    {why[number]}", "dim"))] if number in why else []
        choices = _STALE_CHOICES if number in why else _CHOICES
        write_lines([line(), line((f"{place + 1} of {len(queue)}", "dim")), *_decision_card(workspace, memory), *reason, choices])
        while (last := read_choice("ynesouq" if number in why else "ynpesouq", choices)) == "o":
            write_lines([*turns_around(workspace, memory), *_decision_card(workspace, memory), choices])
        if last == "u" and decided:
            place = _take_back(workspace, queue, decided)
        elif last == "u":
            write_line(("Nothing was decided yet that could be taken back.", "yellow"))
        elif last != "q":
            try:
                if (changed := _apply_answer(workspace, memory, last)) is not None:
                    decided.append((place, last, f"r{workspace.store.log.operations_on(changed.id)[-1][0].run}"))
                    write_lines([_decided_line(workspace, changed)])
                elif last == "p":  # no day was entered, so the question is asked again
                    continue
                else:
                    write_line(("    skipped", "dim"))
            except StaleError as error:
                write_line((f"kept: {error}", "yellow"))
            place += 1
    return Counter(answer for _, answer, _ in decided)


def _take_back(workspace: Workspace, queue: Sequence[Memory], decided: list[tuple[int, str, str]]) -> int:
    """Undo the last decision. Returns the place in the queue where the questions continue."""
    place, _, run = decided.pop()
    undo(workspace, run)
    write_line(("Taken back: ", "green"), queue[place].content)
    return place


def _apply_answer(workspace: Workspace, memory: Memory, answer: str) -> Memory | None:
    """Apply an answer. Returns the changed memory, or None if the answer changes nothing."""
    seen, active = browse.memory_revision(memory), memory.status is Status.ACTIVE
    words = edit_line(memory.content) if answer == "e" else memory.content
    match answer:
        case "y" | "e" if active:
            if words != memory.content:
                return person.edit(workspace, memory.id, words, if_match=seen)
            return person.keep(workspace, memory.id, if_match=seen)
        case "n" if active:
            return person.retire(workspace, memory.id, if_match=seen)
        case "y" | "e":
            with person.one_run(workspace, "approve"):  # one run, so that one undo also reverts the new text
                return decisions.approve(workspace, memory.id, content=words, if_match=seen)
        case "n":
            return decisions.reject(workspace, memory.id, if_match=seen)
        case "p" if (until := _ask_until(workspace, memory)) is not None:
            return decisions.reject(workspace, memory.id, past=True, until=until, if_match=seen)
        case _:
            return None


def _ask_until(workspace: Workspace, memory: Memory) -> datetime | None:
    """Ask until when a memory was true. Returns None if the person leaves the question. The default is the first day of its
    successor, or today if it has none.
    """
    newer = find_newer(workspace, [memory]).get(memory.id)
    moment = (newer and newer.first_seen) or workspace.clock()
    offered = format_day(moment, workspace.zone)
    while True:
        then = f" The newer “{newer.content}” is of {offered}." if newer else ""
        write_line(
            (f"    Until which day, that day not included?{then} Enter takes {offered}, Escape (or q, Enter) goes back:", "dim")
        )
        words = read_answer()
        if words in (None, "q"):
            return None
        if words in ("", offered):
            return moment
        try:  # just after midnight, so that it counts as true at the end of the day before
            return workspace.day_bounds(workspace.day(words))[0] + timedelta(seconds=1)
        except UsageError as error:
            write_line((f"    {error}", "yellow"))


def _decision_card(workspace: Workspace, memory: Memory) -> Iterator[Line]:
    """The lines that a person needs for a decision: the memory, its quotes with their authors, and why it was held."""
    category = category_title(workspace.profiles, memory.profile, memory.category)
    place = f"{category} · {scope_name(memory.scope, workspace.scope_names())}"
    yield hanging_line([(format_id(memory.id), "yellow"), ("  ", "")], (memory.content, "bold"), (f"  ({place})", "dim"))
    if (later := find_newer(workspace, [memory]).get(memory.id)) is not None:
        clash = later.id == memory.superseded_by
        stands = "what you keep" if memory.trigger == TEAM else "newer"
        label = f"{'these may contradict; ' if clash else ''}{stands}, {format_day(later.last_seen, workspace.zone)}: "
        yield hanging_line([("    ", ""), (label, "yellow")], (later.content, "bold"), (f"  ({later.id})", "dim"))
    if memory.about:
        yield hanging_line([("    about: ", "cyan")], memory.about)
    evidence = list_evidence(memory)
    for item in evidence[:_QUOTES]:
        file = format_path(item.path) if item.path else ""
        who = WHOSE.get(item.author) or ", ".join(filter(None, (item.author or item.origin.value, file)))
        quote = "" if item.quote == memory.content else f": “{item.quote}”"
        yield hanging_line([("    ", ""), (f"{who}, {format_day(item.at, workspace.zone)}", "cyan")], quote)
    yield from more_lines(len(evidence), _QUOTES, f"kept why {format_id(memory.id)}", indent=4)
    yield line((f"    {memory.reason}", "dim"))
    if later is not None and clash:
        yield line(
            (f"    keep this one if both hold, reject it if only {'the newer one' if stands == 'newer' else stands} holds", "dim")
        )
