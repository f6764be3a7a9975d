"""Audit: find problems in a memory file or another tool's store. Read-only, and imports no memories."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from kept.core.artifact import find_artifacts
from kept.core.pattern import Pattern
from kept.core.redact import redact
from kept.core.statement import Statement, find_content, parse_statement
from kept.core.times import EARLIEST
from kept.core.value import dataclass
from kept.curation.curate.clusters import find_clusters
from kept.curation.curate.texts import find_value_pairs
from kept.curation.curate.values import parse_value_statement
from kept.extraction.expiry import find_end
from kept.extraction.rules.harms import is_harmful_command
from kept.memories.foreign import ForeignNote
from kept.memories.foreign_stores import read_stored_notes
from kept.recall.index import UnitKind
from kept.recall.search import Filters, search
from kept.workspace import Workspace


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
    notes = sorted(stored.notes, key=lambda note: note.at or EARLIEST)
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
        end = find_end(note.text, note.at, workspace.zone)
        if end is not None and end <= now:
            yield AuditFinding(fault=AuditFault.STALE, text=note.text, path=note.path)


def _find_unsupported(workspace: Workspace, notes: Sequence[ForeignNote], says: Sequence[Statement]) -> Iterator[AuditFinding]:
    for note, statement in zip(notes, says, strict=True):
        if len(statement.content) < _LEAST_WORDS:
            continue
        hits = search(workspace, note.text, where=(UnitKind.TURN,), limit=_LOOKED_AT, filters=Filters())
        if not any(len(statement.content & find_content(hit.text)) >= _COVERED * len(statement.content) for hit in hits):
            yield AuditFinding(fault=AuditFault.UNSUPPORTED, text=note.text, path=note.path)
