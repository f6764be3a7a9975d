"""What agents decided by running kept's own commands, as tool calls in archived transcripts show: it is taken back, and waits.

A pass of a person's is an agent's where it was recorded between a tool call that runs such a command and its output, and the two
name what it is about. What the person decided later on the same memory stays.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kept.core.event import Event, EventKind, Origin
from kept.core.memory import SUGGESTED, Actor, Memory, Status
from kept.core.operation import Add, Pass
from kept.core.pattern import Pattern
from kept.core.text import normal_form
from kept.extraction.rules.commands import steps_of
from kept.store.values import Draft, Thread
from kept.workspace import Workspace

_VERBS = "add|edit|review|merge|resolve|retire|pin|undo|redo|import|suggest"
# Programs that show the words of a command and run none of them. Whatever else stands in a command may run kept.
_READS = re.compile(
    r"(?:e?grep|rg|ag|ack|git|gh|cat|bat|head|tail|less|sed|awk|wc|sort|uniq|cut|ls|find|fd|echo|printf|cd|man|diff|jq|tee|mkdir)"
)
_ALIAS = Pattern(
    r"(?:\b(?:ln|cp|install)\b[^\n;|&]*\bkept\b[^\n;|&]*?\s(?:[^\s;|&'\"]*/)?([\w.-]+)\s*(?:$|[\n;|&])|\b(\w+)=[^\s;|&]*\bkept\b)"
)
_OPEN = re.compile(r"[$`]|<<|\b(?:xargs|read|parallel)\b")  # in such a command does not stand what it is about
_ID = re.compile(r"\b[0-9a-f]{4,10}\b")
_STAGES = frozenset({"person", "undo", "redo", "import"})
_SLACK = timedelta(seconds=2)
_UNENDED = timedelta(seconds=30)  # a call whose output the transcript does not hold
_NOTE = "an agent ran it in its shell, as its transcript shows"


@dataclass(frozen=True, kw_only=True, slots=True)
class _KeptCall:
    """A tool call that ran commands of kept's: when, which ones, its command line with what it printed, and whether something else
    fills in what the command is about.
    """

    start: datetime
    end: datetime
    verbs: frozenset[str]
    text: str
    open: bool

    def has_made(self, made: Pass) -> bool:
        if not self.start <= made.recorded_at <= self.end:
            return False
        if self.open or made.stage in self.verbs:
            return True
        named = _ID.findall(self.text)
        words = (getattr(operation, "value", None) or getattr(operation, "facts", None) for operation in made.operations)
        return any(operation.memory.startswith(number) for operation in made.operations for number in named) or any(
            normal_form(word.content) in normal_form(self.text) for word in words if word is not None
        )


def undo_agent_decisions(workspace: Workspace, grown: Mapping[int, int]) -> int:
    """Take back what agents decided in the threads that grew (by number, with the ordinal they grew from); what they added waits.

    Returns how many passes. Raises StoreError.
    """
    if workspace.settings.trust_agents:
        return 0
    heads = tuple(workspace.store.log.pass_heads())
    switched = {number for pass_ in heads for number in (*pass_.undoes, *pass_.redoes)}
    switched |= {int(pass_.subject) for pass_ in heads if pass_.note == _NOTE and pass_.subject.isdigit()}  # taken back before
    decided = [pass_ for pass_ in heads if pass_.actor is Actor.PERSON and pass_.stage in _STAGES and pass_.id not in switched]
    known = workspace.store.archive.threads_by_id(grown) if decided else ()
    calls = tuple(
        kept_call
        for thread in known
        if thread.first_at
        and thread.last_at
        # Only while a thread lasted an agent decided something in it: most threads are not even read for that.
        and any(thread.first_at - _SLACK <= pass_.recorded_at <= thread.last_at + _UNENDED + _SLACK for pass_ in decided)
        for kept_call in _find_kept_calls(workspace, thread, grown[thread.id])
    )
    near = [pass_.id for pass_ in decided if any(call.start <= pass_.recorded_at <= call.end for call in calls)]
    found = [made for made in workspace.store.log.passes(near) if any(call.has_made(made) for call in calls)] if near else []
    numbers = frozenset(pass_.id for pass_ in found)
    alone = [pass_ for pass_ in found if not _is_decided_since(workspace, pass_, heads, numbers)]
    for made in alone:
        _undo_agent_pass(workspace, made)
    return len(alone)


def _is_decided_since(workspace: Workspace, made: Pass, heads: Sequence[Pass], agents: frozenset[int]) -> bool:
    """Whether the person decided something later about what a pass is about."""
    about = {*made.undoes, *made.redoes}
    later = [pass_ for pass_ in heads if about.intersection((*pass_.undoes, *pass_.redoes))]
    later += [pass_ for operation in made.operations for pass_, _ in workspace.store.log.operations_on(operation.memory)]
    return any(pass_.id > made.id and pass_.actor is Actor.PERSON and pass_.id not in agents for pass_ in later)


def _find_kept_calls(workspace: Workspace, thread: Thread, start: int) -> Iterator[_KeptCall]:
    """The calls in a thread that ran commands of kept's which decide something."""
    events = workspace.store.archive.events(thread.id, start, thread.events)
    names = {"kept"}
    for number, event in enumerate(events):
        if event.at is None or event.kind is not EventKind.TOOL_CALL or not event.tool:
            continue
        command = event.tool.target.replace("\\\n", " ")
        if not any(name in command for name in names):
            continue
        names.update(name for found in _ALIAS.findall(command) for name in found if name)
        called = "|".join(map(re.escape, sorted(names)))
        verbs = re.findall(rf"(?<!\w)(?:{called})\b[^\n;|&]{{0,300}}?[\s'\"]({_VERBS})\b", command)
        if verbs and any(not _READS.fullmatch(step.program) for step in steps_of(command)):
            output = _find_output(event, events[number + 1 :])
            end = (output.at if output else None) or event.at + _UNENDED
            yield _KeptCall(
                start=event.at - _SLACK,
                end=end + _SLACK,
                verbs=frozenset(verbs),
                text=f"{command}\n{output.text if output else ''}",
                open=_OPEN.search(command) is not None,
            )


def _find_output(call: Event, later: Sequence[Event]) -> Event | None:
    return next(
        (
            event
            for event in later
            if event.kind is EventKind.TOOL_OUTPUT and event.tool and call.tool and event.tool.call == call.tool.call
        ),
        None,
    )


def _undo_agent_pass(workspace: Workspace, made: Pass) -> None:
    log, now = workspace.store.log, workspace.clock()
    waiting = tuple(
        replace(operation, reason="held: an agent ran `kept` in its shell", value=_to_agent_memory(operation))
        for operation in made.operations
        if isinstance(operation, Add)
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


def _to_agent_memory(added: Add) -> Memory:
    return replace(
        added.value, status=Status.HELD, owned=False, pinned=False, origin=Origin.ASSISTANT, confidence=0.6, trigger=SUGGESTED
    )
