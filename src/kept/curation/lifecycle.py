"""How the memories of a category live: which rules a profile states for them, what stands on the same ground, and without a model:
what its project has stopped naming fades and then retires; what lingers is shown to a person.

Counts in the project's own time: where nothing happened, nothing fades. Knows no candidates, no store and no clock.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from kept.core.memory import Memory, Status
from kept.core.operation import FADED, Retire
from kept.core.statement import Statement
from kept.core.text import jaccard_similarity
from kept.core.value import dataclass, field
from kept.profiles.profile import Category, Profile, Shape

GROUND = 0.5  # likeness of their content words from which two themes stand on the same ground
_ASKED = 4  # content words that a question has at least, to be recognised in an answer
_ANSWERED = 0.8  # share of its content words that an answer has
NAMED_ANSWER = 0.6  # the same where both name the same artifact
NAMED_GROUND = 0.3  # the same where they name the same artifact


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationRules:
    """How the categories of a profile are curated.

    ``promotions`` says what a category becomes once the same was said often; of ``lasting`` ones several can hold at once, so that
    none replaces another; ``gathered`` ones say several things of one subject; of ``themes`` the latest on the same ground stands;
    ``questions`` are closed by what answers them.
    """

    promotions: Mapping[str, str] = field(default_factory=dict)
    lasting: frozenset[str] = frozenset()
    gathered: frozenset[str] = frozenset()
    themes: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()


def rules_of(profile: Profile) -> CurationRules:
    """The rules that a profile's categories state."""
    kinds = profile.categories
    return CurationRules(
        promotions={category.id: category.promotes_to for category in kinds if category.promotes_to},
        lasting=frozenset(category.id for category in kinds if category.lasting),
        gathered=frozenset(category.id for category in kinds if category.shape in (Shape.DOSSIER, Shape.COLLECTION)),
        themes=frozenset(category.id for category in kinds if category.shape is Shape.THEME),
        questions=frozenset(category.id for category in (profile.category_for("open_question"),) if category is not None),
    )


def is_same_theme(left: Statement, right: Statement) -> bool:
    """Whether two themes are about the same: their words, or fewer of them and the same artifact."""
    alike = jaccard_similarity(left.content, right.content)
    return alike >= GROUND or (alike >= NAMED_GROUND and bool(left.artifacts & right.artifacts))


def is_answer_to_question(answer: Statement, question: Statement) -> bool:
    """Whether a statement says what became of a question: nearly all of its matter, or most of it and the thing that it names."""
    if len(question.content) < _ASKED:
        return False
    share = len(answer.content & question.content) / len(question.content)
    return share >= _ANSWERED or (share >= NAMED_ANSWER and bool(answer.artifacts & question.artifacts))


SESSIONS = 5  # of the project without any of its names: fewer tell nothing
LINGERING = timedelta(days=120)  # unconfirmed for so long, and never of use, a memory is shown to the person


@dataclass(frozen=True, kw_only=True, slots=True)
class NameActivity:
    """What became of a memory's names since it was last seen: when one last occurred in its project (None: never since), how many
    sessions of the project there were since then, and when the project's newest event was.
    """

    named: datetime | None
    sessions: int
    newest: datetime | None


def fading_share(memory: Memory, category: Category | None, presence: NameActivity) -> float:
    """How far a memory has faded, 0 to 1; 1 means that it is due to retire (J9).

    The share of the category's ``fades`` days for which the project went on without any of its names. Nothing fades that a person
    decided on, that names nothing, or in a category that never fades.
    """
    untouchable = memory.settled or memory.status is not Status.ACTIVE
    if category is None or not category.fades or untouchable or not memory.artifacts or presence.sessions < SESSIONS:
        return 0.0
    last = max((moment for moment in (memory.last_seen, presence.named) if moment is not None), default=None)
    if last is None or presence.newest is None:
        return 0.0
    return max(0.0, min(1.0, (presence.newest - last) / timedelta(days=category.fades)))


def retire_faded(memories: Sequence[tuple[Memory, Category | None, NameActivity]]) -> tuple[Retire, ...]:
    """Retire what has faded, as of the moment it became due."""
    return tuple(
        Retire(
            memory=memory.id,
            at=_due_time(memory, category, presence),
            reason=f"{FADED} {presence.sessions} sessions of its project",
        )
        for memory, category, presence in memories
        if category is not None and fading_share(memory, category, presence) >= 1
    )


def _due_time(memory: Memory, category: Category, presence: NameActivity) -> datetime | None:
    last = max((moment for moment in (memory.last_seen, presence.named) if moment is not None), default=None)
    return last + timedelta(days=category.fades) if last is not None else None


def is_lingering(memory: Memory, newest: datetime | None, uses: int) -> bool:
    """Whether a person should look at a memory again (J12): old, in one session only, never of use, nobody's own words, and not
    approved by a person.
    """
    if memory.status is not Status.ACTIVE or memory.settled or uses or memory.observations > 1:
        return False
    return memory.last_seen is None or (newest is not None and newest - memory.last_seen > LINGERING)
