"""Find out from the archived transcripts which edits of an output file an agent made. Writes nothing.

An edit is an agent's if its words are in a tool call on that file. All edits are an agent's if the file changed while an agent's
command was running. A removal is also an agent's if a command may have rewritten the file. If the profile trusts added lines, they
always count as the person's. All other edits are the person's.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatch
from heapq import nlargest
from pathlib import Path

from kept.core.document import AddedLines, Edits, Line
from kept.core.event import Event, EventKind
from kept.core.markup import parse_fact
from kept.core.pattern import compile_late
from kept.core.text import normal_form, tokenize
from kept.core.value import dataclass, replace
from kept.extraction.rules.commands import find_output, is_reading, is_shell, parse_steps, unquote_word
from kept.local.files import FileStamp
from kept.outputs.render import ViewEdits, ViewEntry
from kept.outputs.targets import Target
from kept.workspace import Workspace

_RUNS = 100
_WRITING = frozenset({"run", "sleep", "jobs", "absorb"})  # commands that merge file edits and write the files
_LATEST = 50  # only this many of the latest sessions are read, because older edits are already merged
_SLACK = timedelta(seconds=1)  # tolerance between the times of a transcript and of a file
# A longer call is a build or a server, and people edit files while it runs. A call without output is assumed to run this long.
_LONGEST = timedelta(minutes=1)
_DELETES = compile_late(r"/([^/\n]{3,200})/d\b|grep\s+(?:-\w+\s+)*-\w*v\w*\s+['\"]?([^'\"\n|>]{3,200})")
_BECAME = "\n→\n"
# Commands that may rewrite a file which they name, without containing the new text.
_REWRITES = compile_late(
    r"(?:sed\s+(?:-\S+\s+)*-\w*i|perl\s+(?:-\S+\s+)*-\w*i|tee|mv|rm|truncate|python[\d.]*|node|ruby|git\s+(?:checkout|restore|stash|reset))\b"
)
# Commands that may rewrite files that they do not name.
_SWEEPS = compile_late(
    r"\b(?:sed|perl|awk|ruby|python[\d.]*|xargs|rename|rpl|sd|rg|patch)\b[^\n]*(?:[*?\]]|-[a-zA-Z]*[rR]\b)|\bfind\b|\bxargs\b"
)
_CHANGES = compile_late(r"(?i)edit|write|create|patch|replace|update|insert|append|move")  # names of tools that change a file
_WILD = frozenset("*?[")
# The target of a redirection.
_INTO = compile_late(r"""(?:(?<![<>0-9&-])>{1,2}\|?(?!&)\s*|\bof=)['"]?([^\s'"|;&()]+)""")


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentEdits:
    """The changes that agents made to a file: revised texts by memory id, ids of memories with removed lines, and added lines.

    ``session`` is the latest session with a call that may have changed the file. It is empty if there is no such call.
    """

    revised: Mapping[str, str]
    removed: tuple[str, ...]
    added: tuple[AddedLines, ...]
    session: str

    def __bool__(self) -> bool:
        return bool(self.revised or self.removed or self.added)


def split_agent_edits(
    workspace: Workspace, target: Target, base: Sequence[Line], edits: Edits, stamp: FileStamp, *, every_change: bool = False
) -> tuple[Edits, AgentEdits]:
    """Split the edits of a file into the person's and the agents' edits.

    With ``every_change``, no changed line counts as the person's, because it is unknown who changes files in an agent's shell.
    """
    calls, at_work = (
        _find_calls_on(workspace, target.path.name, stamp) if edits.revised or edits.removed or edits.added else ((), False)
    )
    every_change |= at_work
    rewritten = at_work or any(_is_opaque_write(event, target.path) for event in _calls_since_write(workspace, calls))
    lines = {line.key: parse_fact(line.text)[0] for line in base if line.key}
    revised = {
        number: words
        for number, words in edits.revised.items()
        if every_change or _has_matching_call(calls, _has_replaced_words, lines.get(number, ""), words)
    }
    removed = tuple(
        number for number in edits.removed if rewritten or _has_matching_call(calls, _has_removed_words, lines.get(number, ""))
    )
    trusted = any(profile.outputs.trust_added_lines for profile in target.profiles)
    added = tuple(
        added_lines
        for added_lines in edits.added
        if not trusted and added_lines.fact and (at_work or _has_matching_call(calls, _has_added_words, added_lines.fact))
    )
    gone = {line.strip() for added_lines in added for line in added_lines.text.splitlines()}
    persons = replace(
        edits,
        revised={number: words for number, words in edits.revised.items() if number not in revised},
        removed=tuple(number for number in edits.removed if number not in removed),
        added=tuple(added_lines for added_lines in edits.added if added_lines not in added),
        foreign=tuple(user_line for user_line in edits.foreign if not user_line.text.strip() or user_line.text.strip() not in gone),
    )
    session = calls[0].session if calls else ""
    return persons, AgentEdits(revised=revised, removed=removed, added=added, session=session)


def drop_agent_entries(
    workspace: Workspace, path: Path, base: Sequence[ViewEntry], edits: ViewEdits, stamp: FileStamp
) -> ViewEdits:
    """The edits of a JSON view without those of agents. Added entries stay, because they are held whoever added them."""
    named, at_work = _find_calls_on(workspace, path.name, stamp) if edits.revised or edits.moved or edits.removed else ((), False)
    since = _calls_since_write(workspace, named)
    rewritten = at_work or any(_is_opaque_write(event, path) for event in since)
    calls = tuple(event for event in since if rewritten or (event.tool and event.tool.detail))
    texts = {entry.id: entry.text for entry in base}

    def is_agents(number: str, words: str = "") -> bool:
        put = bool(words) and _has_matching_call(calls, _has_replaced_words, texts[number], words)
        return rewritten or put or _has_matching_call(calls, _has_line_words, texts[number])

    return replace(
        edits,
        revised={number: words for number, words in edits.revised.items() if not is_agents(number, words)},
        moved={number: category for number, category in edits.moved.items() if not is_agents(number)},
        removed=tuple(number for number in edits.removed if not is_agents(number)),
    )


def _calls_since_write(workspace: Workspace, calls: Sequence[Event]) -> tuple[Event, ...]:
    """The calls that were made after kept last wrote its files."""
    runs = (run for run in workspace.store.log.runs(_RUNS) if run.ended_at is not None and run.command in _WRITING)
    last = next((run.started_at for run in runs), None)
    return tuple(event for event in calls if event.at is not None and (last is None or event.at >= last))


def _is_opaque_write(call: Event, path: Path) -> bool:
    """True if the command of a call may write to a file, and the text that it writes is not in the command."""
    command = call.tool.target if call.tool else ""
    script = command.partition("<<")[2]
    for step in parse_steps(command):
        words = [unquote_word(word) for word in step.words]
        if any(_is_path(item, path) for item in _INTO.findall(step.text)):
            return True
        if step.program == "cp" and path.name in step.text and (_is_path(words[-1], path) or _is_path(words[-1], path.parent)):
            return True
        named = path.name in f"{step.text}\n{script}" or any(
            fnmatch(path.name, Path(word).name) for word in words if _WILD & set(word)
        )
        begins = _REWRITES.search if step.program in ("find", "xargs") else _REWRITES.match
        if named and begins(" ".join((step.program, *words[1:]))):
            return True
    return False


def _is_path(word: str, path: Path) -> bool:
    return Path(word) == path if word.startswith("/") else Path(word).name == path.name


def _has_line_words(target: str, detail: str, words: str) -> bool:
    return normal_form(words) in normal_form(f"{target}\n{detail}")


def _find_calls_on(workspace: Workspace, name: str, stamp: FileStamp) -> tuple[tuple[Event, ...], bool]:
    """The tool calls of the latest sessions that name a file, or that may change it without naming it.

    The second result is True if a call that may change the file was running when the file last changed.
    """
    changed = datetime.fromtimestamp(stamp.changed_ns / 1e9, tz=UTC)
    found: list[Event] = []
    at_work = False
    threads = (thread for thread in workspace.store.archive.threads() if thread.last_at)
    for thread in nlargest(_LATEST, threads, key=lambda each: (each.last_at, each.id)):
        events = workspace.store.archive.events(thread.id, 0, thread.events)
        for number, event in enumerate(events):
            if event.kind is EventKind.TOOL_CALL and event.tool:
                if name in event.tool.target or _SWEEPS.search(event.tool.target):
                    found.append(event)
                at_work = at_work or _is_at_work(events, number, name, changed)
    return tuple(found), at_work


def _is_at_work(events: Sequence[Event], number: int, name: str, moment: datetime) -> bool:
    """True if the event with this number is a call that may change a file and was running at ``moment``."""
    call = events[number]
    if call.at is None or call.tool is None or not call.at - _SLACK <= moment <= call.at + _LONGEST + _SLACK:
        return False
    tool = call.tool
    if is_reading(tool.target) if is_shell(tool) else not (name in tool.target and (tool.detail or _CHANGES.search(tool.name))):
        return False
    output = find_output(events, number)
    end = output.at if output and output.at else call.at + _LONGEST
    return moment <= end + _SLACK and end - call.at <= _LONGEST


def _has_matching_call(calls: Sequence[Event], matches: Callable[..., bool], *words: str) -> bool:
    return any(matches(event.tool.target, event.tool.detail, *words) for event in calls if event.tool)


def _has_added_words(target: str, detail: str, words: str) -> bool:
    return normal_form(words) in normal_form(f"{target}\n{detail.rpartition(_BECAME)[2]}")


def _has_replaced_words(target: str, detail: str, before: str, words: str) -> bool:
    """True if a call contains all words that are new in a line. If no words are new, it must contain all removed words."""
    old, new = tokenize(before), tokenize(words)
    changed = new - old or old - new
    call_text = normal_form(f"{target}\n{detail}")  # normalized, because words in a command are enclosed in slashes and quotes
    return bool(changed) and all(word in call_text for word in changed)


def _has_removed_words(target: str, detail: str, words: str) -> bool:
    if any(normal_form(found[1] or found[2]) in normal_form(words) for found in _DELETES.finditer(target)):
        return True
    before, became, after = detail.partition(_BECAME)
    line = normal_form(words)
    if became:
        return line in normal_form(before) and line not in normal_form(after)
    # Otherwise the call wrote the whole file.
    return "<!-- kept: " in detail and "characters cut" not in detail and line not in normal_form(detail)
