"""Questions and a scripted model for tests of the client of language models."""

from typing import Any

from kept.llm.adapter import AdapterFailure, AdapterReply
from kept.llm.ask import Ask, Fault, Usage
from kept.llm.client import LlmClient
from kept.llm.retry import RetryPolicy

SCHEMA = {
    "type": "object",
    "required": ["facts"],
    "additionalProperties": False,
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
}
GOOD = '{"facts": ["a"]}'


def ask(prompt: str = "What was said?", **changes: Any) -> Ask:
    values = {"purpose": "extract", "version": "1", "system": "You take notes.", "prompt": prompt, "schema": SCHEMA, "most": 100}
    return Ask(**values | changes)


def silence(fault: Fault = Fault.OVERLOADED, **more: Any) -> AdapterFailure:
    return AdapterFailure(fault=fault, reason=f"it is {fault.value}", **more)


def paid(text: str, tokens: int = 10, *, cost: float | None = 0.1, **more: Any) -> AdapterReply:
    return AdapterReply(text=text, usage=Usage(calls=1, input_tokens=tokens, output_tokens=tokens, cost=cost), **more)


class Played:
    """A model that returns its replies in turn, the last one repeatedly, and records the questions."""

    def __init__(self, *replies: Any, name: str = "played:one") -> None:
        self.name = name
        self.asked: list[Ask] = []
        self.closed = False
        self._replies = replies

    def ask(self, ask: Ask) -> Any:
        self.asked.append(ask)
        reply = self._replies[min(len(self.asked), len(self._replies)) - 1]
        return paid(reply) if isinstance(reply, str) else reply

    def count(self, ask: Ask) -> int:
        return len(ask.prompt)

    def close(self) -> None:
        self.closed = True


class Time:
    """A clock that advances only when somebody sleeps."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def pace(self, **more: Any) -> RetryPolicy:
        values = {"monotonic": lambda: sum(self.slept), "sleep": self.slept.append, "jitter": lambda: 0.0, "concurrency": 1}
        return RetryPolicy(**values | more)


def asker(model: Any, **more: Any) -> LlmClient:
    return LlmClient(lambda: model, **{"pace": Time().pace()} | more)
