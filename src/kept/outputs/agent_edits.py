"""Which edits of a file of kept's an agent made: those whose words stand in a tool call on that file, in an archived transcript.

Where no transcript tells of an agent, an edit is the person's. Writes nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from pathlib import Path

from kept.core.document import Added, Edits, Line
from kept.core.event import Event, Kind
from kept.core.markup import read_fact
from kept.core.text import normal_form, tokens
from kept.outputs.targets import Target
from kept.outputs.view import Entry, ViewEdits
from kept.workspace import Workspace

_RUNS = 20
_LATEST = 50  # sessions: an edit that was not absorbed yet is one of the last of them
_DELETES = re.compile(r"/([^/\n]{3,200})/d\b|grep\s+(?:-\w+\s+)*-\w*v\w*\s+['\"]?([^'\"\n|>]{3,200})")
_BECAME = "\n→\n"
# What may rewrite a file without a word of what it says.
_REWRITES = re.compile(
    r"\b(?:sed\s+(?:-\S+\s+)*-\w*i|perl\s+(?:-\S+\s+)*-\w*i|tee|mv|cp|rm|truncate|dd|python\d?|node|ruby|git\s+(?:checkout|restore|stash|reset))\b"
    r"|(?<![<>0-9&-])>(?!&)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentEdits:
    """What agents did to a file: new words of lines (by memory), lines they took out (by memory), and lines they added."""

    revised: Mapping[str, str]
    removed: tuple[str, ...]
    added: tuple[Added, ...]
    session: str

    def __bool__(self) -> bool:
        return bool(self.revised or self.removed or self.added)


def split_off_agents(workspace: Workspace, target: Target, base: Sequence[Line], edits: Edits) -> tuple[Edits, AgentEdits]:
    """The edits of a file that are the person's, and those that an agent made. The file is written as if the latter were not."""
    calls = tuple(_calls_on(workspace, target.path.name)) if edits.revised or edits.removed or edits.added else ()
    rewritten = _was_rewritten(workspace, calls)
    lines = {line.key: read_fact(line.text)[0] for line in base if line.key}
    revised = {number: words for number, words in edits.revised.items() if _any(calls, _put_instead, lines.get(number, ""), words)}
    removed = tuple(number for number in edits.removed if rewritten or _any(calls, _took_out, lines.get(number, "")))
    trusted = any(profile.outputs.trust_added_lines for profile in target.profiles)
    added = tuple(each for each in edits.added if not trusted and each.fact and _any(calls, _put, each.fact))
    gone = {line.strip() for each in added for line in each.text.splitlines()}
    persons = replace(
        edits,
        revised={number: words for number, words in edits.revised.items() if number not in revised},
        removed=tuple(number for number in edits.removed if number not in removed),
        added=tuple(each for each in edits.added if each not in added),
        foreign=tuple(each for each in edits.foreign if not each.text.strip() or each.text.strip() not in gone),
    )
    session = calls[0].session if calls else ""
    return persons, AgentEdits(revised=revised, removed=removed, added=added, session=session)


def split_off_entries(workspace: Workspace, path: Path, base: Sequence[Entry], edits: ViewEdits) -> ViewEdits:
    """The edits of a view that are the person's; what an agent added waits like what anybody added."""
    calls = tuple(_calls_on(workspace, path.name)) if edits.revised or edits.moved or edits.removed else ()
    rewritten = _was_rewritten(workspace, calls)
    texts = {each.id: each.text for each in base}

    def is_agents(number: str, words: str = "") -> bool:
        put = bool(words) and _any(calls, _put_instead, texts[number], words)
        return rewritten or put or _any(calls, _touches, texts[number])

    return replace(
        edits,
        revised={number: words for number, words in edits.revised.items() if not is_agents(number, words)},
        moved={number: category for number, category in edits.moved.items() if not is_agents(number)},
        removed=tuple(number for number in edits.removed if not is_agents(number)),
    )


def _was_rewritten(workspace: Workspace, calls: Sequence[Event]) -> bool:
    """Whether an agent's command rewrote the file, in a way that does not show what, since the last run wrote it."""
    last = next((run.started_at for run in workspace.store.log.runs(_RUNS) if run.ended_at is not None), None)
    since = (event for event in calls if last is not None and event.at is not None and event.at >= last)
    return any(event.tool is not None and _REWRITES.search(event.tool.target) is not None for event in since)


def _touches(target: str, detail: str, words: str) -> bool:
    return normal_form(words) in normal_form(f"{target}\n{detail}")


def _calls_on(workspace: Workspace, name: str) -> Iterator[Event]:
    """The tool calls of the latest sessions that name a file."""
    threads = (each for each in workspace.store.archive.threads() if each.last_at)
    for thread in nlargest(_LATEST, threads, key=lambda each: (each.last_at, each.id)):
        for event in workspace.store.archive.events(thread.id, 0, thread.events):
            if event.kind is Kind.TOOL_CALL and event.tool and name in event.tool.target:
                yield event


def _any(calls: Sequence[Event], told_by: Callable[..., bool], *words: str) -> bool:
    return any(told_by(event.tool.target, event.tool.detail, *words) for event in calls if event.tool)


def _put(target: str, detail: str, words: str) -> bool:
    return normal_form(words) in normal_form(f"{target}\n{detail.rpartition(_BECAME)[2]}")


def _put_instead(target: str, detail: str, before: str, words: str) -> bool:
    """Whether a call wrote the words of a line that were not there before, or took out those that are no longer."""
    old, new = tokens(before), tokens(words)
    changed = new - old or old - new
    told = normal_form(f"{target}\n{detail}")  # in a command words stand between slashes and quotes
    return bool(changed) and all(word in told for word in changed)


def _took_out(target: str, detail: str, words: str) -> bool:
    if any(normal_form(found[1] or found[2]) in normal_form(words) for found in _DELETES.finditer(target)):
        return True
    before, became, after = detail.partition(_BECAME)
    line = normal_form(words)
    if became:
        return line in normal_form(before) and line not in normal_form(after)
    return "<!-- kept: " in detail and "characters cut" not in detail and line not in normal_form(detail)  # the whole file anew
