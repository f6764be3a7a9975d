"""``kept add``, ``suggest``, ``edit``, ``retire``, ``resolve``, ``merge``, ``pin``: change a memory by hand."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence

from kept.changes import apply_person_change
from kept.cli.command_support import command_workspace, edit_line, is_interactive, read_choice
from kept.cli.console import Line, line, write_json, write_lines
from kept.cli.lists import changed_line, memory_line
from kept.cli.registry import GlobalOptions
from kept.core.errors import UsageError
from kept.core.memory import Memory, Status
from kept.core.text import normal_form
from kept.extraction.rules.handover import category_of
from kept.local.agents_shell import agent_variable
from kept.memories import browse, person
from kept.memories.browse import to_export
from kept.outputs.write import WriteReport
from kept.pipeline import tools
from kept.workspace import Workspace


def add(call: GlobalOptions, text: str, *, kind: str = "", project: str = "", until: str = "", as_json: bool = False) -> int:
    """Remember a sentence at once. If an agent runs this in its shell, the sentence is held for you."""
    sign = agent_variable(os.environ)

    def apply(workspace: Workspace) -> list[Memory]:
        ends = workspace.parse_moment(until) if until else None
        if ends and ends <= workspace.clock():
            raise UsageError("this would be over already", where=f"--until {until}", hint="name a later day, or none")
        agent = bool(sign) and not workspace.settings.trust_agents
        folder = _find_folder(workspace, project)
        likely = None if kind else category_of(text, "", workspace.profile_for("", folder))
        return [person.create_memory(workspace, text, likely.id if likely else kind, project=folder, until=ends, agent=agent)]

    held, waits = "A secret was taken out", "so it is held for `kept review`:"
    by_agent = f"An agent ran this ({sign} is set), {waits}"
    return _apply_change(call, "Remembered:", apply, held_title=f"{held}, {waits}", agent_title=by_agent, as_json=as_json)


def _find_folder(workspace: Workspace, project: str) -> str:
    """A folder of a project; empty for "everywhere" and where no project is named. Raises UsageError."""
    return browse.find_directory(workspace, project) if project not in ("", "everywhere") else ""


def suggest(
    call: GlobalOptions,
    text: str,
    kind: str = "",
    *,
    project: str = "",
    replaces: str = "",
    lasts: str = "",
    alone: str = "",
    as_json: bool = False,
) -> int:
    """Pass on a sentence that the person typed in this session (for agents).

    It is held until kept has read the transcript. Exact words of the person then become active; others stay held for
    `kept review`. On a terminal, you decide at once: y remembers it, n rejects it.
    """
    del replaces, lasts, alone  # agents give these for the reader of the transcript, which identifies the session

    def apply(workspace: Workspace) -> list[Memory]:
        return [tools.add_suggestion(workspace, text, kind, _find_folder(workspace, project or "."))]

    if as_json or not is_interactive():
        return _apply_change(call, "Held until the session is read, or for `kept review`:", apply, as_json=as_json)

    def decide(workspace: Workspace) -> list[Memory]:
        (memory,) = apply(workspace)
        write_lines(
            [memory_line(memory, workspace.zone), line("Remember this? ", ("y/n  (s: decide later in `kept review`)", "dim"))]
        )
        match read_choice("yns"):
            case "y":
                return [person.approve(workspace, memory.id)]
            case "n":
                return [person.reject(workspace, memory.id)]
            case _:
                return [memory]

    return _apply_change(call, "Done:", decide, as_json=False)


def edit(
    call: GlobalOptions,
    memory_id: str,
    text: str = "",
    *,
    kind: str = "",
    project: str = "",
    if_match: str = "",
    as_json: bool = False,
) -> int:
    """Change the words of a memory, its category, or its project."""

    def apply(workspace: Workspace) -> list[Memory]:
        memory = person.find_memory(workspace, memory_id)
        words, seen = text or (memory.content if kind or project else ""), if_match
        if not words and is_interactive():
            words, seen = edit_line(memory.content), if_match or browse.memory_revision(memory)
        if not words:
            raise UsageError("the new words are missing", hint=f'kept edit {memory.id} "…"')
        with person.one_run(workspace, "edit"):
            if words != memory.content or kind not in ("", memory.category):
                memory, seen = person.edit(workspace, memory.id, words, category=kind or None, if_match=seen), ""
            return [person.move(workspace, memory.id, project, if_match=seen) if project else memory]

    return _apply_change(call, "Changed; it now counts as your words:", apply, as_json=as_json)


def retire(call: GlobalOptions, ids: list[str], *, reason: str = "", if_match: str = "", as_json: bool = False) -> int:
    """Take a memory out of use. Its history stays. The same proposal does not bring it back."""

    def apply(workspace: Workspace) -> list[Memory]:
        return [person.retire(workspace, item, reason, if_match=if_match) for item in _resolve_ids(workspace, ids, if_match)]

    title = "Retired; the same proposal does not bring it back (`kept undo` does):"
    return _apply_change(call, title, apply, after=_twin_lines, as_json=as_json)


def _twin_lines(workspace: Workspace, memories: Sequence[Memory]) -> Iterator[Line]:
    """The active memories with the same text as the retired ones, which have other projects or sources."""
    texts, retired = {normal_form(memory.content) for memory in memories}, {memory.id for memory in memories}
    for memory in workspace.store.log.memories():
        if memory.status is Status.ACTIVE and memory.id not in retired and normal_form(memory.content) in texts:
            text = f"Another memory says the same and stays in use: {memory.id} ({workspace.name(memory.scope)})"
            yield line((text, "yellow"), f" → kept retire {memory.id}")


def resolve(
    call: GlobalOptions, memory_id: str, text: str = "", *, category: str, if_match: str = "", as_json: bool = False
) -> int:
    """Close an open question and remember its answer."""

    def apply(workspace: Workspace) -> list[Memory]:
        return [person.resolve(workspace, memory_id, category, text, if_match=if_match)[1]]

    return _apply_change(call, "The question is closed; the answer is remembered:", apply, as_json=as_json)


def merge(call: GlobalOptions, ids: list[str], *, text: str = "", kind: str = "", as_json: bool = False) -> int:
    """Merge several memories into the first, with all their evidence."""

    def apply(workspace: Workspace) -> list[Memory]:
        return [person.merge(workspace, ids, text, category=kind or None)]

    return _apply_change(call, "Merged into one, with all their evidence:", apply, as_json=as_json)


def pin(call: GlobalOptions, ids: list[str], *, off: bool = False, if_match: str = "", as_json: bool = False) -> int:
    """Always show a memory, and let no machine change it."""

    def apply(workspace: Workspace) -> list[Memory]:
        return [person.pin(workspace, item, on=not off, if_match=if_match) for item in _resolve_ids(workspace, ids, if_match)]

    title = "No longer pinned:" if off else "Pinned; always shown, and no machine changes it:"
    held_title = "" if off else "Pinned, but shown nowhere before you approve it (`kept review`):"
    return _apply_change(call, title, apply, held_title=held_title, as_json=as_json)


def _apply_change(
    call: GlobalOptions,
    title: str,
    act: Callable[[Workspace], list[Memory]],
    *,
    held_title: str = "",
    agent_title: str = "",
    after: Callable[[Workspace, Sequence[Memory]], Iterator[Line]] = lambda *_: iter(()),
    as_json: bool,
) -> int:
    """Make a change and print the result. ``after`` adds lines.

    ``title`` is the headline, ``held_title`` that for held memories, ``agent_title`` that for what an agent holds by its call.
    """
    with command_workspace(call) as workspace:
        agents = bool(agent_variable(os.environ)) and not workspace.settings.trust_agents
        memories, written = apply_person_change(workspace, lambda: act(workspace), with_files=not agents)
        held_title = (agents and agent_title) or held_title
        title = held_title if held_title and all(memory.status is Status.HELD for memory in memories) else title
        if as_json:
            bodies = [to_export(workspace, memory) for memory in memories]
            write_json(bodies[0] if len(bodies) == 1 else bodies)
        elif not call.quiet:
            moment = workspace.clock()
            write_lines(
                [
                    line((title, "green")),
                    *(changed_line(workspace, memory, memory.outcome_at(moment)) for memory in memories),
                    *after(workspace, memories),
                ]
            )
        return print_problems(written)


def print_problems(written: WriteReport) -> int:
    """Print what could not be written to the output files. Returns the exit code."""
    write_lines([line(f"kept: {problem}") for problem in written.problems], sys.stderr)
    return int(bool(written.problems))


def _resolve_ids(workspace: Workspace, ids: list[str], if_match: str) -> list[str]:
    """Resolve all ids, so that one wrong id stops the command before any change. Raises UsageError, MissingError."""
    if if_match and ids[1:]:
        raise UsageError("--if-match works with one memory only", hint="change them one by one")
    return [person.find_memory(workspace, memory_id).id for memory_id in ids]
