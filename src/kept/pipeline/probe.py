"""Probe the language model: show one small question without any memory, and then send it."""

from time import monotonic

from kept.core.errors import UsageError
from kept.core.times import format_instant
from kept.core.value import dataclass
from kept.llm.adapter import estimate_ask_tokens
from kept.llm.ask import Ask, CompleteReply
from kept.llm.reply import schema_of
from kept.workspace import Workspace

_MOST_TOKENS = 200
_SYSTEM = 'You are asked whether you can be reached. Reply with one JSON object, such as {"word": "ready"}, and nothing else.'


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeReplyForm:
    """The form of the reply."""

    word: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbePlan:
    """The request of a probe: the model, the program or server, the text, and the approximate tokens and USD (None: unknown)."""

    model: str
    where: str
    words: str
    tokens: int
    cost: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeResult:
    """The result of a probe: the model's reply or the reason why there is none, with seconds, tokens and USD (None: unknown)."""

    ok: bool
    answer: str
    seconds: float
    tokens: int
    cost: float | None


def plan_probe(workspace: Workspace) -> ProbePlan:
    """Return what :func:`run_probe` would send now. Sends nothing. Raises UsageError if no model is set, ConfigError."""
    if workspace.llm is None:
        raise UsageError("no language model is set", hint="choose llm.adapter first")
    ask, chosen = _build_probe_ask(workspace), workspace.settings.llm
    would = workspace.llm.estimate([ask]).usage
    usual = {"anthropic": "the interface of Anthropic", "openai": "the interface of OpenAI"}.get(chosen.adapter, "this machine")
    where = f"the program `{chosen.command}` on this machine" if chosen.adapter == "command" else chosen.base_url or usual
    name = chosen.name
    return ProbePlan(
        model=name,
        where=where,
        words=f"{ask.system}\n\n{ask.prompt}",
        tokens=estimate_ask_tokens(ask),
        cost=would.cost,
    )


def run_probe(workspace: Workspace) -> ProbeResult:
    """Send the question of the probe. Raises UsageError if no model is set, StoreError."""
    if workspace.llm is None:
        raise UsageError("no language model is set", hint="choose llm.adapter first")
    began = monotonic()
    (reply,) = workspace.llm([_build_probe_ask(workspace)])
    usage = reply.usage
    answer = str(reply.body.get("word", "")) if isinstance(reply, CompleteReply) else reply.reason
    return ProbeResult(
        ok=isinstance(reply, CompleteReply),
        answer=answer[:500],
        seconds=monotonic() - began,
        tokens=usage.input_tokens + usage.output_tokens,
        cost=usage.cost,
    )


def _build_probe_ask(workspace: Workspace) -> Ask:
    """Build a question that no stored reply answers, because it contains the current time."""
    return Ask(
        purpose="test",
        version="1",
        system=_SYSTEM,
        prompt=f"It is {format_instant(workspace.clock())}. Reply with any one word.",
        schema=schema_of(ProbeReplyForm),
        most=_MOST_TOKENS,
    )
