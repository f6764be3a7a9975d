"""Candidates of a person's prompts: their explicit tellings, and the standing wishes that count once several sessions say them.

Each candidate's content is one contiguous passage of the typed words. What the passage is about, where it does not say so itself,
stands beside it. Knows nothing of tools, errors and fixes, and nothing of what happens to a candidate.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePosixPath

from kept.core.artifact import find_artifacts
from kept.core.codec import digest
from kept.core.event import Author, Event, EventKind
from kept.core.lexicon import Lexicon, TellingPatterns
from kept.core.memory import SAID_ONCE, WISH, Candidate, Frame
from kept.core.pattern import Pattern
from kept.core.sentences import split_sentences
from kept.core.spans import typed_spans
from kept.core.text import one_line
from kept.extraction.rules.assertion import unasserted_reason
from kept.extraction.rules.framing import is_announced
from kept.extraction.rules.patterns import compile_pattern, has_match
from kept.extraction.rules.scopes import choose_scope
from kept.extraction.rules.tellings import COMMAND, DECIDED, Telling, is_command, parse_memory_command, tellings, wishes
from kept.extraction.rules.view import LOOKBACK, authorship_doubt, evidence_of, is_prompt
from kept.profiles.lexicons import join_alternatives, word_list
from kept.profiles.profile import Category, Profile, Shape

CERTAIN = 0.95  # an explicit telling: nothing about it is a guess
WAITING = 0.5  # until a trained score says more
LEAN = "points at something outside of its words"
_READ = 20_000  # characters of a prompt that are read
_SENTENCES = 400
_ABOUT = 160  # characters of the line before
_NEAR = 5  # words of a passage among which one that points outside makes it lean on what stands before
# What stands before a passage in its own sentence says nothing of it.
_SENTENCE = Pattern(r"[^.!?\n。！？]*$")
_NAME = Pattern(r"\s*(\p{Lu}[\p{Ll}\p{M}]+)(?:\P{L}|$)")
_WORD = Pattern(r"\p{L}+")
_NO_ONE = word_list("assertion", "no_one")
_CHANGES = ("edit", "write", "create", "patch", "replace", "update", "insert")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Prompt:
    """A prompt with what it looks back on, by whose rules it is read, and the scope it belongs to."""

    event: Event
    before: Sequence[Event]
    profile: Profile
    lexicon: Lexicon
    scope: str

    def spoken_patterns(self, telling: Telling) -> list[TellingPatterns]:
        """The patterns of the language whose words told; of every language for a command."""
        return [
            telling_patterns for telling_patterns in self.lexicon.tellings if telling.language in ("", telling_patterns.language)
        ]


def propose_prompt_tellings(
    events: Sequence[Event], start: int, stop: int, *, profile: Profile, lexicon: Lexicon, scope: Callable[[str], str]
) -> tuple[Candidate, ...]:
    """The candidates anchored at the prompts in ``[start, stop)``, in order."""
    found: dict[str, Candidate] = {}
    for index in range(start, stop):
        event = events[index]
        if is_prompt(event):
            before = events[max(0, index - LOOKBACK) : index]
            prompt = _Prompt(event=event, before=before, profile=profile, lexicon=lexicon, scope=scope(event.project))
            made = [candidate for telling in _tellings(event, lexicon) if (candidate := _candidate(prompt, telling))]
            # Where one telling of a prompt may be somebody else's words, those beside it may be of the same text.
            framed = any(candidate.doubt in tuple(Frame) for candidate in made)
            for candidate in made:
                doubted = (
                    replace(candidate, doubt=Frame.QUOTED, confidence=WAITING) if framed and not candidate.doubt else candidate
                )
                found.setdefault(doubted.id, doubted)
    return tuple(found.values())


def _tellings(event: Event, lexicon: Lexicon) -> list[Telling]:
    text = event.text[:_READ]
    given = parse_memory_command(text)
    if given is not None:
        return [given]
    if is_command(text):
        return []
    spans = [
        span
        for typed_span in typed_spans(event)
        for span in split_sentences(text, typed_span.start, typed_span.end)
        if not span.aside
    ][:_SENTENCES]
    told = dict(tellings(text, spans, lexicon.tellings))
    rest = [(place, span) for place, span in enumerate(spans) if place not in told]
    told.update(wishes(text, rest, lexicon.spoken))
    return [told[place] for place in sorted(told)]


def _candidate(prompt: _Prompt, telling: Telling) -> Candidate | None:
    event, profile, spoken = prompt.event, prompt.profile, prompt.spoken_patterns(telling)
    content = event.text[telling.start : telling.end]
    intent, category = _choose_category(content, telling, prompt, spoken)
    if category is None:
        return None
    about = _resolve_reference(prompt, content, telling, spoken)
    unsure = authorship_doubt(event)
    doubt = (
        unsure
        or telling.doubt
        or (LEAN if about != "" else "")
        or (Frame.LED if is_announced((*prompt.before, event), event) else "")
    )
    if not doubt and telling.trigger not in (COMMAND, WISH):
        doubt = unasserted_reason(event.text, telling.start, telling.end)
    doubt = SAID_ONCE if telling.trigger == WISH and not unsure else doubt
    where = choose_scope(content, category, prompt.scope, spoken, around=event.text)
    return Candidate(
        id=digest(profile.id, intent, where, telling.trigger, event.key, content),
        profile=profile.id,
        category=intent,
        scope=where,
        content=content,
        confidence=WAITING if doubt else CERTAIN,
        trigger=telling.trigger,
        at=event.at,
        origin=event.origin,
        artifacts=find_artifacts(content),
        evidence=(evidence_of(event, content),),
        reasoning=", ".join(
            filter(None, (telling.trigger, telling.language, "names artifacts" if find_artifacts(content) else ""))
        ),
        about=about or "",
        doubt=doubt,
        subject=_person_of(content, prompt.lexicon.tellings) if intent == "person" and category.shape is Shape.DOSSIER else "",
    )


def _person_of(content: str, spoken: Sequence[TellingPatterns]) -> str:
    """Whom a passage about a person in the speaker's life names; empty where it names nobody."""
    for patterns in spoken:
        kin = compile_pattern(patterns.kin).search(content) if patterns.kin else None
        if kin is None:
            continue
        said = kin[0].strip(" \"'“«(*_>,;:")
        if compile_pattern(patterns.kin).search(said.casefold()) is None:  # it begins with the name
            return _given_name(said)
        return _given_name(content[kin.end() :] if content.startswith(said) else content)
    return ""


def _is_about_person(content: str, spoken: Sequence[TellingPatterns]) -> bool:
    """Whether a passage tells of somebody in the speaker's life: a pronoun ("Ich mag …", "nobody likes …") names no one."""
    found = (compile_pattern(telling_patterns.kin).search(content) for telling_patterns in spoken if telling_patterns.kin)
    return any(_WORD.findall(kin[0])[0].casefold() not in _NO_ONE for kin in found if kin)


def _given_name(text: str) -> str:
    """The name that a text begins with; empty where it begins with another word."""
    name = _NAME.match(text)
    return name[1] if name else ""


def _choose_category(
    content: str, telling: Telling, prompt: _Prompt, spoken: Sequence[TellingPatterns]
) -> tuple[str, Category | None]:
    """What a passage is (a decision, a preference, a rule …), and the category the profile files it in: a telling is filed in any
    case.

    What is told of people may be in another language than the words that tell ("Remember: ich wohne in …").
    """
    profile, every = prompt.profile, prompt.lexicon.tellings
    told = _without_change(content)
    kinds = [
        (
            "decision",
            telling.trigger == DECIDED or any(has_match(telling_patterns.decided, content) for telling_patterns in spoken),
        ),
        ("person", _is_about_person(told, every)),
        ("goal", any(has_match(telling_patterns.goal, content) for telling_patterns in spoken)),
        ("preference", any(has_match(telling_patterns.preference, content) for telling_patterns in spoken)),
        ("identity", any(has_match(telling_patterns.person, told) for telling_patterns in every)),
        ("convention", any(has_match(telling_patterns.ours, content) for telling_patterns in spoken)),
        ("constraint", any(has_match(telling_patterns.rule, told) for telling_patterns in spoken)),
        ("convention", any(has_match(telling_patterns.convention, content) for telling_patterns in spoken)),
        ("project_fact", True),
    ]
    likely = [intent for intent, holds in kinds if holds]
    spare = ["project_fact", "constraint", "preference", "decision"] if telling.trigger != WISH else []
    for intent in (*likely, *spare):
        category = profile.category_for(intent)
        if category is not None:
            return intent, category
    return "", None


@cache
def _change_pattern() -> re.Pattern[str]:
    return re.compile(rf"(?i)\b(?:{join_alternatives('change', 'gone', spaced=True)})\b")


def _without_change(content: str) -> str:
    """A passage without the words for what is no longer so: they forbid nothing."""
    return " ".join(_change_pattern().sub(" ", content).split())


def _resolve_reference(prompt: _Prompt, content: str, telling: Telling, spoken: Sequence[TellingPatterns]) -> str | None:
    """What a passage speaks of where one of its first words points outside: the one file changed before it, else the line before
    it.

    Empty where it points at nothing; None where there is nothing to point at.
    """
    if telling.trigger == COMMAND or not any(_has_unresolved_reference(content, telling_patterns) for telling_patterns in spoken):
        return ""
    before = one_line(str(_SENTENCE.sub("", prompt.event.text[: telling.start])))
    if _has_words(before):
        return before if len(before) <= _ABOUT else f"…{before[-_ABOUT:].partition(' ')[2]}"
    files: dict[str, None] = {}
    for event in reversed(prompt.before):
        if is_prompt(event):
            break
        if event.author is Author.ASSISTANT and event.kind is EventKind.TOOL_CALL and (name := _changed_file(event)):
            files.setdefault(name)
        elif event.author is Author.ASSISTANT and event.kind is EventKind.RESPONSE and event.text.strip() and not before:
            last = event.text.strip().rsplit("\n", 1)[-1]
            before = one_line(last)[:_ABOUT] if _has_words(last) else ""
    return next(iter(files)) if len(files) == 1 else before or None


def _has_words(line: str) -> bool:
    """True if a line says something: a fence or a rule does not."""
    return any(map(str.isalnum, line)) and not line.lstrip().startswith(("```", "~~~"))


def _has_unresolved_reference(content: str, patterns: TellingPatterns) -> bool:
    """Whether one of the first words points at something outside, the words of the telling itself aside."""
    for source in (patterns.here, patterns.from_now_on, patterns.remember, patterns.decided):
        content = compile_pattern(source).sub(" ", content) if source else content
    if patterns.reason and (reason := compile_pattern(patterns.reason).search(content)):
        content = content[: reason.start()]  # a reason speaks of what stands before it
    near = " ".join(content.split()[:_NEAR]) if patterns.spaced else content[: 2 * _NEAR]
    return has_match(patterns.outside, near)


def _changed_file(event: Event) -> str:
    """The name of the file that a call changes; empty for any other call."""
    tool = event.tool
    if tool is None or not any(word in tool.name.lower() for word in _CHANGES) or "\n" in tool.target or " " in tool.target:
        return ""
    return PurePosixPath(tool.target).name[:80]
