"""Ask one question until there is a reply or retrying is useless; the cost of the attempts; the limits of a subscription.

Shares no state, so several questions can run at once.
"""

import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from kept.core.value import dataclass, field, replace
from kept.llm.adapter import AdapterFailure, AdapterReply, AdapterResult, Model
from kept.llm.ask import Ask, Fault, UnreadableReply, Usage
from kept.llm.replies import QuestionNote
from kept.llm.reply import InvalidReply, parse_reply

_SECOND_TRY = (
    "Your last reply could not be used: {reason}. Reply again with one complete JSON object of the schema, and nothing else."
)


@dataclass(kw_only=True, slots=True)
class OpenQuestion:
    """A question in progress: its key, its cost so far, and, on the second try, what was wrong with the first reply."""

    key: str
    ask: Ask
    spent: Usage = field(default_factory=Usage)
    invalid_reply: InvalidReply | None = None

    def note(self) -> QuestionNote:
        """The stored description of the question."""
        ask = self.ask
        return QuestionNote(key=self.key, purpose=ask.purpose, version=ask.version, schema=ask.schema, about=ask.about)

    def to_unreadable_reply(self, note: str = "") -> UnreadableReply | None:
        """The outcome if the second try gets no reply: the first reply could not be used. None on the first try."""
        invalid = self.invalid_reply
        return UnreadableReply(reason=invalid.reason + note, fault=invalid.fault, usage=self.spent) if invalid else None

    def ask_again(self, wrong: InvalidReply) -> "OpenQuestion":
        """The second and last try after an unusable reply: names the fault, and allows a longer reply if it was truncated."""
        factor = 2 if wrong.fault is Fault.TRUNCATED else 1
        again = replace(
            self.ask, prompt=f"{self.ask.prompt}\n\n{_SECOND_TRY.format(reason=wrong.reason)}", most=factor * self.ask.most
        )
        return replace(self, ask=again, invalid_reply=wrong)


_LONGEST_PAUSE = 120.0
_TEMPORARY = {Fault.RATE_LIMIT, Fault.OVERLOADED, Fault.CONNECTION, Fault.TIMEOUT}
_REACHED = {Fault.EMPTY, Fault.REFUSAL, Fault.TRUNCATED, Fault.MALFORMED, Fault.AMBIGUOUS, Fault.SCHEMA}


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """How fast and how often to ask: ``rate`` in questions per minute (0: no limit). ``insists``: retry if the server asks to wait.

    ``monotonic``, ``sleep`` and ``jitter`` (a number in [0, 1)) are injectable, so that tests need not wait.
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
    """The outcome of a question: the last result, its content (None for a failure), and the usage of failed attempts."""

    result: AdapterResult
    content: Mapping[str, Any] | InvalidReply | None
    lost: Usage


def ask_with_retries(model: Model, ask: Ask, pace: RetryPolicy) -> AskOutcome:
    """Ask until there is a reply or retrying is useless."""
    lost = Usage()
    for attempt in range(1, max(1, pace.attempts) + 1):
        result = model.ask(ask)
        content = read_adapter_reply(result, ask.schema)
        failure = _find_failure(result, content)
        if failure is None:
            return AskOutcome(result=result, content=content, lost=lost)
        fault, after = failure.fault, failure.after or 0.0
        lost += failure.usage
        if fault is Fault.TIMEOUT and not failure.usage.calls:
            lost += Usage(calls=1, input_tokens=model.count(ask), cost=None)  # it may be billed
        last = attempt >= (2 if fault is Fault.TIMEOUT else pace.attempts) or (fault is Fault.RATE_LIMIT and not pace.insists)
        if fault not in _TEMPORARY or last or after > _LONGEST_PAUSE:
            return AskOutcome(result=failure, content=None, lost=lost)
        pause = min(_LONGEST_PAUSE, 2.0**attempt) * (0.5 + pace.jitter() / 2)
        pace.sleep(max(after, pause))
    raise AssertionError(ask.purpose)


def read_adapter_reply(result: AdapterResult, schema: Mapping[str, Any]) -> Mapping[str, Any] | InvalidReply | None:
    """The content of a reply, or its fault; None if there is no reply."""
    match result:
        case AdapterFailure():
            return None
        case AdapterReply(refused=True):
            return InvalidReply(fault=Fault.REFUSAL, reason="the model refused to answer")
        case AdapterReply(truncated=True):
            return InvalidReply(fault=Fault.TRUNCATED, reason="the reply was cut off at its limit")
        case AdapterReply(text=text):
            return parse_reply(text, schema)


def _find_failure(result: AdapterResult, content: Mapping[str, Any] | InvalidReply | None) -> AdapterFailure | None:
    """The failure if there is no real reply, which includes a server's error message in the place of a reply; else None."""
    if isinstance(result, AdapterFailure):
        return result
    if isinstance(content, InvalidReply) and content.fault not in _REACHED:
        return AdapterFailure(fault=content.fault, reason=content.reason, usage=result.usage)
    return None


# Questions that a program's smallest plan allows per number of hours, and the variables with which tokens are paid instead.
_PLANS = {
    "claude": (45, 5, ("ANTHROPIC_API_KEY", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")),
    "codex": (45, 5, ("CODEX_API_KEY", "OPENAI_API_KEY")),
    "gemini": (1_000, 24, ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
}
SECONDS = 20  # typical duration of a question through such a program


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What kept may ask through a program: ``calls`` questions in ``hours``, a share of what the plan allows."""

    program: str
    calls: int
    hours: int

    @property
    def reason(self) -> str:
        """Why a question beyond the plan is not asked."""
        return (
            f"kept's share of your plan with {self.program} is used up ({self.calls} questions in {self.hours} hours, "
            "llm.plan_share); a later run asks the rest"
        )


def plan_for(program: str, env: Mapping[str, str], *, calls: int, share: float) -> Plan | None:
    """The plan behind a program; None if tokens are paid. ``calls`` is the plan's limit according to the person (0: unknown)."""
    if program not in _PLANS:
        return None
    usual, hours, keys = _PLANS[program]
    if any(env.get(key) for key in keys):
        return None
    return Plan(program=program, calls=max(1, int((calls or usual) * share)), hours=hours)
