"""Candidates (sentences that may become memories), the verdicts on them, and memories.

A memory's times are the times of its evidence, never of the processing.
"""

from datetime import datetime
from enum import StrEnum

from kept.core.event import Origin
from kept.core.value import dataclass

USER_SCOPE = "user"
GROUP_SEPARATOR = " · "  # separates profile and scope of a group in the subject of its passes
# Reasons of verdicts. These two: the rules accept the candidate, but a model that read the same words rejects it. It is refused, or
# held.
DISMISSED = "turned down by the model"
DOUBTED = "doubted by the model"
HELPFUL = "may help, but nothing goes wrong without it"  # held: the model or agent that proposed it gave it this grade
PASSING = "for the task at hand"  # held or refused: its words, or the model or agent that proposed it, say so
ALLUDES = "it says more than the passage it cites"  # held: the evidence does not contain its wording
PLANTED = "it tells an agent to do what only you should ask for"  # held: a memory of another tool; listed apart like UNTRIED
REDACTED = "a secret was taken out of it"  # held: like PLANTED
UNSAID = "it names a secret and says nothing about it"  # refused
ACCOUNT = "it has the number of an account or a card"  # held
UNTRIED = "the model did not pass kept's trial"  # held: listed apart from other held memories
MOST_REQUESTS = 3  # maximum requests in ``needed_for``
REWORDED = "an agent put it in its own words"  # held: an agent's reply may quote the person, but not paraphrase them
# Triggers of candidates with a person's own sentence: explicit statements, and a lasting wish.
REMEMBER, FROM_NOW_ON, RULE, BAN, DECIDED = "remember", "from_now_on", "standing", "ban", "decided"
CORRECTION, NOTE, COMMAND, WISH = "corrected", "note", "command", "wish"
TOLD = frozenset({REMEMBER, FROM_NOW_ON, RULE, BAN, DECIDED, CORRECTION, NOTE, COMMAND, WISH})
# Triggers of other candidates.
WITHDRAWAL = "withdrawal"  # the person takes back a statement of an earlier session
UNDERSTOOD = "model"  # proposed by a model
SUGGESTED = "suggested"  # proposed by an agent with a tool call
TEAM = "team"  # shared by another member of a team; may contradict a memory here
CLIENT_MEMORY = "client memory"  # read from a client's own memory
# The reason to refuse a wish until several sessions contain it, in whatever words.
SAID_ONCE = "said once"
SHORT = "too short to stand by itself"  # held
UNLIKELY = (PASSING, SHORT, UNTRIED, PLANTED, REDACTED)  # not worth a person's time, whatever the words are
TAKES_BACK = "it takes back something you said before, and it is unclear what"  # held: a withdrawal that matches no single memory
UNSURE = "may not be meant as a rule"  # held, unless it gives an earlier rule a new value
# A candidate with one of the reasons below stays held, however often its words are said again (see LASTING).
CHOSEN = "you chose it from options that the agent worded"
DANGEROUS = "what helped is a command that could do harm"
UNNAMED = "what helped installs a package that the error does not name"
UNPROVEN = "nothing but the order shows that this helped"
OCCASIONAL = "what helped names a value that only this time had"
UNCONFIRMED = "it is not certain that you typed it: it may come from a program, an agent or somebody else"
TEMPLATE = "the text around it is the same each time, so it may come from a template"


class Frame(StrEnum):
    """Reasons why a passage of a prompt may not say what its author means. They come from its sentence or the text around it."""

    PART = "it is part of a sentence, and the rest may change what it means"
    LED = "the line before it may reverse it, or say that somebody else wrote it"
    QUOTED = "may be quoted, taken back or meant for another use"


# Held, because the person may not state it.
ASKED = "it is part of a question"
SUPPOSED = "it depends on a condition or a doubt"
ONCE = "may hold for one occasion only"
CONTENT = "it is text that was to be written somewhere else"
ANOTHERS = "it may be the words of another author"
WITHDRAWN = "you took it back or denied it"
JEST = "it may be meant as a joke"
UNSTATED = (*Frame, ASKED, SUPPOSED, ONCE, CONTENT, ANOTHERS, WITHDRAWN, JEST)

# Outcomes of memories that the person approved. They stay active unless the person's own explicit words replace them.
APPROVED = "approved by the user"

# Reasons (or their beginnings) with which a person ends a memory that is not wrong: no longer true, moved to another project,
# split.
WAS_SO, MOVED, SPLIT = "it was so then and is no more", "moved to", "split by the user"
NOT_TAKEN = "kept refused it"  # beginning of the reason with which kept itself rejected something


# Repetition does not lift these reasons, because an agent repeats what it does and what it hands over.
LASTING = frozenset(
    (CHOSEN, *Frame, DANGEROUS, UNNAMED, UNPROVEN, OCCASIONAL, UNCONFIRMED, TEMPLATE, UNTRIED, REWORDED, REDACTED, ACCOUNT)
)


class Status(StrEnum):
    """The state of a memory. ``EXPIRED`` is never stored: :meth:`Memory.status_at` derives it from ``valid_until``."""

    ACTIVE = "active"
    HELD = "held"
    SUPERSEDED = "superseded"
    RESOLVED = "resolved"
    RETIRED = "retired"
    EXPIRED = "expired"
    REJECTED = "rejected"


class Actor(StrEnum):
    """Who made a change: kept itself, a person, or an agent on behalf of a person."""

    MACHINE = "machine"
    PERSON = "person"
    AGENT = "agent"


def find_ending_word(reason: str) -> str:
    """The word for how a memory ended, from the ``reason`` of its end. Empty if the status says enough."""
    words = {WAS_SO: "was so", MOVED: "moved", SPLIT: "split", NOT_TAKEN: "refused"}
    return next((word for beginning, word in words.items() if reason.startswith(beginning)), "")


def outcome_clause(outcome: str) -> str:
    """An outcome as a clause, such as "it is retired" or "it was so"."""
    return f"it {outcome}" if outcome == "was so" else f"it is {outcome}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """Words that support a claim, quoted verbatim from the cleaned text of the event with key ``event`` in ``session``.

    ``path`` is the file of the event. ``author`` is the label of who wrote it.
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
    """A proposed memory. It becomes a memory only by an operation.

    ``id`` hashes profile, category, scope, trigger, anchor event and content, so extracting the same events again gives the same
    ids. ``scope`` is ``"user"`` or ``"project:<key>"``. ``confidence`` is in [0, 1], computed from the signals that ``reasoning``
    lists. ``fingerprint`` identifies the error that a fix is for, ``subject`` the person or thing that a dossier is about; else
    they are empty. ``about`` is the subject of the content if its own words do not name it: a file, or the line before it.

    ``doubt`` is the reason to hold the candidate whatever its confidence; empty if there is none. ``rewords`` is the id of a
    candidate that this one says in better words; both become one memory. ``replaces`` are the words of an earlier candidate of the
    session that this one replaces, or the words with which a withdrawal names a memory of other sessions. ``needed_for`` are
    requests on other tasks before which the memory should be shown, in the words of the agent that handed it over. They decide only
    when it is shown, and are never shown themselves.
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
    needed_for: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """The candidate may become an active memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """The candidate waits for a person's decision. ``reason`` is a short phrase, ``detail`` a clause."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """The candidate is not remembered. ``kept list --refused`` shows it with the reason."""

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
    """The state of one memory: the fold of all operations on its id.

    ``candidates`` are the ids of its proposals. ``owned`` means that a person wrote, edited or decided it; then only words that
    they typed later can replace it. ``first_seen``, ``last_seen`` and ``ended_at`` (when it stopped being held or active) are event
    times. ``observations`` counts the sessions with evidence. ``reason`` is that of the last operation. ``subject`` names the
    person or thing that a dossier is about, else it is empty. ``superseded_by`` is the id of the memory that replaced it or, while
    it is held, of the one it may contradict. ``about`` is the subject of the content if its own words do not name it. ``advised``
    means that a model chose the content, in a merge or for what a prompt changed. ``needed_for`` is as in :class:`Candidate`, or in
    a model's words.
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
    needed_for: tuple[str, ...] = ()

    @property
    def is_restated(self) -> bool:
        """True if a model put into it what a prompt changed in an earlier memory. It rests on the words of both."""
        return self.advised and not self.candidates and self.trigger == UNDERSTOOD

    @property
    def settled(self) -> bool:
        """True if a person decided on the memory: wrote, edited, confirmed, pinned or approved it."""
        return self.owned or self.pinned or self.reason.startswith(APPROVED)

    @property
    def outcome(self) -> str:
        """The outcome in one word: how the memory ended if that is known, else its status."""
        word = find_ending_word(self.reason) if self.ended_at or self.status is Status.REJECTED else ""
        return word or (self.status.value if self.content else "forgotten")

    def outcome_at(self, moment: datetime) -> str:
        """The :attr:`outcome` at ``moment``."""
        status = self.status_at(moment)
        return status.value if status is Status.EXPIRED else self.outcome

    def status_at(self, moment: datetime) -> Status:
        """The status at ``moment``. An active or held memory past its ``valid_until`` is expired."""
        if self.valid_until is not None and self.valid_until <= moment and self.status in (Status.ACTIVE, Status.HELD):
            return Status.EXPIRED
        return self.status
