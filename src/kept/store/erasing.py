"""Taking words out of rows by content: pure, the same for every store.

What a forgotten memory said is erased whole (:meth:`kept.store.protocol.Log.erase`). What other rows repeat of it is taken
out of them here, and the hashes that cover those rows are made anew.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from kept.core.codec import canonical
from kept.core.erasure import Words, changed_strings
from kept.core.event import FORGOTTEN_MARK, Event
from kept.core.memory import Evidence
from kept.store.records import chain, commitment_of, withheld
from kept.store.rows import commitments
from kept.store.values import CandidateRow, OperationRow, PassRow

R = TypeVar("R", OperationRow, CandidateRow)


@dataclass(frozen=True, kw_only=True, slots=True)
class Amended:
    """The rows of a log that are others without the words. Of passes also those whose hash covers such a row, and all after
    them.
    """

    passes: tuple[PassRow, ...]
    operations: tuple[OperationRow, ...]
    candidates: tuple[CandidateRow, ...]

    @property
    def places(self) -> int:
        """How many rows held the words."""
        return len(self.operations) + len(self.candidates)


def amended(
    passes: Sequence[PassRow],
    operations: Sequence[OperationRow],
    candidates: Sequence[CandidateRow],
    words: Words,
    spared: Collection[str] = (),
) -> Amended:
    """What changes in a log whose rows come in order; memories and candidates that are ``spared`` stay as they are."""
    done = [row if row.memory in spared else _row_without(row, words) for row in operations]
    told = [row if row.id in spared else _row_without(row, words) for row in candidates]
    heads = [_head_without(row, words) for row in passes]
    return Amended(
        passes=tuple(new for old, new in zip(passes, _chained(heads, done, told), strict=True) if new != old),
        operations=tuple(new for old, new in zip(operations, done, strict=True) if new is not old),
        candidates=tuple(new for old, new in zip(candidates, told, strict=True) if new is not old),
    )


def event_without(event: Event, words: Words) -> Event:
    """An event with the words taken out of what was said or done; the very event where they do not stand in it."""
    if event.key in words.events:
        return withheld(event, FORGOTTEN_MARK)

    def left(text: str) -> str:
        for quote in words.quotes.get(event.key, ()):
            text = text.replace(quote, FORGOTTEN_MARK)
        return words.taken_out(text)

    tool = replace(event.tool, target=left(event.tool.target), detail=left(event.tool.detail)) if event.tool else None
    erased = replace(event, text=left(event.text), tool=tool)
    return event if erased == event else erased


def said_in(event: Event) -> tuple[str, ...]:
    """Every text of an event."""
    return (event.text, *((event.tool.target, event.tool.detail) if event.tool else ()))


def has_words(event: Event, words: Words) -> bool:
    """True if an event holds something that is to be forgotten and is not empty already."""
    quotes = words.quotes.get(event.key, ())
    return (event.key in words.events and event.text != FORGOTTEN_MARK) or any(
        words.stand_in(said) or any(quote in said for quote in quotes) for said in said_in(event)
    )


def json_without(text: str, words: Words) -> str:
    """A JSON text with the words taken out of its strings; the very text where they do not stand in it."""
    if not words.stand_in(text):
        return text
    value: object = json.loads(text)
    return canonical(changed_strings(value, words.taken_out))


def cites(evidence: Evidence, words: Words) -> bool:
    """True if evidence quotes a session or an event that is forgotten whole."""
    return evidence.quote != FORGOTTEN_MARK and (evidence.event in words.events or evidence.session in words.sessions)


def texts_of(rows: Iterable[OperationRow | CandidateRow]) -> Iterator[tuple[str, str]]:
    """What rows of a log hold, each with what it is called: the bodies and the words that were not erased."""
    for row in rows:
        name = f"the history of memory {row.memory}" if isinstance(row, OperationRow) else f"proposal {row.id}"
        yield name, row.body
        if row.words is not None:
            yield name, row.words


def _uncited(text: str, words: Words) -> str:
    """Sealed words with a mark for every quote of a session or event that is forgotten whole; the very text where there is none."""
    if not (words.events or words.sessions) or '"quote"' not in text:
        return text
    value: object = json.loads(text)
    left = _unquoted(value, words)
    return text if left == value else canonical(left)


def _unquoted(value: object, words: Words) -> object:
    match value:
        case list():
            return [_unquoted(item, words) for item in value]
        case dict():
            gone = value.get("event") in words.events or value.get("session") in words.sessions
            return {name: FORGOTTEN_MARK if gone and name == "quote" else _unquoted(item, words) for name, item in value.items()}
    return value


def _row_without(row: R, words: Words) -> R:
    body = json_without(row.body, words)
    sealed = row.words if row.words is None else _uncited(json_without(row.words, words), words)
    if (body, sealed) == (row.body, row.words):
        return row
    commitment = row.commitment if sealed == row.words else commitment_of(sealed or "", row.salt or "")
    if isinstance(row, CandidateRow):
        return replace(row, body=body, words=sealed, commitment=commitment, verdict=json_without(row.verdict, words))
    return replace(row, body=body, words=sealed, commitment=commitment)


def _head_without(row: PassRow, words: Words) -> PassRow:
    subject, note = words.taken_out(row.head.subject), words.taken_out(row.head.note)
    if (subject, note) == (row.head.subject, row.head.note):
        return row
    return replace(row, head=replace(row.head, subject=subject, note=note))


def _chained(heads: Iterable[PassRow], operations: Iterable[OperationRow], candidates: Iterable[CandidateRow]) -> Iterator[PassRow]:
    """The passes with the hashes that their rows have."""
    done, told = _by_pass(operations), _by_pass(candidates)
    previous = ""
    for row in heads:
        number = row.head.id
        previous = chain(previous, row.head, commitments(done.get(number, ()), told.get(number, ())), row.covers)
        yield row if row.hash == previous else replace(row, hash=previous)


def _by_pass(rows: Iterable[R]) -> Mapping[int, list[R]]:
    found: dict[int, list[R]] = {}
    for row in rows:
        found.setdefault(row.pass_id, []).append(row)
    return found
