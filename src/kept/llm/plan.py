"""Plans: programs through which a person pays by subscription, and how many questions kept may put to one. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

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
