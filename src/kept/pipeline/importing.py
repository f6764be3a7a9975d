"""Audit a memory file or another tool's store, and import its memories or those of a file of ``kept export``.

An audit finds problems; it is read-only and imports nothing. Memories of other tools are imported on a person's request and held
for review, and each names the file that it comes from. Those of an export keep their status only if archived sessions prove them.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from kept.core.artifact import find_artifacts
from kept.core.digest import digest
from kept.core.errors import UsageError
from kept.core.event import Origin
from kept.core.fingerprint import is_known_statement
from kept.core.memory import PLANTED, REDACTED, USER_SCOPE, Actor, Evidence, Memory, Status
from kept.core.operation import Add
from kept.core.pattern import Pattern
from kept.core.project import PROJECT
from kept.core.redact import redact
from kept.core.statement import Statement, find_content, parse_statement
from kept.core.text import normal_form, one_line
from kept.core.times import EARLIEST, format_instant, parse_instant
from kept.core.value import dataclass, field
from kept.curation.curate.clusters import find_clusters
from kept.curation.curate.texts import find_value_pairs
from kept.curation.curate.values import parse_value_statement
from kept.days.day_notes import summarize_threads
from kept.extraction.expiry import find_end
from kept.extraction.questions.support import find_verbatim, measure_support
from kept.extraction.rules.harms import is_harmful_command
from kept.extraction.rules.patterns import list_texts
from kept.extraction.verdicts import select_requests
from kept.memories.client_memory import ScopedNote, assign_scopes, load_scoped_notes
from kept.memories.foreign import TOOLS, ForeignNote
from kept.memories.foreign_stores import is_export_by_rows, read_stored_notes
from kept.memories.new_memory import UNSURE
from kept.memories.wording import clean_memory_text
from kept.profiles.lexicons import load_lexicon
from kept.recall.index import UnitKind
from kept.recall.search import Filters, search
from kept.sources.records import replace_surrogates
from kept.store.backups import is_portable, read_rows
from kept.store.check import IMPORTED
from kept.workspace import RunNumber, Workspace


class AuditFault(StrEnum):
    """A kind of fault in a line."""

    SECRET = "secret"  # noqa: S105 - the name of a fault
    INSTRUCTION = "instruction"
    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    STALE = "stale"
    UNSUPPORTED = "no evidence"


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditFinding:
    """A line and its fault. ``other`` is the line that it repeats, contradicts or was replaced by; empty if there is none."""

    fault: AuditFault
    text: str
    path: Path
    other: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditReport:
    """The number of notes read, and the findings.

    ``compared`` means that there were transcripts to search for evidence. ``unread`` lists the files that could not be read.
    """

    notes: int
    findings: tuple[AuditFinding, ...]
    compared: bool
    unread: tuple[Path, ...] = ()


_CODE = Pattern(r"`([^`\n]+)`")
# Instructions that nobody except an attacker would want an agent to remember.
_INJECTED = Pattern(
    r"(?i)\b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|the\s+|your\s+|every\s+)*(?:previous|prior|above|earlier|other|system)\b"
    r"|\b(?:do not|don'?t|never)\s+(?:tell|inform|mention|ask|show|reveal|warn)\b[^.]{0,40}\b(?:user|person|human|owner)\b"
    r"|\byou\s+are\s+now\b|\bnew\s+instructions?\s*:|</?(?:system|instructions?|important)>"
    r"|\b(?:send|post|upload|exfiltrate|forward|e?mail)\b[^.]{0,60}\b(?:keys?|tokens?|passwords?|credentials?|secrets?|\.env|cookies?)\b"
)
_UNASKED = Pattern(r"(?i)\bwithout\s+(?:asking|telling|informing|notifying)\s+(?:the\s+)?(?:user|person|human)\b")
_DENIED = Pattern(r"(?i)\b(?:never|not|no|don'?t|avoid|nothing)\b")
_COMMAND = Pattern(r"(?i)\b(?:curl|wget|iwr)\s+\S*\s*\S+://.*|\b(?:sudo|rm\s+-\w+|chmod)\s+\S.*")
_NO_COMMAND = Pattern(r"^(?:\S*|[A-Z]+\s+\S+://.*)$")  # a name, an address or an HTTP request
_COVERED = 0.6  # minimum share of a line's content words in a passage that is its evidence
_LOOKED_AT = 8  # number of passages examined for a line
_LEAST_WORDS = 3  # content words; a shorter line is not checked for evidence


def audit(workspace: Workspace, path: Path) -> AuditReport:
    """Find faults in the notes of a file or folder: secrets, injected instructions, repeats, contradictions, expired notes, and
    notes that no transcript supports.

    Raises UsageError if nothing in it is recognized, StoreError.
    """
    stored = read_stored_notes(path)
    notes = sorted(stored.notes, key=lambda note: note.at or note.latest or EARLIEST)
    says = [parse_statement(note.text, find_artifacts(note.text)) for note in notes]
    compared = any(True for _ in workspace.store.archive.threads())
    found = [
        *_find_secrets(workspace, notes),
        *_find_instructions(notes),
        *_find_repeats(notes, says),
        *_find_contradictions(notes, says),
        *_find_expired(workspace, notes),
        *(_find_unsupported(workspace, notes, says) if compared else ()),
    ]
    return AuditReport(notes=len(notes), findings=tuple(found), compared=compared, unread=stored.unread)


def _find_secrets(workspace: Workspace, notes: Sequence[ForeignNote]) -> Iterator[AuditFinding]:
    key = workspace.store.key("redaction")
    for note in notes:
        clean = redact(note.text, key=key)
        if clean.found:
            yield AuditFinding(fault=AuditFault.SECRET, text=clean.text, path=note.path)


def _find_instructions(notes: Sequence[ForeignNote]) -> Iterator[AuditFinding]:
    return (
        AuditFinding(fault=AuditFault.INSTRUCTION, text=note.text, path=note.path) for note in notes if is_instruction(note.text)
    )


def is_instruction(text: str) -> bool:
    """True if a text makes an agent act without the person's knowledge, or run a harmful command. "Never … without asking the user"
    does not count.
    """
    quoted = (code for code in _CODE.findall(text) if not _NO_COMMAND.match(code))
    commands = (*quoted, *(match[0] for match in _COMMAND.finditer(text)))
    unasked = _UNASKED.search(text)
    injected = _INJECTED.search(text) or (unasked and not _DENIED.search(text[: unasked.start()]))
    return bool(injected) or any(map(is_harmful_command, commands))


def _find_repeats(notes: Sequence[ForeignNote], says: Sequence[Statement]) -> Iterator[AuditFinding]:
    for cluster in find_clusters(says):
        first, *others = cluster
        for place in others:
            yield AuditFinding(fault=AuditFault.DUPLICATE, text=notes[place].text, path=notes[place].path, other=notes[first].text)


def _find_contradictions(notes: Sequence[ForeignNote], says: Sequence[Statement]) -> Iterator[AuditFinding]:
    """Yield pairs of notes that contradict each other. If their times are known, the finding is about the earlier note."""
    sayings = [parse_value_statement(note.text, statement) for note, statement in zip(notes, says, strict=True)]
    contradictions = {
        (notes[earlier].text, notes[later].text): notes[earlier].path for earlier, later, _ in find_value_pairs(sayings)
    }
    for (text, other), path in contradictions.items():
        yield AuditFinding(fault=AuditFault.CONTRADICTION, text=text, path=path, other=other)


def _find_expired(workspace: Workspace, notes: Sequence[ForeignNote]) -> Iterator[AuditFinding]:
    now: datetime = workspace.clock()
    for note in notes:
        end = find_end(note.text, note.at or note.latest, workspace.zone)
        if end is not None and end <= now:
            yield AuditFinding(fault=AuditFault.STALE, text=note.text, path=note.path)


def _find_unsupported(workspace: Workspace, notes: Sequence[ForeignNote], says: Sequence[Statement]) -> Iterator[AuditFinding]:
    for note, statement in zip(notes, says, strict=True):
        if len(statement.content) < _LEAST_WORDS:
            continue
        hits = search(workspace, note.text, where=(UnitKind.TURN,), limit=_LOOKED_AT, filters=Filters())
        if not any(len(statement.content & find_content(hit.text)) >= _COVERED * len(statement.content) for hit in hits):
            yield AuditFinding(fault=AuditFault.UNSUPPORTED, text=note.text, path=note.path)


_OWN = (".jsonl", ".gz")  # extensions of files that kept export writes
_LONGEST = 2**20  # maximum bytes of one exported memory
_MOST = 1_000_000  # maximum memories of one import
_CARRIED = 0.5  # minimum share of a memory's content words in its quotes; with less, the quotes are about something else


@dataclass(kw_only=True, slots=True)
class ImportReport:
    """The result of an import. ``whole`` means that a whole store was loaded. Otherwise ``added`` counts memories by status, and
    ``left_out`` by reason.
    """

    whole: bool = False
    added: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)


def import_from_tool(workspace: Workspace, tool: str) -> ImportReport:
    """Import the memories of ``tool`` (``all``: every tool) as held, in one pass that can be undone. Skips memories that were
    imported before.

    Raises UsageError for an unknown tool, StoreError.
    """
    if tool not in (*TOOLS, "all"):
        raise UsageError(f"kept does not know the memory of {tool!r}", hint=f"one of: {', '.join(TOOLS)}, all")
    scoped_notes = load_scoped_notes(workspace, TOOLS if tool == "all" else (tool,))
    return import_memories(workspace, _to_import_rows(workspace, scoped_notes), f"what {tool} remembers")


def import_path(workspace: Workspace, path: Path) -> ImportReport:
    """Import a file of ``kept export`` or of another tool. Another tool's memories are held, as in :func:`import_from_tool`.

    Raises UsageError if it is neither, StoreError, DamagedError. Nothing has changed then.
    """
    if path.is_file() and (is_portable(path) or (path.suffix.lower() in _OWN and not is_export_by_rows(path))):
        return import_file(workspace, path)
    stored = read_stored_notes(path)
    taken = import_memories(workspace, _to_import_rows(workspace, assign_scopes(workspace, stored.notes)), path.name)
    taken.left_out.update({"files that cannot be read": len(stored.unread)} if stored.unread else {})
    return taken


def count_importable_notes(workspace: Workspace) -> dict[str, int]:
    """The number of notes of each tool that can be imported and were not imported before."""
    counts = {
        tool: count_new_memories(workspace, _to_import_rows(workspace, load_scoped_notes(workspace, (tool,)))) for tool in TOOLS
    }
    return {tool: count for tool, count in counts.items() if count}


def _to_import_rows(workspace: Workspace, found: Iterable[ScopedNote]) -> Iterator[Mapping[str, Any]]:
    """Yield the notes in the form that :func:`import_memories` takes. Their author is an assistant, their evidence the file."""
    for scoped_note in found:
        note = scoped_note.note
        at = format_instant(note.at) if note.at else None
        text, path, tool = map(replace_surrogates, (note.text, str(note.path), note.tool))
        yield {
            "content": text,
            "profile": workspace.profile.id,
            "category": scoped_note.category,
            "scope": scoped_note.scope,
            "status": Status.HELD.value,
            "origin": "assistant",
            "confidence": UNSURE,
            "first_seen": at,
            "evidence": [{"quote": text, "source": path, "at": at, "author": tool, "origin": "assistant"}],
        }


def import_file(workspace: Workspace, path: Path) -> ImportReport:
    """Import a file of ``kept export``: a whole store into an empty home, or memories (jsonl) as one pass that can be undone.

    Raises UsageError if the file is neither or the home is not empty; StoreError, DamagedError. Nothing has changed then.
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
            run = RunNumber(workspace, "import")
            run.commit("import", additions, subject=subject, actor=Actor.PERSON)
            run.end({"added": dict(result.added), "left_out": dict(result.left_out)})
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
            doubt = _find_doubt(body["content"], found.content) if found.status is Status.HELD else ""
            yield Add(memory=found.id, at=found.first_seen, reason=f"imported as {found.status.value}{doubt}", value=found)


def _find_doubt(text: str, cleaned: str) -> str:
    """The reason why a memory is probably not worth a person's time; empty if there is none."""
    if is_instruction(text):
        return f": {PLANTED}"
    return f": {REDACTED}" if cleaned.count("[redacted:") > text.count("[redacted:") else ""


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
    body: Any = replace_surrogates(json.loads(line))
    if isinstance(body, dict) and isinstance(body.get("content"), str):
        return body
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
    # A file's claims about itself prove nothing. If the archived sessions do not contain its quotes, a memory is held whatever its
    # status. A rule is also held if it is not in the user's own words.
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
        artifacts=_parse_texts(workspace, body.get("artifacts")),
        evidence=evidence,
        observations=_parse_count(body.get("observations")),
        pinned=trusted and body.get("pinned") is True,
        owned=trusted,
        valid_until=parse_instant(body.get("valid_until")),
        trigger=IMPORTED,
        about=about,
        needed_for=select_requests(
            _parse_texts(workspace, body.get("needed_for")),
            load_lexicon(profile.languages),
            workspace.store.log.forgotten_fingerprints(),
            workspace.store.key("forget"),
        ),
    )


def _is_quoted(workspace: Workspace, content: str, evidence: Sequence[Evidence], origin: Origin, *, own_words: bool) -> bool:
    """True if every quote occurs in the archived event that it cites, and the quotes contain enough of the content. A rule also
    needs the user's own words (``own_words``).
    """
    texts: dict[str, str] = {}
    for entry in evidence:
        event = workspace.store.archive.event(entry.event) if entry.event else None
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
        event=_parse_text(workspace, body.get("event")),
        session=_parse_text(workspace, body.get("session")),
        path=_parse_text(workspace, body.get("source")),
        at=parse_instant(body.get("at")),
        author=_parse_text(workspace, body.get("author")),
        origin=Origin(body.get("origin", Origin.TOOL)),
    )


def _parse_text(workspace: Workspace, value: object) -> str:
    return redact(value[:4_000], key=workspace.store.key("redaction")).text if value and isinstance(value, str) else ""


def _parse_texts(workspace: Workspace, value: object) -> tuple[str, ...]:
    texts = (_parse_text(workspace, item) for item in value[:100]) if isinstance(value, list) else ()
    return tuple(filter(None, texts))


def _parse_confidence(value: object, usual: float) -> float:
    """The confidence from an older export; current exports contain none."""
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else usual


def _parse_count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else 1
