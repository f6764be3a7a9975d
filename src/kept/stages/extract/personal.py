"""What a person tells of themselves: who they are, whom they live and work with, what they like, what they work with.

Reads the person's own statements, not their questions, wishes for the text at hand, or what they pass on. Profiles that remember
nothing of the kind cost nothing.
"""

from collections.abc import Callable, Sequence

import re2

from kept.model.artifact import artifacts
from kept.model.codec import digest
from kept.model.event import Event, Origin
from kept.model.lexicon import Lexicon
from kept.model.memory import USER_SCOPE, Candidate, Evidence
from kept.model.profile import Profile
from kept.model.text import is_cjk
from kept.stages.extract.cues import compiled, found, has, strip_first
from kept.stages.extract.prose import Voice, passages
from kept.stages.extract.sentences import sentences
from kept.stages.extract.view import is_prompt
from kept.stages.extract.writing import finish, fit, plain

IDENTITY, PERSON, TASTE, STACK, AIM = "identity", "person", "taste", "stack", "aim"
INTENTS = (IDENTITY, PERSON, TASTE, STACK, AIM)
# A longer prompt is a document rather than talk.
_LONGEST = 4_000
_SENTENCES = 60
_BASE = 0.6
_WORDS = 4
# A name right behind whose it is: "my sister Ana", "my boss, Dr. Melo".
_NAMED = re2.compile(r"^,?\s+(?:(?:Dr|Mr|Mrs|Ms|Prof)\.?\s+)?(\p{Lu}[\p{L}'-]+(?:\s+\p{Lu}[\p{L}'-]+)?)")
_PROPER = re2.compile(r"[\p{L},;)] +(\p{Lu}[\p{L}\d+#.-]*[\p{L}\d+#])")
_WHOSE = re2.compile(r"(?i)(?:'s|’s)?(?:,? [\p{L}'-]+)?$")


def propose(
    events: Sequence[Event], start: int, stop: int, *, profile: Profile, lexicon: Lexicon, scope: Callable[[str], str]
) -> tuple[Candidate, ...]:
    """The candidates anchored at the prompts in ``[start, stop)``, in order; at most one of a sentence."""
    if not any(profile.category_for(each) for each in INTENTS):
        return ()
    return tuple(
        candidate
        for event in events[start:stop]
        if is_prompt(event)
        for candidate in _of_prompt(event, profile, lexicon, scope(event.project))
    )


def _of_prompt(event: Event, profile: Profile, lexicon: Lexicon, scope: str) -> list[Candidate]:
    if len(event.text) > _LONGEST:
        return []
    candidates = []
    own = [each for each in passages(event.text, lexicon) if each.voice is Voice.OWN]
    spans = [span for each in own for span in sentences(event.text, each.start, each.end)][:_SENTENCES]
    for span in spans:
        words = event.text[span.start : span.end]
        candidate = None if span.aside else _of_sentence(event, words, profile, lexicon, scope)
        if candidate is not None:
            candidates.append(candidate)
    return candidates


def _of_sentence(event: Event, words: str, profile: Profile, lexicon: Lexicon, scope: str) -> Candidate | None:
    bare = _bare(plain(words), lexicon)
    intent, subject = _intent(bare, lexicon)
    content = fit(finish(bare))
    category = profile.category_for(intent) if intent else None
    if category is None or not content or _mass(content) < _WORDS or _passing(bare, words, lexicon):
        return None
    subject = subject or _slot(bare, lexicon)
    named = bool(subject) or bool(_PROPER.search(content)) or bool(artifacts(content))
    signals = [f"tells of {intent}", *(["names somebody or something"] if named else [])]
    where = USER_SCOPE if category.user_wide else scope
    evidence = Evidence(
        quote=words[:400], event=event.key, session=event.session, path=event.pointer.path, at=event.at,
        author=event.author.value, origin=event.origin,
    )  # fmt: skip
    return Candidate(
        id=digest(profile.id, intent, where, intent, event.key, content),
        profile=profile.id, category=intent, scope=where, content=content,
        confidence=round(_BASE + 0.15 + (0.1 if named else 0.0) - (0.15 if has(lexicon.hedge, bare) else 0.0), 2),
        trigger=intent, at=event.at, origin=Origin.USER, artifacts=artifacts(content), evidence=(evidence,),
        reasoning=", ".join(signals), subject=subject,
    )  # fmt: skip


def _intent(bare: str, lexicon: Lexicon) -> tuple[str, str]:
    """What a sentence tells of, and whom it is about (empty where that is nobody but the user)."""
    if has(lexicon.identity, bare):
        return IDENTITY, ""
    if has(lexicon.aim, bare):
        return AIM, ""
    kin = found(lexicon.person_said, bare)
    if kin and has(lexicon.person_said, " ".join(bare.split()[:6])):
        return PERSON, _subject(bare, kin)
    if has(lexicon.taste, bare) and not has(lexicon.wish, bare):
        return TASTE, ""
    if has(lexicon.stack, bare) and (artifacts(bare) or has(lexicon.technical, bare) or _PROPER.search(bare)):
        return STACK, ""
    return "", ""


def _subject(bare: str, kin: str) -> str:
    """Whom a sentence is about: the name behind the word for them, else that word."""
    at = bare.find(kin)
    whose = bare[at : at + len(kin)]
    relation = str(_WHOSE.sub("", whose)).split()
    plain_kin = kin if not relation else " ".join(relation)
    name = _NAMED.match(bare[at + len(plain_kin) :])
    return name[1] if name else plain_kin.casefold().partition(" ")[2] or plain_kin


def _slot(bare: str, lexicon: Lexicon) -> str:
    """What a sentence gives the one value of; empty for what there can be several of."""
    for name, source in lexicon.slots:
        match = compiled(source).search(bare)
        if match is not None:
            return str(match["what"]).casefold() if match.groups() else name
    return ""


def _passing(bare: str, words: str, lexicon: Lexicon) -> bool:
    """Whether a sentence asks, supposes, or tells of the moment only."""
    return bool(
        words.rstrip("\"'”) ").endswith(("?", "？"))
        or has(lexicon.hypothetical, bare)
        or has(lexicon.transient, bare)
        or has(lexicon.chatter, bare)
        or has(lexicon.memory_talk, bare)
        or has(lexicon.profanity, bare)
        or (has(lexicon.question, bare) and not has(lexicon.person_said, bare[:30]))
    )


def _mass(text: str) -> int:
    """The words of a text; two characters of a script without spaces as one."""
    return len(text.split()) + sum(map(is_cjk, text)) // 2


def _bare(sentence: str, lexicon: Lexicon) -> str:
    for _ in range(4):
        shorter = strip_first(lexicon.opener, sentence)
        if shorter == sentence or _mass(shorter) < _WORDS:
            break
        sentence = shorter
    return sentence
