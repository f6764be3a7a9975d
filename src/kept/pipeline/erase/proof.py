"""Prove that words are gone: read every file that ``kept`` writes, whichever part of the program wrote it, and list those that
still contain the words.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kept.core.erasure import RUN, ErasureWords
from kept.core.pattern import compile_late
from kept.local.git import find_checkout
from kept.memories.backups import find_backups, list_unreachable_backups
from kept.pipeline.erase.files import OutputFiles, RecordingFile, Span, entries_between, list_foreign_notes
from kept.store.traces import traces
from kept.workspace import Workspace

_WORD = compile_late(r"[^\W_]+")


def find_remaining_words(workspace: Workspace, words: ErasureWords) -> tuple[str, ...]:
    """The files of ``kept`` that still contain the words: in the state folder, backups, the journal, a recording, output files.

    Names of folders and files (:func:`find_matching_names`) do not count if they have at least ``RUN`` words and no blank, because
    they cannot be prose.
    """
    return tuple(sorted({*_places_with_words(workspace, words)}))


def _places_with_words(workspace: Workspace, words: ErasureWords) -> Iterator[str]:
    # Only names that cannot be prose are ignored: at least RUN words without a blank. A scope repeats its folder's name.
    scopes = [project.scope for project in workspace.store.archive.projects()]
    names = (*scopes, *find_matching_names(workspace, words))
    said = [name for name in names if " " not in name and len(_WORD.findall(name)) >= RUN]
    for path in _own_files(workspace):
        for place in traces(path, words, said):
            yield f"{path} ({place})"
    yield from (place.where for place in OutputFiles(workspace=workspace).find(words))


def find_matching_names(workspace: Workspace, words: ErasureWords) -> tuple[str, ...]:
    """The names of folders and files that contain the words, shortest first. They stay: they name conversations and projects."""
    store = workspace.store
    paths = {thread.path for thread in store.archive.threads()} | {project.directory for project in store.archive.projects()}
    parts = {item for path in paths for part in Path(path).parts for item in (Path(part).stem, part) if words.is_in_text(item)}
    return tuple(sorted(parts, key=lambda part: (len(part), part)))


def _own_files(workspace: Workspace) -> Iterator[Path]:
    recording = RecordingFile(workspace=workspace).path
    folders = (workspace.paths.state, workspace.paths.root / workspace.settings.journal.folder)
    found = {path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}
    found -= list_foreign_notes(workspace)
    yield from found | set(find_backups(workspace)) | ({recording} if recording else set())


def find_out_of_reach(
    workspace: Workspace, words: ErasureWords, transcripts: Iterable[str], times: Sequence[Span] = ()
) -> tuple[str, ...]:
    """Messages about places that contain the words, or may contain them, but that ``kept`` may not change.

    These are transcripts, notes in the journal folder that ``kept`` did not write, the user's settings, exports, unreachable
    backups, names of folders and files, the history of repositories, and journal entries of ``times``, which may repeat the words
    in a paraphrase.
    """
    entries = (
        f"{path} is a journal entry of that time and may describe it in other words" for path in entries_between(workspace, times)
    )
    return (*_places_out_of_reach(workspace, words, transcripts), *entries)


def _places_out_of_reach(workspace: Workspace, words: ErasureWords, transcripts: Iterable[str]) -> Iterator[str]:
    known = {*map(Path, transcripts)}
    for path in sorted({*known, *map(workspace.paths.place_now, known), *list_foreign_notes(workspace)}):
        if path.is_file() and not path.is_relative_to(workspace.paths.state) and next(traces(path, words), None):
            yield f"{path} still says it: the file belongs to another program"
    whole = {Path(thread.path) for thread in workspace.store.archive.threads() if thread.session in words.sessions}
    for path in sorted({*whole, *map(workspace.paths.place_now, whole)}):
        if path.is_file():
            yield f"{path} still contains the session: the file belongs to another program"
    for path in sorted(workspace.paths.config.rglob("*")):
        if path.is_file() and next(traces(path, words), None):
            yield f"{path} still says it: your own settings"
    for run in workspace.store.log.runs(command="export"):
        path = Path(str(run.report.get("path", "")))
        if path.is_file():
            says = "still says it" if next(traces(path, words), None) else "may say it"
            yield f"{path} {says}: it is an export of {run.started_at.date()}, of which there may be copies"
    yield from list_unreachable_backups(workspace)
    for part in find_matching_names(workspace, words):
        yield f"{part} is the name of a folder or file that kept has read; names of files are not erased"
    roots = {checkout.root for name in workspace.store.outputs() if (checkout := find_checkout(str(Path(name).parent)))}
    for root in sorted(roots):
        yield f"the history of the repository {root} may say it, because kept writes a file there"
