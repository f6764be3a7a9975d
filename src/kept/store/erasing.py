"""Removes words from rows by content. Works for every store, and has no side effects.

:meth:`kept.store.log.Log.erase_memory` erases the rows of a forgotten memory as a whole. This module removes the words from other
rows that repeat them, and recomputes the hashes of these rows.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from kept.core.codec import map_strings, to_canonical_json
from kept.core.erasure import ErasureWords
from kept.core.event import FORGOTTEN_MARK, Event
from kept.core.fence import is_suggestion_tool
from kept.core.memory import Evidence
from kept.core.operation import ADVISED, IN_SESSION, SESSION_CHARS
from kept.core.value import dataclass, replace
from kept.store.records import commitment_of, hash_pass, likeness_of, replace_content
from kept.store.rows import commitments
from kept.store.values import CandidateRow, OperationRow, PassRow

R = TypeVar("R", OperationRow, CandidateRow)


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasedRows:
    """The rows of a log that change when words are erased. A changed row also changes the hashes of its and all later passes."""

    passes: tuple[PassRow, ...]
    operations: tuple[OperationRow, ...]
    candidates: tuple[CandidateRow, ...]

    @property
    def places(self) -> int:
        """The number of rows that contained the words."""
        return len(self.operations) + len(self.candidates)


def erase_from_rows(
    passes: Sequence[PassRow],
    operations: Sequence[OperationRow],
    candidates: Sequence[CandidateRow],
    words: ErasureWords,
    spared: Collection[str] = (),
) -> ErasedRows:
    """The changed rows of a log. The rows given must be in order. Rows of memories and candidates in ``spared`` do not change."""
    done = [row if row.memory in spared else _erase_from_row(row, words) for row in operations]
    rows = [row if row.id in spared else _erase_from_row(row, words) for row in candidates]
    heads = [_erase_from_head(row, words) for row in passes]
    return ErasedRows(
        passes=tuple(new for old, new in zip(passes, _rehash_passes(heads, done, rows), strict=True) if new != old),
        operations=tuple(new for old, new in zip(operations, done, strict=True) if new is not old),
        candidates=tuple(new for old, new in zip(candidates, rows, strict=True) if new is not old),
    )


def erase_from_event(event: Event, words: ErasureWords) -> Event:
    """The event with the words removed from its texts; the same object if it does not contain them."""
    # A call that hands the words over is erased as a whole, because it also names requests that should bring them.
    handed = event.tool is not None and is_suggestion_tool(event.tool.name) and has_words(event, words)
    if handed or event.key in words.events:
        return replace(replace_content(event, FORGOTTEN_MARK), likeness=likeness_of(event))

    def left(text: str) -> str:
        for quote in words.quotes.get(event.key, ()):
            text = text.replace(quote, FORGOTTEN_MARK)
        return words.remove_from(text)

    tool = replace(event.tool, target=left(event.tool.target), detail=left(event.tool.detail)) if event.tool else None
    erased = replace(event, text=left(event.text), tool=tool, branch="" if words.is_in_text(event.branch) else event.branch)
    return event if erased == event else replace(erased, likeness=likeness_of(event))


def texts_of_event(event: Event) -> tuple[str, ...]:
    """All texts of an event."""
    return (event.text, event.branch, *((event.tool.target, event.tool.detail) if event.tool else ()))


def has_words(event: Event, words: ErasureWords) -> bool:
    """True if an event contains the words, or is to be erased as a whole and is not erased yet."""
    quotes = words.quotes.get(event.key, ())
    return (event.key in words.events and event.text != FORGOTTEN_MARK) or any(
        words.is_in_text(item) or any(quote in item for quote in quotes) for item in texts_of_event(event)
    )


def erase_from_json(text: str, words: ErasureWords) -> str:
    """A JSON text with the words removed from its strings. Unchanged if it does not contain them."""
    if not words.is_in_text(text):
        return text
    value: object = json.loads(text)
    return to_canonical_json(map_strings(value, words.remove_from))


def erase_from_carry(carry: str, words: ErasureWords) -> str:
    """A reader's stored state without the words. If its session is forgotten as a whole, the branch name is removed too."""
    text = erase_from_json(carry, words)
    value = json.loads(text)
    if not (isinstance(value, dict) and value.get("session") in words.sessions and value.get("branch")):
        return text
    return to_canonical_json(value | {"branch": ""})


def cites_erased(evidence: Evidence, words: ErasureWords) -> bool:
    """True if evidence quotes a session or an event that is forgotten as a whole, or what a journal entry repeats of it."""
    whole = evidence.event in words.events or evidence.session in words.sessions
    return evidence.quote != FORGOTTEN_MARK and (whole or words.is_echo(evidence.event, evidence.quote))


def log_row_texts(rows: Iterable[OperationRow | CandidateRow]) -> Iterator[tuple[str, str]]:
    """The texts of log rows, as pairs (label, text): bodies, and words that are not erased."""
    for row in rows:
        name = f"the history of memory {row.memory}" if isinstance(row, OperationRow) else f"proposal {row.id}"
        yield name, row.body
        if row.words is not None:
            yield name, row.words


def _erase_citations(text: str, words: ErasureWords) -> str:
    """A row's words as JSON text, with a mark in place of each quote from a session or event that is forgotten as a whole."""
    if not (words.events or words.sessions) or '"quote"' not in text:
        return text
    value: object = json.loads(text)
    left = _erase_quotes(value, words)
    return text if left == value else to_canonical_json(left)


def _erase_quotes(value: object, words: ErasureWords) -> object:
    match value:
        case list():
            return [_erase_quotes(item, words) for item in value]
        case dict():
            gone = value.get("event") in words.events or value.get("session") in words.sessions
            return {
                name: FORGOTTEN_MARK if gone and name == "quote" else _erase_quotes(item, words) for name, item in value.items()
            }
    return value


def _erase_from_row(row: R, words: ErasureWords) -> R:
    body = _erase_advice(erase_from_json(row.body, words), words)
    sealed = row.words if row.words is None else _erase_citations(erase_from_json(row.words, words), words)
    if (body, sealed) == (row.body, row.words):
        return row
    commitment = row.commitment if sealed == row.words else commitment_of(sealed or "", row.salt or "")
    if isinstance(row, CandidateRow):
        return replace(row, body=body, words=sealed, commitment=commitment, verdict=erase_from_json(row.verdict, words))
    return replace(row, body=body, words=sealed, commitment=commitment)


def _erase_advice(body: str, words: ErasureWords) -> str:
    """A row's body as JSON text, without a model's reason if that is about a prompt in a session that is forgotten as a whole."""
    if ADVISED not in body or IN_SESSION not in body:
        return body
    value = json.loads(body)
    reason = str(value.get("reason"))
    gone = any(f"{IN_SESSION}{session[:SESSION_CHARS]}" in reason for session in words.sessions)
    return to_canonical_json(value | {"reason": f"{ADVISED}{FORGOTTEN_MARK}"}) if gone and reason.startswith(ADVISED) else body


def _erase_from_head(row: PassRow, words: ErasureWords) -> PassRow:
    subject, note = words.remove_from(row.head.subject), words.remove_from(row.head.note)
    if (subject, note) == (row.head.subject, row.head.note):
        return row
    return replace(row, head=replace(row.head, subject=subject, note=note))


def _rehash_passes(
    heads: Iterable[PassRow], operations: Iterable[OperationRow], candidates: Iterable[CandidateRow]
) -> Iterator[PassRow]:
    """The passes with their hashes recomputed from these rows."""
    done, told = _group_by_pass(operations), _group_by_pass(candidates)
    previous = ""
    for row in heads:
        number = row.head.id
        previous = hash_pass(previous, row.head, commitments(done.get(number, ()), told.get(number, ())), row.covers)
        yield row if row.hash == previous else replace(row, hash=previous)


def _group_by_pass(rows: Iterable[R]) -> Mapping[int, list[R]]:
    found: dict[int, list[R]] = {}
    for row in rows:
        found.setdefault(row.pass_id, []).append(row)
    return found
