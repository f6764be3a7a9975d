"""What a stage wants a language model to be asked, and the ways a reply can turn out. Knows no model, no network, no cache."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One question to a language model; stateless, everything it may know is in it.

    ``purpose`` names the budget it is paid from (``extract``, ``curate``, ``summary``, ``journal``), ``version`` the prompt it was
    made with. ``system`` is the stable prefix that many asks share, ``prompt`` what differs. ``schema`` is the JSON Schema of the
    reply (every field required, no further ones). ``most`` bounds the reply, in tokens.
    """

    purpose: str
    version: str
    system: str
    prompt: str
    schema: Mapping[str, Any]
    most: int = 4_096

    def key(self, model: str) -> str:
        """What the reply is remembered under: content, prompt version, model and schema; 64 hex digits."""
        parts = [model, self.purpose, self.version, self.system, self.prompt, self.schema, self.most]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What a question cost: tokens in (those read from a provider's cache among them), tokens out, money in USD (None: unknown)."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost=cost,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """A complete reply that fits the schema. It may say that there is nothing; ``cached`` means that it was not paid for again."""

    body: Mapping[str, Any]
    usage: Usage = field(default_factory=Usage)
    cached: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable:
    """Something came back that is no complete reply of the schema, also when asked once to repair it: nothing may be taken from it."""

    reason: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreachable:
    """No reply came: the model could not be reached, refused to serve, or ran out of time. Asking later may help."""

    reason: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unaffordable:
    """The question was not asked, because a budget does not allow it. ``reason`` names the budget and its limit."""

    reason: str
    usage: Usage = field(default_factory=Usage)


Reply = Answered | Unreadable | Unreachable | Unaffordable

# Asks in, replies out, in the same order. Whoever implements it does caching, retrying, budgets and recording.
Asking = Callable[[Sequence[Ask]], Sequence[Reply]]
