"""Whom a memory is for."""

from collections.abc import Sequence

from kept.core.artifact import find_artifacts
from kept.core.lexicon import TellingPatterns
from kept.core.memory import USER_SCOPE
from kept.extraction.rules.patterns import has_match
from kept.profiles.profile import Category


def choose_scope(
    content: str, category: Category | None, project: str, spoken: Sequence[TellingPatterns], *, around: str = ""
) -> str:
    """The scope of a passage: its project, unless the person says "everywhere" or its category is about the person.

    ``around`` is the prompt it stands in, whose words count where it says little more. A passage that speaks of "this project", or
    names one of its files, is for the project in any category.
    """
    said = around if around and len(around) < 2 * len(content) else content
    if any(has_match(patterns.everywhere, said) for patterns in spoken):
        return USER_SCOPE
    local = any(has_match(patterns.here, content) for patterns in spoken) or any(
        "/" in artifact and "://" not in artifact for artifact in find_artifacts(content)
    )
    return USER_SCOPE if category is not None and category.user_wide and not local else project
