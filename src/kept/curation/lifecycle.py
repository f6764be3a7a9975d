"""The lifecycle of memories: the curation rules of a profile, fading, and memories that a person should review again.

A memory fades, and is finally retired, if its names no longer occur in its project. Time is measured by the project's events, so
nothing fades in a project without activity. This module does not read the store or the clock.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from kept.core.memory import Memory, Status
from kept.core.operation import FADED, Retire
from kept.core.statement import Statement
from kept.core.text import jaccard_similarity
from kept.core.value import dataclass, field
from kept.profiles.profile import Category, Profile, Shape

GROUND = 0.5  # two themes are about the same if the Jaccard similarity of their content words is at least this
_ASKED = 4  # no answer is looked for if a question has fewer content words
_ANSWERED = 0.8  # an answer contains at least this share of the question's content words
NAMED_ANSWER = 0.6  # used instead of _ANSWERED if both name the same artifact
NAMED_GROUND = 0.3  # used instead of GROUND if both name the same artifact


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationRules:
    """How the categories of a profile are curated. Categories are given by id.

    ``promotions`` maps a category to the one that its memories move to after they were said often. Memories of ``lasting``
    categories never replace each other. ``gathered`` categories can have several memories on one subject. Of several ``themes`` on
    one subject only the latest is active. A memory that answers one of the ``questions`` resolves it.
    """

    promotions: Mapping[str, str] = field(default_factory=dict)
    lasting: frozenset[str] = frozenset()
    gathered: frozenset[str] = frozenset()
    themes: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()


def rules_of(profile: Profile) -> CurationRules:
    """The curation rules that follow from the categories of a profile."""
    kinds = profile.categories
    return CurationRules(
        promotions={category.id: category.promotes_to for category in kinds if category.promotes_to},
        lasting=frozenset(category.id for category in kinds if category.lasting),
        gathered=frozenset(category.id for category in kinds if category.shape in (Shape.DOSSIER, Shape.COLLECTION)),
        themes=frozenset(category.id for category in kinds if category.shape is Shape.THEME),
        questions=frozenset(category.id for category in (profile.category_for("open_question"),) if category is not None),
    )


def is_same_theme(left: Statement, right: Statement) -> bool:
    """True if two themes share enough words to be about the same thing. With a common artifact, fewer words are enough."""
    alike = jaccard_similarity(left.content, right.content)
    return alike >= GROUND or (alike >= NAMED_GROUND and bool(left.artifacts & right.artifacts))


def is_answer_to_question(answer: Statement, question: Statement) -> bool:
    """True if a statement answers a question.

    It has 80 % of the question's content words, or 60 % and a common artifact. A question with fewer than four is never answered.
    """
    if len(question.content) < _ASKED:
        return False
    share = len(answer.content & question.content) / len(question.content)
    return share >= _ANSWERED or (share >= NAMED_ANSWER and bool(answer.artifacts & question.artifacts))


SESSIONS = 5  # a memory fades only after its project had this many sessions without the memory's names
LINGERING = timedelta(days=120)  # a memory is shown to the person for review if it was neither used nor said again for this long


@dataclass(frozen=True, kw_only=True, slots=True)
class NameActivity:
    """How the names of a memory were used in its project since the memory was last seen.

    ``named`` is when one of them last occurred, or None if none did. ``sessions`` is the number of the project's sessions after
    that. ``newest`` is the time of the project's latest event.
    """

    named: datetime | None
    sessions: int
    newest: datetime | None


def fading_share(memory: Memory, category: Category | None, presence: NameActivity) -> float:
    """How far a memory has faded, from 0 to 1. At 1 it is due to be retired.

    This is the time during which the project continued without the memory's names, as a share of the category's ``fades`` days. It
    is 0 if a person decided on the memory, if it has no artifacts, if its category never fades, or if there were fewer than
    ``SESSIONS`` sessions without its names.
    """
    untouchable = memory.settled or memory.status is not Status.ACTIVE
    if category is None or not category.fades or untouchable or not memory.artifacts or presence.sessions < SESSIONS:
        return 0.0
    last = _last_sign(memory, presence)
    if last is None or presence.newest is None:
        return 0.0
    return max(0.0, min(1.0, (presence.newest - last) / timedelta(days=category.fades)))


def _last_sign(memory: Memory, presence: NameActivity) -> datetime | None:
    """The time when a memory was last said or one of its names last occurred, whichever is later. None if both are unknown."""
    return max((moment for moment in (memory.last_seen, presence.named) if moment is not None), default=None)


def retire_faded(memories: Sequence[tuple[Memory, Category | None, NameActivity]]) -> tuple[Retire, ...]:
    """The operations that retire fully faded memories. Each is dated with the time when it became due."""
    return tuple(
        Retire(
            memory=memory.id,
            at=last + timedelta(days=category.fades),
            reason=f"{FADED} {presence.sessions} sessions of its project",
        )
        for memory, category, presence in memories
        if category is not None and fading_share(memory, category, presence) >= 1
        if (last := _last_sign(memory, presence)) is not None
    )


def is_lingering(memory: Memory, newest: datetime | None, uses: int) -> bool:
    """True if a person should review a memory again.

    It was not said for 120 days, was seen in one session only and never used, and no person wrote, pinned or approved it.
    """
    if memory.status is not Status.ACTIVE or memory.settled or uses or memory.observations > 1:
        return False
    return memory.last_seen is None or (newest is not None and newest - memory.last_seen > LINGERING)
