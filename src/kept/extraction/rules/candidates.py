"""Candidates from a person's prompts, from lists in notes, and from statements that the session's agent handed over.

Prompts contain tellings (explicit statements to remember) and standing wishes, which count once several sessions contain them. A
candidate's content is one contiguous passage of the typed words. ``about`` names its subject if the passage does not. This module
knows nothing of tools, errors and fixes, and judges nothing.
"""

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from kept.core.artifact import find_artifacts
from kept.core.digest import digest
from kept.core.event import Author, Event, EventKind, is_prompt
from kept.core.memory import (
    COMMAND,
    DECIDED,
    FROM_NOW_ON,
    SAID_ONCE,
    TAKES_BACK,
    UNSURE,
    USER_SCOPE,
    WISH,
    WITHDRAWAL,
    Candidate,
    Frame,
)
from kept.core.pattern import Pattern, compile_late
from kept.core.sentences import SentenceSpan, split_sentences
from kept.core.spans import typed_spans, typed_text
from kept.core.statement import find_content
from kept.core.text import one_line
from kept.core.value import dataclass, replace
from kept.extraction.rules.assertion import CONFIDES, find_retraction_end, find_unasserted_reason
from kept.extraction.rules.framing import is_announced
from kept.extraction.rules.handover import propose_handed_over
from kept.extraction.rules.list_items import propose_heading_items
from kept.extraction.rules.passages import count_content_words
from kept.extraction.rules.patterns import (
    CERTAIN,
    LOOKBACK,
    WAITING,
    build_evidence,
    choose_scope,
    compile_pattern,
    find_authorship_doubt,
    find_languages,
    has_match,
    refers_outside,
)
from kept.extraction.rules.tellings import Telling, find_tellings, is_command, parse_memory_command
from kept.extraction.rules.wishes import find_wishes
from kept.profiles.language import detect_spoken
from kept.profiles.lexicons import LANGUAGES, Lexicon, TellingPatterns, find_local_patterns, join_alternatives, word_list
from kept.profiles.profile import Category, Profile, Shape

POINTS_OUTSIDE = "it refers to something that it does not name"
_PROMPT_CHARS = 20_000  # characters of a prompt that are read
_SENTENCES = 400  # sentences of a prompt that are read
_LEAST_ABOUT = 2  # content words that such a line has
_ABOUT = 160  # characters of the line before a passage that are stored as its subject
# The start of a sentence does not explain a passage further on in it.
_SENTENCE = Pattern(r"[^.!?\n。！？]*$")
_NAME = Pattern(r"\s*(\p{Lu}[\p{Ll}\p{M}]+)(?:\P{L}|$)")
_WORD = Pattern(r"\p{L}+")
_GONE = compile_late(rf"(?i)\b(?:{join_alternatives('change', 'gone', spaced=True)})\b")
_NO_ONE = word_list("assertion", "no_one")
_CHANGES = ("edit", "write", "create", "patch", "replace", "update", "insert")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Prompt:
    """A prompt, the events before it, the profile and lexicon for reading it, and the scope of its project."""

    event: Event
    before: Sequence[Event]
    profile: Profile
    lexicon: Lexicon
    scope: str

    def spoken_patterns(self, telling: Telling) -> list[TellingPatterns]:
        """The patterns of a telling's language. A command has no language, so it gets the patterns of all languages."""
        local = find_local_patterns(self.event.text) if telling.language else ()
        return [patterns for patterns in (*self.lexicon.tellings, *local) if telling.language in ("", patterns.language)]


def propose_prompt_tellings(
    events: Sequence[Event], start: int, stop: int, *, profile: Profile, lexicon: Lexicon, scope: str
) -> tuple[Candidate, ...]:
    """The candidates of the prompts in ``[start, stop)``, in order."""
    found: dict[str, Candidate] = {}
    for index in range(start, stop):
        event = events[index]
        if is_prompt(event):
            before = events[max(0, index - LOOKBACK) : index]
            prompt = _Prompt(event=event, before=before, profile=profile, lexicon=lexicon, scope=scope)
            made = [
                candidate for telling in _find_prompt_tellings(event, lexicon) for candidate in _build_candidates(prompt, telling)
            ]
            # If one telling of a prompt may be quoted, the other tellings may belong to the same quoted text.
            framed = any(candidate.doubt in tuple(Frame) for candidate in made)
            for candidate in made:
                doubted = framed and candidate.doubt in ("", UNSURE)
                found.setdefault(candidate.id, replace(candidate, doubt=Frame.QUOTED, confidence=WAITING) if doubted else candidate)
    return tuple(found.values())


def _find_prompt_tellings(event: Event, lexicon: Lexicon) -> list[Telling]:
    text = event.text[:_PROMPT_CHARS]
    given = parse_memory_command(text)
    if given is not None:
        return [given]
    patterns, wished, local = find_languages("words", text), find_languages("wish", text), find_local_patterns(text)
    if is_command(text) or not (patterns or wished or local):
        return []  # the usual case, so the author of each span and the languages, which take long to find, are not needed
    split = (split_sentences(text, typed.start, typed.end) for typed in typed_spans(event))
    whole = _join_clauses(text, [span for sentences in split for span in sentences if not span.parenthetical])
    spans = [part for span in whole for part in _split_retraction(text, span)][:_SENTENCES]
    if any(CONFIDES.search(text[span.start : span.end]) for span in spans):
        return []
    spoken = {LANGUAGES[0]}
    if local or any(each.language != LANGUAGES[0] for each in patterns):
        typed = "\n".join(text[span.start : span.end] for span in spans)
        spoken |= {*lexicon.languages, *detect_spoken(typed, local)}
    tellings = dict(find_tellings(text, spans, (*local, *patterns), (*lexicon.tellings, *local), spoken))
    rest = [(place, span) for place, span in enumerate(spans) if place not in tellings]
    tellings.update(find_wishes(text, rest, wished, lexicon))
    return [tellings[place] for place in sorted(tellings)]


def _join_clauses(text: str, spans: Sequence[SentenceSpan]) -> list[SentenceSpan]:
    """The sentences, each with what follows a semicolon ("we decided against Postgres; SQLite it is, because …"), unless that is a
    telling itself.
    """
    joined: list[SentenceSpan] = []
    for span in spans:
        goes_on = bool(joined) and text[joined[-1].end : span.start].startswith(";") and not span.bullet
        if goes_on and not find_languages("words", text[span.start : span.end]):
            joined[-1] = replace(joined[-1], end=span.end)
        else:
            joined.append(span)
    return joined


def _split_retraction(text: str, span: SentenceSpan) -> tuple[SentenceSpan, ...]:
    """A sentence as one span, or as two if its first clause takes back what was said before."""
    end = span.start + find_retraction_end(text[span.start : span.end])
    return (span,) if end in (span.start, span.end) else (replace(span, end=len(text[:end].rstrip())), replace(span, start=end))


def _build_candidates(prompt: _Prompt, telling: Telling) -> tuple[Candidate, ...]:
    """The candidates of a telling. A withdrawal has two, for the project and for the person.

    A withdrawal has none if an earlier prompt of the session contains the withdrawn words and is not a telling, because it is then
    about that prompt.
    """
    candidate = _build_candidate(prompt, telling)
    if candidate is None or telling.trigger != WITHDRAWAL:
        return (candidate,) if candidate else ()
    named = find_content(telling.withdrawn)
    before = (event for event in prompt.before if is_prompt(event) and named <= find_content(typed_text(event)))
    if not named or any(not _find_prompt_tellings(event, prompt.lexicon) for event in before):
        return ()
    candidate = replace(candidate, replaces=telling.withdrawn, doubt=candidate.doubt or TAKES_BACK, confidence=WAITING)
    scopes = dict.fromkeys((prompt.scope, USER_SCOPE))
    return tuple(replace(candidate, scope=scope, id=digest(candidate.id, scope)) for scope in scopes)


def _build_candidate(prompt: _Prompt, telling: Telling) -> Candidate | None:
    event, profile, spoken = prompt.event, prompt.profile, prompt.spoken_patterns(telling)
    content = event.text[telling.start : telling.end]
    kind, category = _choose_category(content, telling, prompt, spoken)
    if category is None:
        return None
    about = _resolve_reference(prompt, content, telling, spoken)
    doubt = (
        find_authorship_doubt(event)
        or (SAID_ONCE if telling.trigger == WISH else "")
        or telling.doubt
        or (POINTS_OUTSIDE if about != "" else "")
        or (Frame.LED if is_announced((*prompt.before, event), event) else "")
    )
    if not doubt and telling.trigger != COMMAND:
        local = telling.language not in LANGUAGES
        doubt = find_unasserted_reason(event.text, telling.start, telling.end, local=local)
    where = choose_scope(content, category, prompt.scope, spoken, around=event.text, is_told=True)
    return Candidate(
        id=digest(profile.id, kind, where, telling.trigger, event.key, content),
        profile=profile.id,
        category=category.id,
        scope=where,
        content=content,
        confidence=WAITING if doubt else CERTAIN,
        trigger=telling.trigger,
        at=event.at,
        origin=event.origin,
        artifacts=find_artifacts(content),
        evidence=(build_evidence(event, content),),
        reasoning=", ".join(
            filter(None, (telling.trigger, telling.language, "names artifacts" if find_artifacts(content) else ""))
        ),
        about=about or (telling.about if _has_words(telling.about) else ""),
        doubt=doubt,
        subject=_find_person(content, prompt.lexicon.tellings) if kind == "person" and category.shape is Shape.DOSSIER else "",
    )


def _find_person(content: str, spoken: Sequence[TellingPatterns]) -> str:
    """The name of the person in the speaker's life that a passage is about; empty if it is about nobody."""
    for patterns in spoken:
        kin = compile_pattern(patterns.kin).search(content) if patterns.kin else None
        if kin is None:
            continue
        words = kin[0].strip(" \"'“«(*_>,;:")
        if compile_pattern(patterns.kin).search(words.casefold()) is None:  # the match begins with the name
            return _read_name(words)
        return _read_name(content[kin.end() :] if content.startswith(words) else content)
    return ""


def _is_about_person(content: str, spoken: Sequence[TellingPatterns]) -> bool:
    """True if a passage is about somebody in the speaker's life. A pronoun ("Ich mag …", "nobody likes …") does not count."""
    found = (compile_pattern(patterns.kin).search(content) for patterns in spoken if patterns.kin)
    return any(_WORD.findall(kin[0])[0].casefold() not in _NO_ONE for kin in found if kin)


def _read_name(text: str) -> str:
    """The name at the beginning of a text; empty if it begins with another word."""
    name = _NAME.match(text)
    return name[1] if name else ""


def _choose_category(
    content: str, telling: Telling, prompt: _Prompt, spoken: Sequence[TellingPatterns]
) -> tuple[str, Category | None]:
    """The kind of a passage (decision, preference, rule …) and the profile's category for it. A telling always gets a category.

    Facts about people may have another language than the words that introduce them ("Remember: ich wohne in …").
    """
    profile, every = prompt.profile, prompt.lexicon.tellings
    lasting = _without_change(content)
    kinds: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("decision", lambda: telling.trigger == DECIDED or any(has_match(patterns.decided, content) for patterns in spoken)),
        ("person", lambda: _is_about_person(lasting, every)),
        ("goal", lambda: any(has_match(patterns.goal, content) for patterns in spoken)),
        ("preference", lambda: any(has_match(patterns.preference, content) for patterns in spoken)),
        ("identity", lambda: bool(find_languages("person", lasting)) or any(has_match(each.person, lasting) for each in spoken)),
        ("convention", lambda: any(has_match(patterns.ours, content) for patterns in spoken)),
        ("constraint", lambda: any(has_match(patterns.rule, lasting) for patterns in spoken)),
        (
            "convention",
            lambda: telling.trigger == FROM_NOW_ON or any(has_match(patterns.convention, content) for patterns in spoken),
        ),
        ("project_fact", lambda: True),
        *((kind, lambda: telling.trigger != WISH) for kind in ("constraint", "preference", "decision")),
    )
    for kind, holds in kinds:
        category = profile.category_for(kind)
        if category is not None and holds():
            return kind, category
    return "", None


def _without_change(content: str) -> str:
    """A passage without its words about things that no longer hold. Such words do not forbid anything."""
    return " ".join(_GONE.sub(" ", content).split())


def _resolve_reference(prompt: _Prompt, content: str, telling: Telling, spoken: Sequence[TellingPatterns]) -> str | None:
    """The text that one of a passage's first words refers to: the line before it, else the only file changed before it, else the
    last line of the reply before it.

    Empty if no word refers outside the passage. None if the reference cannot be resolved.
    """
    if telling.trigger in (COMMAND, WITHDRAWAL) or not any(_has_unresolved_reference(content, patterns) for patterns in spoken):
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
    """True if a line says something ("ok" does not), and is neither a code fence nor the agent's handing over."""
    says = count_content_words(line) >= _LEAST_ABOUT or bool(find_artifacts(line))
    return says and not line.lstrip().startswith(("```", "~~~", "kept:"))


def _has_unresolved_reference(content: str, patterns: TellingPatterns) -> bool:
    """True if one of the first words refers outside the passage. The words that introduce the telling do not count."""
    for source in (patterns.from_now_on, patterns.remember, patterns.decided):
        content = compile_pattern(source).sub(" ", content) if source else content
    if patterns.reason and (reason := compile_pattern(patterns.reason).search(content)):
        content = content[: reason.start()]  # a reason refers to the words before it, which are in the passage
    return refers_outside(content.partition(";")[0], patterns)


def _changed_file(event: Event) -> str:
    """The name of the file that a tool call changes; empty for any other call."""
    tool = event.tool
    if tool is None or not any(word in tool.name.lower() for word in _CHANGES) or "\n" in tool.target or " " in tool.target:
        return ""
    return PurePosixPath(tool.target).name[:80]


def extract_candidates(
    events: Sequence[Event], start: int, stop: int, *, profile: Profile, lexicon: Lexicon, scope: str, suggested: bool = True
) -> tuple[Candidate, ...]:
    """The candidates of the events ``[start, stop)`` of a session, in order. Also reads events before ``start``, but none from
    ``stop`` on.

    ``suggested`` includes statements that the session's agent handed over.
    """
    handed_over = propose_handed_over(events, start, stop, profile=profile, scope=scope) if suggested else ()
    items = propose_heading_items(events, start, stop, profile=profile, scope=scope)
    listed = {(item.evidence[0].event, item.content) for item in items}
    tellings = propose_prompt_tellings(events, start, stop, profile=profile, lexicon=lexicon, scope=scope)
    return (*handed_over, *(each for each in tellings if (each.evidence[0].event, each.content) not in listed), *items)
