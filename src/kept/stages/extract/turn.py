"""One prompt that is being read, and how what it says becomes a candidate with its evidence."""

from collections.abc import Sequence
from dataclasses import dataclass

from kept.model.artifact import artifacts
from kept.model.codec import digest
from kept.model.event import Event, Origin
from kept.model.lexicon import Lexicon
from kept.model.memory import USER_SCOPE, Candidate, Evidence
from kept.model.profile import Profile
from kept.stages.extract.view import Before

READ = 8_000  # characters of a text that are looked at
_QUOTE = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """A prompt that is being read: its event, what it looks back on, by whose rules, and what the episode says of it.

    ``granted``: what it asks for is done; ``confirming`` is the reply that confirms what it says; ``mending``: it tells of a defect; ``tasked``: it opens with an order; ``applied`` is the first call after it
    that changes a file, ``replied`` what the assistant says after it; ``later`` are the
    prompts after it in the episode.
    """

    event: Event
    seen: Before
    profile: Profile
    lexicon: Lexicon
    scope: str
    granted: bool
    confirming: Event | None
    mending: bool
    tasked: bool
    applied: Event | None
    replied: tuple[Event, ...]
    later: tuple[Event, ...]


def evidence_of(event: Event, quote: str) -> Evidence:
    """A quote as evidence, cut to 400 characters."""
    return Evidence(
        quote=quote[:_QUOTE],
        event=event.key,
        session=event.session,
        path=event.pointer.path,
        at=event.at,
        author=event.author.value,
        origin=event.origin,
    )


def made(
    turn: Turn, kind: tuple[str, str], content: str, *, sure: float, evidence: Sequence[Evidence], signals: Sequence[str]
) -> Candidate | None:
    """The candidate of a category and a trigger; None where the profile has no such category."""
    (name, trigger), profile, event = kind, turn.profile, turn.event
    category = profile.category_for(name)
    if category is None:
        return None
    # A wish about one part of a project is no wish about all of them.
    local = any("/" in each and not each.startswith("http") for each in artifacts(content))
    where = USER_SCOPE if category.user_wide and not local else turn.scope
    return Candidate(
        id=digest(profile.id, name, where, trigger, event.key, content),
        profile=profile.id,
        category=name,
        scope=where,
        content=content,
        confidence=sure,
        trigger=trigger,
        at=event.at,
        origin=Origin.USER,
        artifacts=artifacts(content),
        evidence=tuple(evidence),
        reasoning=", ".join(signals),
    )
