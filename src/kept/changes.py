"""Settle one change by a person: absorb hand edits before it, write outputs and update the index after it."""

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
from kept.store.run_number import RunNumber
from kept.workspace import Workspace

T = TypeVar("T")


def archive_before_edits(workspace: Workspace, *, locks: bool = True) -> None:
    """Archive what is new where a file of kept's was edited: transcripts tell which edits are an agent's.

    Without ``locks`` the caller holds the lock of runs. Raises BusyError while a run is under way (it reads by
    itself) and StoreError.
    """
    if any(state is FileState.EDITED for _, state, _ in file_states(workspace)):
        with hold_lock(workspace.paths.lock) if locks else nullcontext():
            reading = archive_files(workspace, discover(workspace, ()))
            erase_opted_out_traces(workspace, reading)
            record_projects(workspace, reading)


def erase_opted_out_traces(workspace: Workspace, reading: ReadingReport) -> None:
    """Erase what else tells of the sessions that a reading found not to be remembered: no byte of them stays. Raises StoreError."""
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
    """Do a person's change between absorbing hand edits and writing the outputs, so that neither undoes the other.

    Without ``with_files`` the files are left to the next run, which reads first which of their edits are an agent's; without
    ``with_index`` the index by meaning is the caller's to update.
    Transcripts are read first where a file was edited; without ``locks`` the caller holds the lock of runs.
    ``accepted`` are files whose bytes (by their hash) are an edit even where they look like damage. Returns what the change
    returned, and what was written. Where another process is writing the outputs for long, the change stands and the next run writes
    them: a problem told. Raises StoreError, and what the change raises.
    """
    written = WriteReport(accepted=dict(accepted))
    number = RunNumber(workspace.store.log, workspace.clock, "absorb")
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
        if number.started:
            workspace.store.log.end_run(number(), workspace.clock(), {})
    return result, written


def update_index_after_change(workspace: Workspace) -> None:
    """Update the index by meaning; what cannot be is found by its words until the next run, which tells what is wrong."""
    with suppress(*UNMADE):
        update_index(workspace, CHANGE_SECONDS)


@contextmanager
def _report_busy(written: WriteReport) -> Iterator[None]:
    try:
        yield
    except BusyError as error:
        written.problems.append(f"the files are not up to date, another process is writing them: {error}; the next run does it")
