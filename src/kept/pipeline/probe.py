"""Trying the language model out: one small question that tells nothing of what is remembered, with what it is going to send told
first.
"""

from dataclasses import dataclass
from time import monotonic

from kept.core.errors import UsageError
from kept.core.times import to_text
from kept.llm.adapters.base import estimate, whole
from kept.llm.ask import Answered, Ask
from kept.llm.schema import schema_of
from kept.workspace import Workspace

_MOST_TOKENS = 200
_SYSTEM = "You are asked whether you can be reached. Reply with one JSON object of the schema, and nothing else."


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """The form of the reply."""

    word: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Coming:
    """What a trial is going to send, and where: the model, the program or server, the words, about how many tokens and USD (None:
    unknown).
    """

    model: str
    where: str
    words: str
    tokens: int
    cost: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """How it went: what the model replied, or why it did not; seconds, tokens and USD (None: unknown)."""

    well: bool
    told: str
    seconds: float
    tokens: int
    cost: float | None


def coming(workspace: Workspace) -> Coming:
    """What :func:`try_out` would send now. Sends nothing. Raises UsageError where no model is set, ConfigError."""
    if workspace.llm is None:
        raise UsageError("no language model is set", hint="choose llm.adapter first")
    ask, chosen = _question(workspace), workspace.settings.llm
    would = workspace.llm.estimate([ask]).usage
    usual = {"anthropic": "the interface of Anthropic", "openai": "the interface of OpenAI"}.get(chosen.adapter, "this machine")
    where = f"the program `{chosen.command}` on this machine" if chosen.adapter == "command" else chosen.base_url or usual
    name = chosen.model or chosen.command or chosen.adapter
    return Coming(model=name, where=where, words=f"{ask.system}\n\n{ask.prompt}", tokens=estimate(whole(ask)), cost=would.cost)


def try_out(workspace: Workspace) -> Tried:
    """Ask the question. Raises UsageError where no model is set, StoreError."""
    if workspace.llm is None:
        raise UsageError("no language model is set", hint="choose llm.adapter first")
    began = monotonic()
    (reply,) = workspace.llm([_question(workspace)])
    usage = reply.usage
    told = str(reply.body.get("word", "")) if isinstance(reply, Answered) else reply.reason
    return Tried(
        well=isinstance(reply, Answered),
        told=told[:500],
        seconds=monotonic() - began,
        tokens=usage.input_tokens + usage.output_tokens,
        cost=usage.cost,
    )


def _question(workspace: Workspace) -> Ask:
    """A question that was never asked before: it says what time it is."""
    return Ask(
        purpose="test",
        version="1",
        system=_SYSTEM,
        prompt=f"It is {to_text(workspace.clock())}. Reply with any one word.",
        schema=schema_of(Word),
        most=_MOST_TOKENS,
    )
