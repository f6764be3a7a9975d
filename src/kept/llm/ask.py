"""Questions for a language model, their size limits, and the possible outcomes. Independent of any model, network or cache."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from kept.core.value import dataclass, field
from kept.profiles.prompts import question_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One question to a language model. It contains everything that the model needs, because models keep no state between calls.

    Costs are counted by ``purpose``, such as ``extract`` or ``summary``. ``version`` is that of the prompt. ``system`` is the
    stable prefix that many questions share, and ``prompt`` is the rest. ``schema`` is the JSON Schema of the reply, from
    :func:`kept.llm.reply.schema_of`. ``most`` is the maximum length of the reply in tokens. ``about`` are the sessions whose words
    the question contains, so that forgetting a session erases the replies. ``waits`` means that the question may be sent in a
    batch, if the user allows that: the reply then comes in a later run, at half the price.
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
        """The key under which the reply is stored: 64 hex digits, a hash of content, prompt version, model and schema."""
        parts = [model, self.purpose, self.version, self.system, self.prompt, self.schema, self.most]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def build_ask(
    purpose: str,
    prompt: str,
    schema: Mapping[str, Any],
    *,
    most: int = 4_096,
    about: Iterable[str] = (),
    waits: bool = True,
    text: str = "",
) -> Ask:
    """Build a question with the prompt text that kept has for its purpose, or with the one named ``text``."""
    system, version = question_text(text or purpose)
    return Ask(
        purpose=purpose,
        version=version,
        system=system,
        prompt=prompt,
        schema=schema,
        most=most,
        about=tuple(dict.fromkeys(about)),
        waits=waits,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """The cost of questions in tokens and USD. Input tokens include those from the provider's cache. A cost of None is unknown."""

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
    """Why a reply cannot be used, or why there is no reply."""

    # There was a reply, but it cannot be used.
    EMPTY = "empty"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    MALFORMED = "malformed"
    AMBIGUOUS = "ambiguous"
    SCHEMA = "schema"
    # There was no reply.
    SETUP = "setup"  # program, key, login or model is missing, so asking again in this run cannot help
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    FAILED = "failed"  # the program or the server reported an error


@dataclass(frozen=True, kw_only=True, slots=True)
class CompleteReply:
    """A complete reply that fits the schema. Its lists may be empty. ``cached``: it was stored earlier and cost nothing now."""

    body: Mapping[str, Any]
    usage: Usage = field(default_factory=Usage)
    cached: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadableReply:
    """A reply that cannot be used: it is incomplete or does not fit the schema, even after a second try."""

    reason: str
    fault: Fault = Fault.MALFORMED
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreachableReply:
    """No reply, because the model could not be reached, rejected the request, or timed out. Asking later may help."""

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
    """The question is in a provider's batch. Asking it again in a later run returns the reply."""

    reason: str
    usage: Usage = field(default_factory=Usage)


Reply = CompleteReply | UnreadableReply | UnreachableReply | UnaffordableReply | PendingReply

# A function that takes questions and returns their replies in the same order. :class:`kept.llm.client.LlmClient` is one.
Asking = Callable[[Sequence[Ask]], Sequence[Reply]]


PART_TOKENS = 12_000  # the longest part of a conversation in one question: small models manage it, and it is below any price step
REPLY_TOKENS = 4_096
VENDOR_CONTEXT = 128_000  # tokens of context that all models of the large vendors have
UNKNOWN_CONTEXT = 4_000  # tokens of context assumed for a local model of unknown size
_FIXED_TOKENS = 1_000  # tokens of a question's stable text, example and reminder
_SPARE = 0.85  # the share of the context that is used; the rest is for the lead before a part, hints, and estimation errors
_LEAST_PART_TOKENS = 300
# The context size of known models in tokens, by the prefix of their names.
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
    """Limits in tokens: the length of the conversation in a question, and the length of its reply."""

    part: int = PART_TOKENS
    reply: int = REPLY_TOKENS


def known_context(model: str) -> int:
    """Look up the context size of a model in tokens by its name. 0 if it is unknown."""
    plain = model.rpartition("/")[2].lower()
    return next((tokens for name, tokens in _KNOWN_CONTEXTS.items() if plain.startswith(name)), 0)


def token_limits_for(context: int, *, most: int = 0) -> TokenLimits:
    """Return the limits for a context of ``context`` tokens. ``most`` limits questions further, in tokens (0: no further limit)."""
    reply = min(REPLY_TOKENS, context // 4)
    question = min(context - reply, most or context)
    return TokenLimits(part=max(_LEAST_PART_TOKENS, min(PART_TOKENS, int((question - _FIXED_TOKENS) * _SPARE))), reply=reply)
