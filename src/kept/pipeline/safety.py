"""Safety: check the store, rebuild derived data, export, import and restore."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kept.changes import apply_person_change
from kept.core.artifact import find_artifacts
from kept.core.digest import digest
from kept.core.errors import KeptError, StoreError, UsageError
from kept.core.event import FORGOTTEN_MARK, Origin
from kept.core.fingerprint import is_known_statement
from kept.core.memory import USER_SCOPE, Actor, Evidence, Memory, Status
from kept.core.operation import Add
from kept.core.project import PROJECT
from kept.core.text import normal_form, one_line
from kept.core.times import parse_instant
from kept.core.value import dataclass, field
from kept.days.day_notes import summarize_threads
from kept.extraction.questions.support import find_verbatim, measure_support
from kept.extraction.rules.patterns import list_texts
from kept.extraction.verdicts import select_requests
from kept.local import files
from kept.local.files import hold_lock
from kept.memories.backups import record_backup, recorded_backups
from kept.memories.person import clean_memory_text
from kept.outputs.write import FileState, WriteReport, file_states, reset_damaged_files
from kept.paths import Paths
from kept.pipeline.erase.forget import erase_forgotten
from kept.profiles.lexicons import load_lexicon
from kept.store.backups import make_working_copy, restore_backup
from kept.store.check import IMPORTED
from kept.store.portable import is_portable, read_rows, write_rows
from kept.store.sqlite import SqliteStore
from kept.store.values import Draft, Output
from kept.workspace import Workspace

_LONGEST = 2**20  # bytes of one exported memory, at most
_MOST = 1_000_000  # memories of one import, at most
_ERASED = 4  # an erased passage of at least this many words is searched for everywhere; shorter ones occur by chance
_CARRIED = 0.5  # at least this share of a memory's content words occurs in its quotes; with less, they are about something else


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """The result of a check: damage as text, and for each of kept's files how it compares to what was last written to it."""

    damage: tuple[str, ...]
    outputs: tuple[tuple[str, FileState, str], ...]


def check_home(workspace: Workspace) -> CheckReport:
    """Find everything that is wrong, and which files were edited by hand (which is not wrong). Repairs nothing."""
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
    """Write an export to a file atomically, and record it. Raises UsageError if the path lies in kept's own folders or an existing
    file is not an earlier export; KeptError.
    """
    target = path.absolute()
    if any(target.resolve().is_relative_to(folder.resolve()) for folder in (workspace.paths.state, workspace.paths.config)):
        raise UsageError("kept keeps its own files there", where=str(target), hint="choose a folder of yours")
    exported = {str(run.report.get("path", "")) for run in workspace.store.log.runs(command="export")}
    if target.exists() and str(target) not in exported:
        raise UsageError("there is a file of that name already", where=str(target), hint="choose another name")
    record_export(workspace, target)  # before writing, so that a write that failed half way can be repeated
    write_whole_file(target, text)


@dataclass(frozen=True, kw_only=True, slots=True)
class RestoreReport:
    """The result of a restore: where the old store is now (None if there was none) and what was written. ``unsure``: no store could
    tell what was forgotten since the backup was made.
    """

    old_store: Path | None
    unsure: bool
    written: WriteReport


def restore_store(home: Paths, path: Path, open_workspace: Callable[[], AbstractContextManager[Workspace]]) -> RestoreReport:
    """Replace the store by a backup and update the files. The old store is put aside; hand edits made since the backup are kept.

    Works even if the present store does not open. Raises BusyError if a run is active, UsageError, StoreError, DamagedError; the
    present store stays in place then. After the store was replaced, it may still raise ChangedError or RefusedPathError for a file
    that cannot be reset (:func:`reset_damaged_files`).
    """
    with hold_lock(home.lock):
        known, copies, ids, forgotten = _load_known(home)
        old_store = restore_backup(path.absolute(), home.store, home.state / "aside")
        home.vectors.unlink(missing_ok=True)
        with open_workspace() as workspace:
            workspace.store.publish()
            # the store from which the backup was made is gone
            unsure = known is None or not ids.issuperset(workspace.store.log.memory_ids())
            forgotten = _add_forgotten_of_copies(home, forgotten) if unsure else forgotten
            problems = reset_damaged_files(workspace) if known is None else []
            if known is not None:
                _carry_over_outputs(workspace, known)
            # The backup does not list itself, nor the backups made after it.
            for copy in sorted((copies | {path.absolute()}) - recorded_backups(workspace.store.log)):
                record_backup(workspace, copy)
            again, written = apply_person_change(workspace, lambda: _forget_again(workspace, forgotten), locks=False)
            written.problems[:0] = [*problems, *again]
    return RestoreReport(old_store=old_store, unsure=unsure, written=written)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Forgotten:
    """What a store forgot: the ids of memories, and the remaining text of events in which words were erased, by event key."""

    memories: frozenset[str] = frozenset()
    texts: Mapping[str, str] = field(default_factory=dict)


def _load_known(home: Paths) -> tuple[dict[str, tuple[Output, ...]] | None, frozenset[Path], frozenset[str], _Forgotten]:
    """What the present store knows: what it wrote to each file (None if the store cannot be read), its recorded backups, the ids of
    all its memories, and what it forgot.
    """
    if home.store.exists():
        with suppress(StoreError), SqliteStore(home.store) as store:
            outputs = {path: store.output_states(path) for path in store.outputs()}
            return outputs, recorded_backups(store.log), frozenset(store.log.memory_ids()), _find_forgotten(store)
    return None, frozenset(), frozenset(), _Forgotten()


def _add_forgotten_of_copies(home: Paths, forgotten: _Forgotten) -> _Forgotten:
    """Add what a lost store forgot: forgetting rewrites kept's own backups, so they show what was erased."""
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
        texts={event.key: event.text for event in events if FORGOTTEN_MARK in event.text},
    )


def _forget_again(workspace: Workspace, forgotten: _Forgotten) -> tuple[str, ...]:
    """Erase in a restored store what was forgotten since the backup was made. Returns the problems."""
    memories = [memory for memory in workspace.store.log.memories() if memory.content and memory.id in forgotten.memories]
    whole, said = set[str](), set[str]()
    for key, left in forgotten.texts.items():
        event = workspace.store.archive.event(key)
        if event is None or event.text == left:
            continue
        found = [words for words in _find_erased(event.text, left) if words != FORGOTTEN_MARK]
        if found and all(len(words.split()) >= _ERASED for words in found):
            said.update(found)
        else:  # the erased words cannot be separated from the rest, or are too short to search for everywhere
            whole.add(key)
    return erase_forgotten(workspace, memories, said=said, events=whole)


def _find_erased(text: str, left: str) -> list[str]:
    """The words of ``text`` at the places where ``left`` has erasure marks; empty if the rest does not match."""
    parts = left.split(FORGOTTEN_MARK)
    found, at = [], 0
    for number, part in enumerate(parts, 1):
        end = text.find(part, at) if number < len(parts) else len(text) - len(part)
        found.append(text[at:end])
        at = end + len(part)
    fits = not found[0] and "".join(chain(*zip(found, parts, strict=True))) == text
    return found[1:] if fits else []


def _carry_over_outputs(workspace: Workspace, known: dict[str, tuple[Output, ...]]) -> None:
    """Make the restored store expect the files that the old store wrote, so that a person's edits are recognized as edits."""
    with workspace.store.transaction():
        for path in workspace.store.outputs():
            workspace.store.drop_output(path)
        for path, outputs in known.items():
            workspace.store.save_output(path, outputs[0])
            for output in outputs[1:]:
                workspace.store.save_pending_output(path, output)


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


@dataclass(kw_only=True, slots=True)
class ImportReport:
    """The result of an import. ``whole``: a whole store was loaded. Otherwise ``added`` counts memories by status, ``left_out`` by
    reason.
    """

    whole: bool = False
    added: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)


def import_file(workspace: Workspace, path: Path) -> ImportReport:
    """Import what ``kept export`` wrote: a whole store into an empty home, or memories (jsonl) as one pass that can be undone.

    Raises UsageError if the file is neither or the home is not empty; StoreError, DamagedError. Nothing is changed then.
    """
    if is_portable(path):
        workspace.store.load_rows(read_rows(path))
        summarize_threads(workspace)
        return ImportReport(whole=True, added=Counter(memory.status.value for memory in workspace.store.log.memories()))
    return import_memories(workspace, _read_rows(path), path.name)


def import_memories(workspace: Workspace, bodies: Iterable[Mapping[str, Any]], subject: str) -> ImportReport:
    """Add memories in the form of ``kept export --format jsonl``, in one pass that can be undone. Raises StoreError."""
    result = ImportReport()
    additions = tuple(_build_additions(workspace, bodies, result))
    if additions:
        with workspace.store.transaction():
            now = workspace.clock()
            run = workspace.store.log.start_run("import", now)
            draft = Draft(run=run, stage="import", subject=subject, actor=Actor.PERSON, recorded_at=now, operations=additions)
            workspace.store.log.commit(draft)
            workspace.store.log.end_run(run, now, {"added": dict(result.added), "left_out": dict(result.left_out)})
    return result


def count_new_memories(workspace: Workspace, bodies: Iterable[Mapping[str, Any]]) -> int:
    """The number of memories that :func:`import_memories` would add. Changes nothing."""
    return sum(1 for _ in _build_additions(workspace, bodies, ImportReport()))


def _build_additions(workspace: Workspace, bodies: Iterable[Mapping[str, Any]], result: ImportReport) -> Iterator[Add]:
    known = workspace.store.log.memories()
    taken = {memory.id for memory in known}
    contents = {(memory.scope, normal_form(memory.content)) for memory in known if memory.content}
    forgotten, key = workspace.store.log.forgotten_fingerprints(), workspace.store.key("forget")
    for body in bodies:
        found = _parse_memory(workspace, body)
        if isinstance(found, str):
            result.left_out[found] += 1
            continue
        form = (found.scope, normal_form(found.content))
        if forgotten and is_known_statement(found.content, forgotten, key):
            result.left_out["forgotten"] += 1
        elif found.id in taken or form in contents:
            result.left_out["remembered already"] += 1
        else:
            taken.add(found.id)
            contents.add(form)
            result.added[found.status.value] += 1
            yield Add(memory=found.id, at=found.first_seen, reason=f"imported as {found.status.value}", value=found)


def _read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    number = count = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(_LONGEST + 1):
                number += 1
                if line.strip():
                    count += 1
                    yield _parse_line(line, number)
        if not count:
            raise UsageError("there is nothing in the file", where=str(path), hint="give what `kept export` wrote")
    except (ValueError, RecursionError) as error:
        hint = "give what `kept export` wrote; nothing was imported"
        raise UsageError(f"line {number} cannot be imported: {error}", where=str(path), hint=hint) from error
    except OSError as error:
        raise UsageError(f"the file cannot be read: {error.strerror}", where=str(path)) from error


def _parse_line(line: bytes, number: int) -> Mapping[str, Any]:
    if len(line) > _LONGEST or number > _MOST:
        raise ValueError("the file is too large")
    body = json.loads(line)
    match body:
        case {"content": str()}:
            found: Mapping[str, Any] = body
            return found
    raise ValueError("it is not a memory")


def _parse_memory(workspace: Workspace, body: Mapping[str, Any]) -> Memory | str:
    """The memory of an exported line, or the reason why it is left out."""
    status, scope = body.get("status", "active"), body.get("scope", USER_SCOPE)
    profile = next((item for item in workspace.profiles if item.id == body.get("profile", workspace.profile.id)), None)
    kind = profile.category(str(body.get("category", ""))) if profile else None
    if status not in (Status.ACTIVE, Status.HELD):
        return f"it is {status}" if status in list(Status) else "unknown status"
    if profile is None:
        return "of another profile"
    if kind is None:
        return "unknown category"
    if not isinstance(scope, str) or not (scope == USER_SCOPE or (scope.startswith(PROJECT) and len(scope) < 1_000)):
        return "unknown scope"
    try:
        content = clean_memory_text(workspace, body["content"])
        origin = Origin(body.get("origin", Origin.TOOL))
        about = clean_memory_text(workspace, str(body["about"])) if body.get("about") else ""
        evidence = tuple(_parse_evidence(workspace, item) for item in body.get("evidence", ()))
    except (UsageError, ValueError, TypeError, AttributeError):
        return "unusable"
    # A file's claims about itself prove nothing. A memory is held whatever its status was if the archived sessions do not contain
    # its quotes, and so is a rule that is not in the user's own words.
    trusted = _is_quoted(workspace, content, evidence, origin, own_words=kind.users_words)
    number = str(body.get("id", ""))
    plain = len(number) == 10 and all(char in "0123456789abcdef" for char in number)
    first, last = (parse_instant(body.get(name)) for name in ("first_seen", "last_seen"))
    return Memory(
        id=number if plain else digest(profile.id, scope, kind.id, content, size=5),
        profile=profile.id,
        category=kind.id,
        scope=scope,
        status=Status(status) if trusted else Status.HELD,
        content=content,
        confidence=_parse_confidence(body.get("confidence"), 1.0 if trusted else 0.6),
        origin=origin,
        first_seen=first,
        last_seen=last or first,
        artifacts=_parse_texts(body.get("artifacts")),
        evidence=evidence,
        observations=_parse_count(body.get("observations")),
        pinned=trusted and body.get("pinned") is True,
        owned=trusted,
        valid_until=parse_instant(body.get("valid_until")),
        trigger=IMPORTED,
        about=about,
        needed_for=select_requests(
            _parse_texts(body.get("needed_for")),
            load_lexicon(profile.languages),
            workspace.store.log.forgotten_fingerprints(),
            workspace.store.key("forget"),
        ),
    )


def _is_quoted(workspace: Workspace, content: str, evidence: Sequence[Evidence], origin: Origin, *, own_words: bool) -> bool:
    """True if every quote stands in the archived event that it cites and the quotes cover the content; a rule needs the user's own
    words.
    """
    texts: dict[str, str] = {}
    for entry in evidence:
        event = workspace.store.archive.event(entry.event)
        if event is None or event.origin is not entry.origin or not find_verbatim(entry.quote, event):
            return False
        texts[entry.event] = "\n".join(list_texts(event))
    users = origin is Origin.USER and any(item.origin is Origin.USER for item in evidence)
    if not users and (own_words or origin is Origin.USER):
        return False
    if measure_support(content, *(item.quote for item in evidence)) < _CARRIED:
        return False
    words = one_line("\n".join(texts.values())).casefold()
    return bool(evidence) and all(name.casefold() in words for name in find_artifacts(content))


def _parse_evidence(workspace: Workspace, body: Mapping[str, Any]) -> Evidence:
    return Evidence(
        quote=clean_memory_text(workspace, body.get("quote", ""), most=100_000),
        event=_parse_text(body.get("event")),
        session=_parse_text(body.get("session")),
        path=_parse_text(body.get("source")),
        at=parse_instant(body.get("at")),
        author=_parse_text(body.get("author")),
        origin=Origin(body.get("origin", Origin.TOOL)),
    )


def _parse_text(value: object) -> str:
    return value[:4_000] if isinstance(value, str) else ""


def _parse_texts(value: object) -> tuple[str, ...]:
    return tuple(_parse_text(item) for item in value[:100] if _parse_text(item)) if isinstance(value, list) else ()


def _parse_confidence(value: object, usual: float) -> float:
    """The confidence from an older export; current exports contain none."""
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else usual


def _parse_count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else 1
