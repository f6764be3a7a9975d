"""The stored form of operations, passes and candidates, and the copies of events. Knows nothing of SQL.

Words (contents, quotes, artifacts) are stored apart from all other data ("sealed"). They can therefore be erased while the log, its
order and its hash chain stay intact.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from kept.core.codec import dump, dump_member, json_fields, load, to_canonical_json
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


# Reasons that earlier versions of kept stored in other words. They are read in the present words.
_TODAY = {
    "the passage alone does not say what is claimed": "it says more than the passage it cites",
    "it takes back what was told before, and which of that is not clear": (
        "it takes back something you said before, and it is unclear what"
    ),
    "the agent worded it as an option, which was chosen": "you chose it from options that the agent worded",
    "nothing shows that the person typed it: a program, an agent or somebody else may have": (
        "it is not certain that you typed it: it may come from a program, an agent or somebody else"
    ),
    "the same words stand around it each time: it may be a text that comes back with other values": (
        "the text around it is the same each time, so it may come from a template"
    ),
    "the passage is a part of a sentence whose rest may turn it around": (
        "it is part of a sentence, and the rest may change what it means"
    ),
    "the line before the passage may say the opposite of it, or whose words it is": (
        "the line before it may reverse it, or say that somebody else wrote it"
    ),
    "orders a note without words to keep": "it asks for a note but says nothing to remember",
    "the passage stands in a question": "it is part of a question",
    "the passage hangs on a condition or a doubt": "it depends on a condition or a doubt",
    "the passage may hold for one occasion only": "may hold for one occasion only",
    "the passage is content to be written elsewhere": "it is text that was to be written somewhere else",
    "the passage may be the words of another author": "it may be the words of another author",
    "the person takes the passage back or denies it": "you took it back or denied it",
    "the passage may be meant as a joke": "it may be meant as a joke",
    "points at something outside of its words": "it refers to something that it does not name",
    "the rules of this language are not measured yet": "kept's rules for this language are not tested yet",
    "it says otherwise what was told before": "it gives a new value to something you said before",
    "its evidence is no longer proposed": "the words it rests on are read differently now",
    "an entry says what is or was remembered of its project": "a journal entry repeats what kept remembers of its project",
}
_HEADS = ("held: ", "kept refused it: ")  # a memory's reason may begin with one of these, before a reason of the table


def renew_reason(reason: str) -> str:
    """A stored reason in the present words. Text before it stays, and so does text in brackets after it."""
    head = next((head for head in _HEADS if reason.startswith(head)), "")
    stored, bracket, rest = reason.removeprefix(head).partition(" (")
    return f"{head}{_TODAY[stored]}{bracket}{rest}" if stored in _TODAY else reason
