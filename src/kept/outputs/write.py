"""Write the output files, and merge the hand edits in them.

Every write first merges hand edits. A person's edit is stored as that person's operation and takes precedence. A file that changes
between read and write is read again. The lines to be written are recorded before and after each write, so that the state of a file
is known after a crash.
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
    copy_to_quarantine,
    edits_to_operations,
    find_quarantined,
    hide_secrets,
    hold_agent_edits,
    keep_long_lines,
    load_base,
    quarantine_file,
    release_quarantined,
)
from kept.outputs.merge_edits import find_edits, is_fact, restore_user_lines, unchanged_edits
from kept.outputs.moved_lines import find_moved_back
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
from kept.outputs.unchanged import WrittenFiles, hold_outputs_lock, load_written_files, prepare_digest, record_written_files
from kept.outputs.view_file import list_views, view_edits_to_operations, write_view
from kept.store.values import Output
from kept.workspace import RunNumber, Workspace

TRIES = 5


@dataclass(kw_only=True, slots=True)
class WriteReport:
    """The state of one write: its options, its results, and what it has read and merged so far.

    Options: With ``dry``, nothing is written. With ``agent``, every changed line counts as an agent's. ``read`` reads a file.
    ``accepted`` maps each file that a person wants merged, even if it looks damaged, to the hash of its bytes.

    Results: ``files`` lists the written files with their sizes in bytes. ``would`` maps each file that a dry run would change to
    its new content, or to None if it would be deleted. ``changed`` lists messages about the hand edits in each file. ``operations``
    counts the operations made from these edits, by kind. ``problems`` lists messages about failures.

    Caches: ``content`` is the input from which files are composed. It is discarded when a memory changes. ``quarantined`` maps each
    quarantined file to the hash of its bytes. ``merged`` maps each file to its hash and the edits that have already become
    operations. Merging these edits a second time would revert later changes by the same command.
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
    content: OutputContent | None = None
    quarantined: dict[Path, str] = field(default_factory=dict)
    merged: dict[Path, tuple[str, Edits]] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """True if this is not a dry run and the real files are read."""
        return not self.dry and self.read is files.read_file


@dataclass(frozen=True, kw_only=True, slots=True)
class _TargetState:
    """The present state of a target: the file, the part of it that kept writes (None if it is missing), the lines that kept wrote
    there last, and the user's edits.
    """

    content: FileContent
    inside: bytes | None
    base: tuple[Line, ...]
    edits: Edits


def merge_hand_edits(workspace: Workspace, run: RunNumber, written: WriteReport, *, allow: bool = False) -> None:
    """Find the hand edits in all files that kept writes, and store them as the person's operations. Raises StoreError.

    ``allow`` means that the person confirms the edits as their own. Files that look damaged or are quarantined are then merged too.
    """
    writer = _OutputWriter(workspace=workspace, run=run, report=written)
    with hold_outputs_lock(workspace):
        known = load_written_files(workspace) if written.is_plain and not allow else WrittenFiles()
        for target in list_editable_targets(workspace):
            if known.is_unchanged(target.path) or not workspace.store.output_states(str(target.path)):
                continue
            with suppress(RefusedPathError, ChangedError):  # reported when the file is written
                if allow:
                    writer.merge_quarantined(target)
                writer.merge_target_edits(target, allow=allow)
        writer.merge_view_edits()


def write_outputs(workspace: Workspace, run: RunNumber, written: WriteReport) -> None:
    """Merge hand edits, then update every file. A file that cannot be written is reported as a problem."""
    writer = _OutputWriter(workspace=workspace, run=run, report=written)
    with hold_outputs_lock(workspace):
        known = load_written_files(workspace) if written.is_plain else WrittenFiles()
        digest_inputs = prepare_digest(workspace)
        if known.are_current(workspace, digest_inputs()):
            return
        writer.merge_view_edits()
        written.content = compose_outputs(workspace)
        targets = list_targets(workspace, written.content)
        for target in targets:
            writer.write_or_report(target)
        writer.write_views()
        if written.is_plain:
            shown = [target.path for target in targets] if not written.problems else []
            paths = [*shown, *(path for path, _ in list_views(workspace))] if shown else []
            record_written_files(workspace, paths, digest_inputs)


def write_day_notes(workspace: Workspace, run: RunNumber, written: WriteReport) -> None:
    """Update the day notes that nobody edited. The next run updates the edited ones, because it finds out who edited them.

    Raises StoreError.
    """
    writer = _OutputWriter(workspace=workspace, run=run, report=written)
    with hold_outputs_lock(workspace):
        written.content = compose_outputs(workspace)
        for target in list_targets(workspace, written.content):
            if target.form is TargetForm.DAILY:
                writer.write_or_report(target, only_as_written=True)


@dataclass(kw_only=True, slots=True)
class _OutputWriter:
    """Merges edits and writes files for one :class:`WriteReport`. The caller must hold the lock of the output files."""

    workspace: Workspace
    run: RunNumber
    report: WriteReport

    def write_or_report(self, target: Target, *, only_as_written: bool = False) -> None:
        """Update a file, or report a problem if it cannot be written. Raises BusyError if another run holds a lock.

        With ``only_as_written``, a file that was edited after it was last written is left unchanged.
        """
        try:
            if not only_as_written or self._is_as_written(target):
                self._write_with_retries(target)
        except KeptError as error:
            if error.exit_code == 0:  # BusyError: the run that holds the lock does the work
                raise
            self.report.problems.append(str(error))

    def _is_as_written(self, target: Target) -> bool:
        self.workspace.refuse_links(target.path)
        inside = section_bytes(target, self.report.read(target.path))
        outputs = self.workspace.store.output_states(str(target.path))
        return any(output.hash == hash_bytes(inside) for output in outputs) if inside is not None and outputs else not outputs

    def merge_view_edits(self) -> None:
        for path, profile in list_views(self.workspace):
            if self._is_refused(path):
                continue
            content = self.report.read(path)
            stamp = content.stamp.digest
            if self.report.quarantined.get(path) == stamp:
                continue
            operations, problem = view_edits_to_operations(self.workspace, path, content, profile, dry=self.report.dry)
            if operations:
                self._commit_person_edits(path, operations)
            if problem:
                self.report.quarantined[path] = stamp
                self.report.problems.append(problem)

    def write_views(self) -> None:
        for path, profile in list_views(self.workspace):
            if self._is_refused(path):
                continue
            for attempt in range(TRIES):
                # The file is read before its edits are merged, so that an edit made in the meantime is not overwritten.
                content = self.report.read(path)
                self.merge_view_edits()
                try:
                    data = write_view(self.workspace, path, content, profile, dry=self.report.dry)
                except ChangedError as error:
                    if attempt == TRIES - 1:
                        self.report.problems.append(str(error))
                    continue
                if data is not None:
                    self.report.files.append((str(path), len(data)))
                    self.report.would |= {path: data} if self.report.dry else {}
                break

    def _is_refused(self, path: Path) -> bool:
        """True if a path contains a link that must not be followed. The problem is reported once."""
        try:
            self.workspace.refuse_links(path)
        except RefusedPathError as error:
            if str(error) not in self.report.problems:
                self.report.problems.append(str(error))
            return True
        return False

    def merge_target_edits(self, target: Target, *, allow: bool) -> _TargetState:
        self.workspace.refuse_links(target.path)
        content = self.report.read(target.path)
        inside = section_bytes(target, content)
        base = load_base(self.workspace, target.path, inside)
        lines = base.lines if base else ()
        if base is not None and inside and base.hash == hash_bytes(inside):
            return _TargetState(content=content, inside=inside, base=lines, edits=unchanged_edits(lines, inside))
        result = find_edits(lines, inside, bounded=bool(target.heading))
        if isinstance(result, UnsafeEdits):
            result = self._handle_unsafe(target, content, lines, result, allow=allow)
        result = keep_long_lines(self.workspace, result)
        if base is None:
            result = replace(result, added=())  # lines older than the first write are not made memories
        digest, merged = self.report.merged.get(target.path, ("", result))
        if digest == content.stamp.digest:
            return _TargetState(content=content, inside=inside, base=lines, edits=merged)
        result = self._commit_edits(target, lines, result, stamp=content.stamp)
        self.report.merged[target.path] = (content.stamp.digest, result)
        if result.changed and not self.report.dry:
            release_quarantined(self.workspace.paths, target.path)  # the person went on editing the rewritten file
        return _TargetState(content=content, inside=inside, base=lines, edits=result)

    def merge_quarantined(self, target: Target) -> None:
        """Merge the quarantined copy of a file. The caller knows that the person confirmed it as their edit."""
        quarantined = find_quarantined(self.workspace.paths, target.path)
        outputs = self.workspace.store.output_states(str(target.path))
        if quarantined is None or not outputs:
            return
        lines = tuple(line for line in outputs[0].lines if not is_fact(line) or line.key in quarantined.keys)
        result = find_edits(lines, section_bytes(target, files.read_file(quarantined.copy)), bounded=bool(target.heading))
        edits = result.edits if isinstance(result, UnsafeEdits) else result
        if edits is not None:
            self._commit_edits(target, lines, edits, stamp=files.MISSING)
        if not self.report.dry:
            release_quarantined(self.workspace.paths, target.path)

    def _commit_edits(self, target: Target, lines: Sequence[Line], edits: Edits, *, stamp: files.FileStamp) -> Edits:
        """Commit operations for the edits of a file whose previous text was ``lines``. Return the person's edits."""
        result, of_agents = split_agent_edits(self.workspace, target, lines, edits, stamp, every_change=self.report.agent)
        if of_agents:
            held = tuple(hold_agent_edits(self.workspace, target, of_agents))
            if held:
                self._commit_operations(target.path, held, actor=Actor.AGENT)
                self.report.operations.update(map(operation_kind, held))
            self.report.changed.append(f"{target.path}: an agent's lines are held for review; the file is as before")
        if of_agents.removed:
            restored = f"{target.path}: {len(of_agents.removed)} lines that an agent's command took out are there again"
            if restored not in "\n".join(self.report.problems):
                self.report.problems.append(f"{restored}; if it was you, take them out once more")
        is_daily = target.form is TargetForm.DAILY
        rewords = tuple(reword_lines(self.workspace, date.fromisoformat(target.part), result)) if is_daily else ()
        if rewords:
            self._commit_operations(target.path, rewords)
            restore_lines(self.workspace, [reword.memory for reword in rewords])
            self.report.content = None
            self.report.operations["reword"] += len(rewords)
            self.report.changed.append(f"{target.path}: {len(rewords)} lines of the day reworded")
        if result.changed:
            operations = tuple(edits_to_operations(self.workspace, target, result, lines))
            if operations:
                self._commit_person_edits(target.path, operations)
        return result

    def _handle_unsafe(
        self, target: Target, content: FileContent, lines: Sequence[Line], unsafe: UnsafeEdits, *, allow: bool
    ) -> Edits:
        """The edits to merge from a file that looks damaged: all if a person accepts them, otherwise none.

        A file whose edits are not accepted is copied to the quarantine.
        """
        stamp = content.stamp.digest
        if unsafe.edits is not None and (allow or self.report.accepted.get(target.path) == stamp):
            self.report.accepted[target.path] = stamp
            return unsafe.edits
        if self.report.quarantined.get(target.path) == stamp:
            return unsafe.kept
        copied = "" if self.report.dry else f"It is saved as {self._quarantine_target(target, lines, unsafe)} and written again"
        accept = "`kept run --accept-loss` takes it as your edit instead" if unsafe.edits is not None else ""
        self.report.quarantined[target.path] = stamp
        hint = "; ".join(filter(None, (copied, accept)))
        self.report.problems.append(f"{target.path} was not taken as an edit: {unsafe.reason}. {hint}".rstrip())
        return unsafe.kept

    def _quarantine_target(self, target: Target, lines: Sequence[Line], found: UnsafeEdits) -> Path:
        if found.edits is None:
            return copy_to_quarantine(self.workspace.paths, target.path)
        return quarantine_file(self.workspace.paths, target.path, [line.key for line in lines if is_fact(line)])

    def _commit_person_edits(self, path: Path, operations: tuple[Operation, ...]) -> None:
        self._commit_operations(path, operations)
        counts = Counter(map(operation_kind, operations))
        self.report.content = None
        self.report.operations.update(counts)
        self.report.changed.append(f"{path}: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))

    def _commit_operations(self, path: Path, operations: tuple[Operation, ...], *, actor: Actor = Actor.PERSON) -> None:
        with self.workspace.store.transaction():
            self.run.commit("absorb", operations, subject=str(path), actor=actor)

    def _rendered_lines(self, target: Target, edits: Edits) -> tuple[Line, ...]:
        """The lines of a file, rendered from the present memories, without the user's own lines."""
        if self.report.content is None:
            self.report.content = compose_outputs(self.workspace)
        document = compose_document(
            self.workspace, self.report.content, target, size_in_bytes([line.text for line in edits.foreign])
        )
        if not (document.sections or document.header or document.footer or document.lead_lines):
            return ()
        return render_section(document) if target.heading else render_file(document)

    def _write_with_retries(self, target: Target) -> None:
        for attempt in range(TRIES):
            read = self.merge_target_edits(target, allow=False)
            lines = restore_user_lines(self._rendered_lines(target, read.edits), read.edits)
            try:
                self._write_target(target, read, lines)
            except ChangedError:
                if attempt == TRIES - 1:
                    raise
                continue
            return

    def _write_target(self, target: Target, read: _TargetState, lines: tuple[Line, ...]) -> None:
        path, data = str(target.path), encode_lines(lines, read.edits.layout)
        after = Output(hash=hash_bytes(data), lines=hide_secrets(self.workspace, lines))
        whole = _whole_file(target, read, lines, data)
        if whole == (None if read.content.stamp == files.MISSING else read.content.data):
            # The store has another state for the file if a write was interrupted.
            if self.workspace.store.output_states(path) != ((after,) if lines else ()) and not self.report.dry:
                files.delete_temp_files_beside(
                    target.path, root=self.workspace.paths.boundary(target.path), links=self.workspace.linked_folders
                )
                self.workspace.store.save_output(path, after) if lines else self.workspace.store.drop_output(path)
            return
        if read.inside and (moved := find_moved_back(read.base, read.inside, lines)):
            what = "a moved line is back where it was" if len(moved) == 1 else f"{len(moved)} moved lines are back where they were"
            how = f"kept edit {moved[0]} --type CATEGORY, or --project NAME"
            self.report.problems.append(f"{path}: {what}; a heading alone moves no memory → {how}")
        if self.report.dry:
            self.report.would[target.path] = whole
        else:
            if read.inside and target.path in self.report.quarantined and not self.workspace.store.output_states(path):
                # If this write is interrupted, the file that was set aside must not count as an edit of what was to be written.
                self.workspace.store.save_output(path, Output(hash=hash_bytes(read.inside), lines=()))
            self.workspace.store.save_pending_output(path, after)
            self.workspace.write_output(target.path, whole, read.content.stamp)
            self.workspace.store.drop_output(path) if whole is None else self.workspace.store.save_output(path, after)
        self.report.files.append((path, len(whole or b"")))


def _whole_file(target: Target, read: _TargetState, lines: tuple[Line, ...], data: bytes) -> bytes | None:
    """The bytes that the whole file must have. None if the file must not exist."""
    if not target.heading:
        return data if lines else None
    original = None if read.content.stamp == files.MISSING else read.content.data
    if not lines:
        return None if original is None else section.remove_section(original, absorbed=read.inside, where=str(target.path))
    texts = [line.text for line in lines]
    return section.place_section(original, target.heading, texts, absorbed=read.inside, where=str(target.path))


class FileState(StrEnum):
    """The difference between a file and its last written content."""

    WRITTEN = "as written"
    EDITED = "edited by hand"
    MISSING = "missing"
    DAMAGED = "damaged"


def file_states(workspace: Workspace) -> Iterator[tuple[str, FileState, str]]:
    """Yield the path and state of each of kept's files, and the reason if it is damaged (else empty). Changes nothing."""
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
