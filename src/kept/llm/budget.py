"""Costs: spending limits, the usage of a run, and estimates, computed from a dated table of prices.

The vendor's bill may differ. An estimate ignores the vendor's cache, so it is an upper bound. Reads only the table.
"""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from kept.core.codec import json_fields, load_table
from kept.core.value import dataclass, field, replace
from kept.llm.ask import Ask, CompleteReply, PendingReply, Reply, UnaffordableReply, UnreachableReply, UnreadableReply, Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """Prices in USD per million tokens, for prompts of up to ``tier`` tokens and for longer ones. They are multiplied by ``read``
    for cached input, and by ``batch`` for batches.
    """

    input: float
    output: float
    tier: int = 0
    input_above: float = 0.0
    output_above: float = 0.0
    read: float = 1.0
    batch: float = 1.0

    def cost(self, *, tokens_in: int, tokens_out: int, cached: int = 0, batched: bool = False) -> float:
        """The cost of one question, in USD."""
        above = bool(self.tier) and tokens_in > self.tier
        each_in, each_out = (self.input_above, self.output_above) if above else (self.input, self.output)
        plain = each_in * (tokens_in - cached * (1 - self.read)) + each_out * tokens_out
        return plain / 1e6 * (self.batch if batched else 1.0)


def price_of(model: str) -> Price | None:
    """Look up a model's price by the part of its name after the last ``:`` and ``/``. None if the table does not contain it."""
    plain = model.rpartition(":")[2].rpartition("/")[2]
    table = _load_price_table()
    found = max((item for item in table["models"] if plain.startswith(item)), key=len, default="")
    return Price(**table["models"][found], batch=table["batch"]) if found else None


def price_table_date() -> str:
    """The date of the table."""
    return str(_load_price_table()["date"])


@cache
def _load_price_table() -> dict[str, Any]:
    return load_table(Path(__file__).with_name("prices.toml"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Spending limits in USD, calls, and tokens (input plus output). 0 means no limit.

    ``span`` is "a run", "a day" or "a month".
    """

    span: str
    usd: float = 0.0
    calls: int = 0
    tokens: int = 0

    def find_exceeded(self, usage: Usage) -> str:
        """Return a phrase with the limit that a usage exceeds, and its setting. Empty if it exceeds none."""
        if self.usd and (usage.cost or 0.0) > self.usd:
            return f"{self.usd:.2f} USD {self.span} (llm.{self._key}_usd)"
        if self.calls and usage.calls > self.calls:
            return f"{self.calls:,} calls {self.span} (llm.{self._key}_calls)"
        if self.tokens and usage.input_tokens + usage.output_tokens > self.tokens:
            return f"{self.tokens:,} tokens {self.span} (llm.{self._key}_tokens)"
        return ""

    @property
    def _key(self) -> str:
        return self.span.rpartition(" ")[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """The number of new ``questions`` and of questions with a stored reply (``cached``), and the ``usage`` of the new ones."""

    questions: int = 0
    cached: int = 0
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(
            questions=self.questions + other.questions, cached=self.cached + other.cached, usage=self.usage + other.usage
        )


@dataclass(kw_only=True, slots=True)
class Tally:
    """Counts of questions and their outcomes so far. ``secrets`` counts redactions in questions and replies.

    ``awaited`` counts questions that are in a batch. ``would`` estimates the questions of a dry run. ``reasons`` are the messages
    to show, by topic: ``unreadable``, ``unreachable``, ``unaffordable``, ``budget``.
    """

    questions: int = 0
    cached: int = 0
    usage: Usage = field(default_factory=Usage)
    purposes: dict[str, Usage] = field(default_factory=dict)
    unreadable: Counter[str] = field(default_factory=Counter)
    unreachable: Counter[str] = field(default_factory=Counter)
    unaffordable: int = 0
    awaited: int = 0
    secrets: int = 0
    would: Estimate = field(default_factory=Estimate)
    reasons: dict[str, list[str]] = field(default_factory=dict)

    @property
    def partly(self) -> bool:
        """True if a question got no usable reply."""
        return bool(self.unreadable or self.unreachable or self.unaffordable)

    def add(self, purpose: str, usage: Usage) -> None:
        """Add what was spent on a purpose."""
        self.usage += usage
        self.purposes[purpose] = self.purposes.get(purpose, Usage()) + usage

    def count_outcome(self, reply: Reply) -> None:
        """Count the outcome of a question, except a complete reply: that was counted when it was paid for."""
        match reply:
            case UnreadableReply(fault=fault):
                self.unreadable[fault.value] += 1
                self.note("unreadable", reply.reason)
            case UnreachableReply(fault=fault):
                self.unreachable[fault.value] += 1
                self.note("unreachable", reply.reason)
            case UnaffordableReply():
                self.unaffordable += 1
                self.note("unaffordable", reply.reason)
            case PendingReply():
                self.awaited += 1
            case CompleteReply():
                pass

    def note(self, what: str, sentence: str) -> None:
        """Add a message to ``reasons`` unless it is already there."""
        known = self.reasons.setdefault(what, [])
        if sentence not in known:
            known.append(sentence)

    def body(self) -> dict[str, Any]:
        """The tally as JSON, for ``kept run --json`` and for the run's record in the store."""
        made = usage_body(self.usage) | {
            "questions": self.questions,
            "from_cache": self.cached,
            "purposes": {name: usage_body(usage) for name, usage in self.purposes.items()},
            "unreadable": dict(self.unreadable),
            "unreachable": dict(self.unreachable),
            "unaffordable": self.unaffordable,
            "awaited": self.awaited,
            "secrets": self.secrets,
            "reasons": {what: list(each) for what, each in self.reasons.items()},
        }
        return made | ({"estimate": estimate_body(self.would)} if self.would.questions or self.would.cached else {})


def usage_body(usage: Usage) -> dict[str, Any]:
    """A usage as JSON. ``cost`` is null if it is unknown."""
    return json_fields(usage) | {"cost": None if usage.cost is None else round(usage.cost, 6)}


def estimate_body(estimate: Estimate) -> dict[str, Any]:
    """An estimate as JSON."""
    return {"questions": estimate.questions, "from_cache": estimate.cached} | usage_body(estimate.usage)


def estimate_ask_usage(ask: Ask, tokens: int, price: Price | None, *, share: float = 1.0, batched: bool = False) -> Usage:
    """Estimate the usage of a question with ``tokens`` tokens whose reply takes up ``share`` of the allowed length."""
    out = int(ask.most * share)
    cost = None if price is None else price.cost(tokens_in=tokens, tokens_out=out, batched=batched)
    return Usage(calls=1, input_tokens=tokens, output_tokens=out, cost=cost)


def add_usage_cost(usage: Usage, price: Price | None, *, batched: bool = False) -> Usage:
    """Add the cost to a usage if the model did not report it and the price is known."""
    if usage.cost is not None or price is None:
        return usage
    cost = price.cost(tokens_in=usage.input_tokens, tokens_out=usage.output_tokens, cached=usage.cached_tokens, batched=batched)
    return replace(usage, cost=cost)
