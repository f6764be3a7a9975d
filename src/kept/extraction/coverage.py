"""Coverage: split events into topics, whatever extraction found in them, and check whether memories cover them.

A topic is a run of exchanges (a prompt and its answers) that share words and names. It is covered if the evidence of an active or
held memory lies in it, or if an active memory contains one of the topic's names that no other topic has. It is missed if no memory
covers it although the user stated a rule, choice, preference or correction in it together with its scope or reason.

What the user stated is found by patterns of the lexicon that the extraction rules use too, so a statement that these patterns
overlook is not reported as missed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import log

from kept.core.artifact import find_artifacts
from kept.core.event import Author, Event, EventKind
from kept.core.memory import Memory, Status
from kept.core.sentences import sentence_texts
from kept.core.spans import typed_text
from kept.core.statement import find_content
from kept.core.text import one_line
from kept.core.value import dataclass, replace
from kept.extraction.rules.patterns import compile_pattern
from kept.profiles.lexicons import Lexicon, TellingPatterns

READ_CHARS = 2_000  # of each turn; its beginning shows the topic
KEY_WORDS = 6
_NAMES = 5
# A prompt with fewer different content words continues the current topic; a sentence with fewer words states nothing.
_LEAST_WORDS = 4
_COHESION = 0.4  # share of the weight of a prompt's words that must occur in the current topic
_RECENT = 3  # a prompt is compared with this many last exchanges of the current topic, and with the words of its first prompt
_SHARED_NAMES = 2  # a prompt that has this many names in common with the current topic continues it
_SENTENCE_CHARS = 400


class Coverage(StrEnum):
    """How memories cover a topic."""

    COVERED = "covered"
    NOTHING = "nothing durable"
    MISSED = "missed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """The events ``[start, stop)`` about one subject, with its most characteristic words and names, best first.

    ``telling`` is the first sentence of the user that looks worth remembering; empty if there is none.
    """

    start: int
    stop: int
    events: frozenset[str]
    words: tuple[str, ...]
    names: tuple[str, ...]
    telling: str
    state: Coverage = Coverage.NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class _Exchange:
    start: int
    stop: int
    asked: Counter[str]
    terms: Counter[str]
    names: Counter[str]
    prompt: str


def find_topics(events: Sequence[Event], *, lexicon: Lexicon) -> tuple[Topic, ...]:
    """The topics of a session in order, without gaps from its first prompt on; not yet compared with memories."""
    exchanges = _exchanges(events)
    spread = Counter(word for exchange in exchanges for word in exchange.terms)
    weigh = {word: log(1 + len(exchanges) / count) for word, count in spread.items()}
    runs: list[list[_Exchange]] = []
    for item in exchanges:
        if runs and not _is_new_topic(item, runs[-1], weigh):
            runs[-1].append(item)
        else:
            runs.append([item])
    return tuple(_topic(events, run, weigh, lexicon) for run in runs)


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryCoverage:
    """What memories cover: the events they cite, and the names they contain."""

    cited: frozenset[str]
    named: frozenset[str]


def collect_coverage(memories: Iterable[Memory]) -> MemoryCoverage:
    """Collect what memories cover, for any number of topics."""
    listed = tuple(memories)
    return MemoryCoverage(
        cited=frozenset(
            piece.event
            for memory in listed
            if memory.status is not Status.RETIRED or memory.outcome == "was so"
            for piece in memory.evidence
        ),
        named=frozenset(name.casefold() for memory in listed if memory.status is Status.ACTIVE for name in memory.artifacts),
    )


def mark_topics(plain: Sequence[Topic], had: MemoryCoverage) -> tuple[Topic, ...]:
    """Set the ``state`` of the topics from :func:`topics`."""
    holders = Counter(name for topic in plain for name in topic.names)
    return tuple(_mark_topic(topic, had, frozenset(name for name in topic.names if holders[name] == 1)) for topic in plain)


def _exchanges(events: Sequence[Event]) -> list[_Exchange]:
    starts = [place for place, event in enumerate(events) if event.kind is EventKind.PROMPT and event.author is Author.HUMAN]
    return [_exchange(events, start, stop) for start, stop in zip(starts, [*starts[1:], len(events)], strict=False)]


def _exchange(events: Sequence[Event], start: int, stop: int) -> _Exchange:
    prompt = typed_text(events[start])
    asked, names = _terms(prompt), _count_names(prompt)
    terms = Counter(asked)
    for event in events[start + 1 : stop]:
        if event.kind is EventKind.RESPONSE and event.author is Author.ASSISTANT:
            terms.update(_terms(event.text))
            names.update(_count_names(event.text))
        elif event.kind is EventKind.TOOL_CALL and event.tool:
            names.update(name.rsplit("/", 1)[-1] for name in _count_names(event.tool.target[:200]))
    return _Exchange(start=start, stop=stop, asked=asked, terms=terms, names=names, prompt=prompt)


def _terms(text: str) -> Counter[str]:
    return Counter(word for word in find_content(text[:READ_CHARS]) if len(word) > 2 and not word.isdigit())


def _count_names(text: str) -> Counter[str]:
    return Counter(name.casefold() for name in find_artifacts(text[:READ_CHARS]) if len(name) <= 60)


def _is_new_topic(each: _Exchange, run: Sequence[_Exchange], weigh: dict[str, float]) -> bool:
    """True if a prompt starts a new topic: it has enough content words, and has too few words and names in common with the current
    topic.
    """
    if len(each.asked) < _LEAST_WORDS:
        return False
    known = {word for before in run[-_RECENT:] for word in before.terms} | {word for word, _ in run[0].asked.items()}
    total = sum(weigh[word] for word in each.asked)
    shared = sum(weigh[word] for word in each.asked if word in known)
    names = set(_count_names(each.prompt)) & {name for before in run[-_RECENT:] for name in before.names}
    return len(names) < _SHARED_NAMES and shared < _COHESION * total


def _topic(events: Sequence[Event], run: Sequence[_Exchange], weigh: dict[str, float], lexicon: Lexicon) -> Topic:
    weights: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for item in run:
        for word in item.terms:
            weights[word] += round(1000 * weigh[word] * (1 + 2 * (word in item.asked)))
        names.update(item.names)
    best = sorted(weights, key=lambda word: (-weights[word], word))[:KEY_WORDS]
    named = sorted(names, key=lambda name: (-names[name], name))[:_NAMES]
    start, stop = run[0].start, run[-1].stop
    return Topic(
        start=start,
        stop=stop,
        events=frozenset(event.key for event in events[start:stop]),
        words=tuple(best),
        names=tuple(named),
        telling=next((found for exchange in run if (found := _first_telling(exchange.prompt, lexicon))), ""),
    )


def _first_telling(prompt: str, lexicon: Lexicon) -> str:
    """The first sentence of a prompt that states a rule, decision, preference or correction together with its scope or reason."""
    for sentence in sentence_texts(prompt[:READ_CHARS]):
        line = one_line(sentence[:_SENTENCE_CHARS])
        against = line.endswith(("?", "？", ":")) or len(line.split()) < _LEAST_WORDS
        if not against and any(_is_telling(line, patterns) for patterns in lexicon.spoken):
            return line
    return ""


def _is_telling(line: str, patterns: TellingPatterns) -> bool:
    acts = (patterns.always, patterns.never, patterns.decided, patterns.preference, patterns.correction, patterns.from_now_on)
    grounds = (patterns.reason, patterns.here, patterns.must, patterns.contrast, patterns.rule)
    done = [found for source in acts if (found := _span(source, line))]
    why = [found for source in grounds if done and (found := _span(source, line))]
    return any(left[1] <= right[0] or right[1] <= left[0] for left in done for right in why)


def _mark_topic(topic: Topic, had: MemoryCoverage, own: frozenset[str]) -> Topic:
    if not topic.events.isdisjoint(had.cited) or not own.isdisjoint(had.named):
        state = Coverage.COVERED
    else:
        state = Coverage.MISSED if topic.telling else Coverage.NOTHING
    return replace(topic, state=state)


def _span(source: str, text: str) -> tuple[int, int] | None:
    """The span of the last group of a pattern's match."""
    found = compile_pattern(source).search(text) if source else None
    if found is None:
        return None
    start, stop = found.span(found.lastindex or 0)
    return start, stop
