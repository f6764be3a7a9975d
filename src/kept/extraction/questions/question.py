"""Build the question to a model, and define the form of its reply.

A question has the fixed text first, then one conversation or several small ones, the rules' candidates, and a reminder. The events
of all conversations in a question are numbered consecutively, and these numbers split the reply again. Categories and verdicts in a
reply are plain text, so an unknown one invalidates only its own item.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kept.core.memory import Candidate
from kept.core.pattern import Pattern, compile_late
from kept.core.value import dataclass
from kept.extraction.questions.turns import Chunk, estimate_tokens_high
from kept.llm.ask import Ask
from kept.llm.reply import schema_of
from kept.profiles.prompts import Prompt


@dataclass(frozen=True, kw_only=True, slots=True)
class HintVerdict:
    """The model's verdict on a hint: confirm, reword (``content`` is the better sentence) or refuse (``reason`` says why)."""

    hint: str
    verdict: str
    content: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """An event's id, and a quote from it."""

    event: str
    quote: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedMemory:
    """A memory that the model proposes. Its content is a passage of an event.

    The model fills the fields in their order. So it names in ``later`` another task that needs the memory before it chooses the
    category and the worth. ``worth`` says how much is lost without the memory, from 3 (much) to 1; it is 0 if the reply gives none.
    ``about`` names the subject of the passage if its words do not. ``rewording`` replaces a passage that cannot stand alone.
    ``quotes`` are further quotes that support the memory, or in which the person agreed to it.
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
    """A point about what happened in the part, and the events that support it."""

    text: str
    events: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Notes:
    """Points about what happened in the part, by kind."""

    problems: tuple[NotePoint, ...]
    solutions: tuple[NotePoint, ...]
    decisions: tuple[NotePoint, ...]
    questions: tuple[NotePoint, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyForm:
    """A whole reply. ``hints`` are requested only if the question has any."""

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
_NAME = compile_late(r"^\[e(\d+)\]")
_NUMBER = Pattern(r"(?i)\W*(?:e|event\W*e?)?([0-9]{1,9})\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Hint:
    """A candidate of the rules, under the name that a question gives it (``h1``)."""

    name: str
    candidate: Candidate


@dataclass(frozen=True, kw_only=True, slots=True)
class Excerpt:
    """A chunk of a conversation, and the rules' candidates in it."""

    chunk: Chunk
    hints: tuple[Hint, ...] = ()

    @property
    def weight(self) -> int:
        """The number of tokens of the chunk, without its lead."""
        return sum(estimate_tokens_high(turn.text) for turn in self.chunk.turns) + sum(
            estimate_tokens_high(hint.candidate.content) for hint in self.hints
        )


def name_hints(candidates: Sequence[Candidate]) -> tuple[Hint, ...]:
    """Name candidates h1, h2 and so on."""
    return tuple(Hint(name=f"h{number}", candidate=each) for number, each in enumerate(candidates, 1))


def build_question_ask(excerpts: Sequence[Excerpt], prompt: Prompt, *, about: Sequence[str] = (), most: int = MOST_TOKENS) -> Ask:
    """Build the question about excerpts of the sessions ``about``. ``most`` limits the reply, in tokens."""
    first = excerpts[0].chunk
    lines = ["Read before, only to be understood by:", *_render_turns(first.lead, 0), ""] if first.lead else []
    found: list[str] = []
    lines.append("<conversation>")
    for number, (excerpt, shift) in enumerate(zip(excerpts, _ordinal_shifts(excerpts), strict=True)):
        lines += [_DIVIDER] if number else []
        lines += _render_turns(excerpt.chunk.turns, shift)
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
    """Split a reply by excerpt. Each part has the event and hint names that its excerpt would have in a question of its own."""
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
    """The number to add to the ordinals of each excerpt, so that its events are numbered after those of the previous one."""
    found: list[int] = []
    free = 0
    for number, excerpt in enumerate(excerpts):
        found.append(free - excerpt.chunk.start if number else 0)
        free = excerpt.chunk.stop + found[-1]
    return found


def _render_turns(turns: Sequence[Any], shift: int) -> list[str]:
    texts = (turn.text for turn in turns if turn.text)
    return [_NAME.sub(lambda match: f"[e{int(match[1]) + shift}]", text) if shift else text for text in texts]


def parse_event_ordinal(name: str) -> int | None:
    """The first event number in a name, in any notation ("e3", "[3]", "e3, e4"); None if there is none."""
    found = _NUMBER.match(name)
    return int(found[1]) if found else None


def _find_excerpt(name: str, excerpts: Sequence[Excerpt], shifts: Sequence[int]) -> int | None:
    """The index of the excerpt that contains an event; None if no excerpt does."""
    place = parse_event_ordinal(name)
    if place is None:
        return None
    if place < excerpts[0].chunk.start:
        return 0  # an event in the lead of the first excerpt
    ranges = (
        range(excerpt.chunk.start + shift, excerpt.chunk.stop + shift) for excerpt, shift in zip(excerpts, shifts, strict=True)
    )
    return next((number for number, span in enumerate(ranges) if place in span), None)


def _find_owner(names: Sequence[str], excerpts: Sequence[Excerpt], shifts: Sequence[int]) -> int:
    return next((holder for name in names if (holder := _find_excerpt(name, excerpts, shifts)) is not None), 0)


def _own_event_name(name: str, owner: int, excerpts: Sequence[Excerpt], shifts: Sequence[int]) -> str:
    """The name of an event within its own conversation; empty if it belongs to another conversation."""
    place = parse_event_ordinal(name)
    return f"e{place - shifts[owner]}" if place is not None and _find_excerpt(name, excerpts, shifts) == owner else ""
