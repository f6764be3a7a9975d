"""Targets: which files the active profiles write, and what each contains. This module reads the store and writes nothing."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum
from pathlib import Path

from kept.core.artifact import find_artifacts
from kept.core.document import Document
from kept.core.fence import START
from kept.core.memory import USER_SCOPE, Memory
from kept.core.project import project_root
from kept.core.text import normal_form
from kept.core.value import dataclass, field, replace
from kept.days.day_notes import day_note_lines
from kept.intake.reminders import OFF
from kept.local import files
from kept.local.clients import AGENTS, READERS, Client, has_hooks, has_plugin
from kept.local.files import FileContent
from kept.memories.client_memory import notes_shown_by_clients
from kept.outputs import section
from kept.outputs.compose.pages import Page, compose_day_notes, compose_pages
from kept.outputs.compose.sheet import compose_sheet
from kept.profiles.profile import OutputPlace, Outputs, Profile
from kept.workspace import Workspace

REMEMBERED = "Remembered"  # the heading of kept's section in a day note
_FOLDER_RULES = 3  # this many rules about one folder of a project get a separate file


class TargetForm(StrEnum):
    """The kind of a file."""

    MEMORY = "memory"
    SECTION = "section"
    RULES = "rules"
    CARD = "card"
    DAILY = "daily"
    PAGE = "page"
    VIEW = "view"

    @property
    def open(self) -> bool:
        """True if a line outside kept's headings also counts as an addition."""
        return self in (TargetForm.MEMORY, TargetForm.SECTION)


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A file that ``kept`` writes. If ``heading`` is set, kept writes only the section under that heading.

    The file shows the memories of ``profiles`` in ``scope``, or in all scopes if ``scope`` is empty. ``part`` distinguishes files
    of the same form. It is a day, a page or a folder.
    """

    path: Path
    profiles: tuple[Profile, ...]
    form: TargetForm = TargetForm.MEMORY
    heading: str = ""
    scope: str = ""
    part: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputContent:
    """The input from which files are composed: all memories, the names of projects, and the day notes and pages by profile id.

    ``projects`` maps project folders below the home to their scopes. ``injected`` maps clients to the statements that they already
    add to their sessions from their own memory.
    """

    memories: tuple[Memory, ...]
    names: Mapping[str, str]
    projects: Mapping[Path, str]
    days: Mapping[str, Mapping[date, Document]] = field(default_factory=dict)
    pages: Mapping[str, tuple[Page, ...]] = field(default_factory=dict)
    injected: Mapping[str, frozenset[tuple[str, str]]] = field(default_factory=dict)


def compose_outputs(workspace: Workspace) -> OutputContent:
    """Load and compose the input for all files. Raises StoreError."""
    memories, names = workspace.store.log.memories(), workspace.scope_names()
    with_notes = [profile for profile in workspace.writing if profile.outputs.daily_folder]
    with_pages = [profile for profile in workspace.writing if profile.outputs.pages_folder]
    lines = day_note_lines(workspace) if with_notes else {}
    return OutputContent(
        memories=memories,
        names=names,
        projects=written_projects(workspace),
        days={
            profile.id: compose_day_notes(memories, (profile,), names=names, zone=workspace.zone, summaries=lines)
            for profile in with_notes
        },
        pages={
            profile.id: compose_pages(memories, profile, as_of=workspace.clock(), names=names, zone=workspace.zone)
            for profile in with_pages
        },
        injected=notes_shown_by_clients(workspace),
    )


def _has_project_files(profile: Profile) -> bool:
    return profile.outputs.project_section or profile.outputs.project_rules


def written_projects(workspace: Workspace) -> dict[Path, str]:
    """The project folders for which a separate file is written, with their scopes."""
    return list_project_folders(workspace) if any(map(_has_project_files, workspace.writing)) else {}


def list_targets(workspace: Workspace, content: OutputContent) -> tuple[Target, ...]:
    """The files that the active profiles write, and files from earlier runs that may have to be removed.

    Profiles with the same file path share the file. All profiles that write sections share these, under the heading of the first.
    """
    return _add_earlier(workspace, (*_fixed_targets(workspace, content.projects), *_folder_targets(workspace, content)))


def list_editable_targets(workspace: Workspace) -> tuple[Target, ...]:
    """The files that may contain edits: those that every run writes, and the day notes, pages and rules of earlier runs."""
    return _add_earlier(workspace, _fixed_targets(workspace, written_projects(workspace)))


def _add_earlier(workspace: Workspace, targets: Iterable[Target]) -> tuple[Target, ...]:
    by_path = {target.path: target for target in targets}
    return (*by_path.values(), *(target for target in _earlier_targets(workspace) if target.path not in by_path))


def _fixed_targets(workspace: Workspace, projects: Mapping[Path, str]) -> list[Target]:
    found = []
    for form, name in ((TargetForm.MEMORY, "memory_file"), (TargetForm.CARD, "card_file")):
        for path in dict.fromkeys(getattr(profile.outputs, name) for profile in workspace.writing):
            if path:
                members = tuple(profile for profile in workspace.writing if getattr(profile.outputs, name) == path)
                found.append(Target(path=workspace.paths.output_path(path), profiles=members, form=form))
    with_sections = tuple(profile for profile in workspace.writing if profile.outputs.project_section)
    with_rules = tuple(profile for profile in workspace.writing if profile.outputs.project_rules)
    readers = [client for client in READERS if client.name in workspace.settings.sections]
    found += [_instructions_target(workspace, client) for client in readers]
    for folder, scope in projects.items():
        for name in ("CLAUDE.md", *(client.instructions for client in readers)) if with_sections else ():
            heading = with_sections[0].outputs.section
            found.append(Target(path=folder / name, profiles=with_sections, form=TargetForm.SECTION, heading=heading, scope=scope))
        if with_rules:
            found.append(
                Target(path=folder / ".claude" / "rules" / "kept.md", profiles=with_rules, form=TargetForm.RULES, scope=scope)
            )
    return found


def _instructions_target(workspace: Workspace, reader: Client, part: str = "") -> Target:
    """The target for the section in the instructions file that an agent reads in every session.

    It has the content of the memory file, within half the budget.
    """
    profiles = [profile for profile in workspace.writing if profile.outputs.memory_file] or [workspace.profile]
    half = tuple(replace(profile, outputs=_halve_budgets(profile.outputs)) for profile in profiles)
    path = workspace.paths.of(reader) / reader.instructions
    return Target(path=path, profiles=half, form=TargetForm.SECTION, heading=REMEMBERED, part=part)


def _halve_budgets(outputs: Outputs) -> Outputs:
    return replace(outputs, memory_bytes=outputs.memory_bytes // 2, memory_lines=outputs.memory_lines // 2)


_GONE = "gone"  # the ``part`` of a target whose section must be removed


def _folder_targets(workspace: Workspace, content: OutputContent) -> list[Target]:
    found, root = [], workspace.paths.root
    for profile in workspace.writing:
        found += [_note_target(root, profile, day.isoformat()) for day in content.days.get(profile.id, {})]
        found += [_page_target(root, profile, page.path) for page in content.pages.get(profile.id, ())]
        for folder, scope in content.projects.items() if profile.outputs.project_rules else ():
            found += [
                _rules_target(folder, (profile,), scope, part) for part in _memory_ids_by_folder(content.memories, profile, scope)
            ]
    return found


def _note_target(root: Path, profile: Profile, day: str) -> Target:
    path = root / profile.outputs.daily_folder / f"{day}.md"
    return Target(path=path, profiles=(profile,), form=TargetForm.DAILY, heading=REMEMBERED, part=day)


def _page_target(root: Path, profile: Profile, name: str) -> Target:
    return Target(path=root / profile.outputs.pages_folder / f"{name}.md", profiles=(profile,), form=TargetForm.PAGE, part=name)


def _rules_target(folder: Path, profiles: tuple[Profile, ...], scope: str, part: str) -> Target:
    path = folder / ".claude" / "rules" / f"kept-{part}.md"
    return Target(path=path, profiles=profiles, form=TargetForm.RULES, scope=scope, part=part)


def _earlier_targets(workspace: Workspace) -> list[Target]:
    """The day notes, pages and folder rules that earlier runs wrote. They may have no content any more."""
    found, root = [], workspace.paths.root
    projects = (
        {str(folder): scope for folder, scope in list_project_folders(workspace).items()}
        if any(profile.outputs.project_rules for profile in workspace.writing)
        else {}
    )
    sections = {str(workspace.paths.of(client) / client.instructions): client for client in READERS}
    for text in workspace.store.outputs():
        path = Path(text)
        if text in sections:  # a section that must be removed
            found.append(_instructions_target(workspace, sections[text], _GONE))
        for profile in workspace.writing:
            notes, pages = root / profile.outputs.daily_folder, root / profile.outputs.pages_folder
            if profile.outputs.daily_folder and path.parent == notes and _is_day(path.stem):
                found.append(_note_target(root, profile, path.stem))
            elif profile.outputs.pages_folder and path.is_relative_to(pages):
                found.append(_page_target(root, profile, str(path.relative_to(pages).with_suffix(""))))
            elif profile.outputs.project_rules and path.name.startswith("kept-") and (scope := projects.get(str(path.parents[2]))):
                found.append(_rules_target(path.parents[2], (profile,), scope, path.stem.removeprefix("kept-")))
    return found


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def section_bytes(target: Target, content: FileContent) -> bytes | None:
    """The part of a file that ``kept`` writes: the inside of the section, or the whole file. None if there is no such part."""
    if content.stamp == files.MISSING:
        return None
    if not target.heading:
        return content.data
    block = section.find_section(content.data, where=str(target.path))
    return block.inside if block else None


def compose_document(workspace: Workspace, content: OutputContent, target: Target, reserved: int) -> Document:
    """Compose the document of a file. ``reserved`` is the size of the user's own lines in it, in bytes."""
    first = target.profiles[0]
    match target.form:
        case TargetForm.DAILY:
            return content.days[first.id].get(date.fromisoformat(target.part), Document(sections=()))
        case TargetForm.PAGE:
            return next((page.document for page in content.pages[first.id] if page.path == target.part), Document(sections=()))
        case TargetForm.RULES:
            return _rules_document(workspace, content, target, reserved)
        case TargetForm.CARD:
            return _card_document(workspace, content, target, reserved)
        case _:
            document = _sheet_document(workspace, content, target, _memories_for(workspace, content, target), reserved=reserved)
            return document if target.scope or not target.heading else _with_project_titles(workspace, document, target)


def _with_project_titles(workspace: Workspace, document: Document, target: Target) -> Document:
    """Add the project's name to each title, because this kind of section has no headings for projects."""
    if target.part == _GONE:
        return Document(sections=())
    sections = tuple(
        section if section.scope == USER_SCOPE else replace(section, title=f"{section.name}: {section.title}")
        for section in document.sections
    )
    remembered = ("What kept remembers from earlier sessions; what is said now outranks it.",) if sections else ()
    return replace(document, sections=sections, header=(*remembered, *_handover_lines(workspace, target)))


def _handover_lines(workspace: Workspace, target: Target) -> tuple[str, ...]:
    """The instructions by which an agent hands over the person's words. Empty if a hook gives them or handover is off."""
    reader = next(client for client in READERS if target.path == workspace.paths.of(client) / client.instructions)
    return () if calls_hooks(workspace, reader) or workspace.settings.handover == OFF else (START,)


def calls_hooks(workspace: Workspace, client: Client | None) -> bool:
    """True if the settings or plugins of an agent say that it calls kept's hooks."""
    if client is None:
        return False
    folder = workspace.paths.of(client)
    called = bool(client.file) and has_hooks(files.read_text(folder / client.file))
    return called or has_plugin(files.read_text(folder / client.plugins))


def scopes_with_own_file(workspace: Workspace) -> dict[tuple[str, str], str]:
    """The file of each (scope, profile) pair whose memories are in a project's file instead of the memory file."""
    found = {}
    for folder, scope in written_projects(workspace).items():
        for profile in filter(_has_project_files, workspace.writing):
            file = "CLAUDE.md" if profile.outputs.project_section else ".claude/rules/kept.md"
            found[scope, profile.id] = str((folder / file).relative_to(workspace.paths.root))
    return found


def _memories_for(workspace: Workspace, content: OutputContent, target: Target) -> list[Memory]:
    if target.scope:
        return [memory for memory in content.memories if memory.scope == target.scope]
    elsewhere = {
        (scope, profile.id)
        for scope in set(content.projects.values())
        for profile in workspace.writing
        if _has_project_files(profile)
    }
    client = client_of(workspace, target.path)
    known = content.injected.get(client.name if client else "", frozenset())
    hooked = calls_hooks(workspace, client)  # a hook adds the memories of a project when its sessions start
    return [
        memory
        for memory in content.memories
        if (memory.scope, memory.profile) not in elsewhere
        and (memory.scope, normal_form(memory.content)) not in known
        and (memory.scope == USER_SCOPE or not hooked)
    ]


def client_of(workspace: Workspace, path: Path) -> Client | None:
    """The agent that reads a file in every session, because the file is in its folder. None if there is no such agent."""
    folders = {workspace.paths.of(client): client for client in AGENTS}
    return next((folders[folder] for folder in path.parents if folder in folders), None)


def _sheet_document(
    workspace: Workspace,
    content: OutputContent,
    target: Target,
    memories: Sequence[Memory],
    *,
    reserved: int,
    place: OutputPlace = OutputPlace.MEMORY,
) -> Document:
    """Compose a memory file or a card from some memories."""
    zone, now = workspace.zone, workspace.clock()
    return compose_sheet(memories, target.profiles, as_of=now, names=content.names, zone=zone, reserved=reserved, place=place)


def _card_document(workspace: Workspace, content: OutputContent, target: Target, reserved: int) -> Document:
    """The quick-reference card: the most relevant memories, and links to the pages with the rest."""
    leaves = [note_page for profile in target.profiles for note_page in content.pages.get(profile.id, ())]
    reserved_bytes = reserved + _POINTERS
    document = _sheet_document(workspace, content, target, content.memories, reserved=reserved_bytes, place=OutputPlace.CARD)
    if not document.sections:
        return Document(sections=())
    shown = {fact.id for section in document.sections for fact in section.facts}
    pointers: list[str] = []
    for page in sorted(leaves, key=lambda each: (-len(each.home - shown), -len(each.home), each.path)):
        more = len(page.home - shown)
        line = f"- [[{page.path}]]" + (f": {more} more" if more else "")
        if sum(len(pointer) + 1 for pointer in pointers) + len(line) < _POINTERS - 200:
            pointers.append(line)
    newest = f" (newest evidence: {document.newest.isoformat()})" if document.newest else ""
    header = (
        "# MEMORY",
        f"A card for quick reference{newest}; what is said now outranks it. Details stand on the pages below. Edit freely.",
    )
    footer = ("", "## Pages", *pointers) if pointers else ()
    return Document(sections=document.sections, header=header, footer=footer)


_POINTERS = 2_500  # characters of the card that are reserved for links to pages


def _rules_document(workspace: Workspace, content: OutputContent, target: Target, reserved: int) -> Document:
    """The rules of a project, or those about one of its folders. A client loads the latter only if it uses a file there."""
    memories = [memory for memory in content.memories if memory.scope == target.scope]
    apart = {
        name: ids for profile in target.profiles for name, ids in _memory_ids_by_folder(memories, profile, target.scope).items()
    }
    if target.part:
        chosen = [memory for memory in memories if memory.id in apart.get(target.part, ())]
    else:
        gone = {number for ids in apart.values() for number in ids}
        chosen = [memory for memory in memories if memory.id not in gone]
    document = _sheet_document(workspace, content, target, chosen, reserved=reserved)
    if not document.sections:
        return Document(sections=())
    paths = ("---", f'paths: ["{target.part}/**"]', "---") if target.part else ()
    header = (
        *paths,
        "# Rules of this project" if not target.part else f"# Rules for {target.part}",
        "Learnt in earlier sessions; what is said now outranks them. Edit freely.",
    )
    return Document(sections=document.sections, header=header)


def _memory_ids_by_folder(memories: Sequence[Memory], profile: Profile, scope: str) -> dict[str, frozenset[str]]:
    """The ids of memories about one top-level folder of a project, by folder. Folders with fewer than three are left out."""
    found: dict[str, set[str]] = {}
    for memory in memories:
        if memory.profile == profile.id and memory.scope == scope and memory.content:
            files = [
                name for name in find_artifacts(memory.content) if "/" in name and not name.startswith(("/", "http", "~", "."))
            ]
            tops = {name.split("/", 1)[0] for name in files}
            top = tops.pop() if len(tops) == 1 else ""
            if top.isascii() and top.replace("-", "").replace("_", "").isalnum():
                found.setdefault(top, set()).add(memory.id)
    return {name: frozenset(ids) for name, ids in sorted(found.items()) if len(ids) >= _FOLDER_RULES}


def _resolve_folder(workspace: Workspace, directory: str) -> Path | None:
    """The path of a working directory, with links resolved. None if it does not exist or is not below the home."""
    if not directory.startswith("/"):
        return None
    try:
        folder = Path(directory).resolve(strict=True).relative_to(workspace.paths.root.resolve())
    except (OSError, ValueError, RuntimeError):  # the directory does not exist, is not below the home, or its links form a loop
        return None
    path = workspace.paths.root / folder
    return path if path.is_dir() else None


def list_project_folders(workspace: Workspace) -> dict[Path, str]:
    """The scope of each project folder below the home. A folder that has several paths is listed once."""
    folders: dict[Path, str] = {}
    for scope, directory in sorted(
        (workspace.scope(each), project_root(each)) for each, _ in workspace.store.archive.directories() if each
    ):
        folder = _resolve_folder(workspace, directory)
        if folder is not None:
            folders.setdefault(folder, scope)
    return folders
