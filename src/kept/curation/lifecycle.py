"""The lifecycle of memories: a profile's rules for its categories, themes and answers, fading, and memories to look at again.

A memory fades and is finally retired if its names no longer occur in its project. Time is counted by the project's events: if
nothing happens, nothing fades. Knows no candidates, no store and no clock.
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
_ASKED = 4  # a question needs at least this many content words to be recognised in an answer
_ANSWERED = 0.8  # an answer contains at least this share of the question's content words
NAMED_ANSWER = 0.6  # lower than _ANSWERED, if both name the same artifact
NAMED_GROUND = 0.3  # lower than GROUND, if both name the same artifact


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationRules:
    """How the categories of a profile are curated.

    ``promotions`` maps a category to the one that its memories move to once they were said often. Memories of ``lasting``
    categories never replace each other; ``gathered`` categories have several memories on one subject. Of ``themes`` on the same
    subject only the latest is active. ``questions`` are resolved by a memory that answers them.
    """

    promotions: Mapping[str, str] = field(default_factory=dict)
    lasting: frozenset[str] = frozenset()
    gathered: frozenset[str] = frozenset()
    themes: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()


def rules_of(profile: Profile) -> CurationRules:
    """The curation rules of a profile's categories."""
    kinds = profile.categories
    return CurationRules(
        promotions={category.id: category.promotes_to for category in kinds if category.promotes_to},
        lasting=frozenset(category.id for category in kinds if category.lasting),
        gathered=frozenset(category.id for category in kinds if category.shape in (Shape.DOSSIER, Shape.COLLECTION)),
        themes=frozenset(category.id for category in kinds if category.shape is Shape.THEME),
        questions=frozenset(category.id for category in (profile.category_for("open_question"),) if category is not None),
    )


def is_same_theme(left: Statement, right: Statement) -> bool:
    """True if two themes are about the same: by their common words, of which fewer suffice with a common artifact."""
    alike = jaccard_similarity(left.content, right.content)
    return alike >= GROUND or (alike >= NAMED_GROUND and bool(left.artifacts & right.artifacts))


def is_answer_to_question(answer: Statement, question: Statement) -> bool:
    """True if a statement answers a question: it has nearly all of its content words, or most of them and a common artifact."""
    if len(question.content) < _ASKED:
        return False
    share = len(answer.content & question.content) / len(question.content)
    return share >= _ANSWERED or (share >= NAMED_ANSWER and bool(answer.artifacts & question.artifacts))


SESSIONS = 5  # a memory fades only after at least this many sessions of its project without its names
LINGERING = timedelta(days=120)  # a memory that was never used and not said again for this long is shown to the person


@dataclass(frozen=True, kw_only=True, slots=True)
class NameActivity:
    """The use of a memory's names since it was last seen: when one last occurred in its project (``named``; None: never since), the
    number of ``sessions`` of the project after that, and the time of the project's ``newest`` event.
    """

    named: datetime | None
    sessions: int
    newest: datetime | None


def fading_share(memory: Memory, category: Category | None, presence: NameActivity) -> float:
    """How far a memory has faded, 0 to 1; at 1 it is due to be retired.

    The share of the category's ``fades`` days during which the project continued without any of the memory's names. A memory does
    not fade if a person decided on it, if it has no artifacts, if its category never fades, or before ``SESSIONS`` sessions without
    its names.
    """
    untouchable = memory.settled or memory.status is not Status.ACTIVE
    if category is None or not category.fades or untouchable or not memory.artifacts or presence.sessions < SESSIONS:
        return 0.0
    last = _last_sign(memory, presence)
    if last is None or presence.newest is None:
        return 0.0
    return max(0.0, min(1.0, (presence.newest - last) / timedelta(days=category.fades)))


def _last_sign(memory: Memory, presence: NameActivity) -> datetime | None:
    """When a memory was last said, or one of its names last occurred."""
    return max((moment for moment in (memory.last_seen, presence.named) if moment is not None), default=None)


def retire_faded(memories: Sequence[tuple[Memory, Category | None, NameActivity]]) -> tuple[Retire, ...]:
    """The operations that retire fully faded memories, dated when they became due."""
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
    """True if a person should look at a memory again: it is old, was seen in one session only, was never used, and no person
    wrote, pinned or approved it.
    """
    if memory.status is not Status.ACTIVE or memory.settled or uses or memory.observations > 1:
        return False
    return memory.last_seen is None or (newest is not None and newest - memory.last_seen > LINGERING)
