"""Archive the new part of a transcript before its client compacts it, and update the day's note. Extracts nothing.

The session's open prompts are saved too. A prompt is open if the person typed it, it contains a trigger, the agent handed nothing
over in its turn, and no active memory quotes it.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from kept.core.errors import BusyError, KeptError
from kept.core.event import Author, Event, EventKind, is_prompt
from kept.core.memory import Status
from kept.core.spans import typed_text
from kept.core.text import one_line
from kept.days.day_notes import summarize_threads
from kept.extraction.rules.handover import find_suggestions
from kept.intake import reminders
from kept.intake.discovery import discover
from kept.intake.projects import record_projects
from kept.intake.reading import archive_files
from kept.intake.triggers import has_trigger
from kept.local.files import hold_lock
from kept.outputs.write import WriteReport, write_day_notes
from kept.paths import find_paths
from kept.workspace import RunNumber, Workspace, open_workspace


def archive_transcript(root: str, path: str, *, most: int, session: str = "") -> str:
    """Archive the new part of a transcript, and save the open prompts of its ``session``. Returns the problems as text; empty if
    there were none.

    During a run this does nothing, because the run reads the transcript itself. It leaves more than ``most`` new bytes to the next
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
        return ""  # an active run or the next one has this transcript in its queue
    except KeptError as error:
        return str(error)
    return "; ".join((*(f"{where}: {why}" for where, why in reading.skipped), *written.problems))


def _write_day_notes(workspace: Workspace) -> WriteReport:
    """Write the day notes. Does not merge hand edits, because only one transcript was read."""
    written, number = WriteReport(), RunNumber(workspace, "flush")
    if any(profile.outputs.daily_folder for profile in workspace.profiles):
        write_day_notes(workspace, number, written)
    return written


_TAIL_EVENTS = 4_000  # events at the end of a session that are searched
_MOST_PROMPTS = 5  # maximum prompts that are listed, the latest ones
_PROMPT_CHARS = 300  # maximum characters of a listed prompt


def find_open_prompts(workspace: Workspace, path: str) -> tuple[str, ...]:
    """The open prompts of a transcript's session, earliest first. Raises StoreError."""
    archive = workspace.store.archive
    threads = list(archive.threads(path=path))
    if not threads:
        return ()
    last = threads[-1]
    events = archive.events(last.id, max(0, last.events - _TAIL_EVENTS), last.events)
    if not (found := _find_open_lines(events)):
        return ()
    keys = {event.key for event in events}
    active = (memory for memory in workspace.store.log.memories() if memory.status_at(workspace.clock()) is Status.ACTIVE)
    quotes = {one_line(item.quote) for memory in active for item in memory.evidence if item.event in keys} - {""}
    lines = [line for line in found if not any(quote in line for quote in quotes)]
    return tuple(dict.fromkeys(line[:_PROMPT_CHARS] for line in lines))[-_MOST_PROMPTS:]


def _find_open_lines(events: Sequence[Event]) -> tuple[str, ...]:
    """The typed lines with a trigger, from prompts after the last compaction in whose turn the agent handed nothing over."""
    found: list[str] = []
    starts = [place for place, event in enumerate(events) if is_prompt(event)]
    for start, stop in zip(starts, [*starts[1:], len(events)], strict=True):
        if next(find_suggestions(events, start, stop), None) is None:
            lines = [one_line(line) for line in typed_text(events[start]).splitlines()]
            found += filter(has_trigger, lines)
        if any(event.kind is EventKind.PROMPT and event.author is Author.COMPACTION for event in events[start:stop]):
            found.clear()
    return tuple(found)
