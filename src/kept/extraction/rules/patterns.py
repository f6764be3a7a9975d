"""Functions that all rules share: patterns from word lists, tests of prompts, evidence, and the scope of a memory."""

from collections.abc import Sequence
from functools import cache

from kept.core.artifact import find_artifacts
from kept.core.event import Author, Event, EventKind, is_choice, is_prompt, is_unconfirmed
from kept.core.memory import CHOSEN, UNCONFIRMED, USER_SCOPE, Evidence
from kept.core.pattern import LARGE, Pattern, PatternSet, compile_late
from kept.core.sentences import SentenceSpan, sentence_texts, split_sentences
from kept.core.spans import quote_origin
from kept.core.text import NEGATIONS, is_cjk, tokenize
from kept.profiles.lexicons import LANGUAGES, TellingPatterns, detect_languages, join_alternatives, load_telling_patterns
from kept.profiles.profile import Category

CERTAIN = 0.95  # confidence of an explicit telling, which is not a guess
WAITING = 0.5  # confidence of a held candidate
SPACE = " \t\r\n,;:.!…–—-*_>\"'“”«»「」¡，、：；。！،؛।"
EDGE = r"[^\w\x{80}-\x{1FFF}]"  # includes the letters of every script with spaces between words
# Neither a letter nor a digit of any script. In RE2, ``\W`` also matches every letter that is not ASCII.
NO_LETTER = r"[^\w\pL]"
# Languages whose telling words each need such a letter. Their patterns are large, and most texts have none.
NOT_LATIN = ("ja", "ru", "zh")
_NOT_LATIN_LETTER = compile_late(r"[\u0400-\u04ff\u3005-\ufaff]")
_CUE = 5  # letters of a word that show its language ("prefiero", "immer"); shorter words exist in several
_LEADING_WORDS = 5  # if one of this many first words refers outside a passage, the passage depends on the text before it
_LEADS = 6  # maximum filler words at the beginning of a sentence


@cache
def compile_pattern(source: str) -> Pattern:
    """Compile a pattern with more memory for its automaton. With less, long patterns are slow and print warnings."""
    return Pattern(source, memory=LARGE)


def list_words(table: str, *names: str) -> tuple[str, str]:
    """Join some word lists to two regex alternations: of languages with spaces between words, and of the others."""
    return join_alternatives(table, *names, spaced=True), join_alternatives(table, *names, spaced=False)


def match_words(table: str, *names: str) -> Pattern:
    """Compile a pattern that matches the words of some lists, as whole words."""
    spaced, dense = list_words(table, *names)
    return compile_pattern(rf"(?i)(?:^|{EDGE})(?:{spaced})(?:$|{EDGE})" + (f"|{dense}" if dense else ""))


def has_match(source: str, text: str, *, without: str = "") -> bool:
    """True if a pattern occurs in the text after the matches of the pattern ``without`` are cut. An empty pattern never occurs."""
    text = compile_pattern(without).sub(" ", text) if without else text
    return bool(source) and compile_pattern(source).search(text) is not None


@cache
def _compile_set(name: str, *, latin: bool) -> PatternSet:
    """The patterns of the languages that are written in Latin letters, or of the others."""
    every = load_telling_patterns()
    return PatternSet([getattr(each, name) if (each.language in NOT_LATIN) != latin else "" for each in every], memory=LARGE)


def refers_outside(text: str, patterns: TellingPatterns) -> bool:
    """True if one of the first words refers outside the text. "In this project" does not count: it is true of all memories."""
    text = compile_pattern(patterns.here).sub(" ", text) if patterns.here else text
    near = " ".join(text.split()[:_LEADING_WORDS]) if patterns.spaced else text[: 2 * _LEADING_WORDS]
    return has_match(patterns.outside, near)


def find_languages(name: str, text: str) -> tuple[TellingPatterns, ...]:
    """The patterns of each language whose pattern ``name`` (a field of TellingPatterns) occurs in ``text``."""
    places = _compile_set(name, latin=True).find(text)
    if not text.isascii() and _NOT_LATIN_LETTER.search(text):
        places = sorted((*places, *_compile_set(name, latin=False).find(text)))
    return tuple(load_telling_patterns()[place] for place in places)


def is_in_language(words: str, patterns: TellingPatterns, others: Sequence[TellingPatterns]) -> bool:
    """True if the common words of a sentence are in the language of ``patterns``. If it has none, a long word of a telling or wish
    decides that none of the ``others`` has.
    """
    rest, longest = words, 0
    for source in filter(None, (patterns.words, patterns.wish)):
        longest = max(longest, *(len(cue[1]) for cue in compile_pattern(source).finditer(words)), 0)
        rest = compile_pattern(source).sub(" ", rest)
    languages = detect_languages(rest, LANGUAGES)
    if languages or longest < _CUE:
        return patterns.language in languages
    return not any(has_match(each.words, words) or has_match(each.wish, words) for each in others if each is not patterns)


def skip_space(words: str, start: int) -> int:
    """The index of the first character from ``start`` on that is neither white space nor punctuation."""
    return len(words) - len(words[start:].lstrip(SPACE))


def skip_filler(words: str, patterns: TellingPatterns) -> int:
    """The index after the filler words at the beginning of a sentence."""
    head = 0
    for _ in range(_LEADS):
        match = compile_pattern(patterns.lead).match(words[head:]) if patterns.lead else None
        if match is None:
            break
        head = skip_space(words, head + match.end(1))
    return head if words[head:].strip() else 0


def count_mass(words: str) -> int:
    """The number of words in a text. Two characters of a script without spaces count as one word."""
    dense = 0 if words.isascii() else sum(map(is_cjk, words))
    if not dense:
        return len(words.split())
    others = "".join(" " if is_cjk(char) else char for char in words).split()
    return dense // 2 + sum(any(map(str.isalnum, word)) for word in others)


LOOKBACK = 300  # events before a prompt that the rules read


def find_authorship_doubt(event: Event) -> str:
    """The reason why a prompt's words may not be the person's own, however often they are repeated; empty if there is none."""
    return CHOSEN if is_choice(event) else UNCONFIRMED if is_unconfirmed(event) else ""


def build_evidence(event: Event, quote: str, *, by_span: bool = False) -> Evidence:
    """Build evidence from a passage of an event. Its origin is that of the event or, if ``by_span``, of the passage itself."""
    return Evidence(
        quote=quote,
        event=event.key,
        session=event.session,
        path=event.pointer.path,
        at=event.at,
        author=event.author.value,
        origin=quote_origin(event, quote) if by_span else event.origin,
    )


def find_sentences(text: str, start: int, end: int) -> list[SentenceSpan]:
    """The sentences of a text that overlap the characters ``[start, end)``. Parentheses are removed."""
    return [
        span for span in split_sentences(text, 0, len(text)) if not span.parenthetical and span.start < end and span.end > start
    ]


def list_texts(event: Event) -> tuple[str, ...]:
    """The texts of an event: its words, and its tool call's target and detail."""
    tool = (event.tool.target, event.tool.detail) if event.tool else ()
    return tuple(filter(None, (event.text, *tool)))


def find_turn_before(events: Sequence[Event], event: Event) -> tuple[str, str]:
    """The text of the previous prompt of an event's session, and of the last reply to it. Each is empty if there is none."""
    prompt = reply = ""
    for item in events:
        if item.key == event.key:
            break
        if item.session != event.session:
            continue
        if is_prompt(item):
            prompt, reply = item.text, ""
        elif item.kind is EventKind.RESPONSE and item.author is Author.ASSISTANT and item.text.strip():
            reply = item.text
    return prompt, reply


def choose_scope(
    content: str,
    category: Category | None,
    project: str,
    spoken: Sequence[TellingPatterns],
    *,
    around: str = "",
    is_told: bool = False,
) -> str:
    """The scope of a passage: its project, unless the person says "in all projects" or its category is about the person.

    "everywhere" says the same where the person tells the assistant to remember something (``is_told``) that names no file. Said to
    nobody, it means everywhere in the project: "exclude both everywhere". ``around`` is the prompt that contains the passage. Its
    words count too if the passage is at least half of it. A passage that says "this project" belongs to the project, even beside
    "everywhere"; one that names a file of it does, whatever its category.
    """
    passage = content
    # "not everywhere" says where something is too much. It does not say where the passage holds.
    if around and len(around) < 2 * len(content):
        passage = " ".join((content, *(words for words in sentence_texts(around) if NEGATIONS.isdisjoint(tokenize(words)))))
    here = any(has_match(patterns.here, content) for patterns in spoken)
    names = [artifact for artifact in find_artifacts(content) if "://" not in artifact]
    is_wide = is_told and not any("/" in name or "." in name for name in names)
    wide = [words for patterns in spoken for words in (patterns.all_projects, patterns.everywhere if is_wide else "")]
    if not here and any(has_match(words, passage) for words in wide):
        return USER_SCOPE
    local = here or any("/" in name for name in names)
    return USER_SCOPE if category is not None and category.user_wide and not local else project
