"""Questions for a language model, how large they may be, and the ways a reply can turn out. Knows no model, network or cache."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from kept.core.fence import GUARD as GUARD  # noqa: PLC0414 - who asks must set it; hooks know it without knowing asks
from kept.core.value import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One question to a language model; stateless, everything it may know is in it.

    ``purpose`` names what it is paid for (``extract``, ``curate``, ``summary``, ``journal``), ``version`` the prompt it was made
    with. ``system`` is the stable prefix that many asks share, ``prompt`` what differs. ``schema`` is the JSON Schema of the reply
    (of :func:`kept.llm.reply.schema_of`: every field required, no further ones). ``most`` bounds the reply, in tokens. ``about``
    are the sessions whose words stand in it, so that forgetting one reaches its replies. ``waits`` says that the reply may come in
    a later run, at half the price, where the user wants that.
    """

    purpose: str
    version: str
    system: str
    prompt: str
    schema: Mapping[str, Any]
    most: int = 4_096
    about: tuple[str, ...] = ()
    waits: bool = False

    def key(self, model: str) -> str:
        """What the reply is remembered under: content, prompt version, model and schema; 64 hex digits."""
        parts = [model, self.purpose, self.version, self.system, self.prompt, self.schema, self.most]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


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


class Fault(StrEnum):
    """What is wrong with a reply, or why there is none."""

    # Something came back, and nothing may be taken from it.
    EMPTY = "empty"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    MALFORMED = "malformed"
    AMBIGUOUS = "ambiguous"
    SCHEMA = "schema"
    # Nothing came back.
    SETUP = "setup"  # no such program, no key, not logged in, no such model: asking again in this run cannot help
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    FAILED = "failed"  # the program or the server said that it failed


@dataclass(frozen=True, kw_only=True, slots=True)
class CompleteReply:
    """A complete reply that fits the schema. It may say that there is nothing; ``cached`` means that it was not paid for again."""

    body: Mapping[str, Any]
    usage: Usage = field(default_factory=Usage)
    cached: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadableReply:
    """Something came back that is no complete reply of the schema, also when asked once more: nothing may be taken from it."""

    reason: str
    fault: Fault = Fault.MALFORMED
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreachableReply:
    """No reply came: the model could not be reached, refused to serve, or ran out of time. Asking later may help."""

    reason: str
    fault: Fault = Fault.FAILED
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnaffordableReply:
    """The question was not asked, because a budget does not allow it. ``reason`` names the budget and its limit."""

    reason: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingReply:
    """The question is with the provider, in a batch at half the price; a later run gets the reply by asking the same again."""

    reason: str
    usage: Usage = field(default_factory=Usage)


Reply = CompleteReply | UnreadableReply | UnreachableReply | UnaffordableReply | PendingReply

# Asks in, replies out, in the same order. Whoever implements it does caching, retrying, budgets and recording.
Asking = Callable[[Sequence[Ask]], Sequence[Reply]]


#: What one question shows of a conversation at most: little enough for a small model to keep in view, far below every price step.
PART_TOKENS = 12_000
REPLY_TOKENS = 4_096
VENDORS = 128_000  # tokens of context that every model of a large vendor has
UNKNOWN_LOCAL = 4_000  # tokens of context that a local model is taken to have where nobody says
_FIXED = 1_000  # the stable text with its example, the reminder
_SPARE = 0.85  # what stands before a part, hints, and tokens that are counted too low
_LEAST = 300
# The context of models that are known, by how their names begin.
_KNOWN = {
    "claude": 200_000,
    "gpt": 128_000,
    "o3": 200_000,
    "o4": 200_000,
    "gemini": 1_000_000,
    "sonnet": 200_000,
    "opus": 200_000,
    "haiku": 200_000,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenLimits:
    """The most tokens that a question shows of what it is about, and that its reply may have."""

    part: int = PART_TOKENS
    reply: int = REPLY_TOKENS


def known_context(model: str) -> int:
    """The tokens of context of a model by its name; 0 where it is not known."""
    plain = model.rpartition("/")[2].lower()
    return next((tokens for name, tokens in _KNOWN.items() if plain.startswith(name)), 0)


def token_limits_for(context: int, *, most: int = 0) -> TokenLimits:
    """What fits into a context of so many tokens, with questions of at most ``most`` (0: as large as they fit)."""
    reply = min(REPLY_TOKENS, context // 4)
    asked = context - reply if not most else min(context - reply, most)
    return TokenLimits(part=max(_LEAST, min(PART_TOKENS, int((asked - _FIXED) * _SPARE))), reply=reply)
