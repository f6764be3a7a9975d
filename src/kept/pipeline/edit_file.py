"""Edit output files: show the files, preview the next write, and save an edit.

A saved text is written to disk as an editor would write it, and then merged like any other hand edit. There is no second path for
edits. If a file changed since it was shown, its new text is refused and nothing is lost.
"""

import json
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher, unified_diff
from enum import StrEnum
from pathlib import Path

from kept.changes import apply_person_change
from kept.core.errors import ChangedError, GuardError, KeptError, MissingError, StaleError, UsageError
from kept.core.markup import BOM, split_lines
from kept.core.memory import Memory
from kept.core.redact import refuse_secrets
from kept.core.value import dataclass
from kept.local import files
from kept.local.files import FileContent
from kept.memories.history import last_undoable_run
from kept.outputs import section
from kept.outputs.merge_edits import locate_lines
from kept.outputs.targets import Target, TargetForm, compose_outputs, list_targets, section_bytes
from kept.outputs.view_file import list_views
from kept.outputs.write import WriteReport, write_outputs
from kept.workspace import RunNumber, Workspace

NOTHING = ""  # the revision of a missing file
_DIFF = 2_000  # maximum lines of a diff


class FileCondition(StrEnum):
    """Whether a file can be edited. Other values give the reason why it cannot."""

    THERE = "there"
    MISSING = "not written yet"
    UNREADABLE = "cannot be shown"


@dataclass(frozen=True, kw_only=True, slots=True)
class FileEntry:
    """A memory in a file: its id, and the numbers of its first and last line (from 0)."""

    memory: str
    first: int
    last: int


@dataclass(frozen=True, kw_only=True, slots=True)
class EditableFile:
    """One file that kept writes, in its current state. ``name`` is its path relative to the home, ``form`` its kind. ``profiles``
    are the profiles whose memories it shows.

    ``text`` is the whole file, or only kept's section (with its ``heading``) if the rest belongs to the user. ``revision`` is a
    hash of exactly these bytes, empty if there are none. ``problem`` says why the file cannot be shown.
    """

    name: str
    path: Path
    form: str
    heading: str
    profiles: tuple[str, ...]
    text: str
    revision: str
    condition: FileCondition
    entries: tuple[FileEntry, ...] = ()
    problem: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryChange:
    """The effect of an edit on one memory: the ``kind`` of operation, and the words before and after. Words that do not exist are
    empty.
    """

    kind: str
    memory: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WritePreview:
    """The effect of a write: the changed memories, and for each changed file the lines of a unified diff, by file name. A diff is
    empty if only kept's own comments differ. ``problems`` are the messages that a run would give.
    """

    changes: tuple[MemoryChange, ...]
    files: dict[str, tuple[str, ...]]
    problems: tuple[str, ...] = ()


def list_output_files(workspace: Workspace) -> tuple[EditableFile, ...]:
    """All files that kept writes or wrote before, in their current state. Raises StoreError."""
    return tuple(_to_editable_file(workspace, target) for target in _known_targets(workspace))


def _known_targets(workspace: Workspace) -> Iterator[Target]:
    """The files that kept may write: the targets, and the JSON view of each profile."""
    yield from list_targets(workspace, compose_outputs(workspace))
    for path, profile in list_views(workspace):
        yield Target(path=path, profiles=(profile,), form=TargetForm.VIEW)


def _file_name(workspace: Workspace, path: Path) -> str:
    return str(path.relative_to(workspace.paths.root)) if path.is_relative_to(workspace.paths.root) else str(path)


def _find_target(workspace: Workspace, name: str) -> Target:
    found = next((target for target in _known_targets(workspace) if _file_name(workspace, target.path) == name), None)
    if found is None:
        raise MissingError("that is not a file that kept writes", where=name, hint="see `kept files`")
    workspace.refuse_links(found.path)
    return found


def load_output_file(workspace: Workspace, name: str) -> EditableFile:
    """Load one file by its name. Raises MissingError if kept does not write it, StoreError."""
    return _to_editable_file(workspace, _find_target(workspace, name))


def _to_editable_file(workspace: Workspace, target: Target, content: FileContent | None = None) -> EditableFile:
    problem, text = "", ""
    own: bytes | None = None
    try:
        workspace.refuse_links(target.path)
        content = content or files.read_file(target.path)
        own = section_bytes(target, content)
        condition = FileCondition.THERE if own is not None else FileCondition.MISSING
        text = (own or b"").decode("utf-8")
        if "\0" in text:
            condition, problem, text = FileCondition.UNREADABLE, "it holds NUL bytes", ""
    except (KeptError, UnicodeDecodeError) as error:
        condition = FileCondition.UNREADABLE
        problem = error.what if isinstance(error, KeptError) else "it is not UTF-8 text"
    text = text.removeprefix(BOM)
    return EditableFile(
        name=_file_name(workspace, target.path),
        path=target.path,
        form=target.form.value,
        heading=target.heading,
        profiles=tuple(profile.id for profile in target.profiles),
        text=_normalize_newlines(text),
        revision=content_revision(own) if own is not None and not problem else NOTHING,
        condition=condition,
        entries=_find_entries(workspace, target, text) if condition is FileCondition.THERE else (),
        problem=problem,
    )


def content_revision(data: bytes) -> str:
    """The revision of a file's content, which is a hash of its bytes."""
    return files.to_content(data).stamp.digest


def _normalize_newlines(text: str) -> str:
    """The text with the line ends CRLF, as an HTML form submits them."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _find_entries(workspace: Workspace, target: Target, text: str) -> tuple[FileEntry, ...]:
    if target.form is TargetForm.VIEW:
        return _view_entries(text)
    written = workspace.store.output_states(str(target.path))
    if not written:
        return ()
    found = locate_lines(written[0].lines, text)
    return tuple(FileEntry(memory=number, first=lines[0], last=lines[-1]) for number, lines in found.items())


def _view_entries(text: str) -> tuple[FileEntry, ...]:
    """The entries of a JSON view in kept's own layout. Each is an object, with the lines of its braces."""
    found, start, number = [], -1, ""
    for at, line in enumerate(text.split("\n")):
        bare = line.strip()
        if bare == "{" and at:
            start, number = at, ""
        elif start >= 0 and bare.startswith('"id": "') and not number:
            number = bare.removeprefix('"id": "').split('"', 1)[0]
        elif start >= 0 and bare in ("}", "},"):
            found += [FileEntry(memory=number, first=start, last=at)] if number else []
            start = -1
    return tuple(found)


def preview_write(workspace: Workspace, name: str = "", text: str | None = None) -> WritePreview:
    """Preview the next write of all files. If ``text`` is given for the file ``name``, also preview saving that text.

    Changes nothing. Raises MissingError, ChangedError, StoreError.
    """
    instead: dict[Path, FileContent] = {}
    accepted: dict[Path, str] = {}
    if name and text is not None:
        target = _find_target(workspace, name)
        content = files.read_file(target.path)
        edited = files.to_content(_file_with_text(target, content, text))
        instead, accepted = {target.path: edited}, {target.path: edited.stamp.digest}

    def read_replaced(path: Path) -> FileContent:
        return instead[path] if path in instead else files.read_file(path)

    with workspace.store.trial_transaction():
        before = {memory.id: memory for memory in workspace.store.log.memories()}
        written = WriteReport(dry=True, read=read_replaced, accepted=accepted)
        write_outputs(workspace, RunNumber(workspace, "absorb"), written)
        after = {memory.id: memory for memory in workspace.store.log.memories()}
    return WritePreview(
        changes=tuple(_diff_memories(before, after)),
        problems=tuple(written.problems),
        files={
            _file_name(workspace, path): _diff_lines(read_replaced(path).data, data or b"") for path, data in written.would.items()
        },
    )


def _diff_memories(before: dict[str, Memory], after: dict[str, Memory]) -> Iterator[MemoryChange]:
    for number, now in after.items():
        was = before.get(number)
        if was is None:
            yield MemoryChange(
                kind="add" if now.status.value == "active" else now.status.value, memory=number, before="", after=now.content
            )
        elif (was.status, was.content, was.category) != (now.status, now.content, now.category):
            kind = now.status.value if was.status is not now.status else "revise"
            yield MemoryChange(kind=kind, memory=number, before=was.content, after=now.content)


def _diff_lines(before: bytes, after: bytes) -> tuple[str, ...]:
    """The lines of a unified diff without kept's own comments. Empty if only those differ."""
    old_lines, new_lines = (
        [line for line in item.decode("utf-8", "replace").splitlines() if not line.startswith("<!-- kept")]
        for item in (before, after)
    )
    return tuple(unified_diff(old_lines, new_lines, "now", "then", lineterm="", n=1))[:_DIFF]


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveReport:
    """The result of saving: the file in its new state, the number of operations by kind, and the problems.

    ``undo`` names the run to undo to take the edit back; it is empty if no memory changed.
    """

    file: EditableFile
    operations: dict[str, int]
    problems: tuple[str, ...]
    undo: str


def save_file_text(workspace: Workspace, name: str, text: str, *, if_match: str, accept_loss: bool = False) -> SaveReport:
    """Save an edited file: write it as an editor would, merge the edit, and update all files.

    Args:
        workspace: the workspace.
        name: the file's name, as in :func:`list_output_files`.
        text: the new text, in place of the whole ``EditableFile.text``.
        if_match: the revision of the text that was shown.
        accept_loss: save the text even if its beginning or end is missing together with memories.

    Raises:
        StaleError: the file has changed since it was shown; nothing was changed.
        GuardError: the text looks damaged; nothing was changed.
        MissingError, UsageError, ChangedError, StoreError: as elsewhere.
    """
    target = _find_target(workspace, name)
    content = files.read_file(target.path)
    _check_revision(target, content, if_match)
    data = _file_with_text(target, content, text)
    refuse_secrets(text, before=content.data.decode("utf-8", "replace"), where=name)
    if not accept_loss:
        _refuse_damage(workspace, target, data)

    def write_file() -> None:
        try:
            workspace.write_output(target.path, data, content.stamp)
        except ChangedError as error:
            raise _stale_error(name) from error

    accepted, before = {target.path: files.to_content(data).stamp.digest}, last_undoable_run(workspace)
    _, written = apply_person_change(workspace, write_file, accepted=accepted) if data != content.data else (None, WriteReport())
    now = last_undoable_run(workspace)
    return SaveReport(
        file=_to_editable_file(workspace, target),
        operations=dict(Counter(written.operations)),
        problems=tuple(written.problems),
        undo=now if now != before else "",
    )


def delete_file_entry(workspace: Workspace, name: str, memory: str, *, if_match: str) -> SaveReport:
    """Delete the lines of one memory from a file, as a person would. This retires the memory. Raises the errors of
    :func:`save_file_text`.
    """
    target = _find_target(workspace, name)
    content = files.read_file(target.path)
    _check_revision(target, content, if_match)
    file = _to_editable_file(workspace, target, content)
    entry = next((file_entry for file_entry in file.entries if file_entry.memory == memory), None)
    if entry is None:
        raise MissingError("the file has no such entry", where=memory, hint="it may be gone already; look again")
    return save_file_text(workspace, name, _remove_entry(file, entry), if_match=if_match)


def _remove_entry(file: EditableFile, entry: FileEntry) -> str:
    if file.form == TargetForm.VIEW:
        body = json.loads(file.text)
        left = {name: [item for item in several if not _has_memory_id(item, entry.memory)] for name, several in body.items()}
        return json.dumps(left, indent=2, ensure_ascii=False) + "\n"
    lines = file.text.split("\n")
    return "\n".join(lines[: entry.first] + lines[entry.last + 1 :])


def _has_memory_id(fact: object, memory: str) -> bool:
    return isinstance(fact, dict) and fact.get("id") == memory


def _check_revision(target: Target, content: FileContent, if_match: str) -> None:
    own = section_bytes(target, content)
    if (NOTHING if own is None else content_revision(own)) != if_match:
        raise _stale_error(str(target.path))
    if own is None:
        raise UsageError("the file is not written yet", where=str(target.path), hint="kept run writes it")


def _stale_error(where: str) -> StaleError:
    return StaleError("this file was changed meanwhile", where=where, hint="nothing was saved; look at both texts, then save again")


def _refuse_damage(workspace: Workspace, target: Target, data: bytes) -> None:
    """Raise GuardError if the merge would reject the file as damaged."""
    with workspace.store.trial_transaction():
        written = WriteReport(dry=True, read=lambda path: files.to_content(data) if path == target.path else files.read_file(path))
        write_outputs(workspace, RunNumber(workspace, "absorb"), written)
    if target.path in written.quarantined:
        reason_text = next((problem for problem in written.problems if str(target.path) in problem), "it looks like damage")
        reason = reason_text.split(": ", 1)[-1].split(". ", 1)[0].rstrip(".")
        raise GuardError(
            f"that does not look like an edit: {reason}",
            where=_file_name(workspace, target.path),
            hint="nothing was saved; save it again and confirm that you mean it",
        )


def _file_with_text(target: Target, content: FileContent, text: str) -> bytes:
    """The bytes of the file with ``text`` in place of the part that was shown. Unchanged lines keep their line ends."""
    own = section_bytes(target, content) or b""
    if target.heading and text and not text.endswith(("\n", "\r")):
        text += "\n"  # the comment that ends the section needs a line of its own
    bom = own.startswith(BOM.encode())
    data = (BOM if bom else "").encode() + _restore_line_ends(own.decode("utf-8", "replace").removeprefix(BOM), text).encode(
        "utf-8", "replace"
    )
    return section.replace_inside(content.data, data, where=str(target.path)) if target.heading else data


def _restore_line_ends(before: str, text: str) -> str:
    """The text with each unchanged line's old line end. New lines get the most frequent line end."""
    was, now = split_lines(before), split_lines(_normalize_newlines(text))
    ends = [end for _, end in was]
    usual = max(("\n", "\r\n", "\r"), key=ends.count)
    if all(end in ("", usual) for end in ends):
        return "".join(f"{line}{usual if end else ''}" for line, end in now)
    same: dict[int, str] = {}
    for block in SequenceMatcher(None, [line for line, _ in was], [line for line, _ in now]).get_matching_blocks():
        same |= {block.b + step: was[block.a + step][1] for step in range(block.size)}
    return "".join(f"{line}{(same.get(at) or usual) if end else ''}" for at, (line, end) in enumerate(now))
