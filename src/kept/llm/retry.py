"""Asking one question until there is a reply, or trying again is of no use; what it costs meanwhile; what a subscription allows.

Touches nothing shared, so several may run at once.
"""

import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from kept.core.value import dataclass, field, replace
from kept.llm.adapters.base import AdapterFailure, AdapterReply, Model, Spoken
from kept.llm.ask import Ask, Fault, UnreadableReply, Usage
from kept.llm.replies import QuestionNote
from kept.llm.reply import InvalidReply, parse_reply

_AGAIN = "Your last reply could not be used: {reason}. Reply again with one complete JSON object of the schema, and nothing else."


@dataclass(kw_only=True, slots=True)
class OpenQuestion:
    """A question under way: what it is remembered under, what it cost so far, whether it is the second try."""

    key: str
    ask: Ask
    again: bool = False
    spent: Usage = field(default_factory=Usage)
    told: InvalidReply | None = None

    def note(self) -> QuestionNote:
        """What is remembered of the question, under which key its reply is found."""
        ask = self.ask
        return QuestionNote(key=self.key, purpose=ask.purpose, version=ask.version, schema=ask.schema, about=ask.about)

    def unread(self, more: str = "") -> UnreadableReply | None:
        """How it stands where there is no second reply: its first one could not be used. None where there was none."""
        return UnreadableReply(reason=self.told.reason + more, fault=self.told.fault, usage=self.spent) if self.told else None

    def ask_again(self, wrong: InvalidReply) -> "OpenQuestion":
        """The one question that may follow a reply nobody can use: with what was wrong, and more room where it was cut."""
        room = 2 if wrong.fault is Fault.TRUNCATED else 1
        again = replace(self.ask, prompt=f"{self.ask.prompt}\n\n{_AGAIN.format(reason=wrong.reason)}", most=room * self.ask.most)
        return replace(self, ask=again, again=True, told=wrong)


_LONGEST_PAUSE = 120.0
_PASSING = {Fault.RATE_LIMIT, Fault.OVERLOADED, Fault.CONNECTION, Fault.TIMEOUT}
_REACHED = {Fault.EMPTY, Fault.REFUSAL, Fault.TRUNCATED, Fault.MALFORMED, Fault.AMBIGUOUS, Fault.SCHEMA}


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """How fast and how often is asked: ``rate`` in questions a minute (0: as fast as it goes). ``insists`` says that a server that
    asks to wait is asked again.

    ``monotonic``, ``sleep`` and ``jitter`` (a number in [0, 1)) are the time, so that a test need not wait.
    """

    attempts: int = 4
    concurrency: int = 4
    rate: float = 0.0
    insists: bool = True
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


@dataclass(frozen=True, kw_only=True, slots=True)
class AskOutcome:
    """What came of a question: what was said, what it means, and what was spent on tries that brought nothing."""

    spoken: Spoken
    read: Mapping[str, Any] | InvalidReply | None
    lost: Usage


def ask_with_retries(model: Model, ask: Ask, pace: RetryPolicy) -> AskOutcome:
    """Ask until there is a reply, or trying again is of no use. Runs beside others; touches nothing shared."""
    lost = Usage()
    for attempt in range(1, max(1, pace.attempts) + 1):
        spoken = model.ask(ask)
        read = read_adapter_reply(spoken, ask.schema)
        fault, after = _find_fault(spoken, read)
        if fault is None:
            return AskOutcome(spoken=spoken, read=read, lost=lost)
        lost += spoken.usage
        if fault is Fault.TIMEOUT and not spoken.usage.calls:
            lost += Usage(calls=1, input_tokens=model.count(ask), cost=None)  # it may be on the bill
        last = attempt >= (2 if fault is Fault.TIMEOUT else pace.attempts) or (fault is Fault.RATE_LIMIT and not pace.insists)
        if fault not in _PASSING or last or (after or 0.0) > _LONGEST_PAUSE:
            reason = (
                spoken.reason if isinstance(spoken, AdapterFailure) else "the server answered with an error in the place of a reply"
            )
            return AskOutcome(spoken=AdapterFailure(fault=fault, reason=reason), read=None, lost=lost)
        pause = min(_LONGEST_PAUSE, 2.0**attempt) * (0.5 + pace.jitter() / 2)
        pace.sleep(max(after or 0.0, pause))
    raise AssertionError(ask.purpose)


def read_adapter_reply(spoken: Spoken, schema: Mapping[str, Any]) -> Mapping[str, Any] | InvalidReply | None:
    """What a reply says, or what is wrong with it; None where there is none."""
    match spoken:
        case AdapterFailure():
            return None
        case AdapterReply(refused=True):
            return InvalidReply(fault=Fault.REFUSAL, reason="the model refused to answer")
        case AdapterReply(cut=True):
            return InvalidReply(fault=Fault.TRUNCATED, reason="the reply was cut off at its limit")
        case AdapterReply(text=text):
            return parse_reply(text, schema)


def _find_fault(spoken: Spoken, read: Mapping[str, Any] | InvalidReply | None) -> tuple[Fault | None, float | None]:
    """Why this is no reply at all, an error told in its place included, and how long the server asks to wait."""
    if isinstance(spoken, AdapterFailure):
        return spoken.fault, spoken.after
    if isinstance(read, InvalidReply) and read.fault not in _REACHED:
        return read.fault, None
    return None, None


# Questions that the smallest plan of a program allows in so many hours, and the variables with which tokens are paid instead.
_PLANS = {
    "claude": (45, 5, ("ANTHROPIC_API_KEY", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")),
    "codex": (45, 5, ("CODEX_API_KEY", "OPENAI_API_KEY")),
    "gemini": (1_000, 24, ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
}
SECONDS = 20  # that a question takes through such a program


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What kept may ask through a program: ``calls`` questions in ``hours``, a share of what the plan allows."""

    program: str
    calls: int
    hours: int

    @property
    def reason(self) -> str:
        """Why a question is not asked that goes beyond it."""
        return (
            f"kept's share of your plan with {self.program} is used up ({self.calls} questions in {self.hours} hours, "
            "llm.plan_share); a later run asks the rest"
        )


def plan_for(program: str, env: Mapping[str, str], *, calls: int, share: float) -> Plan | None:
    """The plan behind a program; None where tokens are paid. ``calls`` is what the person says that theirs allows (0: unknown)."""
    if program not in _PLANS:
        return None
    usual, hours, keys = _PLANS[program]
    if any(env.get(key) for key in keys):
        return None
    return Plan(program=program, calls=max(1, int((calls or usual) * share)), hours=hours)
