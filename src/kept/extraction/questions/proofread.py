"""The third question about claims that would become active: whether each is clear alone and worth its place among the others.

The model sees the claims of a project as they would stand in a memory file, without the conversation, because whoever knows the
conversation does not notice what a line leaves out. It sees them together, in the order in which they were said, because a line
that is kept for itself may add nothing to the others. A claim is held if it is not clear, is about work done since, is known
anyway, or says the same as another one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kept.core.memory import HELPFUL, PASSING
from kept.core.value import dataclass
from kept.extraction.questions.claims import Claim
from kept.extraction.questions.recheck import MOST_TOKENS, ClaimInContext, doubt_claim, format_claim
from kept.extraction.rules.candidates import POINTS_OUTSIDE
from kept.llm.ask import Ask, build_ask
from kept.llm.reply import parse_as, schema_of

PURPOSE = "proofread"
LINES = 40  # claims in one question
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
    lines = [
        f"Project {project}",
        *(format_claim(number, claim.candidate, dated=True) for number, (claim, _) in enumerate(items, 1)),
    ]
    sessions = [item.session for claim, _ in items for item in claim.candidate.evidence]
    return build_ask(PURPOSE, "\n".join(lines), SCHEMA, most=MOST_TOKENS, about=sessions)


def read_proofread(body: Mapping[str, Any], items: Sequence[ClaimInContext]) -> dict[int, Claim]:
    """The claims that a reply doubts, by index. Raises ValueError if the reply does not have the requested form."""
    found = {}
    for line in parse_as(ProofreadReply, body).lines:
        doubt = _DOUBTS.get(line.verdict.strip().lower())
        if doubt and 1 <= line.id <= len(items):
            found[line.id - 1] = doubt_claim(items[line.id - 1][0], doubt, ask=line.ask)
    return found
