"""Write the output files, and merge hand edits of them.

Every write first merges hand edits: a person's edit becomes their own operation and takes precedence. A file that changes between
read and write is read again. The lines to be written are recorded before and after each write, so that a crash in between leaves no
ambiguity.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from enum import StrEnum
from pathlib import Path

from kept.core.digest import hash_bytes
from kept.core.document import Edits, Line, UnsafeEdits
from kept.core.errors import ChangedError, KeptError, RefusedPathError
from kept.core.markup import encode_lines, size_in_bytes
from kept.core.memory import Actor
from kept.core.operation import Operation, operation_kind
from kept.core.value import dataclass, field, replace
from kept.days.day_notes import restore_lines
from kept.local import files
from kept.local.files import FileContent
from kept.memories.day_view import reword_lines
from kept.outputs import section
from kept.outputs.agent_edits import split_agent_edits
from kept.outputs.hand_edits import (
    edits_to_operations,
    find_quarantined,
    hide_secrets,
    hold_agent_edits,
    keep_long_lines,
    load_base,
    quarantine_file,
    release_quarantined,
)
from kept.outputs.lock import hold_outputs_lock
from kept.outputs.merge_edits.edits import find_edits, restore_user_lines, unchanged_edits
from kept.outputs.merge_edits.match import is_fact
from kept.outputs.render import render_file, render_section
from kept.outputs.targets import (
    OutputContent,
    Target,
    TargetForm,
    compose_document,
    compose_outputs,
    list_editable_targets,
    list_targets,
    section_bytes,
)
from kept.outputs.unchanged import IsAsWritten, WrittenFiles, digest_inputs, load_written_files, record_written_files
from kept.outputs.view_file import list_views, merge_view_edits, write_view
from kept.store.values import Draft, Output
from kept.workspace import Workspace

TRIES = 5

RunNumber = Callable[[], int]


@dataclass(kw_only=True, slots=True)
class WriteReport:
    """The state of one write: its options, its results, and what it has read and merged so far.

    Options: with ``dry`` nothing is written; with ``agent`` no changed line counts as the person's; ``read`` reads a file;
    ``accepted`` maps files that a person wants merged, even if they look damaged, to the hash of their bytes.

    Results: ``files`` lists the files written with their sizes in bytes; ``would`` maps each file that a dry run would change to
    its new content (None: it would be deleted); ``changed`` lists messages about the hand edits in each file; ``operations`` counts
    the operations made from them by kind; ``problems`` lists messages about what could not be done.

    Caches: ``book`` is the content that files are composed from, until a memory changes; ``quarantined`` maps the files put aside
    so far to the hash of their content; ``merged`` maps each file to its hash and the edits that have already become operations.
    These are not merged a second time, which would revert later changes of the same command.
    """

    dry: bool = False
    agent: bool = False
    read: Callable[[Path], FileContent] = files.read_file
    accepted: dict[Path, str] = field(default_factory=dict)
    would: dict[Path, bytes | None] = field(default_factory=dict)
    files: list[tuple[str, int]] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    operations: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    book: OutputContent | None = None
    quarantined: dict[Path, str] = field(default_factory=dict)
    merged: dict[Path, tuple[str, Edits]] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """True if the files themselves are read and written, without a dry run or replaced content."""
        return not self.dry and self.read is files.read_file


@dataclass(frozen=True, kw_only=True, slots=True)
class _TargetState:
    """A target in its present state: the file, the part that ``kept`` writes (None if there is none), and the user's edits."""

    content: FileContent
    inside: bytes | None
    edits: Edits


def merge_hand_edits(workspace: Workspace, run: RunNumber, written: WriteReport, *, allow: bool = False) -> None:
    """Convert hand edits in all files that ``kept`` writes to a person's operations. Raises StoreError.

    With ``allow``, files that look damaged or were put aside for that are merged too, because the person says that the edits are
    theirs.
    """
    with hold_outputs_lock(workspace):
        known = load_written_files(workspace) if written.is_plain and not allow else WrittenFiles()
        for target in list_editable_targets(workspace):
            if known.is_unchanged(target.path) or not workspace.store.output_states(str(target.path)):
                continue
            with suppress(RefusedPathError, ChangedError):  # reported when the file is written
                if allow:
                    _merge_quarantined(workspace, target, run, written)
                _merge_target_edits(workspace, target, run, written, allow=allow)
        _merge_view_edits(workspace, run, written)


def write_outputs(workspace: Workspace, run: RunNumber, written: WriteReport) -> None:
    """Merge hand edits, then update every file. A file that cannot be written is reported as a problem."""
    with hold_outputs_lock(workspace):
        known = load_written_files(workspace) if written.is_plain else WrittenFiles()
        if known.are_current(digest_inputs(workspace), workspace.store.outputs(), IsAsWritten(workspace)):
            return
        _merge_view_edits(workspace, run, written)
        written.book = compose_outputs(workspace)
        targets = list_targets(workspace, written.book)
        for target in targets:
            _write_or_tell(workspace, target, run, written)
        _write_views(workspace, run, written)
        if written.is_plain:
            shown = [target.path for target in targets] if not written.problems else []
            record_written_files(workspace, [*shown, *(path for path, _ in list_views(workspace))] if shown else [])


def _write_or_tell(
    workspace: Workspace, target: Target, run: RunNumber, written: WriteReport, *, only_as_written: bool = False
) -> None:
    """Update a file; if it cannot be written, that is reported as a problem. Raises BusyError if another run holds a lock.

    With ``only_as_written``, a file that was edited since it was last written is left as it is.
    """
    try:
        if not only_as_written or _is_as_written(workspace, target, written):
            _write_with_retries(workspace, target, run, written)
    except KeptError as error:
        if error.exit_code == 0:  # BusyError: the run that holds the lock does the work
            raise
        written.problems.append(str(error))


def write_day_notes(workspace: Workspace, run: RunNumber, written: WriteReport) -> None:
    """Update the day notes that are unedited; an edited one waits for a run, which first finds out who edited it. Raises
    StoreError.
    """
    with hold_outputs_lock(workspace):
        written.book = compose_outputs(workspace)
        for target in list_targets(workspace, written.book):
            if target.form is TargetForm.DAILY:
                _write_or_tell(workspace, target, run, written, only_as_written=True)


def _is_as_written(workspace: Workspace, target: Target, written: WriteReport) -> bool:
    workspace.refuse_links(target.path)
    inside, outputs = section_bytes(target, written.read(target.path)), workspace.store.output_states(str(target.path))
    return any(output.hash == hash_bytes(inside) for output in outputs) if inside is not None and outputs else not outputs


def _merge_view_edits(workspace: Workspace, run: RunNumber, written: WriteReport) -> None:
    for path, profile in list_views(workspace):
        if _is_refused(workspace, path, written):
            continue
        content = written.read(path)
        stamp = content.stamp.digest
        if written.quarantined.get(path) == stamp:
            continue
        kinds, problem = merge_view_edits(workspace, path, content, profile, run, dry=written.dry)
        written.operations.update(kinds)
        if kinds:
            written.book = None
            written.changed.append(f"{path}: " + ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(kinds).items())))
        if problem:
            written.quarantined[path] = stamp
            written.problems.append(problem)


def _write_views(workspace: Workspace, run: RunNumber, written: WriteReport) -> None:
    for path, profile in list_views(workspace):
        if _is_refused(workspace, path, written):
            continue
        for attempt in range(TRIES):
            content = written.read(path)  # read before its edits are merged, so that an edit made meanwhile is not overwritten
            _merge_view_edits(workspace, run, written)
            try:
                data = write_view(workspace, path, content, profile, dry=written.dry)
            except ChangedError as error:
                if attempt == TRIES - 1:
                    written.problems.append(str(error))
                continue
            if data is not None:
                written.files.append((str(path), len(data)))
                written.would |= {path: data} if written.dry else {}
            break


def _is_refused(workspace: Workspace, path: Path, written: WriteReport) -> bool:
    """True if a path leads over a link that must not be followed; reported once."""
    try:
        workspace.refuse_links(path)
    except RefusedPathError as error:
        if str(error) not in written.problems:
            written.problems.append(str(error))
        return True
    return False


def _merge_target_edits(workspace: Workspace, target: Target, run: RunNumber, written: WriteReport, *, allow: bool) -> _TargetState:
    workspace.refuse_links(target.path)
    content = written.read(target.path)
    inside = section_bytes(target, content)
    base = load_base(workspace, target.path, inside)
    if base is not None and inside and base.hash == hash_bytes(inside):
        return _TargetState(content=content, inside=inside, edits=unchanged_edits(base.lines, inside))
    if base is None and target.heading and inside is not None and not section.is_edited(content.data):
        # only kept's lines, from a store that is gone or elsewhere
        return _TargetState(content=content, inside=inside, edits=Edits())
    lines = base.lines if base else ()
    result = find_edits(lines, inside, bounded=bool(target.heading))
    if isinstance(result, UnsafeEdits):
        result = _handle_unsafe(workspace, target, content, (lines, result), written, allow=allow)
    result = keep_long_lines(workspace, result)
    if base is None:
        result = replace(result, added=())  # lines older than the first write stay as they are, and become no memory
    digest, merged = written.merged.get(target.path, ("", result))
    if digest == content.stamp.digest:
        return _TargetState(content=content, inside=inside, edits=merged)
    result = _commit_edits(workspace, target, lines, result, (run, written), stamp=content.stamp)
    written.merged[target.path] = (content.stamp.digest, result)
    if result.changed and not written.dry:
        release_quarantined(workspace.paths, target.path)  # the person continued with the rewritten file
    return _TargetState(content=content, inside=inside, edits=result)


def _merge_quarantined(workspace: Workspace, target: Target, run: RunNumber, written: WriteReport) -> None:
    """Merge a file that was put aside, since the person says that it is their edit."""
    quarantined, outputs = find_quarantined(workspace.paths, target.path), workspace.store.output_states(str(target.path))
    if quarantined is None or not outputs:
        return
    lines = tuple(line for line in outputs[0].lines if not is_fact(line) or line.key in quarantined.keys)
    result = find_edits(lines, section_bytes(target, files.read_file(quarantined.copy)), bounded=bool(target.heading))
    edits = result.edits if isinstance(result, UnsafeEdits) else result
    if edits is not None:
        _commit_edits(workspace, target, lines, edits, (run, written), stamp=files.MISSING)
    if not written.dry:
        release_quarantined(workspace.paths, target.path)


def _commit_edits(
    workspace: Workspace,
    target: Target,
    lines: Sequence[Line],
    edits: Edits,
    job: tuple[RunNumber, WriteReport],
    *,
    stamp: files.FileStamp,
) -> Edits:
    """Commit operations for the edits of a file whose previous text was ``lines``. Returns the person's edits."""
    run, written = job
    result, of_agents = split_agent_edits(workspace, target, lines, edits, stamp, every_change=written.agent)
    if of_agents:
        held = tuple(hold_agent_edits(workspace, target, of_agents))
        if held:
            _commit_operations(workspace, target, run, held, actor=Actor.AGENT)
            written.operations.update(map(operation_kind, held))
        written.changed.append(f"{target.path}: what an agent wrote there is held for review; the file is as it was before")
    if of_agents.removed:
        again = f"{target.path}: {len(of_agents.removed)} lines that an agent's command took out are there again"
        written.problems += [f"{again}; if it was you, take them out once more"][: again not in "\n".join(written.problems)]
    if target.form is TargetForm.DAILY and (rewords := tuple(reword_lines(workspace, date.fromisoformat(target.part), result))):
        _commit_operations(workspace, target, run, rewords)
        restore_lines(workspace, [reword.memory for reword in rewords])
        written.book = None
        written.operations["reword"] += len(rewords)
        written.changed.append(f"{target.path}: {len(rewords)} lines of the day put otherwise")
    if result.changed:
        operations = tuple(edits_to_operations(workspace, target, result, lines))
        if operations:
            _commit_operations(workspace, target, run, operations)
            written.book = None
            written.operations.update(map(operation_kind, operations))
            written.changed.append(_count_operations(target, operations))
    return result


def _handle_unsafe(
    workspace: Workspace,
    target: Target,
    content: FileContent,
    damage: tuple[Sequence[Line], UnsafeEdits],
    written: WriteReport,
    *,
    allow: bool,
) -> Edits:
    lines, unsafe_edits = damage
    if unsafe_edits.edits is not None and (allow or written.accepted.get(target.path) == content.stamp.digest):
        written.accepted[target.path] = content.stamp.digest
        return unsafe_edits.edits
    if written.quarantined.get(target.path) == content.stamp.digest:
        return unsafe_edits.kept
    place = "" if written.dry else f"It is kept at {_quarantine_target(workspace, target, lines, unsafe_edits)} and written anew"
    accept = "; `kept run --accept-loss` takes it as your edit instead" if unsafe_edits.edits is not None else ""
    written.quarantined[target.path] = content.stamp.digest
    written.problems.append(f"{target.path} was not taken as an edit: {unsafe_edits.reason}. {place}{accept}")
    return unsafe_edits.kept


def _quarantine_target(workspace: Workspace, target: Target, lines: Sequence[Line], found: UnsafeEdits) -> Path:
    if found.edits is None:
        return files.copy_to_quarantine(target.path, into=workspace.paths.state / "aside")
    return quarantine_file(workspace.paths, target.path, [line.key for line in lines if is_fact(line)])


def _commit_operations(
    workspace: Workspace, target: Target, run: RunNumber, operations: tuple[Operation, ...], *, actor: Actor = Actor.PERSON
) -> None:
    with workspace.store.transaction():
        draft = Draft(
            run=run(), stage="absorb", subject=str(target.path), actor=actor, recorded_at=workspace.clock(), operations=operations
        )
        workspace.store.log.commit(draft)


def _count_operations(target: Target, operations: tuple[Operation, ...]) -> str:
    counts = Counter(map(operation_kind, operations))
    return f"{target.path}: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


def _rendered_lines(workspace: Workspace, target: Target, written: WriteReport, edits: Edits) -> tuple[Line, ...]:
    """Render a file from the present memories, without the user's own lines."""
    if written.book is None:
        written.book = compose_outputs(workspace)
    document = compose_document(workspace, written.book, target, size_in_bytes([line.text for line in edits.foreign]))
    if not (document.sections or document.header or document.footer or document.lead_lines):
        return ()
    return render_section(document) if target.heading else render_file(document)


def _write_with_retries(workspace: Workspace, target: Target, run: RunNumber, written: WriteReport) -> None:
    for attempt in range(TRIES):
        read = _merge_target_edits(workspace, target, run, written, allow=False)
        lines = restore_user_lines(_rendered_lines(workspace, target, written, read.edits), read.edits)
        try:
            _write_target(workspace, target, read, lines, written)
        except ChangedError:
            if attempt == TRIES - 1:
                raise
            continue
        return


def _write_target(workspace: Workspace, target: Target, read: _TargetState, lines: tuple[Line, ...], written: WriteReport) -> None:
    path, data = str(target.path), encode_lines(lines, read.edits.layout)
    after = Output(hash=hash_bytes(data), lines=hide_secrets(workspace, lines))
    whole = _whole_file(target, read, lines, data)
    if whole == (None if read.content.stamp == files.MISSING else read.content.data):
        if workspace.store.output_states(path) != ((after,) if lines else ()) and not written.dry:  # a write was interrupted
            files.delete_temp_files_beside(target.path, root=workspace.paths.boundary(target.path), links=workspace.linked_folders)
            workspace.store.save_output(path, after) if lines else workspace.store.drop_output(path)
        return
    if written.dry:
        written.would[target.path] = whole
    else:
        workspace.store.save_pending_output(path, after)
        workspace.write_output(target.path, whole, read.content.stamp)
        workspace.store.drop_output(path) if whole is None else workspace.store.save_output(path, after)
    written.files.append((path, len(whole or b"")))


def _whole_file(target: Target, read: _TargetState, lines: tuple[Line, ...], data: bytes) -> bytes | None:
    """The bytes that the whole file must have; None if it must not exist."""
    original = read.content.data
    if not target.heading:
        return data if lines else None
    if not lines:
        # a file that kept created becomes empty and is deleted
        return section.remove_section(original, where=str(target.path)) or None
    texts = [line.text for line in lines]
    return section.place_section(original, target.heading, texts, absorbed=read.inside, where=str(target.path))


class FileState(StrEnum):
    """How a file compares to what was last written to it."""

    WRITTEN = "as written"
    EDITED = "edited by hand"
    MISSING = "missing"
    DAMAGED = "damaged"


def file_states(workspace: Workspace) -> Iterator[tuple[str, FileState, str]]:
    """Yield the state of each of kept's files, and the kind of damage if there is any. Changes nothing."""
    for target in list_editable_targets(workspace):
        outputs = workspace.store.output_states(str(target.path))
        if not outputs:
            continue
        try:
            workspace.refuse_links(target.path)
            inside = section_bytes(target, files.read_file(target.path))
        except (RefusedPathError, ChangedError) as error:
            yield str(target.path), FileState.DAMAGED, error.what
            continue
        if inside is None:
            yield str(target.path), FileState.MISSING, ""
            continue
        base = load_base(workspace, target.path, inside) or outputs[0]
        if base.hash == hash_bytes(inside):
            yield str(target.path), FileState.WRITTEN, ""
            continue
        result = find_edits(base.lines, inside, bounded=bool(target.heading))
        if isinstance(result, UnsafeEdits):
            yield str(target.path), FileState.DAMAGED, result.reason
        else:
            yield str(target.path), FileState.EDITED, ""


def reset_damaged_files(workspace: Workspace) -> list[str]:
    """Remove what ``kept`` wrote from each file that now differs, after copying the whole file to the folder ``aside``.

    This is for a store that was lost: without it, hand edits cannot be distinguished from written lines. A file that has no section
    but was written as a whole is deleted; the next write makes it again. Returns a message for each file.

    Raises ChangedError for a file in which the end of the section cannot be found, and RefusedPathError for a link that must not be
    followed.
    """
    messages = []
    with hold_outputs_lock(workspace):
        for target in list_editable_targets(workspace):
            workspace.refuse_links(target.path)
            path, content = str(target.path), files.read_file(target.path)
            inside = section_bytes(target, content)
            outputs = workspace.store.output_states(path)
            if inside is None or any(output.hash == hash_bytes(inside) for output in outputs):
                continue
            place = files.copy_to_quarantine(target.path, into=workspace.paths.state / "aside")
            data = section.remove_section(content.data, absorbed=inside, where=path) if target.heading else None
            workspace.write_output(target.path, data, content.stamp)
            workspace.store.drop_output(path)
            messages.append(
                f"{path} may hold edits of yours that cannot be told apart any more; it is kept at {place} and written anew"
            )
    return messages
