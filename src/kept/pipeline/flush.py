"""Archive the new part of a transcript before its client compacts it, and update the day's note. Extracts nothing."""

import os
from pathlib import Path

from kept.core.errors import BusyError, KeptError
from kept.days.day_notes import summarize_threads
from kept.intake import reminders
from kept.intake.discovery import discover
from kept.intake.open_prompts import find_open_prompts
from kept.intake.projects import record_projects
from kept.intake.reading import archive_files
from kept.local.files import hold_lock
from kept.outputs.write import WriteReport, write_day_notes
from kept.paths import find_paths
from kept.store.run_number import RunNumber
from kept.workspace import Workspace, open_workspace


def archive_transcript(root: str, path: str, *, most: int, session: str = "") -> str:
    """Archive what is new in a transcript, and save the open prompts of its ``session``. Returns the problems as text, empty if
    there were none.

    During a run nothing is done, because the run reads the transcript itself. More than ``most`` new bytes are left to the next
    run, because a client waits for this call.
    """
    home = find_paths(root, os.environ)
    try:
        with open_workspace(home) as workspace:
            files_to_read = discover(workspace, [Path(path)]).as_hooked()
            for input_file in files_to_read.inputs:
                known = workspace.store.archive.cursor(input_file.source.name, str(input_file.path))
                if input_file.path.stat().st_size - (known.offset if known else 0) > most:
                    return f"more than {most:,} bytes are new; the next run reads them"
            with hold_lock(home.lock):
                reading = archive_files(workspace, files_to_read)
                record_projects(workspace, reading)
                summarize_threads(workspace, only=path)
                written = _write_day_notes(workspace)
            if session and workspace.settings.handover != reminders.OFF:
                reminders.save_open_prompts(str(home.state), session, find_open_prompts(workspace, path))
    except BusyError:
        return ""  # a run is active; this transcript is in its queue or in that of the next run
    except KeptError as error:
        return str(error)
    return "; ".join((*(f"{where}: {why}" for where, why in reading.skipped), *written.problems))


def _write_day_notes(workspace: Workspace) -> WriteReport:
    """Write the day notes. Hand edits are not merged, because only one transcript was read."""
    written, number = WriteReport(), RunNumber(workspace.store.log, workspace.clock, "flush")
    if any(profile.outputs.daily_folder for profile in workspace.profiles):
        write_day_notes(workspace, number, written)
    return written
