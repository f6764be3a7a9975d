"""Undo the decisions that an agent made by running kept's commands in its shell, and hold the memories that it added.

A pass in the person's name may be an agent's work. Archived transcripts show this by a tool call: the pass was recorded between the
call and its output, and the call's command contains the words of the memory or runs a command of kept that names it. The pass stays
if the person later decided on the same memory.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatch

from kept.core.event import EventKind, Origin
from kept.core.memory import SUGGESTED, Actor, Memory, Status
from kept.core.operation import Add, Pass, stated_facts
from kept.core.pattern import Pattern, compile_late
from kept.core.text import normal_form
from kept.core.value import dataclass, replace
from kept.extraction.rules.commands import find_output, parse_steps, unquote_word
from kept.memories.new_memory import UNSURE
from kept.store.values import Draft, Thread
from kept.workspace import Workspace

_VERBS = "add|edit|review|merge|resolve|retire|pin|undo|redo|import|suggest"
# These programs only show or search text, and run no other program. A command with any other program may run kept.
_READS = compile_late(
    r"(?:e?grep|rg|ag|ack|git|gh|cat|bat|head|tail|less|sed|awk|wc|sort|uniq|cut|ls|find|fd|echo|printf|cd|man|diff|jq|tee|mkdir)"
)
# Options and functions with which such a program runs another one.
_RUNS_OTHER = compile_late(r"\s-{1,2}(?:exec|ok|x\b)|\bsystem\s*\(|\balias\.")
_ALIAS = Pattern(
    r"(?:\b(?:ln|cp|install)\b[^\n;|&]*\bkept\b[^\n;|&]*?\s(?:[^\s;|&'\"]*/)?([\w.-]+)\s*(?:$|[\n;|&])|\b(\w+)=[^\s;|&]*\bkept\b)"
)
# A command that matches takes its arguments from a variable, a substitution or its input.
_OPEN = compile_late(r"[$`]|<<|\{\}|\b(?:xargs|read|parallel)\b")
_ID = compile_late(r"\b[0-9a-f]{4,10}\b")
_WILD = compile_late(r"(?<![^\s;|&()<>])[^\s;|&()<>]*[?*\]][^\s;|&()<>]*")  # a word with a pattern that the shell may expand
_IMPORT, _API = compile_late(r"\b(?:import|from)\s+kept\b"), compile_late(r"\.(?:add|update|delete|undo)\(")
_STAGES = frozenset({"person", "undo", "redo", "import"})
_SLACK = timedelta(seconds=2)
_UNENDED = timedelta(seconds=30)  # assumed duration of a call whose output is not in the transcript
_NOTE = "an agent ran it in its shell, as its transcript shows"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Call:
    """A tool call that ran programs: its time span, command line and output, and the commands of kept that it ran (``verbs``).

    ``open`` means that the command line does not show the arguments of these commands.
    """

    start: datetime
    end: datetime
    command: str
    output: str
    verbs: frozenset[str]
    open: bool

    def has_made(self, made: Pass) -> bool:
        if not self.start <= made.recorded_at <= self.end:
            return False
        if self.verbs and (self.open or made.stage in self.verbs):
            return True
        shown = normal_form(f"{self.command}\n{self.output}" if self.verbs else self.command)
        named = _ID.findall(shown) if self.verbs else ()
        words = map(stated_facts, made.operations)
        return any(operation.memory.startswith(number) for operation in made.operations for number in named) or any(
            normal_form(word.content) in shown for word in words if word is not None
        )


def undo_agent_decisions(workspace: Workspace, grown: Mapping[int, int]) -> int:
    """Undo the passes that agents made in the ``grown`` threads, and hold the memories that these passes added.

    ``grown`` maps a thread's number to the ordinal of its first new event. Returns the number of undone passes. Raises StoreError.
    """
    if workspace.settings.trust_agents:
        return 0
    heads = tuple(workspace.store.log.pass_heads())
    switched = {number for head in heads for number in (*head.undoes, *head.redoes)}
    switched |= {int(head.subject) for head in heads if head.note == _NOTE and head.subject.isdigit()}  # undone by an earlier call
    decided = {
        head.id: head.recorded_at
        for head in heads
        if head.actor is Actor.PERSON and head.stage in _STAGES and head.id not in switched
    }
    moments = sorted(decided.values())
    threads = workspace.store.archive.threads_by_id(grown) if moments else ()
    calls = [
        call
        for thread in threads
        # An agent can only make a pass while its thread lasts, so most threads are skipped without reading them.
        if thread.first_at and thread.last_at and _has_moment(moments, thread.first_at - _SLACK, thread.last_at + _UNENDED + _SLACK)
        for call in _find_calls(workspace, thread, grown[thread.id], moments)
    ]
    near = [number for number, at in decided.items() if any(call.start <= at <= call.end for call in calls)]
    of_agents = [made for made in workspace.store.log.passes(near) if any(call.has_made(made) for call in calls)]
    numbers = frozenset(made.id for made in of_agents)
    unconfirmed = [made for made in of_agents if not _is_decided_since(workspace, made, heads, numbers)]
    for made in unconfirmed:
        _undo_agent_pass(workspace, made)
    return len(unconfirmed)


def _is_decided_since(workspace: Workspace, made: Pass, heads: Sequence[Pass], agents: frozenset[int]) -> bool:
    """True if the person later decided on the memories or passes of ``made``. ``agents`` has the numbers of the agents' passes."""
    switched = {*made.undoes, *made.redoes}
    later = [head for head in heads if switched.intersection((*head.undoes, *head.redoes))]
    later += [pass_ for operation in made.operations for pass_, _ in workspace.store.log.operations_on(operation.memory)]
    return any(pass_.id > made.id and pass_.actor is Actor.PERSON and pass_.id not in agents for pass_ in later)


def _find_calls(workspace: Workspace, thread: Thread, start: int, moments: Sequence[datetime]) -> Iterator[_Call]:
    """The tool calls of a thread that ran programs and whose time span contains one of ``moments`` (sorted times of passes).

    Only events with the ordinal ``start`` or a later one are read.
    """
    events = workspace.store.archive.events(thread.id, start, thread.events)
    names = {"kept"}
    for number, event in enumerate(events):
        if event.at is None or event.kind is not EventKind.TOOL_CALL or not event.tool:
            continue
        written = event.tool.target.replace("\\\n", " ")
        command = _WILD.sub(_expand_pattern, unquote_word(written))
        names.update(name for found in _ALIAS.findall(command) for name in found if name)
        output = find_output(events, number)
        begin, end = event.at - _SLACK, ((output.at if output else None) or event.at + _UNENDED) + _SLACK
        if not _has_moment(moments, begin, end):
            continue
        if all(_READS.fullmatch(step.program) for step in parse_steps(written)) and not _RUNS_OTHER.search(written):
            continue
        called = "|".join(map(re.escape, sorted(names)))
        verbs = re.findall(rf"(?<!\w)(?:{called})\b[^\n;|&]{{0,300}}?[\s(\[]({_VERBS})\b", command)
        in_python = _IMPORT.search(command) is not None and _API.search(command) is not None
        yield _Call(
            start=begin,
            end=end,
            command=command,
            output=output.text if output else "",
            verbs=frozenset(verbs or ("add",) * in_python),
            open=in_python or _OPEN.search(written) is not None,
        )


def _has_moment(moments: Sequence[datetime], start: datetime, end: datetime) -> bool:
    return bisect_left(moments, start) < bisect_right(moments, end)


def _expand_pattern(pattern: re.Match[str]) -> str:
    """Return ``kept`` if the shell may expand the pattern to it, else the pattern unchanged."""
    name = pattern[0].rsplit("/", 1)[-1]
    return "kept" if fnmatch("kept", name) and not set("kept").isdisjoint(name) else pattern[0]


def _undo_agent_pass(workspace: Workspace, made: Pass) -> None:
    log, now = workspace.store.log, workspace.clock()
    held = tuple(
        replace(operation, reason="held: an agent ran `kept` in its shell", value=_to_agent_memory(operation))
        for operation in made.operations
        if isinstance(operation, Add)
    )
    with workspace.store.transaction():
        run = log.start_run("undo", now)
        draft = Draft(run=run, stage="undo", subject=str(made.id), actor=Actor.AGENT, recorded_at=now, note=_NOTE)
        if made.undoes or made.redoes:
            log.commit(replace(draft, stage="redo" if made.undoes else "undo", undoes=made.redoes, redoes=made.undoes))
        else:
            log.commit(replace(draft, undoes=(made.id,)))
        if held:
            log.commit(replace(draft, stage="person", subject=held[0].memory, operations=held))
        log.end_run(run, now, {})


def _to_agent_memory(added: Add) -> Memory:
    return replace(
        added.value, status=Status.HELD, owned=False, pinned=False, origin=Origin.ASSISTANT, confidence=UNSURE, trigger=SUGGESTED
    )
