"""What agents decided by running kept's own commands, as tool calls in archived transcripts show: it is taken back, and waits.

A command is an agent's where a person's pass was recorded between a tool call that names such a command and its output.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from kept.core.event import Event, Kind, Origin
from kept.core.memory import SUGGESTED, Actor, Memory, Status
from kept.core.operation import Add, Pass
from kept.store.values import Draft
from kept.workspace import Workspace

_DECIDES = re.compile(
    r"\bkept\b(?:[^\n;|&]|\\\n){0,300}?[\s\'\"](?:add|edit|review|merge|resolve|pin|undo|redo|import|suggest)\b|\b(?:from|import)\s+kept\b"
)
_STAGES = frozenset({"person", "undo", "redo", "import"})
_SLACK = timedelta(seconds=2)
_UNENDED = timedelta(seconds=30)  # a call whose output the transcript does not hold
_NOTE = "an agent ran it in its shell, as its transcript shows"

Window = tuple[datetime, datetime]


def take_back(workspace: Workspace, grown: Mapping[int, int]) -> int:
    """Take back what agents decided in the threads that grew (by number, with the ordinal they grew from); what they added waits.

    Returns how many passes. Raises StoreError.
    """
    if workspace.settings.trust_agents:
        return 0
    windows = tuple(each for thread, start in grown.items() for each in _windows(workspace, thread, start))
    if not windows:
        return 0
    heads = tuple(workspace.store.log.heads())
    switched = {number for each in heads for number in (*each.undoes, *each.redoes)}
    found = [
        each.id
        for each in heads
        if each.actor is Actor.PERSON
        and each.stage in _STAGES
        and each.id not in switched
        and any(start <= each.recorded_at <= end for start, end in windows)
    ]
    for made in tuple(workspace.store.log.passes(found)) if found else ():
        _take_back(workspace, made)
    return len(found)


def _windows(workspace: Workspace, thread: int, start: int) -> Iterator[Window]:
    """When commands of kept's that decide something ran in a thread."""
    (known,) = workspace.store.archive.each([thread])
    events = workspace.store.archive.events(thread, start, known.events)
    for number, event in enumerate(events):
        if event.at is not None and event.kind is Kind.TOOL_CALL and event.tool and _DECIDES.search(event.tool.target):
            yield event.at - _SLACK, _end(event, events[number + 1 :]) + _SLACK


def _end(call: Event, later: tuple[Event, ...]) -> datetime:
    assert call.at is not None
    mine = (
        each.at for each in later if each.kind is Kind.TOOL_OUTPUT and each.tool and call.tool and each.tool.call == call.tool.call
    )
    return next((at for at in mine if at is not None), call.at + _UNENDED)


def _take_back(workspace: Workspace, made: Pass) -> None:
    log, now = workspace.store.log, workspace.clock()
    waiting = tuple(
        replace(each, reason="held: an agent ran `kept` in its shell", value=_as_agents(each))
        for each in made.operations
        if isinstance(each, Add)
    )
    with workspace.store.transaction():
        run = log.start_run("undo", now)
        back = Draft(run=run, stage="undo", subject=str(made.id), actor=Actor.AGENT, recorded_at=now, note=_NOTE)
        if made.undoes or made.redoes:
            log.commit(replace(back, stage="redo" if made.undoes else "undo", undoes=made.redoes, redoes=made.undoes))
        else:
            log.commit(replace(back, undoes=(made.id,)))
        if waiting:
            log.commit(replace(back, stage="person", subject=waiting[0].memory, operations=waiting))
        log.end_run(run, now, {})


def _as_agents(added: Add) -> Memory:
    return replace(
        added.value, status=Status.HELD, owned=False, pinned=False, origin=Origin.ASSISTANT, confidence=0.6, trigger=SUGGESTED
    )
