"""Safety: check the store, rebuild derived data, export and restore, and move a home's store to a server and back.

Each move is verified before the settings change.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from kept.changes import apply_person_change
from kept.core.digest import hash_bytes
from kept.core.erasure import ErasureWords
from kept.core.errors import KeptError, StoreError, UsageError
from kept.core.event import FORGOTTEN_MARK
from kept.core.value import dataclass, field
from kept.days.day_notes import summarize_threads
from kept.local import files
from kept.local.files import hold_lock
from kept.local.settings import StoreSettings, load_settings, locate_errors
from kept.memories.backups import record_backup, recorded_backups
from kept.memories.configure import change_setting
from kept.memories.history import record_lasting_change
from kept.outputs.section import find_section
from kept.outputs.write import FileState, WriteReport, file_states
from kept.paths import Paths
from kept.pipeline.erase.forget import collect_words, erase_words
from kept.pipeline.erase.store import StoreHolder
from kept.store.backups import make_working_copy, restore_backup, write_rows
from kept.store.erasing import texts_of_event
from kept.store.postgres import connect_server
from kept.store.replica.store import ReplicaStore
from kept.store.sqlite import SqliteStore
from kept.store.values import Output
from kept.workspace import Clock, Workspace, utc_now

_PLACEHOLDER = ("coding", "constraint")  # profile and category of a memory that stands for forgotten words and is never shown
_ERASED = 4  # words; a shorter erased passage is not searched everywhere, because it may occur by chance


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """The result of a check: damage as text, and for each of kept's files how it differs from its last written content."""

    damage: tuple[str, ...]
    outputs: tuple[tuple[str, FileState, str], ...]


def check_home(workspace: Workspace) -> CheckReport:
    """Find damage, and files that a person edited (which is not damage). Repairs nothing."""
    outputs = tuple(file_states(workspace))
    damaged = tuple(f"file {path}: {reason}" for path, state, reason in outputs if state is FileState.DAMAGED)
    return CheckReport(damage=(*workspace.store.find_damage(), *damaged), outputs=outputs)


def rebuild_store(workspace: Workspace) -> WriteReport:
    """Rebuild the memories and all indexes from the log and the archive alone, then update the files. Raises StoreError."""
    workspace.paths.vectors.unlink(missing_ok=True)
    with workspace.store.transaction():
        workspace.store.archive.reindex()
        workspace.store.log.rebuild()
        workspace.store.days.clear_notes()
        summarize_threads(workspace)
    return apply_person_change(workspace, lambda: None)[1]


def write_whole_file(path: Path, text: str) -> None:
    """Write a text to a file atomically. Raises KeptError."""
    target = path.absolute()
    files.write_if_unchanged(target, text.encode(), expect=files.read_file(target).stamp, root=target.parent)


def write_export(workspace: Workspace, path: Path, text: str) -> None:
    """Write an export to a file atomically, and record it.

    Raises UsageError if the path is in kept's own folders, or if an existing file is not an earlier export; KeptError.
    """
    target = path.absolute()
    if any(target.resolve().is_relative_to(folder.resolve()) for folder in (workspace.paths.state, workspace.paths.config)):
        raise UsageError("kept keeps its own files there", where=str(target), hint="choose one of your own folders")
    exported = {str(run.report.get("path", "")) for run in workspace.store.log.runs(command="export")}
    if target.exists() and str(target) not in exported:
        raise UsageError("there is a file of that name already", where=str(target), hint="choose another name")
    record_export(workspace, target)  # before writing, so that a write that failed halfway can be repeated
    write_whole_file(target, text)


@dataclass(frozen=True, kw_only=True, slots=True)
class RestoreReport:
    """The result of a restore: the new path of the old store (None if there was none), and the written files. ``unsure`` means that
    no store records what was forgotten since the backup.
    """

    old_store: Path | None
    unsure: bool
    written: WriteReport


def restore_store(
    home: Paths, path: Path, open_workspace: Callable[[], AbstractContextManager[Workspace]], *, clock: Clock = utc_now
) -> RestoreReport:
    """Replace the store by a backup and update the files. The old store is moved aside, and hand edits made since the backup stay.

    Works even if the present store cannot be opened. Raises BusyError if a run is active, UsageError, StoreError, DamagedError; the
    present store then stays in place.
    """
    with hold_lock(home.lock):
        known, copies, ids, forgotten = _load_known(home)
        unsure, words = True, ErasureWords(sentences=())

        def prepare(store: SqliteStore) -> None:
            """Bring the copy up to date before it is in use, because a restore may die at any moment after that."""
            nonlocal unsure, words
            _carry_over_outputs(home, store, known)
            # The backup lists neither itself nor the backups made after it.
            for copy in sorted((copies | {path.absolute()}) - recorded_backups(store.log)):
                record_backup(store, copy, clock())
            # The store that was backed up no longer exists.
            unsure = known is None or not ids.issuperset(store.log.memory_ids())
            words = _find_words_forgotten(store, _add_forgotten_of_copies(home, forgotten) if unsure else forgotten)
            if words:
                StoreHolder(store=store, clock=clock, profile=_PLACEHOLDER).erase(words)

        old_store = restore_backup(path.absolute(), home.store, home.state / "aside", prepare)
        home.vectors.unlink(missing_ok=True)
        with open_workspace() as workspace:
            workspace.store.publish()
            again, written = apply_person_change(workspace, lambda: erase_words(workspace, words) if words else (), locks=False)
            written.problems[:0] = again
            record_lasting_change(workspace, "restore")
    return RestoreReport(old_store=old_store, unsure=unsure, written=written)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Forgotten:
    """The erasures in a store: the ids of memories, and what remains of texts in which words were erased, by event or log label."""

    memories: frozenset[str] = frozenset()
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)


def _load_known(home: Paths) -> tuple[dict[str, tuple[Output, ...]] | None, frozenset[Path], frozenset[str], _Forgotten]:
    """Data of the present store: the text written to each file (None if the store cannot be read), the recorded backups, the ids of
    all memories, and the erasures.
    """
    if home.store.exists():
        with suppress(StoreError), SqliteStore(home.store) as store:
            outputs = {path: store.output_states(path) for path in store.outputs()}
            return outputs, recorded_backups(store.log), frozenset(store.log.memory_ids()), _find_forgotten(store)
    return None, frozenset(), frozenset(), _Forgotten()


def _add_forgotten_of_copies(home: Paths, forgotten: _Forgotten) -> _Forgotten:
    """Add the erasures of a lost store. kept's own backups show them, because forgetting rewrites backups."""
    memories, texts = set(forgotten.memories), dict(forgotten.texts)
    for copy in home.backups.glob("*.db"):
        with (
            suppress(KeptError),
            TemporaryDirectory() as folder,
            SqliteStore(make_working_copy(copy, Path(folder, "copy"))) as store,
        ):
            found = _find_forgotten(store)
            memories |= found.memories
            texts.update(found.texts)
    return _Forgotten(memories=frozenset(memories), texts=texts)


def _find_forgotten(store: SqliteStore) -> _Forgotten:
    threads = tuple(store.archive.threads())
    events = (event for thread in threads for event in store.archive.events(thread.id, 0, thread.events))
    return _Forgotten(
        memories=frozenset(memory.id for memory in store.log.memories() if not memory.content),
        texts={event.key: texts_of_event(event) for event in events if event.likeness or FORGOTTEN_MARK in event.text}
        | {label: texts for label, texts in _log_texts(store).items() if FORGOTTEN_MARK in "".join(texts)},
    )


def _log_texts(store: SqliteStore) -> dict[str, list[str]]:
    """The texts of the log by label, those of a memory in the order in which they were written."""
    texts = defaultdict[str, list[str]](list)
    for label, text in store.log.stored_texts():
        texts[label].append(text)
    return texts


def _find_words_forgotten(store: SqliteStore, forgotten: _Forgotten) -> ErasureWords:
    """The words in the store of a backup that were forgotten since."""
    memories = [memory for memory in store.log.memories() if memory.content and memory.id in forgotten.memories]
    whole, said, log = set[str](), set[str](), _log_texts(store)
    for key, left in forgotten.texts.items():
        event = store.archive.event(key)
        texts = texts_of_event(event) if event else log.get(key, ())
        changed = [pair for pair in zip(texts, left, strict=False) if pair[0] != pair[1]]
        found = [[words for words in _find_erased(*pair) if words != FORGOTTEN_MARK] for pair in changed]
        if all(each and all(len(words.replace("-", " ").split()) >= _ERASED for words in each) for each in found):
            said.update(chain(*found))
        elif event:  # the erased words cannot be told from the rest, or are too short to be searched everywhere
            whole.add(key)
    return collect_words(store, memories, said=said, events=whole)


def _find_erased(text: str, left: str) -> list[str]:
    """The words of ``text`` in the places where ``left`` has erasure marks; all if nothing is left. Empty if the rest differs."""
    if not left:
        return [text]
    parts = left.split(FORGOTTEN_MARK)
    found, at = [], 0
    for number, part in enumerate(parts, 1):
        end = text.find(part, at) if number < len(parts) else len(text) - len(part)
        found.append(text[at:end])
        at = end + len(part)
    fits = not found[0] and "".join(chain(*zip(found, parts, strict=True))) == text
    return found[1:] if fits else []


def _carry_over_outputs(home: Paths, store: SqliteStore, known: Mapping[str, tuple[Output, ...]] | None) -> None:
    """Make the restored store expect the files that the old store wrote, so that a person's edits are still recognized.

    If those are not known (None), it expects only the files that are as the backup's store wrote them. The others are set aside and
    written again, because their edits can no longer be recognized.
    """
    with store.transaction():
        for path in store.outputs():
            if known is not None or not _is_as_written(home, Path(path), store.output_states(path)):
                store.drop_output(path)
        for path, outputs in (known or {}).items():
            store.save_output(path, outputs[0])
            for output in outputs[1:]:
                store.save_pending_output(path, output)


def _is_as_written(home: Paths, path: Path, outputs: Sequence[Output]) -> bool:
    """True if a file in this home has the content of one of the outputs."""
    if not path.is_relative_to(home.root):  # the store is from a home that was moved
        return False
    try:
        data = files.read_file(path).data
        block = find_section(data)
    except KeptError:
        return False
    return any(output.hash == hash_bytes(block.inside if block else data) for output in outputs)


def record_export(workspace: Workspace, path: Path) -> None:
    """Record that an export was written to a file, so that forgetting can name it. Raises StoreError."""
    run = workspace.store.log.start_run("export", workspace.clock())
    workspace.store.log.end_run(run, workspace.clock(), {"path": str(path.absolute())})


def export_archive(workspace: Workspace, path: Path) -> int:
    """Export the whole store in a form that another home can import, and record the export. Returns the number of rows.

    Raises UsageError, StoreError.
    """
    target = path.absolute()
    if target.exists() or target.is_symlink():
        raise UsageError("there is a file of that name already", where=str(target), hint="choose another name")
    count = write_rows(workspace.store.export_rows(), target)
    record_export(workspace, target)
    return count


_URL = "store.url"


def prepare_server(url: str) -> None:
    """Create the tables on a server, with the role in the URL. The owner of the tables can read every row, so this role must own no
    memories.

    Raises ConfigError, StoreError.
    """
    with locate_errors("--prepare"):
        StoreSettings(url=url).check()
    connect_server(url, create=True).close()


def move_to_server(home: Paths, url: str) -> None:
    """Move a home's store to a server. After an interruption, another call continues the move.

    The home's file stays as the local replica for reading. Raises BusyError if a run is active, ConfigError for an unusable URL,
    UsageError if the server has another store of this owner or the home already uses another server, StoreError, DamagedError. The
    settings are unchanged then.
    """
    with locate_errors("--to"):
        StoreSettings(url=url).check()
    now = load_settings(home.settings).store.url
    if now and now != url:
        raise UsageError(f"your memories are already on {now}", hint="first move them back: kept migrate --to sqlite")
    if not home.store.exists():
        hint = f"kept run creates memories; kept config set {_URL} URL uses a store that is already on the server"
        raise UsageError("there are no memories here yet", where=str(home.store), hint=hint)
    with hold_lock(home.lock):
        connect_server(url, create=True).close()
        with ReplicaStore(home.store, lambda: connect_server(url)) as store:
            store.move_to_server()
        change_setting(home, _URL, url)


def move_to_file(home: Paths, *, drop: bool) -> str:
    """Make the home's file the only copy of the store. If ``drop``, also erase it on the server. Returns the server's URL.

    Raises BusyError, UsageError if the home has no server or shares lines there, StoreError, DamagedError. Nothing has changed
    then.
    """
    now = load_settings(home.settings)
    url = now.store.url
    if not url:
        raise UsageError("your memories are not on a server", hint="kept migrate --to postgresql://ROLE@HOST/DATABASE")
    if now.share:
        raise UsageError(f"lines are shared there with {now.share[0].team}", hint="first take them back: kept team leave PROJECT")
    with hold_lock(home.lock):
        with ReplicaStore(home.store, lambda: connect_server(url)) as store:
            store.move_to_file(drop=drop)
        change_setting(home, _URL, "")
    return url
