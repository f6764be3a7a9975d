"""Candidates, verdicts and memories: what may be remembered, what was said of it, and what is.

A memory's times are the times of its evidence, never of the processing.
"""

from datetime import datetime
from enum import StrEnum

from kept.core.event import Origin
from kept.core.value import dataclass

USER_SCOPE = "user"
# Why a candidate of the rules is refused, or held, although they would have it: a model that read the same words says otherwise.
DISMISSED = "turned down by the model"
DOUBTED = "doubted by the model"
HELPFUL = "may help, but nothing goes wrong without it"  # why what a model grades so waits
PASSING = "for the task at hand"  # why what a model calls so waits, or is refused
ALLUDES = "the passage alone does not say what is claimed"  # why one whose wording is not to be trusted waits
UNTRIED = "the model did not pass kept's trial"  # why what it proposes waits, and is shown apart
REWORDED = "an agent put it in its own words"  # why other words than the person's wait in an agent's reply
# The triggers of a person's own sentences: explicit tellings, and a standing wish.
REMEMBER, FROM_NOW_ON, RULE, BAN, DECIDED = "remember", "from_now_on", "standing", "ban", "decided"
CORRECTION, NOTE, COMMAND, WISH = "corrected", "note", "command", "wish"
TOLD = frozenset({REMEMBER, FROM_NOW_ON, RULE, BAN, DECIDED, CORRECTION, NOTE, COMMAND, WISH})
WITHDRAWAL = "withdrawal"  # the trigger of what a person no longer wants to hold, told in an earlier session
UNDERSTOOD = "model"  # the trigger of what a model proposed
SUGGESTED = "suggested"  # the trigger of a memory that an agent proposed by a call
TEAM = "team"  # of one that somebody else of a team shares and that may contradict what is kept here
CLIENT_MEMORY = "client memory"  # and of one that stands in a client's own memory
# Why a wish is refused until it was said in several sessions, in whatever words.
SAID_ONCE = "said once"
TAKES_BACK = "it takes back what was told before, and which of that is not clear"  # why a withdrawal waits where it does not retire
# Why words wait however often they are repeated: an agent repeats what it does and what it hands over.
UNSURE = "may not be meant as a rule"  # why a telling waits, unless it gives what was told before another value
CHOSEN = "the agent worded it as an option, which was chosen"
DANGEROUS = "what helped is a command that could do harm"
UNNAMED = "what helped installs a package that the error does not name"
UNCONFIRMED = "nothing shows that the person typed it: a program, an agent or somebody else may have"
TEMPLATE = "the same words stand around it each time: it may be a text that comes back with other values"


class Frame(StrEnum):
    """Why a passage of a prompt may not be what its author says: by the rest of its sentence, and by what stands around it."""

    PART = "the passage is a part of a sentence whose rest may turn it around"
    LED = "the line before the passage may say the opposite of it, or whose words it is"
    QUOTED = "may be quoted, taken back or meant for another use"


LASTING = frozenset((CHOSEN, *Frame, DANGEROUS, UNNAMED, UNCONFIRMED, TEMPLATE, UNTRIED, REWORDED))


class Status(StrEnum):
    """The state of a memory. ``EXPIRED`` is never stored: it is read off ``valid_until`` at a moment."""

    ACTIVE = "active"
    HELD = "held"
    SUPERSEDED = "superseded"
    RESOLVED = "resolved"
    RETIRED = "retired"
    EXPIRED = "expired"
    REJECTED = "rejected"


class Actor(StrEnum):
    """Who did it: a machine's rules, a person, or an agent that proposes on a person's behalf."""

    MACHINE = "machine"
    PERSON = "person"
    AGENT = "agent"


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """Words that support a claim: verbatim from the cleaned text of the event ``event`` of ``session``.

    ``path`` is the file it was read from, ``author`` the label of who wrote it.
    """

    quote: str
    event: str
    session: str
    path: str
    at: datetime | None
    author: str
    origin: Origin


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A proposed memory; nothing is stored as a memory yet.

    ``id`` hashes what makes it this proposal (profile, category, scope, trigger, anchor event, content), so extracting the same
    events again proposes the same ids. ``confidence`` is in [0, 1], computed from stated signals listed in ``reasoning``.
    ``fingerprint`` recognises the error a fix is for, ``subject`` names whom or what a dossier is about (both empty otherwise).
    ``about`` is what the content speaks of where its own words do not say: a file, or the line before it. ``doubt`` is why it waits
    for a person whatever its confidence (empty: it does not). ``scope`` is ``"user"`` or ``"project:<key>"``. ``rewords`` is the id
    of the candidate that this one puts in better words: both become one memory. ``replaces`` are the words of another candidate of
    the same session that this one takes the place of, or what a withdrawal names of other sessions.
    """

    id: str
    profile: str
    category: str
    scope: str
    content: str
    confidence: float
    trigger: str
    at: datetime | None
    origin: Origin
    artifacts: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    reasoning: str
    fingerprint: str = ""
    valid_until: datetime | None = None
    rewords: str = ""
    replaces: str = ""
    subject: str = ""
    about: str = ""
    doubt: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """The candidate may become an active memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """The candidate waits for a person. ``reason`` is a short slug, ``detail`` a sentence."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """The candidate is not remembered, and is listed with the reason."""

    reason: str
    detail: str = ""


Verdict = Accepted | Held | Refused


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateVerdict:
    """A candidate with its verdict."""

    candidate: Candidate
    verdict: Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """What the operations on one id add up to.

    ``candidates`` are the ids of the proposals it rests on. ``owned`` says that a person wrote, edited or decided it: no machine
    changes its content or status then. ``first_seen`` and ``last_seen`` are event times, and so is ``ended_at``, when it stopped
    being held or active; ``observations`` counts distinct sessions with evidence. ``reason`` is that of the last operation.
    ``subject`` names whom or what a dossier is about; empty for any other. ``superseded_by`` is what took its place, or, while it
    is held, what it may contradict. ``about`` is what the content speaks of where its own words do not say. ``advised`` says that
    the content is a model's wording of what it rests on.
    """

    id: str
    profile: str
    category: str
    scope: str
    status: Status
    content: str
    confidence: float
    origin: Origin
    first_seen: datetime | None
    last_seen: datetime | None
    artifacts: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    candidates: tuple[str, ...] = ()
    observations: int = 1
    pinned: bool = False
    owned: bool = False
    valid_until: datetime | None = None
    trigger: str = ""
    fingerprint: str = ""
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    resolved_by: str = ""
    ended_at: datetime | None = None
    reason: str = ""
    subject: str = ""
    advised: bool = False
    about: str = ""

    def status_at(self, moment: datetime) -> Status:
        """The status at a moment: an active or held memory past its ``valid_until`` is expired."""
        if self.valid_until is not None and self.valid_until <= moment and self.status in (Status.ACTIVE, Status.HELD):
            return Status.EXPIRED
        return self.status
