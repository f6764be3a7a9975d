"""How a tool or a platform behaves, as the assistant explained it when a person asked or told of trouble: its limits, its defaults.

The words are the assistant's, so it is filed where such words may count. A sentence about the project's own code is none of its
business: what it says has to be named by a program that the session ran, or by a proper name. Knows nothing of what was done.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise

import re2

from kept.model.artifact import artifacts
from kept.model.codec import digest
from kept.model.event import Author, Event, Kind, is_note
from kept.model.lexicon import Lexicon
from kept.model.memory import Candidate
from kept.model.profile import Profile
from kept.model.text import normal_form
from kept.stages.extract.actions import Done, actions_of
from kept.stages.extract.causes import dangles, lasting, plain, sentences, usable
from kept.stages.extract.commands import VIEWERS
from kept.stages.extract.cues import has, places, strip_first
from kept.stages.extract.explained import disputes, troubled
from kept.stages.extract.turn import READ, evidence_of
from kept.stages.extract.view import LOOKBACK, is_prompt

INTENT = "behaviour"
# What one exchange explains of this kind: more is a lecture.
MOST = 2
SURE = 0.8
_HEAD = 60  # characters in which a sentence says what it is about
_LEAST, _LONGEST = 6, 40  # words
_PROPER = re2.compile(r"[\p{Ll}\d,] (\p{Lu}[\p{L}\d+#]*\p{Ll}[\p{L}\d+#]*)")
_FIRST = re2.compile(r"^`?(\p{Lu}?[\pL\d+#-]+)")
# Identifiers, calls and files: the project's own.
_OWN = re2.compile(r"\p{Ll}\p{Lu}|\(\)|\w_\w|\w\.\p{Ll}{1,4}\b|(?:^|[\s`])[.~]?/|/\S*/")
# A mark of what was done, or the name of a field ("**Intent:** …").
_MARKED = re2.compile(r"^\W*(?:✅|⚠|❌|\(\d+\)|#)|^(?:[-*•] )?\*\*[^*]{1,60}:\*\*|^(?:[-*•] )?\*\*[^*]{1,60}\*\*:")
# "**No hook** - git has none": the label says it again.
_LABEL = re2.compile(r"^\s*(?:[-*•]|\d+[.)])?\s*\*\*[^*\n]{2,60}\*\*\s*[-–—:]+\s*")
# A command in code marks: a word and what it is called with.
_COMMAND = re2.compile(r"`([a-z][a-z0-9-]{1,20}) [^`\n]{1,80}`")
_SPEAKERS = (Author.HUMAN, Author.ASSISTANT)
_SHAPED = re2.compile(r"→|=>|\||:$")


def propose(
    events: Sequence[Event],
    start: int,
    stop: int,
    *,
    profile: Profile,
    lexicon: Lexicon,
    scope: Callable[[str], str],
    done: Done | None = None,
) -> tuple[Candidate, ...]:
    """The candidates of exchanges that end at a prompt in ``[start, stop)``: only a person's next words tell that they take it."""
    category = profile.category_for(INTENT)
    if category is None:
        return ()
    low = max(0, start - LOOKBACK)
    if all(event.tool is None for event in events[low:stop]):
        return ()  # talk without any work: what is explained there is common knowledge
    prompts = [place for place in range(low, min(stop, len(events))) if is_prompt(events[place])]
    names = cache(lambda: _names_of(events[low:stop], done or actions_of(events, low, stop)))
    found: dict[str, Candidate] = {}
    for begin, end in pairwise(prompts):
        asked, follower = events[begin], events[end]
        if end < start or disputes(follower.text[:READ], asked.text, lexicon) or not _wants(asked.text[:READ], lexicon):
            continue
        told = [
            event
            for event in events[begin + 1 : end]
            if event.kind is Kind.RESPONSE and event.author is Author.ASSISTANT and not is_note(event)
        ]
        printed = [event for event in events[begin + 1 : end] if event.kind is Kind.TOOL_OUTPUT]
        own = (each for each in _told(told, names, lexicon) if not _printed(each[0], printed))
        for content, quote, event in islice(own, MOST):
            where = scope(follower.project)
            candidate = Candidate(
                id=digest(profile.id, INTENT, where, INTENT, event.key, content), profile=profile.id, category=INTENT, scope=where,
                content=content, confidence=SURE, trigger=INTENT, at=event.at, origin=event.origin, artifacts=artifacts(content),
                evidence=(evidence_of(event, quote), evidence_of(asked, asked.text.strip().split("\n", 1)[0])), reasoning="explains how a tool behaves; the person moves on",
            )  # fmt: skip
            found.setdefault(candidate.id, candidate)
    return tuple(found.values())


def _names_of(events: Sequence[Event], done: Done) -> frozenset[str]:
    """What a conversation knows by name: the programs that were run or shown as a command, without the project's own, and proper names."""
    commands, _ = done
    steps = [step for command in commands for step in command.steps if step.words]
    own = {step.words[0].rsplit("/", 1)[-1] for step in steps if "/" in step.words[0]}
    said = [event.text[:READ] for event in events if event.kind in (Kind.PROMPT, Kind.RESPONSE) and event.author in _SPEAKERS]
    shown = {word for text in said for word in _COMMAND.findall(text)}
    programs = {each for each in shown | {step.program for step in steps} if len(each) > 1 and each.isascii()} - own - VIEWERS
    return frozenset(programs | {name for text in said for name in _PROPER.findall(text)})


def _wants(text: str, lexicon: Lexicon) -> bool:
    """Whether a prompt asks something, or tells of trouble."""
    asked = text[:READ]
    return "?" in asked or "？" in asked or has(lexicon.question, asked.lstrip()) or troubled(asked, lexicon)


def _told(told: Sequence[Event], names: Callable[[], frozenset[str]], lexicon: Lexicon) -> Iterator[tuple[str, str, Event]]:
    """The sentences that tell how something with a name behaves: as a memory says it, as it stands, and where."""
    for event in told:
        for piece in sentences(event.text):
            words = strip_first(lexicon.filler, strip_first(lexicon.opener, plain(str(_LABEL.sub("", piece)))))
            content = lasting(words)
            cue = places(lexicon.behaves, content)
            if not cue or not _LEAST <= len(content.split()) <= _LONGEST or _MARKED.match(piece) or _SHAPED.search(content):
                continue
            head = content[: cue[0][0]] or content[cue[0][1] :][:_HEAD]
            if not _OWN.search(head) and _stands(content, lexicon) and _names(head, names()):
                yield content, piece, event


def _printed(content: str, printed: Sequence[Event]) -> bool:
    """Whether a tool printed a sentence word for word: then it is not the assistant who says it."""
    words = normal_form(content)
    return any(words in normal_form(event.text) for event in printed)


def _names(head: str, known: frozenset[str]) -> bool:
    """Whether the beginning of a sentence names a program, or something by a proper name."""
    first, subject = _FIRST.match(head), head.split()[-1:]
    if first and ({first[1], first[1].casefold()} & known):
        return True
    words = {word for name in artifacts(head) for word in name.replace("-", " ").split()}
    return bool({*words, *(each.strip("`*") for each in subject)} & known) or bool(_PROPER.search(head))


def _stands(content: str, lexicon: Lexicon) -> bool:
    """Whether a sentence states by itself, surely and for good how something is."""
    cues = (
        lexicon.hedge,
        lexicon.hypothetical,
        lexicon.transient,
        lexicon.dangling,
        lexicon.deictic,
        lexicon.own_slip,
        lexicon.agent_talk,
    )
    return usable(content, loose=False) and not dangles(content) and not any(has(cue, content) for cue in cues)
