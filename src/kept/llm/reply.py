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
from kept.llm.schema import fit_to_schema

_THINKING = ("think", "thinking", "reasoning")
_OVER = {"rate_limit_error": Fault.RATE_LIMIT, "overloaded_error": Fault.OVERLOADED, "rate_limit_exceeded": Fault.RATE_LIMIT}
# A string, which stays, or a comma behind the last item.
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')
_REFUSING = ("i can't", "i can’t", "i cannot", "i'm unable", "i am unable", "i won't", "i'm sorry", "i am sorry", "i must decline")


@dataclass(frozen=True, kw_only=True, slots=True)
class InvalidReply:
    """A text nothing may be taken from; ``reason`` says why, in words that hold nothing of it."""

    fault: Fault
    reason: str


def parse_reply(text: str, schema: Mapping[str, Any]) -> dict[str, Any] | InvalidReply:
    """The one object in a text that fits the schema, or what is wrong with the text."""
    said = _strip_thinking(text)
    if said is None:
        return InvalidReply(fault=Fault.TRUNCATED, reason="the reply ends in the middle of its thinking")
    if not said.strip():
        return InvalidReply(fault=Fault.EMPTY, reason="the reply is empty")
    try:
        found = list(_parse_objects(said))
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated string") or error.pos >= len(error.doc.rstrip())
        if cut:
            return InvalidReply(fault=Fault.TRUNCATED, reason="the reply ends in the middle of its JSON")
        return InvalidReply(fault=Fault.MALFORMED, reason=f"the reply is no valid JSON ({error.msg} at character {error.pos})")
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return InvalidReply(fault=Fault.MALFORMED, reason=f"the reply is no valid JSON ({reason})")
    match found:
        case []:
            opening = said.strip()[:200].lower()
            if any(item in opening for item in _REFUSING):
                return InvalidReply(fault=Fault.REFUSAL, reason="the model refused to answer")
            return InvalidReply(fault=Fault.MALFORMED, reason="the reply holds no JSON object")
        case [body]:
            try:
                made: dict[str, Any] = fit_to_schema(schema, body)
            except ValueError as error:
                return _parse_server_error(body) or InvalidReply(fault=Fault.SCHEMA, reason=str(error))
            return made
        case _:
            return InvalidReply(fault=Fault.AMBIGUOUS, reason=f"the reply holds {len(found)} JSON objects where one was asked for")


def _parse_server_error(body: Mapping[str, Any]) -> InvalidReply | None:
    """What a server's error says that came in the place of a reply."""
    error = body.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return None
    kind = str(error.get("type") or error.get("code") or "")
    return InvalidReply(fault=_OVER.get(kind, Fault.FAILED), reason="the server answered with an error in the place of a reply")


def _strip_thinking(text: str) -> str | None:
    """The text after the thinking; None where the thinking does not end."""
    said = text.strip().removeprefix("\ufeff")
    while name := next((item for item in _THINKING if said.startswith(f"<{item}>")), ""):
        _, end, rest = said.partition(f"</{name}>")
        if not end:
            return None
        said = rest.strip()
    if not said.startswith("{"):
        for name in _THINKING:  # some servers cut off the opening mark
            said = said.rpartition(f"</{name}>")[2]
    return said


def _parse_objects(said: str) -> Iterator[Any]:
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


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return made


def _parse_finite(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError("a number that is not finite")
    return number


def _reject_infinite(_: str) -> float:
    raise ValueError("a number that is not finite")


_DECODER = json.JSONDecoder(
    strict=False, object_pairs_hook=_reject_duplicate_keys, parse_float=_parse_finite, parse_constant=_reject_infinite
)
