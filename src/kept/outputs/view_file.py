"""The JSON views of profiles: write them from memories, and convert a person's edits of them to operations."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kept.core.artifact import find_artifacts
from kept.core.digest import hash_bytes
from kept.core.document import Line
from kept.core.event import Origin
from kept.core.memory import USER_SCOPE, Memory, Status
from kept.core.operation import Operation, Retire, Revise, to_facts
from kept.local import files
from kept.local.files import FileContent
from kept.memories.new_memory import answer_question, make_memory
from kept.outputs.agent_edits import drop_agent_entries
from kept.outputs.compose.sheet import is_shown, select_leading
from kept.outputs.hand_edits import add_written_line, copy_to_quarantine, usable_text
from kept.outputs.render import ViewEdits, ViewEntry, compare_views, fit_to_view, read_view, render_view
from kept.profiles.profile import OutputPlace, Profile
from kept.store.values import Output
from kept.workspace import Workspace

_QUESTION = "open_question"


def list_views(workspace: Workspace) -> tuple[tuple[Path, Profile], ...]:
    """The paths of the views that the active profiles write, with the profiles."""
    views = {profile.outputs.view_file: profile for profile in reversed(workspace.writing) if profile.outputs.view_file}
    return tuple((workspace.paths.root / name, profile) for name, profile in views.items())


def is_as_written(workspace: Workspace, path: Path, content: FileContent) -> bool:
    """True if a view has the content that kept last wrote, or that it was writing when it was interrupted."""
    return any(output.hash == hash_bytes(content.data) for output in workspace.store.output_states(str(path)))


def view_edits_to_operations(
    workspace: Workspace, path: Path, content: FileContent, profile: Profile, *, dry: bool
) -> tuple[tuple[Operation, ...], str]:
    """Convert a person's edits of a view to operations. Returns them with a message about a problem, or an empty one.

    If there is a problem, the file is copied to the quarantine, unless ``dry`` is set. Raises StoreError.
    """
    outputs = workspace.store.output_states(str(path))
    if not outputs or content.stamp == files.MISSING or is_as_written(workspace, path, content):
        return (), ""
    base = _written_entries(outputs[0])
    now = read_view(content.data, dict.fromkeys(entry.category for entry in base))
    if isinstance(now, str):
        place = "" if dry else f" It is saved as {copy_to_quarantine(workspace.paths, path)} and written again."
        return (), f"{path} was not taken as an edit: {now}.{place}"
    view_edits = compare_views(base, now)
    edits = drop_agent_entries(workspace, path, base, view_edits, content.stamp)
    problem = ""
    if edits != view_edits:
        place = "" if dry else f" It is saved as {copy_to_quarantine(workspace.paths, path)}."
        problem = f"{path}: changes that may be an agent's were not taken over.{place} If it was you, change it once more"
    return tuple(_view_operations(workspace, profile, edits)), problem


def write_view(workspace: Workspace, path: Path, content: FileContent, profile: Profile, *, dry: bool) -> bytes | None:
    """Update a view that has ``content`` now. Returns its new bytes if it was written, else None.

    With ``dry``, nothing is written, and the result is what would be written. Raises StoreError, and ChangedError if the file
    changes meanwhile.
    """
    now = workspace.clock()
    active = (memory for memory in workspace.store.log.memories() if memory.content and memory.status_at(now) is Status.ACTIVE)
    names = workspace.scope_names()
    leads = select_leading([memory for memory in active if is_shown(memory, (profile,), OutputPlace.VIEW)], profile)
    shown = fit_to_view(leads, profile, workspace.zone, names)
    data = render_view(shown, profile, workspace.zone, names).encode() if shown or content.stamp != files.MISSING else b""
    lines = tuple(Line(key=memory.id, text=f"{memory.category}\n{memory.content}") for memory in shown)
    after = Output(hash=hash_bytes(data), lines=lines)
    if data == content.data:
        if data and workspace.store.output_states(str(path)) != (after,) and not dry:
            workspace.store.save_output(str(path), after)
        return None
    if not dry:
        workspace.store.save_pending_output(str(path), after)
        workspace.write_output(path, data, content.stamp)
        workspace.store.save_output(str(path), after)
    return data


def _written_entries(output: Output) -> tuple[ViewEntry, ...]:
    parts = ((line.key, *line.text.split("\n", 1)) for line in output.lines)
    return tuple(ViewEntry(id=number, category=category, text=text) for number, category, text in parts)


def _view_operations(workspace: Workspace, profile: Profile, edits: ViewEdits) -> Iterator[Operation]:
    now = workspace.clock()
    for number in sorted({*edits.revised, *edits.moved}):
        memory = workspace.store.log.memory(number)
        if memory is None or not memory.content:
            continue
        text = usable_text(workspace, edits.revised.get(number, "")) or memory.content
        category = edits.moved.get(number, memory.category)
        if category != memory.category and profile.category(category) is not None and _is_question(profile, memory):
            yield from answer_question(memory, category, text, now, reason="moved by hand")
        elif text != memory.content or category != memory.category:
            kind = category if profile.category(category) is not None else memory.category
            facts = replace(to_facts(memory), content=text, category=kind, artifacts=find_artifacts(text))
            yield Revise(memory=number, at=now, reason="edited by hand", facts=facts)
    for number in edits.removed:
        memory = workspace.store.log.memory(number)
        if memory is not None and memory.status in (Status.ACTIVE, Status.HELD):
            yield Retire(memory=number, at=now, reason="its entry was deleted by hand")
    for entry in edits.added:
        yield from _add_operations(workspace, profile, entry)


def _is_question(profile: Profile, memory: Memory) -> bool:
    category = profile.category_for(_QUESTION)
    return category is not None and category.id == memory.category


def _add_operations(workspace: Workspace, profile: Profile, entry: ViewEntry) -> Iterator[Operation]:
    text, now = usable_text(workspace, entry.text), workspace.clock()
    if not text or profile.category(entry.category) is None:
        return
    trusted = profile.outputs.trust_added_lines
    written = make_memory(
        "",
        text,
        now,
        profile=profile.id,
        category=entry.category,
        scope=USER_SCOPE,
        trusted=trusted,
        origin=Origin.TOOL,
        trigger="written",
    )
    memories = workspace.store.log.memories(group=(profile.id, USER_SCOPE))
    yield from add_written_line(written, memories, (profile.id, entry.category), now, trusted=trusted)
