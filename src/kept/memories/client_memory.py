"""Import the notes that coding agents keep in their own files. Every run does this if the settings name the agents.

A note counts as the agent's words. It is therefore held until the person's own words say the same. Most notes are also shown by the
client itself, so kept does not write those into that client's files. The clients' own files are only read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kept.core.digest import digest
from kept.core.errors import UsageError
from kept.core.event import Origin
from kept.core.fingerprint import is_known_statement
from kept.core.memory import CLIENT_MEMORY, USER_SCOPE, Evidence, Memory
from kept.core.operation import Add
from kept.core.project import project_root
from kept.core.text import normal_form
from kept.core.value import dataclass
from kept.extraction.rules.handover import category_of
from kept.memories.foreign import ForeignNote, read_tool_notes
from kept.memories.new_memory import make_memory
from kept.memories.wording import clean_memory_text
from kept.workspace import RunNumber, Workspace

# The category of the default profile that is nearest to each kind of note. The person decides in review.
_KINDS = {"user": "preference", "feedback": "preference", "project": "project_fact", "reference": "project_fact"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopedNote:
    """A note of another tool, with the category and scope that it gets."""

    note: ForeignNote
    category: str
    scope: str


def load_scoped_notes(workspace: Workspace, tools: Sequence[str]) -> Iterator[ScopedNote]:
    """Read the notes of the given tools, and assign a category and scope to each."""
    folders = tuple(dict.fromkeys(Path(project_root(project)) for _, project in _transcript_folders(workspace)))
    return assign_scopes(workspace, read_tool_notes(workspace.paths.root, folders, tools))


def assign_scopes(workspace: Workspace, notes: Iterable[ForeignNote]) -> Iterator[ScopedNote]:
    """Assign a category and scope to each note."""
    beside = dict(reversed(_transcript_folders(workspace)))
    for note in notes:
        yield ScopedNote(note=note, category=_category_of_note(workspace, note), scope=_scope_of_note(workspace, note, beside))


def _transcript_folders(workspace: Workspace) -> list[tuple[str, str]]:
    """The folder of each thread's transcript, paired with the thread's working directory."""
    return [(str(Path(thread.path).parent), thread.project) for thread in workspace.store.archive.threads() if thread.project]


def import_client_notes(workspace: Workspace, run: RunNumber) -> int:
    """Add the new notes of the tools in the settings as held memories, in one pass. Returns their number. Raises StoreError.

    ``run`` returns the number of the run, and is called only if there are new notes.
    """
    if not workspace.settings.client_memory:
        return 0
    memories = workspace.store.log.memories()
    taken = {memory.id for memory in memories}
    taken_words = {(memory.scope, normal_form(memory.content)) for memory in memories if memory.content}
    forgotten, key = workspace.store.log.forgotten_fingerprints(), workspace.store.key("forget")
    additions: list[Add] = []
    for scoped in load_scoped_notes(workspace, workspace.settings.client_memory):
        memory, note = _build_memory(workspace, scoped), scoped.note
        if memory is None or memory.id in taken or (words := (memory.scope, normal_form(memory.content))) in taken_words:
            continue
        if not (forgotten and is_known_statement(memory.content, forgotten, key)):
            taken.add(memory.id)
            taken_words.add(words)
            additions.append(Add(memory=memory.id, at=note.at, reason=f"held: remembered by {note.tool}", value=memory))
    if additions:
        run.commit("client memory", additions, subject=", ".join(workspace.settings.client_memory))
    return len(additions)


def notes_shown_by_clients(workspace: Workspace) -> Mapping[str, frozenset[tuple[str, str]]]:
    """The notes that each client shows in its own sessions. The result maps the tool to pairs of scope and normal form.

    Claude Code's notes about the person are omitted. Claude Code shows them in one project only, so kept must show them in the
    others.
    """
    shown: dict[str, set[tuple[str, str]]] = {}
    for scoped in load_scoped_notes(workspace, workspace.settings.client_memory) if workspace.settings.client_memory else ():
        if scoped.scope != USER_SCOPE or scoped.note.tool != "claude":
            shown.setdefault(scoped.note.tool, set()).add((scoped.scope, normal_form(scoped.note.text)))
    return {tool: frozenset(forms) for tool, forms in shown.items()}


def _build_memory(workspace: Workspace, scoped: ScopedNote) -> Memory | None:
    """The held memory for a note; None if its text cannot be the text of a memory."""
    note, scope, category, profile = scoped.note, scoped.scope, scoped.category, workspace.profile.id
    try:
        content = clean_memory_text(workspace, note.text)
    except UsageError:
        return None
    evidence = Evidence(
        quote=content, event="", session="", path=str(note.path), at=note.at, author=note.tool, origin=Origin.ASSISTANT
    )
    return make_memory(
        digest(profile, scope, category, content, size=5),
        content,
        note.at,
        profile=profile,
        category=category,
        scope=scope,
        trusted=False,
        trigger=CLIENT_MEMORY,
        evidence=(evidence,),
    )


def _category_of_note(workspace: Workspace, note: ForeignNote) -> str:
    """The category of the tool's own kind, else the likely one of the text."""
    profile = workspace.profile
    named = next((item for item in (note.kind, _KINDS.get(note.kind, "")) if profile.category(item)), "")
    likely = category_of(note.text, named, profile)
    return likely.id if likely else profile.categories[0].id


def _scope_of_note(workspace: Workspace, note: ForeignNote, beside: Mapping[str, str]) -> str:
    if note.kind == "user":
        return USER_SCOPE
    if note.folder:
        return workspace.scope(note.folder)
    if note.beside:
        return workspace.scope(beside.get(note.beside, ""), str(note.path.parent))
    return USER_SCOPE
