"""Coverage: split a session into topics, and check whether memories cover them.

A topic is a run of exchanges (a prompt and its answers) that share words and names. It is covered if it contains the evidence of an
active or held memory, or if one of its names is in no other topic and in an active memory. A topic is missed if no memory covers
it, although the user stated a rule, choice, preference or correction in it together with its scope or reason.

The patterns of the extraction rules find the user's statements. A statement that these patterns overlook is therefore not reported
as missed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import log

from kept.core.artifact import find_artifacts
from kept.core.event import Author, Event, EventKind, is_prompt
from kept.core.memory import Memory, Status
from kept.core.sentences import sentence_texts
from kept.core.spans import typed_text
from kept.core.statement import find_content
from kept.core.text import one_line
from kept.core.value import dataclass, replace
from kept.extraction.rules.patterns import compile_pattern
from kept.profiles.lexicons import Lexicon, TellingPatterns

_READ_CHARS = 2_000  # characters of each turn that are read, because its beginning shows the topic
_WORDS = 6
_NAMES = 5
# A prompt with fewer distinct content words continues the current topic. A sentence with fewer words states nothing.
_LEAST_WORDS = 4
_COHESION = 0.4  # share of the weight of a prompt's words that the current topic must contain
_RECENT = 3  # exchanges of the current topic that a prompt is compared with, besides its first prompt
_SHARED_NAMES = 2  # a prompt continues the current topic if they have this many names in common
_SENTENCE_CHARS = 400


class Coverage(StrEnum):
    """How memories cover a topic."""

    COVERED = "covered"
    NOTHING = "nothing durable"
    MISSED = "missed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """The events ``[start, stop)`` about one subject, and its most characteristic words and names, best first.

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
    """Split a session into topics, in order and without gaps from its first prompt on. Their ``state`` is not set yet."""
    exchanges = _split_exchanges(events)
    spread = Counter(word for exchange in exchanges for word in exchange.terms)
    weigh = {word: log(1 + len(exchanges) / count) for word, count in spread.items()}
    runs: list[list[_Exchange]] = []
    for exchange in exchanges:
        if runs and not _is_new_topic(exchange, runs[-1], weigh):
            runs[-1].append(exchange)
        else:
            runs.append([exchange])
    return tuple(_build_topic(events, run, weigh, lexicon) for run in runs)


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryCoverage:
    """The events that memories cite, and the names that they contain."""

    cited: frozenset[str]
    named: frozenset[str]


def collect_coverage(memories: Iterable[Memory]) -> MemoryCoverage:
    """Collect the events and names of memories, to compare any number of topics with them."""
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


def mark_topics(topics: Sequence[Topic], coverage: MemoryCoverage) -> tuple[Topic, ...]:
    """Set the ``state`` of the topics from :func:`find_topics`."""
    holders = Counter(name for topic in topics for name in topic.names)
    return tuple(
        replace(topic, state=_compare_topic(topic, coverage, {name for name in topic.names if holders[name] == 1}))
        for topic in topics
    )


def _split_exchanges(events: Sequence[Event]) -> list[_Exchange]:
    starts = [place for place, event in enumerate(events) if is_prompt(event)]
    return [_build_exchange(events, start, stop) for start, stop in zip(starts, [*starts[1:], len(events)], strict=False)]


def _build_exchange(events: Sequence[Event], start: int, stop: int) -> _Exchange:
    prompt = typed_text(events[start])
    asked, names = Counter(_list_terms(prompt)), Counter(_list_names(prompt))
    terms = Counter(asked)
    for event in events[start + 1 : stop]:
        if event.kind is EventKind.RESPONSE and event.author is Author.ASSISTANT:
            terms.update(_list_terms(event.text))
            names.update(_list_names(event.text))
        elif event.kind is EventKind.TOOL_CALL and event.tool:
            names.update(name.rsplit("/", 1)[-1] for name in set(_list_names(event.tool.target[:200])))
    return _Exchange(start=start, stop=stop, asked=asked, terms=terms, names=names, prompt=prompt)


def _list_terms(text: str) -> list[str]:
    return [word for word in find_content(text[:_READ_CHARS]) if len(word) > 2 and not word.isdigit()]


def _list_names(text: str) -> list[str]:
    return [name.casefold() for name in find_artifacts(text[:_READ_CHARS]) if len(name) <= 60]


def _is_new_topic(exchange: _Exchange, topic: Sequence[_Exchange], weigh: dict[str, float]) -> bool:
    """True if a prompt has enough content words, but too few words and names in common with the current topic."""
    if len(exchange.asked) < _LEAST_WORDS:
        return False
    current = {word for before in topic[-_RECENT:] for word in before.terms} | set(topic[0].asked)
    total = sum(weigh[word] for word in exchange.asked)
    shared = sum(weigh[word] for word in exchange.asked if word in current)
    names = set(_list_names(exchange.prompt)) & {name for before in topic[-_RECENT:] for name in before.names}
    return len(names) < _SHARED_NAMES and shared < _COHESION * total


def _build_topic(events: Sequence[Event], run: Sequence[_Exchange], weigh: dict[str, float], lexicon: Lexicon) -> Topic:
    weights: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for exchange in run:
        for word in exchange.terms:
            weights[word] += round(1000 * weigh[word] * (1 + 2 * (word in exchange.asked)))
        names.update(exchange.names)
    best = sorted(weights, key=lambda word: (-weights[word], word))[:_WORDS]
    named = sorted(names, key=lambda name: (-names[name], name))[:_NAMES]
    start, stop = run[0].start, run[-1].stop
    return Topic(
        start=start,
        stop=stop,
        events=frozenset(event.key for event in events[start:stop]),
        words=tuple(best),
        names=tuple(named),
        telling=next(filter(None, (_find_telling(exchange.prompt, lexicon) for exchange in run)), ""),
    )


def _find_telling(prompt: str, lexicon: Lexicon) -> str:
    """The first sentence of a prompt that states a rule, decision, preference or correction together with its scope or reason."""
    for sentence in sentence_texts(prompt[:_READ_CHARS]):
        line = one_line(sentence[:_SENTENCE_CHARS])
        states = len(line.split()) >= _LEAST_WORDS and not line.endswith(("?", "？", ":"))
        if states and any(_is_telling(line, patterns) for patterns in lexicon.spoken):
            return line
    return ""


def _is_telling(line: str, patterns: TellingPatterns) -> bool:
    acts = (patterns.always, patterns.never, patterns.decided, patterns.preference, patterns.correction, patterns.from_now_on)
    grounds = (patterns.reason, patterns.here, patterns.must, patterns.contrast, patterns.rule)
    act_spans = [span for source in acts if (span := _find_span(source, line))]
    ground_spans = [span for source in grounds if act_spans and (span := _find_span(source, line))]
    return any(act[1] <= ground[0] or ground[1] <= act[0] for act in act_spans for ground in ground_spans)


def _compare_topic(topic: Topic, coverage: MemoryCoverage, own_names: set[str]) -> Coverage:
    if not topic.events.isdisjoint(coverage.cited) or not own_names.isdisjoint(coverage.named):
        return Coverage.COVERED
    return Coverage.MISSED if topic.telling else Coverage.NOTHING


def _find_span(source: str, text: str) -> tuple[int, int] | None:
    """The span of the last group in a pattern's first match; None if it does not match."""
    match = compile_pattern(source).search(text) if source else None
    return match.span(match.lastindex or 0) if match else None
