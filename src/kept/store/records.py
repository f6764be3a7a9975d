"""The stored form of operations, passes and candidates, and the copies of events. Knows nothing of SQL.

Words (contents, quotes, artifacts) are stored apart from all other data ("sealed"). They can therefore be erased while the log, its
order and its hash chain stay intact.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from kept.core.codec import dump, dump_member, json_fields, load, load_table, to_canonical_json
from kept.core.digest import digest
from kept.core.event import FORGOTTEN_MARK, Event, EventKind, Precision, is_unconfirmed
from kept.core.memory import CandidateVerdict, Memory, Verdict
from kept.core.operation import Operation, Pass
from kept.core.text import word_set
from kept.core.value import dataclass, replace

# The fields of an operation, a memory or a candidate that contain somebody's words.
_WORDS = word_set("content evidence added artifacts fingerprint reasoning detail subject about replaces needed_for")
ERASED = "{}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sealed:
    """A value in two parts: ``body`` without words, and ``words``. ``commitment`` is the hash of ``words`` with ``salt``."""

    body: str
    words: str
    salt: str
    commitment: str


def seal(value: Mapping[str, Any], salt: str) -> Sealed:
    """Split the JSON form of a value into a permanent part and an erasable part."""
    body, words = _split_words(value)
    text = to_canonical_json(words)
    return Sealed(body=to_canonical_json(body), words=text, salt=salt, commitment=commitment_of(text, salt))


def unseal(body: str, words: str | None) -> dict[str, Any]:
    """Join both parts again. Erased words are empty."""
    return _join(json.loads(body), json.loads(words or ERASED))


def commitment_of(words: str, salt: str) -> str:
    """The salted hash that ties words to their body without revealing them."""
    return digest(salt, words)


def _split_words(value: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    body: dict[str, Any] = {}
    words: dict[str, Any] = {}
    for name, each in value.items():
        if name in _WORDS:
            words[name] = each
        elif isinstance(each, dict):
            body[name], inner = _split_words(each)
            if inner:
                words[name] = inner
        else:
            body[name] = each
    return body, words


def _join(body: dict[str, Any], words: Mapping[str, Any]) -> dict[str, Any]:
    joined = body | {name: each for name, each in words.items() if not isinstance(body.get(name), dict)}
    for name, blank in _BLANK.items():
        if isinstance(body.get(name), dict):
            joined[name] = blank | _join(body[name], words.get(name, {}))
    return joined


# The values of required word fields after erasure.
_BLANK: Mapping[str, dict[str, Any]] = {
    "value": {"content": ""},
    "facts": {"content": "", "artifacts": []},
    "candidate": {"content": "", "artifacts": [], "evidence": [], "reasoning": ""},
}


def read_operation(body: Mapping[str, Any]) -> Operation:
    """The operation in its JSON form, with its kind under ``"is"``. Old reasons are read in the present words."""
    value = body.get("value")
    today = {"value": _renew(value, "reason")} if isinstance(value, dict) else {}
    operation: Operation = load(Operation, _renew(body, "reason") | today)
    return operation


def judged_body(judged: CandidateVerdict) -> dict[str, Any]:
    """The JSON form of a candidate with its verdict."""
    return {"candidate": dump(judged.candidate), "verdict": dump_member(judged.verdict)}


def read_judged(body: Mapping[str, Any]) -> CandidateVerdict:
    """The inverse of :func:`judged_body`. Old reasons are read in the present words."""
    today = {"candidate": _renew(body["candidate"], "doubt"), "verdict": _renew(body["verdict"], "reason")}
    judged: CandidateVerdict = load(CandidateVerdict, {**body, **today})
    return judged


def read_memory(body: Mapping[str, Any]) -> Memory:
    """The memory in its JSON form. An old reason is read in the present words."""
    memory: Memory = load(Memory, _renew(body, "reason"))
    return memory


def _renew(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A JSON form in which the reason in field ``name`` has the present words."""
    return {**body, name: renew_reason(body[name])} if isinstance(body.get(name), str) else {**body}


def verdict_slug(verdict: Verdict) -> str:
    """The database column of a verdict: its kind and reason as JSON."""
    return to_canonical_json([type(verdict).__name__.lower(), getattr(verdict, "reason", "")])


def hash_pass(previous: str, made: Pass, commitments: Sequence[str], covers: Sequence[tuple[int, int]]) -> str:
    """The hash of a pass. It covers the previous pass's hash, the pass without operations, the commitments of its rows in order,
    and its spans.
    """
    names = ("id", "run", "stage", "subject", "actor", "recorded_at", "undoes", "redoes", "note")
    head = to_canonical_json(json_fields(made, *names))
    return digest(
        previous, head, to_canonical_json(list(commitments)), to_canonical_json([list(cover) for cover in covers]), size=32
    )


_PRECISE = (Precision.MESSAGE, Precision.INFERRED, Precision.SESSION, Precision.NONE)
_SPOKEN = frozenset({EventKind.PROMPT, EventKind.RESPONSE})


def likeness_of(event: Event) -> str:
    """A hash that recognises a prompt or response in another tool's copy of its session, made from its time in seconds and its
    letters.

    Empty for other events, and for events without a time stamp or session of their own.
    """
    if event.likeness or event.text == FORGOTTEN_MARK:
        return event.likeness
    if event.at is None or event.precision is not Precision.MESSAGE or event.kind not in _SPOKEN or not event.session:
        return ""
    return _hash_letters(event.session, event.kind, int(event.at.timestamp()), event.text[:4000])


@lru_cache(maxsize=1024)  # each is hashed when it is searched and when it is stored
def _hash_letters(session: str, kind: str, second: int, text: str) -> str:
    folded = text.casefold()
    letters = folded.translate(dict.fromkeys(ord(char) for char in set(folded) if not char.isalnum()))
    return digest(session, kind, str(second), letters) if letters else ""


def merge_event_copy(before: Event, after: Event) -> Event | None:
    """The copy ``after`` under the key of ``before``, if the copy has better data: a more precise time, the place in the tree, or
    proof that the person typed it. Otherwise None, as for an event with erased words.

    The key stays, so that evidence still finds the event.
    """
    if FORGOTTEN_MARK in before.text or _PRECISE.index(after.precision) > _PRECISE.index(before.precision):
        return None
    confirms = is_unconfirmed(before) and not is_unconfirmed(after) and before.author is after.author
    if after.precision is before.precision and (before.parent or not after.parent) and not confirms:
        return None
    return replace(after, key=before.key)


def replace_content(event: Event, text: str) -> Event:
    """An event with ``text`` in place of its content. The fields that recognise its copies stay."""
    return replace(event, text=text, tool=None, branch="", label_reason="the conversation is not to be remembered")


@cache
def _load_old_reasons() -> Mapping[str, str]:
    """The reasons that earlier versions of kept stored in other words, and the present words."""
    return load_table(Path(__file__).with_name("reasons.toml"))


_HEADS = ("held: ", "kept refused it: ")  # a memory's reason may begin with one of these, before a reason of the table


def renew_reason(reason: str) -> str:
    """A stored reason in the present words. Text before it stays, and so does text in brackets after it."""
    head = next((head for head in _HEADS if reason.startswith(head)), "")
    stored, bracket, rest = reason.removeprefix(head).partition(" (")
    today = _load_old_reasons().get(stored, "")
    return f"{head}{today}{bracket}{rest}" if today else reason
