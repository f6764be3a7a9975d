"""How the memories of a category live: which rules a profile states for them, and what stands on the same ground.

Pure rules over statements; knows no candidates, no memories and no store.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kept.core.statement import Statement
from kept.core.text import jaccard_similarity
from kept.profiles.profile import Profile, Shape

GROUND = 0.5  # likeness of their content words from which two themes stand on the same ground
_ASKED = 4  # content words that a question has at least, to be recognised in an answer
_ANSWERED = 0.8  # share of its content words that an answer has
_NAMED_ANSWER = 0.6  # the same where both name the same artifact
_NAMED_GROUND = 0.3  # the same where they name the same artifact


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
    return alike >= GROUND or (alike >= _NAMED_GROUND and bool(left.artifacts & right.artifacts))


def is_answer_to_question(answer: Statement, question: Statement) -> bool:
    """Whether a statement says what became of a question: nearly all of its matter, or most of it and the thing that it names."""
    if len(question.content) < _ASKED:
        return False
    share = len(answer.content & question.content) / len(question.content)
    return share >= _ANSWERED or (share >= _NAMED_ANSWER and bool(answer.artifacts & question.artifacts))
