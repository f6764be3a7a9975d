"""Error→fix pairs as candidates: a failure, what was tried, and the change after which the same thing passes.

Only what is still true afterwards counts: a changed command, flag, setting, preparation or linter rule, or how a tool or platform is.
Code of the project that was mended by editing it is no fix, for its error cannot come back; nor are probes, typing slips and calls that
were refused. Whether a candidate becomes a memory is decided elsewhere; its confidence is a sum of stated signals.
"""

from collections.abc import Callable, Iterable, Sequence

import re2

from kept.model.codec import digest
from kept.model.event import Event, least
from kept.model.failure import fingerprint
from kept.model.memory import USER_SCOPE, Candidate, Evidence
from kept.model.profile import Profile
from kept.stages.extract import pairs, pasted
from kept.stages.extract.actions import Done, actions_of
from kept.stages.extract.pairs import LOOKBACK
from kept.stages.extract.remedies import Fix

CATEGORY = "known_fix"
TRIGGER = "error_fix"
QUOTE_CHARS = 400
_TICKED = re2.compile(r"`([^`]{2,80})`")

_BASE = 0.25
_CEILING = 0.95
SIGNALS = {
    "error text": 0.1,
    "exit status of the failure": 0.2,
    "exit status of the success": 0.1,
    "same command passes": 0.15,
    "same program passes": 0.1,
    "another program passes": 0.15,
    "the program itself complains": 0.15,
    "option changed": 0.1,
    "in a later session": 0.0,
    "version changed": 0.15,
    "order of steps changed": 0.1,
    "next attempt": 0.05,
    "linter rule": 0.2,
    "preparation names what was missing": 0.15,
    "only one thing was done between": 0.1,
    "cause stated": 0.15,
    "remedy stated": 0.05,
    "configuration changed": 0.1,
    "the error points into code": -0.15,
    "pasted by the user": 0.1,
    "something was changed": 0.05,
    "a check passes after the change": 0.1,
    "the code was written just before": -0.1,
    "the user says it works": 0.2,
}


def propose(
    events: Sequence[Event],
    start: int,
    stop: int,
    *,
    profile: Profile,
    scope: Callable[[str], str],
    done: Done | None = None,
) -> tuple[Candidate, ...]:
    """Candidates of the intent ``known_fix`` whose success stands in ``events[start:stop]``, in the order of their successes.

    The failure stands at most ``LOOKBACK`` events before its success; nothing past ``stop`` is read, so that reading a session in
    pieces proposes what reading it at once does. ``scope`` gives the scope of a raw working directory, ``done`` what ``actions_of`` gives from ``LOOKBACK`` events before ``start`` on. Empty where the profile has
    no such category.
    """
    if profile.category_for(CATEGORY) is None:
        return ()
    low, high = max(0, start - LOOKBACK), min(stop, len(events))
    commands, edits = done or actions_of(events, low, high)
    found = (*pairs.fixes_of(events, commands, edits), *pasted.fixes_of(events, commands, edits, low, high))
    return _best(found, events[start:high], profile, scope)


def propose_across(
    before: Sequence[Event], events: Sequence[Event], *, profile: Profile, scope: Callable[[str], str]
) -> tuple[Candidate, ...]:
    """The fixes of what failed in earlier sessions of the same project and passed first in this one, in the order of their successes.

    ``before`` are the last events of the earlier sessions, the latest last; ``events`` the first ones of this one. Empty where the profile has no such category.
    """
    if profile.category_for(CATEGORY) is None:
        return ()
    both = (*before, *events)
    commands, edits = actions_of(both, 0, len(both))
    return _best(pairs.fixes_of(both, commands, edits, border=len(before)), events, profile, scope)


def left_failing(events: Sequence[Event]) -> bool:
    """Whether something failed in these events that a later session may still mend."""
    return pairs.unmended(actions_of(events, 0, len(events))[0])


def _best(found: Iterable[Fix], events: Sequence[Event], profile: Profile, scope: Callable[[str], str]) -> tuple[Candidate, ...]:
    """Of the fixes whose success is one of the events the surest for each error, as candidates."""
    within = {id(event): place for place, event in enumerate(events)}
    best: dict[tuple[int, str], Fix] = {}
    for fix in found:
        place = within.get(id(fix.success))
        mark = fingerprint(fix.error)
        if place is not None and mark:
            other = best.get((place, mark))
            if other is None or confidence(fix.signals) > confidence(other.signals):
                best[place, mark] = fix
    return tuple(_candidate(best[key], key[1], profile, scope) for key in sorted(best))


def confidence(signals: Sequence[str]) -> float:
    """The confidence that stated signals add up to, in [0, 0.95]."""
    return round(min(_CEILING, max(0.0, _BASE + sum(SIGNALS[signal] for signal in signals))), 2)


def _candidate(fix: Fix, mark: str, profile: Profile, scope: Callable[[str], str]) -> Candidate:
    where = USER_SCOPE if fix.machine else scope(fix.success.project)
    evidence = tuple(each for event, quote in fix.quotes if (each := _evidence(event, quote)) is not None)
    return Candidate(
        id=digest(profile.id, CATEGORY, where, TRIGGER, fix.success.key, fix.content),
        profile=profile.id,
        category=CATEGORY,
        scope=where,
        content=fix.content,
        confidence=confidence(fix.signals),
        trigger=TRIGGER,
        at=fix.success.at,
        origin=least(tuple(each.origin for each in evidence)),
        artifacts=tuple(dict.fromkeys(_TICKED.findall(fix.content))),
        evidence=evidence,
        reasoning="; ".join(fix.signals),
        fingerprint=mark,
    )


def _evidence(event: Event, quote: str) -> Evidence | None:
    """The quote as evidence, cut to ``QUOTE_CHARS``; None where the event does not hold it verbatim."""
    short = quote.strip()[:QUOTE_CHARS]
    texts = (event.text, event.tool.target, event.tool.detail) if event.tool else (event.text,)
    if not short or not any(short in text for text in texts):
        return None
    return Evidence(
        quote=short,
        event=event.key,
        session=event.session,
        path=event.pointer.path,
        at=event.at,
        author=event.author.value,
        origin=event.origin,
    )
