"""Apply a person's change. Before it, hand edits are merged. After it, outputs are written and the index is updated."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from kept.core.errors import BusyError
from kept.intake.discovery import discover
from kept.intake.projects import record_projects
from kept.intake.reading import ReadingReport, archive_files
from kept.llm.replies import ReplyCache
from kept.local.files import hold_lock
from kept.outputs.write import FileState, WriteReport, file_states, merge_hand_edits, write_outputs
from kept.recall.indexing import CHANGE_SECONDS, UNMADE, update_index
from kept.workspace import RunNumber, Workspace

T = TypeVar("T")


def archive_before_edits(workspace: Workspace, *, locks: bool = True) -> None:
    """Archive new transcripts if one of kept's files was edited, because they show which edits an agent made.

    Without ``locks`` the caller holds the run lock. Raises BusyError if a run is active (it archives the transcripts itself), and
    StoreError.
    """
    if any(state is FileState.EDITED for _, state, _ in file_states(workspace)):
        with hold_lock(workspace.paths.lock) if locks else nullcontext():
            reading = archive_files(workspace, discover(workspace, ()))
            erase_opted_out_traces(workspace, reading)
            record_projects(workspace, reading)


def erase_opted_out_traces(workspace: Workspace, reading: ReadingReport) -> None:
    """Erase the model replies about sessions that ``reading`` found to be opted out, and compact the store. Raises StoreError."""
    if reading.erased:
        with closing(ReplyCache(workspace.paths.replies)) as replies:
            replies.erase_replies(reading.opted_out, lambda _: False)
        workspace.store.compact()


def apply_person_change(
    workspace: Workspace,
    change: Callable[[], T],
    *,
    accepted: Mapping[Path, str] = MappingProxyType({}),
    with_files: bool = True,
    with_index: bool = True,
    locks: bool = True,
) -> tuple[T, WriteReport]:
    """Merge hand edits, apply a person's change, and write the outputs. In this order neither undoes the other.

    Without ``with_files`` the next run merges and writes the files. Without ``with_index`` the caller updates the vector index.
    If a file was edited, transcripts are archived first. Without ``locks`` the caller holds the run lock. ``accepted`` maps files
    to the hash of a content that counts as an edit even if it looks like damage.

    Returns the result of the change and a report of the written files. If another process keeps the outputs locked, the change is
    still stored. The report then lists a problem, and the next run writes the files. Raises StoreError, and any error of
    ``change``.
    """
    written = WriteReport(accepted=dict(accepted))
    number = RunNumber(workspace, "absorb")
    try:
        if with_files:
            with_files = False
            with _report_busy(written):
                archive_before_edits(workspace, locks=locks)
                merge_hand_edits(workspace, number, written)
                with_files = True
        result = change()
        if with_files:
            with _report_busy(written):
                write_outputs(workspace, number, written)
        if with_index:
            update_index_after_change(workspace)
    finally:
        number.end()
    return result, written


def update_index_after_change(workspace: Workspace) -> None:
    """Update the vector index. If that fails, new memories are found only by their words until the next run, which
    reports the error.
    """
    with suppress(*UNMADE):
        update_index(workspace, CHANGE_SECONDS)


@contextmanager
def _report_busy(written: WriteReport) -> Iterator[None]:
    try:
        yield
    except BusyError as error:
        written.problems.append(f"another process is writing the files, so they are outdated: {error}; the next run writes them")
