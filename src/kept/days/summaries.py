"""Summarise days without a model: what was worked on, in the words used then, and which lines matter later.

Knows no session, no store and no clock: it gets runs of events about one thing, and bullets.
"""

import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime

import re2

from kept.core.event import FORGOTTEN_MARK, Author, Event, Kind
from kept.core.memory import Memory
from kept.core.sentences import sentence_texts
from kept.core.spans import typed_text
from kept.core.summary import Bullet, Note, Part
from kept.core.text import is_cjk, likeness, one_line, tokens

MOST = 15  # lines of a condensed day (K10: 30 to 50 become 10 to 15)
_LINE = 180  # characters of what was asked, and of what came of it
_READ = 4_000  # of each turn
_LEAST_WORDS = 3
_RESULT = " → "
_LIKE = 0.5  # likeness from which two lines of a day tell the same
_CHANGING = frozenset({"edit", "write", "multiedit", "notebookedit", "apply_patch", "str_replace", "create", "update", "patch"})
_MARKS = re2.compile(r"^(?:[>#*\-+•|]+|\d{1,3}[.)])\s*|\*\*|__|^\s+")
_LINK = re2.compile(r"\[([^\]\n]{1,200})\]\([^)\n]{1,400}\)")
_OPENER = re2.compile(
    r"(?i)^(?:ok(?:ay)?|yes|yeah|yep|yup|alright|all right|sure|great|perfect|done|nice|cool|good|thanks|thank you|now"
    r"|hmm+|so|also|and|then|please"
    r"|excellent|got it|all done|fixed|hi|hello|hey)\b[\s,.!:;–—-]*"
)
_PROCESS = re2.compile(
    r"(?i)^(?:let me|let's|i'll|i will|i'm going|i am going|now i|first,? i|next,? i|looking at|i need to|i see"
    r"|i understand|here(?:'s| is| are)|you're right"
    r"|good (?:catch|point|question)|would you|do you|should i|want me|to answer)\b"
)
_ITEM = re2.compile(r"^(?:[*+•-]|\d{1,3}[.)])\s")
# A label with its value, and how the checks went: true, but not what came of it.
_ASIDE = re2.compile(
    r"(?i)^(?:[a-z][\w ()/-]{0,30}: |(?:all |the )?(?:\d+ )?(?:unit |integration )?(?:tests?|checks?|linter"
    r"|build)\b[^,;]{0,40}\bpass)"
)
_COMMIT = re2.compile(r"(?s)\bgit\b[^|;&\n]{0,80}?\bcommit\b(.*)")
_HEREDOC = re2.compile(r"<<-?\s*'?\"?EOF'?\"?\s*\n([^\n]{3,200})")
_DECIDED = frozenset({"decision", "decisions", "constraint", "constraints", "convention", "conventions"})


def notes(
    events: Sequence[Event], runs: Iterable[tuple[int, int]], day_of: Callable[[datetime], date], *, base: int = 0
) -> Iterator[Note]:
    """What was worked on in each run ``[start, stop)`` of events about one thing, one note a day of it.

    ``base`` is the ordinal of the first event in its thread. Runs in which nobody asked for anything, and undated ones, give none.
    """
    for start, stop in runs:
        prompts = [place for place in range(start, stop) if _asks(events[place])]
        days: dict[date, list[int]] = {}
        for place in prompts:
            at = events[place].at
            if at is not None:
                days.setdefault(day_of(at), []).append(place)
        groups = list(days.values())
        for number, places in enumerate(groups):
            end = groups[number + 1][0] if number + 1 < len(groups) else stop
            found = _summarize_span(events, places, end, base)
            if found is not None:
                yield found


def _asks(event: Event) -> bool:
    return event.kind is Kind.PROMPT and event.author is Author.HUMAN


def _summarize_span(events: Sequence[Event], prompts: Sequence[int], stop: int, base: int) -> Note | None:
    first, span = prompts[0], events[prompts[0] : stop]
    asked = next((found for place in prompts if (found := _first_request(typed_text(events[place])))), "")
    at = events[first].at
    if not asked or at is None:
        return None
    if any(FORGOTTEN_MARK in each.text for each in span):  # what was answered to it may tell it again
        return Note(ordinal=base + first, event=events[first].key, at=at, asked=asked)
    commits = tuple(dict.fromkeys(subject for each in span if (subject := committed(each))))
    changed = Counter(name for each in span if (name := _changed_file(each)))
    closing = (each.text for each in reversed(span) if each.kind is Kind.RESPONSE and each.author is Author.ASSISTANT)
    outcome = next((found for text in [*closing][:2] if (found := _outcome(text))), "")
    names = tuple(name for name, _ in sorted(changed.items(), key=lambda each: (-each[1], each[0]))[:5])
    weight = len(prompts) + min(changed.total(), 20) + 5 * len(commits)
    return Note(
        ordinal=base + first,
        event=events[first].key,
        at=at,
        asked=asked,
        outcome=outcome,
        commits=commits[:5],
        names=names,
        weight=weight,
    )


def _first_request(text: str) -> str:
    """The first sentence of a prompt that says what is wanted."""
    fallback = ""
    for sentence in _sentences(text):
        plain = _opened(sentence)
        if FORGOTTEN_MARK in plain:
            continue
        if _count_words(plain) >= _LEAST_WORDS:
            return _cut_line(plain)
        fallback = fallback or plain
    return _cut_line(fallback) if _count_words(fallback) >= 2 else ""


def _outcome(text: str) -> str:
    """The first sentence of an answer that tells what is so now, not what is about to be done; of its prose, else of its lists."""
    for listed in (False, True):
        for sentence in _sentences(text, listed=listed):
            plain = _opened(sentence)
            told = _count_words(plain) > _LEAST_WORDS and not plain.endswith((":", "?", "：", "？"))
            if told and not _PROCESS.search(plain) and not _ASIDE.search(plain):
                return _cut_line(plain)
    return ""


def _sentences(text: str, *, listed: bool | None = None) -> Iterator[str]:
    """The sentences of the prose of a text: no code blocks, tables, headings or lines that only lead to what follows.

    ``listed`` asks for those of list items only, or for those of no list item.
    """
    fenced = False
    for raw in text[:_READ].splitlines():
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        if fenced or line.startswith(("```", "~~~", "|", "#", "<", "{", "@")) or not line:
            continue
        if listed is not None and bool(_ITEM.search(line)) is not listed:
            continue
        yield from sentence_texts(_strip_markdown(line))


def _strip_markdown(line: str) -> str:
    return one_line(_MARKS.sub("", _LINK.sub(r"\1", line)))


def _opened(sentence: str) -> str:
    """A sentence without the words that only open it."""
    for _ in range(3):
        shorter = _OPENER.sub("", sentence)
        if shorter == sentence:
            break
        sentence = shorter
    first = sentence.split(" ", 1)[0]
    return sentence[:1].upper() + sentence[1:] if first.isalpha() and first.islower() else sentence


def _count_words(text: str) -> int:
    spaced = len(text.split())
    return spaced if spaced > 1 else sum(is_cjk(char) for char in text) // 2 or spaced


def _cut_line(text: str) -> str:
    """At most one line's worth, cut between words."""
    if len(text) <= _LINE:
        return text.rstrip(" .;,:")
    head = text[:_LINE]
    return f"{head[: head.rfind(' ')] if ' ' in head[_LINE // 2 :] else head}…".replace(" …", "…")


def committed(event: Event) -> str:
    """The subject of the commit a tool call made; empty where it made none."""
    if event.kind is not Kind.TOOL_CALL or event.tool is None or "git init" in event.tool.target:
        return ""
    found = _COMMIT.search(event.tool.target)
    if found is None:
        return ""
    here = _HEREDOC.search(found.group(1))
    if here is not None:
        return _cut_line(one_line(here.group(1)))
    try:
        words = shlex.split(found.group(1).split("\n\n", 1)[0].split("&&", 1)[0], posix=True)
    except ValueError:
        return ""  # cut off inside a quotation
    for flag, value in itertools.pairwise(words):
        if flag in ("-m", "-am", "--message") and not value.startswith("$("):
            return _cut_line(one_line(value.splitlines()[0])) if value.strip() else ""
    return ""


def _changed_file(event: Event) -> str:
    if event.kind is not Kind.TOOL_CALL or event.tool is None or not event.tool.target:
        return ""
    name = event.tool.name.rsplit("__", 1)[-1].casefold()
    changes = name in _CHANGING or (bool(event.tool.detail) and "/" in event.tool.target[:400])
    target = event.tool.target.splitlines()[0].strip()
    return target.rsplit("/", 1)[-1][:60] if changes and len(target) <= 400 and " " not in target else ""


def worked(note: Note, scope: str) -> Bullet:
    """A note as a line: what was asked, and what came of it."""
    result = "; ".join(note.commits[:2]) or note.outcome
    files = f" ({', '.join(note.names[:3])})" if note.names and not any(name in result for name in note.names) else ""
    same = result and likeness(tokens(note.asked), tokens(result)) > 0.6
    text = note.asked if not result or same else f"{note.asked}{_RESULT}{result}"
    return Bullet(part=Part.WORKED, text=text + files, at=note.at, source=note.event, scope=scope, weight=note.weight)


def part_of(category: str) -> Part:
    """Under which heading of a day the memories of a category are told."""
    if "question" in category:
        return Part.OPEN
    return Part.DECIDED if category in _DECIDED else Part.LEARNT


def remembered(memory: Memory) -> Bullet:
    """A memory as a line."""
    return Bullet(
        part=part_of(memory.category), text=memory.content, at=memory.first_seen, source=memory.id, scope=memory.scope, weight=30
    )


def ordered(bullets: Iterable[Bullet]) -> tuple[Bullet, ...]:
    """Bullets as a day tells them: by part, project and time; what is said twice once, where it weighs most."""
    best: dict[tuple[Part, str, str], Bullet] = {}
    for each in sorted(bullets, key=lambda one: (-one.weight, one.source)):
        best.setdefault((each.part, each.scope, " ".join(sorted(tokens(each.text)))), each)
    return tuple(sorted(best.values(), key=_bullet_order))


def _bullet_order(bullet: Bullet) -> tuple[int, str, float, str]:
    return (list(Part).index(bullet.part), bullet.scope, bullet.at.timestamp() if bullet.at else 0.0, bullet.source)


def condense(bullets: Sequence[Bullet], most: int = MOST) -> tuple[Bullet, ...]:
    """The lines of a day that matter later: half of them what was decided, learnt or is open, the rest what most was done for.

    No bullet is changed. What was only asked, and neither changed anything nor came to anything, is left to the detailed form.
    """
    asked = [each for each in bullets if each.part is Part.WORKED]
    done = [each for each in asked if each.weight > 1 or _RESULT in each.text] or asked
    kept = _weightiest([each for each in bullets if each.part is not Part.WORKED], most - min(len(done), most - most // 2))
    return tuple(sorted((*kept, *_weightiest(done, most - len(kept))), key=_bullet_order))


def _weightiest(bullets: Sequence[Bullet], most: int) -> list[Bullet]:
    """At most so many bullets, the weightiest first, none like another."""
    chosen: list[Bullet] = []
    for each in sorted(bullets, key=lambda one: (-one.weight, one.source)):
        if len(chosen) < most and not any(likeness(tokens(each.text), tokens(one.text)) > _LIKE for one in chosen):
            chosen.append(each)
    return chosen
