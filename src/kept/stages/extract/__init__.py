"""Proposes what to remember from an episode: what the person taught in it, and which errors were mended how. Decides nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from kept.model.event import Event
from kept.model.lexicon import Lexicon
from kept.model.memory import Candidate
from kept.model.profile import Profile, Shape
from kept.stages.extract import behaviours, explained, fixes, handover, intents, notes, personal
from kept.stages.extract.actions import actions_of
from kept.stages.extract.cues import count
from kept.stages.extract.prose import is_foreign
from kept.stages.extract.view import LOOKBACK, is_prompt

__all__ = ["LOOKBACK", "extract", "is_foreign", "is_prompt", "left_failing", "mended_since"]


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
    done = actions_of(events, max(0, start - LOOKBACK), min(stop, len(events)))
    mended = fixes.propose(events, start, stop, profile=profile, scope=scope, done=done)
    reasons = explained.propose(events, start, stop, profile=profile, lexicon=lexicon, scope=scope, done=done)
    limits = behaviours.propose(events, start, stop, profile=profile, lexicon=lexicon, scope=scope, done=done)
    # A cause that a fix states already needs no line of its own.
    causes = {each.quote for fix in mended for each in fix.evidence}
    reasons = tuple(each for each in reasons if each.evidence[0].quote not in causes)
    causes |= {each.quote for reason in reasons for each in reason.evidence}
    found = told + said + noted + mended + reasons + tuple(each for each in limits if each.evidence[0].quote not in causes)
    handed = handover.propose(events, start, stop, profile=profile, scope=scope) if suggested else ()
    return (*handed, *(_placed(candidate, profile, lexicon) for candidate in found))


def left_failing(events: Sequence[Event]) -> bool:
    """Whether something failed in these events that a later session may still mend."""
    return fixes.left_failing(events)


def mended_since(
    before: Sequence[Event], events: Sequence[Event], *, profile: Profile, lexicon: Lexicon, scope: Callable[[str], str]
) -> tuple[Candidate, ...]:
    """The fixes of what failed at the end of earlier sessions (``before``, the latest last) and passed first in this one."""
    found = fixes.propose_across(before, events, profile=profile, scope=scope)
    return tuple(_placed(each, profile, lexicon) for each in found)


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
