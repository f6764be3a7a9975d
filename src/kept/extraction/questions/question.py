"""The question a model is asked: the stable text first, then one conversation or several small ones, what rules found, a reminder;
and the form of the reply.

Small conversations travel together. Their events are numbered on, from one to the next, and a reply is divided again by the numbers
it names. In a reply categories and verdicts are plain text: an unknown one costs its item only.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kept.core.memory import Candidate
from kept.core.pattern import Pattern
from kept.core.value import dataclass
from kept.extraction.questions.turns import Chunk, estimate_tokens_high
from kept.llm.ask import Ask
from kept.llm.reply import schema_of
from kept.profiles.prompts import Prompt


@dataclass(frozen=True, kw_only=True, slots=True)
class HintVerdict:
    """What the model says of a hint: confirm, reword (``content`` is the better sentence) or refuse (``reason`` says why)."""

    hint: str
    verdict: str
    content: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """An event by its id, and words that stand in it."""

    event: str
    quote: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedMemory:
    """A memory that the model proposes: a passage of an event, which becomes its content.

    ``later`` names another task that needs it: what it is and what it is worth are said after that. ``worth`` says how much is
    lost without it: 3 (much) to 1, 0 where the reply does not say. ``about`` names what the passage speaks of where its own words
    do not say. ``rewording`` takes the passage's place where that does not stand by itself; ``quotes`` are the further words that
    it rests on, or by which the person agreed.
    """

    event: str
    passage: str
    later: str
    category: str
    worth: int
    about: str
    rewording: str
    quotes: tuple[Citation, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class NotePoint:
    """A point of what the part came to, and the events that say so."""

    text: str
    events: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Notes:
    """What the part came to."""

    problems: tuple[NotePoint, ...]
    solutions: tuple[NotePoint, ...]
    decisions: tuple[NotePoint, ...]
    questions: tuple[NotePoint, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyForm:
    """A whole reply; ``hints`` are asked for only where there are some."""

    hints: tuple[HintVerdict, ...]
    memories: tuple[ProposedMemory, ...]
    notes: Notes


@dataclass(frozen=True, kw_only=True, slots=True)
class _ReplyFormNoHints:
    memories: tuple[ProposedMemory, ...]
    notes: Notes


SCHEMA = schema_of(_ReplyFormNoHints)
SCHEMA_WITH_HINTS = schema_of(ReplyForm)


PURPOSE = "extract"
MOST_TOKENS = 4_096
END = "</conversation>"
_DIVIDER = "=== another conversation ==="
_HINTS = (
    'Simple rules found the sentences below. Answer with one more key, "hints", and say of each {"hint": "h1", "verdict": '
    '"confirm", "content": "", "reason": ""}: confirm (true, lasting, well put), reword (true and lasting; content is the better '
    "sentence) or refuse (it does not last, or nobody said so; reason says why). Memories are what the hints do not have."
)
_NAME = re.compile(r"^\[e(\d+)\]")
_NUMBER = Pattern(r"(?i)\W*(?:e|event\W*e?)?([0-9]{1,9})\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Hint:
    """What rules propose, under the name a model knows it by (``h1``)."""

    name: str
    candidate: Candidate


@dataclass(frozen=True, kw_only=True, slots=True)
class Excerpt:
    """A chunk of a conversation with what rules found in it."""

    chunk: Chunk
    hints: tuple[Hint, ...] = ()

    @property
    def weight(self) -> int:
        """Its tokens, without what stands before it."""
        return sum(estimate_tokens_high(turn.text) for turn in self.chunk.turns) + sum(
            estimate_tokens_high(hint.candidate.content) for hint in self.hints
        )


def hints(candidates: Sequence[Candidate]) -> tuple[Hint, ...]:
    """The candidates with their names, in order."""
    return tuple(Hint(name=f"h{number}", candidate=each) for number, each in enumerate(candidates, 1))


def build_question_ask(excerpts: Sequence[Excerpt], prompt: Prompt, *, about: Sequence[str] = (), most: int = MOST_TOKENS) -> Ask:
    """What is asked about excerpts of the sessions ``about``. ``most`` bounds the reply, in tokens."""
    first = excerpts[0].chunk
    lines = ["Read before, only to be understood by:", *_texts(first.lead, 0), ""] if first.lead else []
    found: list[str] = []
    lines.append("<conversation>")
    for number, (excerpt, shift) in enumerate(zip(excerpts, _ordinal_shifts(excerpts), strict=True)):
        lines += [_DIVIDER] if number else []
        lines += _texts(excerpt.chunk.turns, shift)
        for hint in excerpt.hints:
            found.append(f"h{len(found) + 1} ({hint.candidate.category}): {hint.candidate.content}")
    lines.append(END)
    if found:
        lines += ["", _HINTS, "Hints:", *found]
    return Ask(
        purpose=PURPOSE,
        version=prompt.version,
        system=prompt.system,
        prompt="\n".join((*lines, "", prompt.reminder)),
        schema=SCHEMA_WITH_HINTS if found else SCHEMA,
        most=most,
        about=tuple(dict.fromkeys(about)),
        waits=True,
    )


def split_reply(body: Mapping[str, Any], excerpts: Sequence[Excerpt]) -> list[Mapping[str, Any]]:
    """The reply to a question, for each of its excerpts: what names its events and hints, as if it had been asked alone."""
    if len(excerpts) == 1:
        return [body]
    shifts = _ordinal_shifts(excerpts)
    parts: list[dict[str, Any]] = [{"hints": [], "memories": [], "notes": {kind: [] for kind in body["notes"]}} for _ in excerpts]
    names = [(number, hint.name) for number, excerpt in enumerate(excerpts) for hint in excerpt.hints]
    for verdict in body.get("hints", ()):
        digits = verdict["hint"].strip().removeprefix("h")
        place = int(digits) - 1 if digits.isascii() and digits.isdigit() and len(digits) < 6 else -1
        number, name = names[place] if 0 <= place < len(names) else (0, "")
        parts[number]["hints"].append({**verdict, "hint": name})
    for claim in body["memories"]:
        owner = _find_owner([claim["event"], *(quote["event"] for quote in claim["quotes"])], excerpts, shifts)
        quotes = [{**quote, "event": _own_event_name(quote["event"], owner, excerpts, shifts)} for quote in claim["quotes"]]
        parts[owner]["memories"].append(
            {**claim, "event": _own_event_name(claim["event"], owner, excerpts, shifts), "quotes": quotes}
        )
    for kind, points in body["notes"].items():
        for point in points:
            owner = _find_owner(point["events"], excerpts, shifts)
            events = [_own_event_name(name, owner, excerpts, shifts) for name in point["events"]]
            parts[owner]["notes"][kind].append({**point, "events": events})
    return list(parts)


def _ordinal_shifts(excerpts: Sequence[Excerpt]) -> list[int]:
    """What is added to the ordinals of each excerpt, so that its events follow those of the one before it."""
    found: list[int] = []
    free = 0
    for number, excerpt in enumerate(excerpts):
        found.append(free - excerpt.chunk.start if number else 0)
        free = excerpt.chunk.stop + found[-1]
    return found


def _texts(turns: Sequence[Any], shift: int) -> list[str]:
    texts = (turn.text for turn in turns if turn.text)
    return [_NAME.sub(lambda match: f"[e{int(match[1]) + shift}]", text) if shift else text for text in texts]


def event_ordinal(name: str) -> int | None:
    """The number of the first event that a name says, however it is written ("e3", "[3]", "e3, e4")."""
    found = _NUMBER.match(name)
    return int(found[1]) if found else None


def _find_excerpt(name: str, excerpts: Sequence[Excerpt], shifts: Sequence[int]) -> int | None:
    """Which excerpt an event stands in."""
    place = event_ordinal(name)
    if place is None:
        return None
    if place < excerpts[0].chunk.start:
        return 0  # of what stands before the first one
    ranges = (
        range(excerpt.chunk.start + shift, excerpt.chunk.stop + shift) for excerpt, shift in zip(excerpts, shifts, strict=True)
    )
    return next((number for number, span in enumerate(ranges) if place in span), None)


def _find_owner(names: Sequence[str], excerpts: Sequence[Excerpt], shifts: Sequence[int]) -> int:
    return next((holder for name in names if (holder := _find_excerpt(name, excerpts, shifts)) is not None), 0)


def _own_event_name(name: str, owner: int, excerpts: Sequence[Excerpt], shifts: Sequence[int]) -> str:
    """The name of an event as it is in its own conversation; empty where it stands in another one."""
    place = event_ordinal(name)
    return f"e{place - shifts[owner]}" if place is not None and _find_excerpt(name, excerpts, shifts) == owner else ""
