"""Match recorded replies to the current questions by the words that the person typed.

A reply names events by number, but the numbers change if a conversation is read or split differently. Therefore a manifest near the
replies lists, for each question, its sessions, and for each typed event a hash of the beginning of its words. With these hashes,
the events are found in the current questions. Each claim goes to the question that contains the event it names.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from kept.core.digest import digest
from kept.core.errors import UsageError
from kept.core.value import dataclass, field
from kept.evaluation.turns import normalize_text
from kept.extraction.questions.question import END, PURPOSE, SCHEMA
from kept.llm.ask import Ask, CompleteReply, Fault, Reply, UnreachableReply, UnreadableReply
from kept.llm.reply import InvalidReply, parse_reply

MANIFEST = "manifest.json"
_BEGIN = "<conversation>"
_OPENING = 60  # characters at the beginning of typed words that are hashed to identify them
_EVENT = re.compile(r"(?m)^\[e(\d+)\] (\w+)")
_TAG = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r"\d+")
_NONE = UnreachableReply(reason="no recorded reply", fault=Fault.SETUP)

Typed = Sequence[tuple[int, str]]
"""The typed events of a question, as pairs of the event's number and a hash of the beginning of its words."""


def question_id(ask: Ask) -> str:
    """The id of a question: a hash of its conversation and its lead (earlier events that are shown as context).

    The id does not depend on hints, reminder and system prompt.
    """
    return digest(ask.prompt.rpartition(END)[0])[:10]


def typed_events(ask: Ask) -> tuple[tuple[int, str], ...]:
    """Return the typed events of a question's conversation as (number, words). The lead (earlier events as context) is left out."""
    openings = (
        (number, normalize_text(_TAG.sub(" ", text))[:_OPENING]) for number, who, text in _parse_events(ask) if who == "person"
    )
    return tuple((number, digest(opening)[:8]) for number, opening in openings if opening)


def _parse_events(ask: Ask) -> Iterator[tuple[int, str, str]]:
    """Yield the number, author and text of each event of the conversation."""
    text = ask.prompt.partition(_BEGIN)[2].rpartition(END)[0]
    heads = list(_EVENT.finditer(text))
    for head, stop in zip(heads, [*(found.start() for found in heads[1:]), len(text)], strict=False):
        yield int(head[1]), head[2], text[head.end() + 1 : stop]


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """A recorded reply, with the sessions and typed events of its question.

    If no manifest lists the question, both are empty, and the reply only answers the question with the same id.
    """

    id: str
    text: str
    sessions: frozenset[str] = frozenset()
    typed: tuple[tuple[int, str], ...] = ()


def load_recordings(reader: Path) -> tuple[Recording, ...]:
    """Load the replies in the folder of one reader. Raises UsageError if the manifest cannot be read."""
    manifest = load_manifest(reader)
    return tuple(
        Recording(
            id=path.stem,
            text=path.read_text(encoding="utf-8", errors="replace"),
            sessions=frozenset(manifest.get(path.stem, {}).get("sessions", ())),
            typed=tuple(_read_typed(manifest.get(path.stem, {}).get("typed", ""))),
        )
        for path in sorted(reader.glob("*.json"))
        if path.name != MANIFEST
    )


def load_manifest(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """Load the manifest in the folder or, if it has none, up to two folders above. Returns its rows by question id.

    Empty if there is no manifest. Raises UsageError if it cannot be read.
    """
    path = next((place / MANIFEST for place in (folder, *folder.parents[:2]) if (place / MANIFEST).is_file()), None)
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["questions"] if path else []
        return {str(row["id"]): row for row in rows}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UsageError(f"the manifest cannot be read: {error}", where=str(path)) from error


def format_typed(ask: Ask) -> str:
    """Format the typed events of a question as in the manifest."""
    return " ".join(f"{number}:{mark}" for number, mark in typed_events(ask))


def _read_typed(text: str) -> Iterator[tuple[int, str]]:
    for part in text.split():
        number, _, mark = part.partition(":")
        yield int(number), mark


@dataclass(kw_only=True, slots=True)
class RecordedReplies:
    """Answers questions with recorded replies about the same typed words.

    ``asked`` and ``bodies`` map question ids to the questions and to their replies. ``matched`` maps recordings to those of their
    typed events that current questions contain. ``unreadable`` maps unreadable recordings to the reason. ``shown`` lists the texts
    of the matched events. For a recording without typed events, it lists the texts of all events of the question.
    """

    recorded: Sequence[Recording] = ()
    asked: dict[str, Ask] = field(default_factory=dict)
    bodies: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    matched: dict[str, set[int]] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)

    def __call__(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        """Return the recorded reply to each question, or :data:`_NONE` if there is none."""
        return [self._find_recorded(ask) for ask in asks]

    def _find_recorded(self, ask: Ask) -> Reply:
        if ask.purpose != PURPOSE:
            return _NONE
        number, sessions, typed = question_id(ask), frozenset(ask.about), typed_events(ask)
        self.asked[number] = ask
        bodies: list[Mapping[str, Any]] = []
        wrong: UnreadableReply | None = None
        for recording in self.recorded:
            pairs = _pair_events(recording.typed, typed) if recording.sessions & sessions else ()
            if not pairs and recording.id != number:
                continue
            body = parse_reply(recording.text, SCHEMA)
            self.matched.setdefault(recording.id, set()).update(old for old, _ in pairs)
            if isinstance(body, InvalidReply):
                self.unreadable[recording.id] = body.reason
                wrong = UnreadableReply(reason=body.reason, fault=body.fault)
            else:
                here = {event: text for event, _, text in _parse_events(ask)}
                bodies.append(body if recording.id == number else _renumber_reply(body, pairs, here.keys()))
                self.shown += [here[new] for _, new in pairs] if recording.typed else here.values()
        if not bodies:
            return wrong or _NONE
        self.bodies[number] = {
            "memories": [claim for body in bodies for claim in body["memories"]],
            "notes": {kind: [point for body in bodies for point in body["notes"][kind]] for kind in bodies[0]["notes"]},
        }
        return CompleteReply(body=self.bodies[number])


def _pair_events(old: Typed, new: Typed) -> tuple[tuple[int, int], ...]:
    """Return the typed events that two questions share, in order, as pairs of their numbers (old, new)."""
    matcher = SequenceMatcher(None, [mark for _, mark in old], [mark for _, mark in new], autojunk=False)
    blocks = matcher.get_matching_blocks()
    return tuple((old[at.a + n][0], new[at.b + n][0]) for at in blocks for n in range(at.size))


def _renumber_reply(body: Mapping[str, Any], pairs: Sequence[tuple[int, int]], here: Collection[int]) -> Mapping[str, Any]:
    """Renumber the events in a reply for another question. Claims and points about events that are not in it are removed."""
    starts = [old for old, _ in pairs]

    def renamed(name: str) -> str:
        match = _NUMBER.search(name)
        if match is None:
            return name
        old, new = pairs[max(0, bisect_right(starts, int(match[0])) - 1)]
        return f"e{int(match[0]) - old + new}"

    def is_here(names: Iterable[str]) -> bool:
        first = next((renamed(name) for name in names if name), "")
        return first[1:].isdigit() and int(first[1:]) in here

    def cited(quotes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [{**quote, "event": renamed(quote["event"])} for quote in quotes]

    return {
        "memories": [
            {**claim, "event": renamed(claim["event"]), "quotes": cited(claim["quotes"])}
            for claim in body["memories"]
            if is_here([claim["event"], *(quote["event"] for quote in claim["quotes"])])
        ],
        "notes": {
            kind: [{**point, "events": [renamed(name) for name in point["events"]]} for point in points if is_here(point["events"])]
            for kind, points in body["notes"].items()
        },
    }
