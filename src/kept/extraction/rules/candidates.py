"""Proposes what to remember: of an episode what the person told to remember, what notes list and what the session's agent handed
over; of a session which errors were mended how. Decides nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from kept.core.event import Event
from kept.core.lexicon import Lexicon
from kept.core.memory import Candidate
from kept.extraction.rules import handover, headings, prompts
from kept.profiles.profile import Profile


def extract_candidates(
    events: Sequence[Event],
    start: int,
    stop: int,
    *,
    profile: Profile,
    lexicon: Lexicon,
    scope: Callable[[str], str],
    suggested: bool = True,
) -> tuple[Candidate, ...]:
    """The candidates anchored at the events ``[start, stop)`` of a session, in order; looks back before ``start``, never past
    ``stop``.

    ``suggested`` says whether what the session's agent handed over counts.
    """
    candidates = prompts.propose_prompt_tellings(events, start, stop, profile=profile, lexicon=lexicon, scope=scope)
    listed = headings.propose_heading_items(events, start, stop, profile=profile, scope=scope)
    handed = handover.propose_handed_over(events, start, stop, profile=profile, scope=scope) if suggested else ()
    return (*handed, *(_place_in_category(candidate, profile) for candidate in (*candidates, *listed)))


def _place_in_category(candidate: Candidate, profile: Profile) -> Candidate:
    """The candidate in the category that the profile files such a thing under."""
    category = (
        profile.category(candidate.category) if candidate.trigger == headings.HEADING else profile.category_for(candidate.category)
    )
    return candidate if category is None else replace(candidate, category=category.id)
