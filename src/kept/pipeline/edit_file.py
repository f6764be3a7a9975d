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
from kept.outputs import section
from kept.outputs.merge_edits import locate_lines
from kept.outputs.targets import Target, compose_outputs, list_targets
from kept.outputs.view_file import list_views
from kept.outputs.write import WriteReport, write_outputs
from kept.profiles.profile import Profile
from kept.workspace import RunNumber, Workspace

VIEW = "view"  # the form of the JSON view; other forms are those of a target
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
    return tuple(_to_editable_file(workspace, known_file, None) for known_file in _known_files(workspace))


@dataclass(frozen=True, kw_only=True, slots=True)
class _KnownFile:
    """A file that kept may write: a target, or the view of a profile."""

    path: Path
    form: str
    profiles: tuple[str, ...]
    target: Target | None = None
    view: Profile | None = None

    @property
    def heading(self) -> str:
        """The heading of kept's section; empty if the whole file is kept's."""
        return self.target.heading if self.target else ""


def _known_files(workspace: Workspace) -> Iterator[_KnownFile]:
    for target in list_targets(workspace, compose_outputs(workspace)):
        names = tuple(profile.id for profile in target.profiles)
        yield _KnownFile(path=target.path, form=target.form.value, profiles=names, target=target)
    for path, profile in list_views(workspace):
        yield _KnownFile(path=path, form=VIEW, profiles=(profile.id,), view=profile)


def _file_name(workspace: Workspace, path: Path) -> str:
    return str(path.relative_to(workspace.paths.root)) if path.is_relative_to(workspace.paths.root) else str(path)


def _find_known_file(workspace: Workspace, name: str) -> _KnownFile:
    found = next((known_file for known_file in _known_files(workspace) if _file_name(workspace, known_file.path) == name), None)
    if found is None:
        raise MissingError("that is not a file that kept writes", where=name, hint="see `kept files`")
    workspace.refuse_links(found.path)
    return found


def load_output_file(workspace: Workspace, name: str) -> EditableFile:
    """Load one file by its name. Raises MissingError if kept does not write it, StoreError."""
    return _to_editable_file(workspace, _find_known_file(workspace, name), None)


def _to_editable_file(workspace: Workspace, known: _KnownFile, content: FileContent | None) -> EditableFile:
    problem, text = "", ""
    own: bytes | None = None
    try:
        workspace.refuse_links(known.path)
        content = content or files.read_file(known.path)
        own = _own_bytes(known, content)
        condition = FileCondition.THERE if own is not None else FileCondition.MISSING
        text = (own or b"").decode("utf-8")
        if "\0" in text:
            condition, problem, text = FileCondition.UNREADABLE, "it holds NUL bytes", ""
    except (KeptError, UnicodeDecodeError) as error:
        condition = FileCondition.UNREADABLE
        problem = error.what if isinstance(error, KeptError) else "it is not UTF-8 text"
    text = text.removeprefix(BOM)
    return EditableFile(
        name=_file_name(workspace, known.path),
        path=known.path,
        form=known.form,
        heading=known.heading,
        profiles=known.profiles,
        text=_normalize_newlines(text),
        revision=content_revision(own) if own is not None and not problem else NOTHING,
        condition=condition,
        entries=_find_entries(workspace, known, text) if condition is FileCondition.THERE else (),
        problem=problem,
    )


def content_revision(data: bytes) -> str:
    """The revision of a file's content, which is a hash of its bytes."""
    return files.to_content(data).stamp.digest


def _own_bytes(known: _KnownFile, content: FileContent) -> bytes | None:
    """The bytes of a file that belong to kept; None if there are none."""
    if content.stamp == files.MISSING:
        return None
    if not known.heading:
        return content.data
    block = section.find_section(content.data, where=str(known.path))
    return block.inside if block else None


def _normalize_newlines(text: str) -> str:
    """The text with the line ends CRLF, as an HTML form submits them."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _find_entries(workspace: Workspace, known: _KnownFile, text: str) -> tuple[FileEntry, ...]:
    if known.view is not None:
        return _view_entries(text)
    written = workspace.store.output_states(str(known.path))
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
        known_file = _find_known_file(workspace, name)
        content = files.read_file(known_file.path)
        edited = files.to_content(_file_with_text(known_file, content, text))
        instead, accepted = {known_file.path: edited}, {known_file.path: edited.stamp.digest}

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
    one, two = (
        [line for line in item.decode("utf-8", "replace").splitlines() if not line.startswith("<!-- kept")]
        for item in (before, after)
    )
    return tuple(unified_diff(one, two, "now", "then", lineterm="", n=1))[:_DIFF]


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveReport:
    """The result of saving: the file in its new state, the number of operations by kind, and the problems."""

    file: EditableFile
    operations: dict[str, int]
    problems: tuple[str, ...]


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
    known_file = _find_known_file(workspace, name)
    content = files.read_file(known_file.path)
    _check_revision(known_file, content, if_match)
    data = _file_with_text(known_file, content, text)
    refuse_secrets(text, before=content.data.decode("utf-8", "replace"), where=name)
    if not accept_loss:
        _refuse_damage(workspace, known_file, data)

    def write_file() -> None:
        try:
            workspace.write_output(known_file.path, data, content.stamp)
        except ChangedError as error:
            raise _stale_error(name) from error

    accepted = {known_file.path: files.to_content(data).stamp.digest}
    _, written = apply_person_change(workspace, write_file, accepted=accepted) if data != content.data else (None, WriteReport())
    return SaveReport(
        file=_to_editable_file(workspace, known_file, None),
        operations=dict(Counter(written.operations)),
        problems=tuple(written.problems),
    )


def delete_file_entry(workspace: Workspace, name: str, memory: str, *, if_match: str) -> SaveReport:
    """Delete the lines of one memory from a file, as a person would. This retires the memory. Raises the errors of
    :func:`save_file_text`.
    """
    known_file = _find_known_file(workspace, name)
    content = files.read_file(known_file.path)
    _check_revision(known_file, content, if_match)
    file = _to_editable_file(workspace, known_file, content)
    entry = next((file_entry for file_entry in file.entries if file_entry.memory == memory), None)
    if entry is None:
        raise MissingError("the file has no such entry", where=memory, hint="it may be gone already; look again")
    return save_file_text(workspace, name, _remove_entry(file, entry), if_match=if_match)


def _remove_entry(file: EditableFile, entry: FileEntry) -> str:
    if file.form == VIEW:
        body = json.loads(file.text)
        left = {name: [item for item in several if not _has_memory_id(item, entry.memory)] for name, several in body.items()}
        return json.dumps(left, indent=2, ensure_ascii=False) + "\n"
    lines = file.text.split("\n")
    return "\n".join(lines[: entry.first] + lines[entry.last + 1 :])


def _has_memory_id(one: object, memory: str) -> bool:
    return isinstance(one, dict) and one.get("id") == memory


def _check_revision(known: _KnownFile, content: FileContent, if_match: str) -> None:
    own = _own_bytes(known, content)
    if (NOTHING if own is None else content_revision(own)) != if_match:
        raise _stale_error(str(known.path))
    if own is None:
        raise UsageError("the file is not written yet", where=str(known.path), hint="kept run writes it")


def _stale_error(where: str) -> StaleError:
    return StaleError("this file was changed meanwhile", where=where, hint="nothing was saved; look at both texts, then save again")


def _refuse_damage(workspace: Workspace, known: _KnownFile, data: bytes) -> None:
    """Raise GuardError if the merge would reject the file as damaged."""
    with workspace.store.trial_transaction():
        written = WriteReport(dry=True, read=lambda path: files.to_content(data) if path == known.path else files.read_file(path))
        write_outputs(workspace, RunNumber(workspace, "absorb"), written)
    if known.path in written.quarantined:
        reason_text = next((problem for problem in written.problems if str(known.path) in problem), "it looks like damage")
        reason = reason_text.split(": ", 1)[-1].split(". ", 1)[0].rstrip(".")
        raise GuardError(
            f"that does not look like an edit: {reason}",
            where=_file_name(workspace, known.path),
            hint="nothing was saved; save it again and confirm that you mean it",
        )


def _file_with_text(known: _KnownFile, content: FileContent, text: str) -> bytes:
    """The bytes of the file with ``text`` in place of the part that was shown. Unchanged lines keep their line ends."""
    own = _own_bytes(known, content) or b""
    if known.heading and text and not text.endswith(("\n", "\r")):
        text += "\n"  # the comment that ends the section needs a line of its own
    bom = own.startswith(BOM.encode())
    data = (BOM if bom else "").encode() + _restore_line_ends(own.decode("utf-8", "replace").removeprefix(BOM), text).encode(
        "utf-8", "replace"
    )
    return section.replace_inside(content.data, data, where=str(known.path)) if known.heading else data


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
