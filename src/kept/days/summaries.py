"""Summarize days without a model: the work, quoted from the sessions, and the decisions, learnings and open questions."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime

from kept.core.event import FORGOTTEN_MARK, Author, Event, EventKind, is_prompt, is_unconfirmed
from kept.core.memory import Memory
from kept.core.pattern import Pattern
from kept.core.spans import typed_text
from kept.core.summary import SummaryBullet, SummaryPart, WorkNote
from kept.core.text import jaccard_similarity, number_tokens, one_line, tokenize
from kept.days import gist
from kept.extraction.rules.commands import is_shell
from kept.profiles.lexicons import TellingPatterns

MOST_LINES = 15  # maximum number of lines of a condensed day; uncondensed days often have 30 to 50
_LAST_REPLIES = 3  # only the last replies of an attempt are searched for its outcome
_RESULT = " → "
_QUESTION_WEIGHT = 15
_FEW_WORDS = 5  # words; a shorter request without an outcome is not worth a line
_ENOUGH_WORDS = 15  # more do not make a line more informative
_INTRODUCING = 2  # a request may have this many content words besides a memory's, as in "Remember: …"
_SIMILAR = 0.5  # two lines of a day with a higher Jaccard similarity count as the same
_CHANGING = frozenset({"edit", "write", "multiedit", "notebookedit", "apply", "str", "create", "update", "patch", "save"})
_COMMIT = Pattern(r"(?s)\b(?:git\b[^|;&\n]{0,80}?\bcommit|gh\s+(?:pr|release)\s+create)\b(.*)")
_MESSAGE = Pattern(r"""^[^&]*?\s(?:-a?m|--message|-t|--title)[ =]+(?:"((?:[^"\\\n$]|\\.)+)(?:"|\n)|'([^'\n]+)(?:'|\n))""")
_HEREDOC = Pattern(r"<<-?\s*'?\"?EOF'?\"?\s*\n([^\n]{3,200})")
_DECIDED = frozenset({"decision", "decisions", "constraint", "constraints", "convention", "conventions"})


def build_notes(
    events: Sequence[Event],
    runs: Iterable[tuple[int, int]],
    day_of: Callable[[datetime], date],
    *,
    spoken: Sequence[TellingPatterns] = (),
    base: int = 0,
) -> Iterator[WorkNote]:
    """Yield a note for each attempt at a task.

    ``runs`` are intervals [start, stop) of events on one topic. A prompt starts a new attempt, unless it says that the work failed
    or repeats the request, on the same day. There is no note for a run without a request, or for prompts without a date. ``base``
    is the ordinal of the first event in its thread. ``spoken`` has the patterns of the events' languages.
    """
    attempts: list[list[int]] = []
    stop = 0
    for start, stop in runs:
        for place in range(start, stop):
            event = events[place]
            if not is_prompt(event) or event.at is None:
                continue
            before = events[attempts[-1][0] : place] if attempts else ()
            same_day = before and before[0].at and day_of(before[0].at) == day_of(event.at)
            earlier_texts = [earlier.text for earlier in before if is_prompt(earlier) or _is_answer(earlier)]
            if same_day and gist.continues_attempt(typed_text(event), earlier_texts, same_topic=attempts[-1][0] >= start):
                attempts[-1].append(place)
            else:
                attempts.append([place])
    ends = [*(places[0] for places in attempts[1:]), stop]
    notes = (_summarize_attempt(events, places, end, base, spoken) for places, end in zip(attempts, ends, strict=False))
    yield from filter(None, notes)


def _summarize_attempt(
    events: Sequence[Event], prompts: Sequence[int], stop: int, base: int, spoken: Sequence[TellingPatterns]
) -> WorkNote | None:
    first, span = prompts[0], events[prompts[0] : stop]
    at = events[first].at
    typed = [typed_text(events[place]) for place in prompts]
    if any(FORGOTTEN_MARK in event.text for event in span):
        span = ()  # replies may repeat what was forgotten
    commits = tuple(dict.fromkeys(subject for event in span if (subject := commit_subject(event))))
    changed = [name for event in span if (name := _changed_file(event)) is not None]
    names = tuple(name for name, _ in sorted(Counter(filter(None, changed)).items(), key=lambda item: (-item[1], item[0])))[:5]
    verdicts = {number: gist.find_verdict(text, "failed", "fails") for number, text in enumerate(typed[1:], 1)}
    failed = {number: verdict for number, verdict in verdicts.items() if verdict}
    valid = span[prompts[max(failed, default=0)] - first :]
    replies = [event.text for event in reversed(valid) if _is_answer(event)][:_LAST_REPLIES]
    done = gist.content_words((*commits, *names))
    asked = gist.find_request(typed, gist.content_words(replies) | done, spoken)
    if at is None or not asked:
        return None
    ended = [verdict for prompt in typed[1:] if (verdict := gist.find_verdict(prompt, "ended"))]
    outcome = ended[-1] if ended else gist.find_outcome(replies, gist.content_words((asked,)), done)
    if gist.withdraws_outcome(next((event.text for event in events[stop:] if _is_answer(event)), ""), outcome):
        outcome = ""
    own = [text for text, place in zip(typed, prompts, strict=True) if not is_unconfirmed(events[place])]
    decision = gist.find_decision(own, spoken)
    confirmed = gist.confirms_outcome(typed_text(events[stop]) if stop < len(events) else typed[-1])
    answered = not replies or any(map(_is_answer, events[prompts[-1] + 1 : stop]))
    question = gist.find_open_question(own, answered=answered)
    if not question and replies and answered and not confirmed and stop == len(events):
        question = failed[max(failed)] if failed else gist.find_closing_question(replies[0])
    return WorkNote(
        ordinal=base + first,
        event=events[first].key,
        at=at,
        asked=asked,
        outcome=outcome,
        commits=commits[:5],
        names=names,
        weight=bool(own) * len(prompts)
        + min(len(changed), 20)
        + 5 * (len(commits) + (decision == asked))
        + 3 * confirmed
        + bool(outcome),
        decision=decision,
        question=question,
    )


def _is_answer(event: Event) -> bool:
    return event.kind is EventKind.RESPONSE and event.author is Author.ASSISTANT


def commit_subject(event: Event) -> str:
    """The subject line of the commit that a tool call made; empty if the call made no commit."""
    if event.kind is not EventKind.TOOL_CALL or event.tool is None or not is_shell(event.tool) or "git init" in event.tool.target:
        return ""
    matched = _COMMIT.search(event.tool.target)
    found = matched and (_MESSAGE.search(matched[1]) or _HEREDOC.search(matched[1]))
    return one_line(next(filter(None, found.groups()))).replace('\\"', '"') if found else ""


def _changed_file(event: Event) -> str | None:
    """The name of the file that a tool call changed: empty if the call does not name a file, None if it changed nothing."""
    if event.kind is not EventKind.TOOL_CALL or event.tool is None or not event.tool.target:
        return None
    name = event.tool.name.rsplit("__", 1)[-1].casefold()
    target = event.tool.target.splitlines()[0].strip()
    changes = name.partition("_")[0] in _CHANGING or (bool(event.tool.detail) and "/" in event.tool.target[:400])
    if not changes:
        return None
    return target.rsplit("/", 1)[-1][:60] if len(target) <= 400 and " " not in target else ""


def work_bullet(note: WorkNote, scope: str) -> SummaryBullet:
    """A note as a bullet: the request and its outcome."""
    result = "; ".join(note.commits[:2]) or note.outcome
    files = f" ({', '.join(note.names[:3])})" if note.names and not any(name in result for name in note.names) else ""
    same = result and jaccard_similarity(tokenize(note.asked), tokenize(result)) > 0.6
    text = note.asked if not result or same else f"{note.asked}{_RESULT}{result}"
    return SummaryBullet(part=SummaryPart.WORKED, text=text + files, at=note.at, source=note.event, scope=scope, weight=note.weight)


def to_bullets(note: WorkNote, scope: str) -> tuple[SummaryBullet, ...]:
    """The bullets of a note: the work, the decision if there is one, and the open question. Duplicates are left out."""
    worked = work_bullet(note, scope)
    weight = min(note.weight, _QUESTION_WEIGHT)
    decided = replace(worked, part=SummaryPart.DECIDED, text=note.decision, source=f"{note.event}!", weight=weight)
    asked = replace(worked, part=SummaryPart.OPEN, text=note.question, source=f"{note.event}?", weight=_QUESTION_WEIGHT)
    others = tuple(bullet for bullet in (decided, asked) if bullet.text and (bullet is asked or bullet.text != note.asked))
    bare = _RESULT not in worked.text and jaccard_similarity(tokenize(note.asked), tokenize(note.question)) > _SIMILAR
    return (asked,) if bare else (worked, *others)


def part_of_category(category: str) -> SummaryPart:
    """The part of a day's summary in which the memories of a category are listed."""
    if "question" in category:
        return SummaryPart.OPEN
    return SummaryPart.DECIDED if category in _DECIDED else SummaryPart.LEARNT


def memory_bullet(memory: Memory) -> SummaryBullet:
    """A memory as a bullet of the day on which it was first seen."""
    return SummaryBullet(
        part=part_of_category(memory.category),
        text=memory.content,
        at=memory.first_seen,
        source=memory.id,
        scope=memory.scope,
        weight=30,
        remembered=True,
    )


def order_bullets(bullets: Iterable[SummaryBullet]) -> tuple[SummaryBullet, ...]:
    """Sort bullets by part, by project (largest total weight first) and by time.

    Of bullets with the same words in the same part and scope, only the one with the largest weight is kept.
    """
    listed, weights = list(bullets), Counter[str]()
    best: dict[tuple[SummaryPart, str, str], int] = {}
    for place in sorted(range(len(listed)), key=lambda place: (-listed[place].weight, listed[place].source)):
        bullet = listed[place]
        best.setdefault((bullet.part, bullet.scope, " ".join(sorted(tokenize(bullet.text)))), place)
    for place in best.values():
        weights[listed[place].scope] += listed[place].weight
    parts = list(SummaryPart)

    def sort_key(bullet: SummaryBullet) -> tuple[int, int, str, float]:
        return parts.index(bullet.part), -weights[bullet.scope], bullet.scope, bullet.at.timestamp() if bullet.at else 0.0

    return tuple(sorted((listed[place] for place in sorted(best.values())), key=sort_key))


def condense_bullets(bullets: Sequence[SummaryBullet], most: int = MOST_LINES) -> tuple[SummaryBullet, ...]:
    """At most ``most`` of the bullets, in the same order.

    Half of the lines are reserved for work. Decisions, learnings and open questions get the others, and those that work leaves
    free. Short requests without an outcome ("go on") are left out if there is other work.
    """
    topics = [bullet for bullet in bullets if bullet.part is SummaryPart.WORKED]
    others = [bullet for bullet in bullets if bullet.part is not SummaryPart.WORKED]
    chosen = heaviest_bullets(others, most - min(len(topics), most - most // 2))
    clear = [bullet for bullet in topics if _RESULT in bullet.text or len(tokenize(bullet.text)) >= _FEW_WORDS]
    chosen += heaviest_bullets(clear or topics, most - len(chosen))
    return tuple(bullet for bullet in bullets if bullet in chosen)


def drop_held_bullets(bullets: Iterable[SummaryBullet], held: Iterable[Memory]) -> tuple[SummaryBullet, ...]:
    """The bullets without requests that say little more than a held memory, because held memories are listed separately."""
    said: dict[str, frozenset[str]] = {}
    for memory in held:
        for event in {quote.event for quote in memory.evidence if quote.event}:
            said[event] = said.get(event, frozenset()) | gist.content_words((memory.content,))

    def is_held(bullet: SummaryBullet) -> bool:
        words = said.get(bullet.source)
        if words is None or bullet.part is not SummaryPart.WORKED or _RESULT in bullet.text:
            return False
        return len(gist.content_words((bullet.text,)) - words) <= _INTRODUCING

    return tuple(bullet for bullet in bullets if not is_held(bullet))


def heaviest_bullets(bullets: Sequence[SummaryBullet], most: int) -> list[SummaryBullet]:
    """At most ``most`` bullets without near duplicates: the heaviest of each project, then the heaviest of the rest."""
    ranked = sorted(bullets, key=lambda line: (-line.weight, -min(len(tokenize(line.text)), _ENOUGH_WORDS), line.source))
    first = {bullet.scope: bullet.source for bullet in reversed(ranked)}
    chosen: list[SummaryBullet] = []
    for bullet in sorted(ranked, key=lambda line: first[line.scope] != line.source):
        if len(chosen) < most and not any(_is_repeated(tokenize(bullet.text), tokenize(other.text)) for other in chosen):
            chosen.append(bullet)
    return chosen


def _is_repeated(words: frozenset[str], other: frozenset[str]) -> bool:
    return jaccard_similarity(words, other) > _SIMILAR and number_tokens(words) == number_tokens(other)
