"""Redacts all free text from people, agents and metadata before a store writes it, whoever the caller is.

It finds the texts in the values that a store is given. The caller that opens the store supplies the function that redacts a text.
kept's own passes contain archived words, which were redacted before, so they are stored unchanged.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from kept.core.codec import to_canonical_json
from kept.core.event import Cursor
from kept.core.memory import Actor
from kept.store.values import Draft

T = TypeVar("T")
Redact = Callable[[str, bytes], str]  # takes a text and a key of the store for the marks; returns the text without secrets
Safe = Callable[[str], str]
# Fields with archived words. They are not redacted again, because a part of a redacted text could look like a secret.
_QUOTED = frozenset({"quote"})


def skip_store_redaction(text: str, _: bytes) -> str:
    """Return the text unchanged. For a store that is only copied, checked or compared."""
    return text


def redact_draft(draft: Draft, safe: Safe) -> Draft:
    """A pass without secrets in its subject and note. If a person or an agent made it, its operations have none either."""
    safe = cache(safe)  # in an import, most texts are the same paths, names and empty texts in every operation
    stored_draft = replace(draft, subject=safe(draft.subject), note=safe(draft.note))
    return stored_draft if draft.actor is Actor.MACHINE else replace(stored_draft, operations=redact_value(draft.operations, safe))


def redact_cursor(cursor: Cursor, safe: Safe) -> Cursor:
    """A cursor without secrets in its reader's state (open tool calls, names)."""
    carry = safe(cursor.carry)
    return (
        cursor if carry == cursor.carry else replace(cursor, carry=to_canonical_json(redact_value(json.loads(cursor.carry), safe)))
    )


def redact_value(value: T, safe: Safe) -> T:
    """A value without secrets in any of its texts except quotes. The same object if it has no secrets."""
    match value:
        case Enum():
            return value
        case str():
            made: Any = safe(value)
        case tuple() | list():
            made = type(value)(redact_value(item, safe) for item in value)
        case Mapping():
            made = {safe(str(name)): redact_value(each, safe) for name, each in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            texts = ((field.name, getattr(value, field.name)) for field in fields(value) if field.name not in _QUOTED)
            changed = {name: made for name, text in texts if (made := redact_value(text, safe)) is not text}
            return replace(value, **changed) if changed else value
        case _:
            return value
    return value if made == value else made
