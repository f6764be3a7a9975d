"""Exchange memories with the person's other machines, through their server or the synced folder in the settings."""

from kept.changes import apply_person_change
from kept.core.errors import ConfigError, KeptError, UnreachableError
from kept.local.files import hold_lock
from kept.memories.synced_folder import SyncFolder, SyncReport
from kept.outputs.write import WriteReport
from kept.pipeline.erase.forget import erase_forgotten
from kept.workspace import RunNumber, Workspace


def reach_server(workspace: Workspace) -> tuple[str, ...]:
    """Fetch the changes of other machines from the server, if the store has one. Returns the reason why the server cannot be
    reached, if so. Raises StoreError.

    If the server was out of reach before, the changes made here in that time are first saved for :meth:`SyncFolder.apply_outbox`.
    """
    store = workspace.store
    try:
        if store.away_since is not None:
            # also merges hand edits made while the server was out of reach
            apply_person_change(workspace, lambda: None, locks=False)
            SyncFolder(workspace=workspace).save_outbox(store.away_since)
            store.return_to_server()
        store.refresh()
    except UnreachableError as error:
        return (f"changes made here wait for the server: {error.what}",)
    return ()


def pull_changes(workspace: Workspace, run: RunNumber) -> SyncReport:
    """Apply the changes of other machines, and forget the words that were forgotten there. Raises StoreError."""
    report = SyncFolder(workspace=workspace).pull(run)
    report.problems += erase_forgotten(workspace, report.forgotten, said=report.said)
    return report


def push_changes(workspace: Workspace) -> SyncReport:
    """Write the changes of this machine for the other machines."""
    try:
        return SyncReport(sent=SyncFolder(workspace=workspace).push())
    except (KeptError, OSError) as error:
        return SyncReport(problems=(f"changes made here were not sent to other machines: {error}",))


def sync_machines(workspace: Workspace) -> tuple[SyncReport, WriteReport]:
    """Pull, push and write the files. Raises ConfigError if no synced folder is set, BusyError if a run is active, StoreError."""
    if SyncFolder(workspace=workspace).folder is None:
        raise ConfigError(
            "no folder is set that your machines share", hint="kept config set sync.folder ~/Sync/kept (docs/team.md)"
        )

    def exchange() -> SyncReport:
        run = RunNumber(workspace, "sync")
        report = pull_changes(workspace, run)
        run.end({"received": report.received, "clashes": report.clashes})
        pushed = push_changes(workspace)
        report.sent, report.problems = report.sent + pushed.sent, (*report.problems, *pushed.problems)
        return report

    with hold_lock(workspace.paths.lock):
        report, written = apply_person_change(workspace, exchange, locks=False)
    written.problems += report.problems
    return report, written
