"""Proposes what to remember: of an episode what the person taught in it, of a session which errors were mended how. Decides nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from kept.model.event import Event
from kept.model.lexicon import Lexicon
from kept.model.memory import Candidate
from kept.model.profile import Profile, Shape
from kept.stages.extract import handover, intents, notes, personal
from kept.stages.extract.cues import count
from kept.stages.extract.fixes import AHEAD, left_failing
from kept.stages.extract.fixes import propose as fixes_of
from kept.stages.extract.fixes import propose_across as fixes_across
from kept.stages.extract.prose import is_foreign
from kept.stages.extract.view import LOOKBACK, is_prompt

__all__ = ["AHEAD", "LOOKBACK", "extract", "fixes_across", "fixes_of", "is_foreign", "is_prompt", "left_failing"]


def extract(
    events: Sequence[Event],
    start: int,
    stop: int,
    *,
    profile: Profile,
    lexicon: Lexicon,
    scope: Callable[[str], str],
    suggested: bool = True,
) -> tuple[Candidate, ...]:
    """The candidates anchored at the events ``[start, stop)`` of a session, in order; looks back before ``start``, never past ``stop``.

    ``suggested`` says whether what the session's agent handed over counts.
    """
    told = personal.propose(events, start, stop, profile=profile, lexicon=lexicon, scope=scope)
    quoted = {(each.evidence[0].event, each.evidence[0].quote) for each in told}
    said = intents.propose(events, start, stop, profile=profile, lexicon=lexicon, scope=scope)
    # What somebody says of themselves is that, whatever else it sounds like.
    said = tuple(each for each in said if not {(one.event, one.quote) for one in each.evidence} & quoted)
    noted = notes.propose(events, start, stop, profile=profile, lexicon=lexicon, scope=scope)
    found = told + said + noted
    handed = handover.propose(events, start, stop, profile=profile, scope=scope) if suggested else ()
    return (*handed, *(_placed(candidate, profile, lexicon) for candidate in found))


def _placed(candidate: Candidate, profile: Profile, lexicon: Lexicon) -> Candidate:
    """The candidate in the category that the profile files such a thing under, with what it is about where all on that stands together."""
    category = profile.category_for(candidate.category)
    if category is None:
        return candidate
    subject = candidate.subject
    if category.shape is Shape.COLLECTION:
        subject = _theme(candidate.content, lexicon)
    elif category.shape is Shape.DOSSIER and candidate.category not in (personal.PERSON, notes.PERSON):
        subject = ""
    return replace(candidate, category=category.id, subject=subject)


def _theme(content: str, lexicon: Lexicon) -> str:
    """What a preference is about: the theme with the most words of it; empty where it is about none that is known."""
    hits = [(count(source, content), -number, name) for number, (name, source) in enumerate(lexicon.themes)]
    best = max(hits, default=(0, 0, ""))
    return best[2] if best[0] else ""
