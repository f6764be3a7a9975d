"""The one door of free text: what a person, an agent or metadata says passes it on its way into a store, whoever calls.

It knows where words stand in what a store is given, not what a secret is: whoever opens the store says how a text is redacted.
What a machine proposes is made of archived words, which passed here before, and is quoted as it stands.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from kept.core.codec import to_canonical_json
from kept.core.event import Cursor
from kept.core.memory import Actor
from kept.store.values import Draft

T = TypeVar("T")
Redact = Callable[[str, bytes], str]  # the text without its secrets, marked with a key of the store
Safe = Callable[[str], str]
# Words as the archive has them. A part of a redacted text is not redacted again: out of its context it could be taken for a secret.
_QUOTED = frozenset({"quote"})


def skip_store_redaction(text: str, _: bytes) -> str:
    """The text as it is, for a store that is only copied, checked or compared."""
    return text


def redact_draft(draft: Draft, safe: Safe) -> Draft:
    """A pass without secrets in what is said of it, and in what a person or an agent does by it."""
    stored_draft = replace(draft, subject=safe(draft.subject), note=safe(draft.note))
    return stored_draft if draft.actor is Actor.MACHINE else replace(stored_draft, operations=redact_value(draft.operations, safe))


def redact_cursor(cursor: Cursor, safe: Safe) -> Cursor:
    """A cursor without secrets in what its reader carries (open tool calls, names)."""
    carry = safe(cursor.carry)
    return (
        cursor if carry == cursor.carry else replace(cursor, carry=to_canonical_json(redact_value(json.loads(cursor.carry), safe)))
    )


def redact_value(value: T, safe: Safe) -> T:
    """A value without secrets in any of its texts, whatever they are called; the value itself where there are none."""
    made: Any = value
    match value:
        case Enum():
            return value
        case str():
            made = safe(value)
        case tuple() | list():
            made = type(value)(redact_value(item, safe) for item in value)
        case Mapping():
            made = {safe(str(name)): redact_value(each, safe) for name, each in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            changed = {
                field.name: redact_value(getattr(value, field.name), safe) for field in fields(value) if field.name not in _QUOTED
            }
            made = replace(value, **changed)
    return value if made == value else made
