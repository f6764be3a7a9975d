"""The lock of the output files, and a record of the state in which they were written. By a digest of their inputs, unchanged files
are neither read nor composed again.

The record may be lost at any time. All files are then read and composed again.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from time import monotonic, sleep

from kept.core.codec import to_json
from kept.core.digest import digest, hash_bytes
from kept.core.errors import BusyError, KeptError, RefusedPathError
from kept.core.value import dataclass, field
from kept.local import files
from kept.local.clients import AGENTS
from kept.memories.client_memory import notes_shown_by_clients
from kept.outputs.targets import Target, calls_hooks, list_editable_targets, list_project_folders, section_bytes
from kept.outputs.view_file import is_as_written
from kept.sources.stat_cache import is_unchanged, make_stat_entry, readers_version
from kept.workspace import Workspace

_PATIENCE = 30.0  # seconds to wait for another process that is writing the outputs


@contextmanager
def hold_outputs_lock(workspace: Workspace) -> Iterator[None]:
    """Hold the lock of the output files while the body runs. Raises BusyError if another process holds it for 30 seconds."""
    until = monotonic() + _PATIENCE
    while True:
        try:
            with files.hold_lock(workspace.paths.state / "outputs.lock"):
                yield
                return
        except BusyError:
            if monotonic() > until:
                raise
            sleep(0.02)


_GONE = "gone"


@dataclass(kw_only=True, slots=True)
class WrittenFiles:
    """The state of each file when it last had the content that kept wrote.

    ``inputs`` is a digest of everything from which the files were composed. It is empty if that is unknown.
    """

    inputs: str = ""
    entries: dict[str, str] = field(default_factory=dict)

    def is_unchanged(self, path: Path) -> bool:
        """True if it is certain that a file has not changed."""
        before, now = self.entries.get(str(path), ""), _describe_file(path)
        return before == now == _GONE or is_unchanged(before, now)

    def are_current(self, workspace: Workspace, inputs: str) -> bool:
        """True if the record contains all outputs, and every file in it is as it would be written from these inputs.

        A file with an unchanged stat may have changed if the stat is very recent. Such a file is read.
        """
        is_as_written = _IsAsWritten(workspace)
        known = bool(inputs) and inputs == self.inputs and self.entries.keys() >= set(workspace.store.outputs())
        return known and all(
            self.is_unchanged(path) or (self.looks_unchanged(path) and is_as_written(path)) for path in map(Path, self.entries)
        )

    def looks_unchanged(self, path: Path) -> bool:
        """True if a file's stat is unchanged, even if the stat is so recent that the file may have changed."""
        return self.entries.get(str(path), "").rpartition(" ")[0] == _describe_file(path).rpartition(" ")[0] != ""


class _IsAsWritten:
    """A callable that returns whether a file has the bytes that were last written to it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._targets: dict[Path, Target] = {}

    def __call__(self, path: Path) -> bool:
        """Read the file and compare it."""
        if not self._targets:
            self._targets = {target.path: target for target in list_editable_targets(self._workspace)}
        target, content = self._targets.get(path), files.read_file(path)
        if target is None:
            return is_as_written(self._workspace, path, content)
        with suppress(RefusedPathError):
            inside, outputs = section_bytes(target, content), self._workspace.store.output_states(str(path))
            return inside is not None and len(outputs) == 1 and outputs[0].hash == hash_bytes(inside)
        return False


def _describe_file(path: Path) -> str:
    return make_stat_entry(path, "") if path.is_symlink() or path.exists() else _GONE


def load_written_files(workspace: Workspace) -> WrittenFiles:
    """Load the record. It is empty if there is none or it cannot be read."""
    try:
        body = json.loads(files.read_file(workspace.paths.written).data)
        return WrittenFiles(inputs=str(body["inputs"]), entries={str(path): str(entry) for path, entry in body["entries"].items()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, KeptError):
        return WrittenFiles()


def record_written_files(workspace: Workspace, paths: Sequence[Path], digest_inputs: Callable[[], str]) -> None:
    """Record the state of the files at ``paths``, which are as they were written. Pass no paths if a file could not be written.

    ``digest_inputs`` is the result of :func:`prepare_digest` from before the files were composed.
    """
    written = WrittenFiles(inputs=digest_inputs() if paths else "", entries={str(path): _describe_file(path) for path in paths})
    data, before = json.dumps(asdict(written)).encode(), files.read_file(workspace.paths.written)
    if data != before.data:
        files.write_if_unchanged(workspace.paths.written, data, expect=before.stamp, root=workspace.paths.state)


def prepare_digest(workspace: Workspace) -> Callable[[], str]:
    """A function that returns a digest of everything from which files are composed: the store as it is when the function is called,
    and the settings, profiles, clients' state and hour as they are now.
    """
    hour = workspace.clock().astimezone(workspace.zone).isoformat(timespec="hours")
    hooks = [calls_hooks(workspace, client) for client in AGENTS]
    shown = (workspace.settings, workspace.writing, list_project_folders(workspace), notes_shown_by_clients(workspace), hooks)
    outside = json.dumps(to_json(shown), default=str)
    return lambda: digest(readers_version(), hour, workspace.store.digest_content(), outside)
