"""The third question about claims that would become active: whether each is clear alone and worth its place among the others.

The model sees the claims of a project as they would stand in a memory file, without the conversation, because whoever knows the
conversation does not notice what a line leaves out. It sees them together, in the order in which they were said, because a line
that is kept for itself may add nothing to the others. A claim is held if it is not clear, is about work done since, is known
anyway, or says the same as another one. The model is told which lines are the assistant's words, because what it was going to build
and how it explained the code is mostly untrue a few weeks later.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kept.core.event import Origin
from kept.core.memory import HELPFUL, PASSING, Candidate
from kept.core.value import dataclass
from kept.extraction.questions.claims import Claim
from kept.extraction.questions.recheck import MOST_TOKENS, ClaimInContext, doubt_claim, format_claim
from kept.extraction.questions.support import measure_support
from kept.extraction.questions.trust import FIX
from kept.extraction.rules.candidates import POINTS_OUTSIDE
from kept.llm.ask import Ask, build_ask
from kept.llm.reply import parse_as, schema_of

PURPOSE = "proofread"
LINES = 40  # claims in one question
_TYPED = 0.5  # least share of a claim's words that the person typed; below it they are the assistant's
_SPOKEN = "assistant's words"
_AGAIN = "another line says the same"
_DOUBTS = {"vague": POINTS_OUTSIDE, "passed": PASSING, "known": HELPFUL, "again": _AGAIN}


@dataclass(frozen=True, kw_only=True, slots=True)
class LineVerdict:
    """A line's number, what its reader would have to ask (empty: nothing), and the model's verdict."""

    id: int
    ask: str
    verdict: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProofreadReply:
    """The verdicts on all lines."""

    lines: tuple[LineVerdict, ...]


SCHEMA = schema_of(ProofreadReply)


def build_proofread_ask(project: str, items: Sequence[ClaimInContext]) -> Ask:
    """Build the question about the claims of a project, each shown as one line with its date."""
    lines = [f"Project {project}", *(_format_dated(number, claim.candidate) for number, (claim, _) in enumerate(items, 1))]
    sessions = [item.session for claim, _ in items for item in claim.candidate.evidence]
    return build_ask(PURPOSE, "\n".join(lines), SCHEMA, most=MOST_TOKENS, about=sessions)


def _format_dated(number: int, candidate: Candidate) -> str:
    """A claim as one line with its day, marked if most of its words are not the person's."""
    typed = [item.quote for item in candidate.evidence if item.origin is Origin.USER]
    spoken = candidate.category != FIX and measure_support(candidate.content, *typed) < _TYPED
    when = f"{candidate.at:%Y-%m-%d}" if candidate.at else ""
    return format_claim(number, candidate, when=when, voice=_SPOKEN if spoken else "")


def read_proofread(body: Mapping[str, Any], items: Sequence[ClaimInContext]) -> dict[int, Claim]:
    """The claims that a reply doubts, by index. Raises ValueError if the reply does not have the requested form."""
    found = {}
    for line in parse_as(ProofreadReply, body).lines:
        doubt = _DOUBTS.get(line.verdict.strip().lower())
        if doubt and 1 <= line.id <= len(items):
            found[line.id - 1] = doubt_claim(items[line.id - 1][0], doubt, ask=line.ask)
    return found
