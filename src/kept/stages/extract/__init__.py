"""Proposes what to remember from an episode: what the person taught in it, and which errors were mended how. Decides nothing."""

from collections.abc import Callable, Sequence

from kept.model.event import Event
from kept.model.lexicon import Lexicon
from kept.model.memory import Candidate
from kept.model.profile import Profile
from kept.stages.extract import explained, fixes, intents
from kept.stages.extract.view import LOOKBACK

__all__ = ["LOOKBACK", "extract"]


def extract(
    events: Sequence[Event], start: int, stop: int, *, profile: Profile, lexicon: Lexicon, scope: Callable[[str], str]
) -> tuple[Candidate, ...]:
    """The candidates anchored at the events ``[start, stop)`` of a session, in order; looks back before ``start``, never past ``stop``."""
    said = intents.propose(events, start, stop, profile=profile, lexicon=lexicon, scope=scope)
    mended = fixes.propose(events, start, stop, profile=profile, scope=scope)
    told = explained.propose(events, start, stop, profile=profile, lexicon=lexicon, scope=scope)
    # A cause that a fix states already needs no line of its own.
    causes = {each.quote for fix in mended for each in fix.evidence}
    return said + mended + tuple(each for each in told if each.evidence[0].quote not in causes)
