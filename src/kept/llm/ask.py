"""Questions for a language model, their size limits, and the possible outcomes of asking. Knows no model, network or cache."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from kept.core.value import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One question to a language model; it is stateless, so it contains everything the model may know.

    ``purpose`` is the account for the cost (``extract``, ``curate``, ``requests``, ``summary``, ``journal``), ``version`` the
    version of the prompt. ``system`` is the stable prefix that many questions share, ``prompt`` the rest. ``schema`` is the JSON
    Schema of the reply (from :func:`kept.llm.reply.schema_of`: all fields required, no others). ``most`` limits the reply, in
    tokens. ``about`` are the sessions whose words it contains, so that forgetting a session erases the replies. ``waits``: if the
    user allows batches, the reply may come in a later run at half the price.
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
        """The key under which the reply is stored: a hash of content, prompt version, model and schema; 64 hex digits."""
        parts = [model, self.purpose, self.version, self.system, self.prompt, self.schema, self.most]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """The cost of questions: input tokens (including those from a provider's cache), output tokens, and USD (None: unknown)."""

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
    """The fault of a reply, or the reason why there is none."""

    # There was a reply, but nothing in it may be used.
    EMPTY = "empty"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    MALFORMED = "malformed"
    AMBIGUOUS = "ambiguous"
    SCHEMA = "schema"
    # There was no reply.
    SETUP = "setup"  # no such program, no key, not logged in, no such model: asking again in this run cannot help
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    FAILED = "failed"  # the program or the server said that it failed


@dataclass(frozen=True, kw_only=True, slots=True)
class CompleteReply:
    """A complete reply that fits the schema; it may say that there is nothing. ``cached``: it was not paid for again."""

    body: Mapping[str, Any]
    usage: Usage = field(default_factory=Usage)
    cached: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadableReply:
    """A reply that is not complete or does not fit the schema, even after asking once more; nothing in it may be used."""

    reason: str
    fault: Fault = Fault.MALFORMED
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreachableReply:
    """No reply: the model could not be reached, refused to serve, or timed out. Asking later may help."""

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
    """The question is in a provider's batch at half the price; asking it again in a later run returns the reply."""

    reason: str
    usage: Usage = field(default_factory=Usage)


Reply = CompleteReply | UnreadableReply | UnreachableReply | UnaffordableReply | PendingReply

# Takes questions and returns their replies in the same order, as :class:`kept.llm.client.LlmClient` does.
Asking = Callable[[Sequence[Ask]], Sequence[Reply]]


PART_TOKENS = 12_000  # how much of a conversation one question shows at most: small models manage it, and no price step is near
REPLY_TOKENS = 4_096
VENDOR_CONTEXT = 128_000  # tokens of context that all models of the large vendors have
UNKNOWN_CONTEXT = 4_000  # tokens of context assumed for a local model of unknown size
_FIXED_TOKENS = 1_000  # tokens of a question's stable text, example and reminder
_SPARE = 0.85  # leaves room for the lead before a part, hints, and underestimated tokens
_LEAST_PART_TOKENS = 300
# The context of known models, by the beginning of their names.
_KNOWN_CONTEXTS = {
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
    """Limits in tokens: how much of its subject a question shows, and how long its reply may be."""

    part: int = PART_TOKENS
    reply: int = REPLY_TOKENS


def known_context(model: str) -> int:
    """The context size in tokens of a model, by its name; 0 if unknown."""
    plain = model.rpartition("/")[2].lower()
    return next((tokens for name, tokens in _KNOWN_CONTEXTS.items() if plain.startswith(name)), 0)


def token_limits_for(context: int, *, most: int = 0) -> TokenLimits:
    """The limits for a context of ``context`` tokens, with questions of at most ``most`` tokens (0: no further limit)."""
    reply = min(REPLY_TOKENS, context // 4)
    question = min(context - reply, most or context)
    return TokenLimits(part=max(_LEAST_PART_TOKENS, min(PART_TOKENS, int((question - _FIXED_TOKENS) * _SPARE))), reply=reply)
