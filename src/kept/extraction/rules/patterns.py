"""What extraction looks at, and with what: a person's prompts and how sure that is, a lexicon's patterns, each compiled once, and
whom a memory is for.
"""

from collections.abc import Sequence
from functools import cache

from kept.core.artifact import find_artifacts
from kept.core.event import Author, Event, EventKind, is_choice, is_unconfirmed
from kept.core.memory import CHOSEN, UNCONFIRMED, USER_SCOPE, Evidence
from kept.core.pattern import Pattern
from kept.core.spans import quote_origin
from kept.core.text import is_cjk
from kept.profiles.lexicons import TellingPatterns, join_alternatives
from kept.profiles.profile import Category

SPACE = " \t\r\n,;:.!…–—-*_>\"'“”«»「」，、：；。！"
EDGE = r"[^\w\x{80}-\x{1FFF}]"  # letters of every script that writes words apart lie in this range
_LEADS = 6
_BYTES = 1 << 26  # at most; the Russian words of a telling need more than the usual eighth


@cache
def compile_pattern(source: str) -> Pattern:
    """A compiled pattern, with memory for its automaton: without that long patterns are slow, and complain on standard error."""
    return Pattern(source, memory=_BYTES)


def list_words(table: str, *names: str) -> tuple[str, str]:
    """The fragments of some lists: those of languages that write words apart, and those of the others."""
    spaced, dense = (
        "|".join(filter(None, (join_alternatives(table, name, spaced=apart) for name in names))) for apart in (True, False)
    )
    return spaced, dense


def match_words(table: str, *names: str) -> Pattern:
    """A pattern of the words of some lists, wherever they stand as words."""
    spaced, dense = list_words(table, *names)
    return compile_pattern(rf"(?i)(?:^|{EDGE})(?:{spaced})(?:$|{EDGE})" + (f"|{dense}" if dense else ""))


def has_match(source: str, text: str) -> bool:
    """Whether a pattern occurs in the text; an empty one never does."""
    return bool(source) and compile_pattern(source).search(text) is not None


def skip_filler(words: str, patterns: TellingPatterns) -> int:
    """Where a sentence begins behind its filler."""
    head = 0
    for _ in range(_LEADS):
        match = compile_pattern(patterns.lead).match(words[head:]) if patterns.lead else None
        if match is None:
            break
        head += match.end(1)
        head += len(words[head:]) - len(words[head:].lstrip(SPACE))
    return head if words[head:].strip() else 0


def count_mass(words: str) -> int:
    """The words of a text; two characters of a script without spaces count as one."""
    dense = 0 if words.isascii() else sum(map(is_cjk, words))
    return len(words.split()) + dense // 2 - (1 if dense else 0)


LOOKBACK = 300


def is_prompt(event: Event) -> bool:
    """Whether the event is a prompt that a person typed."""
    return event.kind is EventKind.PROMPT and event.author is Author.HUMAN


def authorship_doubt(event: Event) -> str:
    """Why a prompt's words may not be the person's own, however often they come; empty where nothing says so."""
    return CHOSEN if is_choice(event) else UNCONFIRMED if is_unconfirmed(event) else ""


def evidence_of(event: Event, quote: str, *, by_span: bool = False) -> Evidence:
    """A passage of an event as evidence, as trusted as the event; ``by_span``: as those who wrote the passage itself."""
    return Evidence(
        quote=quote,
        event=event.key,
        session=event.session,
        path=event.pointer.path,
        at=event.at,
        author=event.author.value,
        origin=quote_origin(event, quote) if by_span else event.origin,
    )


def turn_before(events: Sequence[Event], event: Event) -> tuple[str, str]:
    """The words of the prompt before an event, of the same session, and of the last reply to it; empty where there is none."""
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
    content: str, category: Category | None, project: str, spoken: Sequence[TellingPatterns], *, around: str = ""
) -> str:
    """The scope of a passage: its project, unless the person says "everywhere" or its category is about the person.

    ``around`` is the prompt it stands in, whose words count where it says little more. A passage that speaks of "this project", or
    names one of its files, is for the project in any category.
    """
    said = around if around and len(around) < 2 * len(content) else content
    if any(has_match(patterns.everywhere, said) for patterns in spoken):
        return USER_SCOPE
    local = any(has_match(patterns.here, content) for patterns in spoken) or any(
        "/" in artifact and "://" not in artifact for artifact in find_artifacts(content)
    )
    return USER_SCOPE if category is not None and category.user_wide and not local else project
