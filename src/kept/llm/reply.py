"""Reading what a language model wrote: one complete JSON object of the schema, or nothing at all.

Thinking before the answer, fences and prose around it are passed over, and a comma behind the last item; the object itself is never
completed or chosen among several. Knows neither who wrote it nor what was asked.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from kept.llm.ask import Fault
from kept.llm.schema import fitted

_THINKING = ("think", "thinking", "reasoning")
_OVER = {"rate_limit_error": Fault.RATE_LIMIT, "overloaded_error": Fault.OVERLOADED, "rate_limit_exceeded": Fault.RATE_LIMIT}
# A string, which stays, or a comma behind the last item.
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')
_REFUSING = ("i can't", "i can’t", "i cannot", "i'm unable", "i am unable", "i won't", "i'm sorry", "i am sorry", "i must decline")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wrong:
    """A text nothing may be taken from; ``reason`` says why, in words that hold nothing of it."""

    fault: Fault
    reason: str


def understand(text: str, schema: Mapping[str, Any]) -> dict[str, Any] | Wrong:
    """The one object in a text that fits the schema, or what is wrong with the text."""
    said = _answer(text)
    if said is None:
        return Wrong(fault=Fault.TRUNCATED, reason="the reply ends in the middle of its thinking")
    if not said.strip():
        return Wrong(fault=Fault.EMPTY, reason="the reply is empty")
    try:
        found = list(_objects(said))
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated string") or error.pos >= len(error.doc.rstrip())
        if cut:
            return Wrong(fault=Fault.TRUNCATED, reason="the reply ends in the middle of its JSON")
        return Wrong(fault=Fault.MALFORMED, reason=f"the reply is no valid JSON ({error.msg} at character {error.pos})")
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Wrong(fault=Fault.MALFORMED, reason=f"the reply is no valid JSON ({reason})")
    match found:
        case []:
            opening = said.strip()[:200].lower()
            if any(each in opening for each in _REFUSING):
                return Wrong(fault=Fault.REFUSAL, reason="the model refused to answer")
            return Wrong(fault=Fault.MALFORMED, reason="the reply holds no JSON object")
        case [body]:
            try:
                made: dict[str, Any] = fitted(schema, body)
            except ValueError as error:
                return _failure(body) or Wrong(fault=Fault.SCHEMA, reason=str(error))
            return made
        case _:
            return Wrong(fault=Fault.AMBIGUOUS, reason=f"the reply holds {len(found)} JSON objects where one was asked for")


def _failure(body: Mapping[str, Any]) -> Wrong | None:
    """What a server's error says that came in the place of a reply."""
    error = body.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return None
    kind = str(error.get("type") or error.get("code") or "")
    return Wrong(fault=_OVER.get(kind, Fault.FAILED), reason="the server answered with an error in the place of a reply")


def _answer(text: str) -> str | None:
    """The text after the thinking; None where the thinking does not end."""
    said = text.strip().removeprefix("\ufeff")
    while name := next((each for each in _THINKING if said.startswith(f"<{each}>")), ""):
        _, end, rest = said.partition(f"</{name}>")
        if not end:
            return None
        said = rest.strip()
    if not said.startswith("{"):
        for name in _THINKING:  # some servers cut off the opening mark
            said = said.rpartition(f"</{name}>")[2]
    return said


def _objects(said: str) -> Iterator[Any]:
    """Every JSON object that stands in a text by itself. Raises ValueError where one begins that is not whole."""
    place = 0
    while (place := said.find("{", place)) >= 0:
        after = place + 1
        while after < len(said) and said[after].isspace():
            after += 1
        if said[after : after + 1] not in ('"', "}"):
            place = after  # a brace of the prose
            continue
        if said[max(0, place - 100) : place].rstrip().endswith("["):
            raise ValueError("a list where an object was asked for")
        try:
            found, place = _DECODER.raw_decode(said, place)
        except json.JSONDecodeError:
            said = _TRAILING.sub(lambda match: match[1] or "", said[place:])
            found, place = _DECODER.raw_decode(said)
        yield found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return made


def _finite(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError("a number that is not finite")
    return number


def _not_finite(_: str) -> float:
    raise ValueError("a number that is not finite")


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_not_finite)
