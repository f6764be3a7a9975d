"""Ask one question with retries, and count the cost of the attempts. Also has the limits of subscriptions.

The functions share no state, so several questions can run at once.
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
    """A question in progress, with its key and its cost so far. On the second try it also has the fault of the first reply."""

    key: str
    ask: Ask
    spent: Usage = field(default_factory=Usage)
    invalid_reply: InvalidReply | None = None

    def note(self) -> QuestionNote:
        """The stored description of the question."""
        ask = self.ask
        return QuestionNote(key=self.key, purpose=ask.purpose, version=ask.version, schema=ask.schema, about=ask.about)

    def to_unreadable_reply(self, note: str = "") -> UnreadableReply | None:
        """Return the final outcome if the second try gets no reply. It has the fault of the first reply. None on the first try."""
        invalid = self.invalid_reply
        return UnreadableReply(reason=invalid.reason + note, fault=invalid.fault, usage=self.spent) if invalid else None

    def ask_again(self, wrong: InvalidReply) -> "OpenQuestion":
        """Return the question for the second and last try. It names the fault, and allows a longer reply if that was truncated."""
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
    """How fast and how often to ask. ``rate`` is in questions per minute (0: no limit). ``insists``: wait if the server asks to.

    Tests replace ``monotonic``, ``sleep`` and ``jitter`` (which returns a number in [0, 1)), so that they need not wait.
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
    """The outcome of a question: the last result, its content (None after a failure), and the usage of the failed attempts."""

    result: AdapterResult
    content: Mapping[str, Any] | InvalidReply | None
    lost: Usage


def ask_with_retries(model: Model, ask: Ask, pace: RetryPolicy) -> AskOutcome:
    """Ask until there is a reply, or until the policy or the kind of failure forbids another attempt."""
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
            lost += Usage(calls=1, input_tokens=model.count(ask), cost=None)  # a request that timed out may be billed
        last = attempt >= min(pace.attempts, 2 if fault is Fault.TIMEOUT else pace.attempts) or (
            fault is Fault.RATE_LIMIT and not pace.insists
        )
        if fault not in _TEMPORARY or last or after > _LONGEST_PAUSE:
            return AskOutcome(result=failure, content=None, lost=lost)
        pause = min(_LONGEST_PAUSE, 2.0**attempt) * (0.5 + pace.jitter() / 2)
        pace.sleep(max(after, pause))
    raise AssertionError(ask.purpose)


def read_adapter_reply(result: AdapterResult, schema: Mapping[str, Any]) -> Mapping[str, Any] | InvalidReply | None:
    """Parse a reply and return its content or its fault. None if there is no reply."""
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
    """Return the failure if there is no reply, or if a server's error message is in place of the reply. Else None."""
    if isinstance(result, AdapterFailure):
        return result
    if isinstance(content, InvalidReply) and content.fault not in _REACHED:
        return AdapterFailure(fault=content.fault, reason=content.reason, usage=result.usage)
    return None


# By program: the calls that its smallest plan allows, the hours they are for, and the variables that make it bill tokens instead.
_PLANS = {
    "claude": (45, 5, ("ANTHROPIC_API_KEY", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")),
    "codex": (45, 5, ("CODEX_API_KEY", "OPENAI_API_KEY")),
    "gemini": (1_000, 24, ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
}
SECONDS = 20  # typical duration of a question through such a program


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The share of a subscription that kept may use: at most ``calls`` questions in ``hours``."""

    program: str
    calls: int
    hours: int

    @property
    def reason(self) -> str:
        """The message for a question that is not asked because of the plan's limit."""
        return (
            f"kept's share of your plan with {self.program} is used up ({self.calls} questions in {self.hours} hours, "
            "llm.plan_share); a later run asks the rest"
        )


def plan_for(program: str, env: Mapping[str, str], *, calls: int, share: float) -> Plan | None:
    """The subscription of a program, or None if tokens are billed. ``calls`` is its limit as the person set it (0: not set)."""
    if program not in _PLANS:
        return None
    usual, hours, keys = _PLANS[program]
    if any(env.get(key) for key in keys):
        return None
    return Plan(program=program, calls=max(1, int((calls or usual) * share)), hours=hours)
