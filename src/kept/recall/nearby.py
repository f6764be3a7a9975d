"""Find facts near a message, by words and by meaning, and earlier work that has an outcome.

A hook waits for this, so it imports very little. :mod:`kept.recall.relevance` computes how near a fact is, from its words, its
topic and, if the caller can compare vectors, its meaning. It also computes the fact's score. All texts come from the store.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from time import monotonic

from kept.core.fence import FACTS, PAST, ContextPiece
from kept.core.light import TYPE_CHECKING, NamedTuple, datetime
from kept.core.text import index_words, jaccard_similarity, tokenize
from kept.recall.question import telling_words
from kept.recall.relevance import (
    CLEAR,
    DEFAULT_WEIGHTS,
    DOUBT,
    DOUBTED,
    FEW,
    FURTHER,
    PLAIN,
    PROJECT,
    TELLING,
    Likeness,
    RecallWeights,
    fact_score,
    has_enough_in_common,
    is_already_said,
    is_related_work,
    is_similar_request,
    is_telling_word,
    nearness_score,
    stem,
    topic_nearness,
    word_weight,
    word_weights,
)
from kept.recall.topics import NO_INTENT, Intent, Topic, count_topic_phrases, detect_intent, topic_phrases
from kept.store.reader import RecallMemory, StoreReader

if TYPE_CHECKING:
    from datetime import tzinfo

CORE_CATEGORIES = (
    "identity",
    "person",
    "preference",
    "preferences",
    "constraint",
)  # memories of these categories in the user scope are always shown
SECONDS = 0.5  # default time limit for reading the store; hooks set a lower one
_CANDIDATES = 40  # maximum number of memories that share words with a message
_TOPICAL = 60  # maximum number of memories about the topics of a message
_ASIDE = 3  # a memory with less than a third of the topic words of the best one only mentions the topic in passing
# Memories of these categories describe a project. The others say how to work.
_DESCRIBING = frozenset({"project_fact", "decision", "insight", "goal", "open_question"})
_CROWDED = 5  # if more memories are about a topic, the project itself is about it, so those that describe count less
_NOTES = 12  # maximum number of notes of earlier work
_SHARED = 2  # minimum number of names that a note shares with a message
_LIKE = 0.5  # Jaccard similarity above which two notes report the same outcome
_WORDS = 60  # maximum number of words of a message that are weighed
_ENDS = 2_000  # of a long message, only this many characters at each end are read


class ContextRequest(NamedTuple):
    """The message and the session for which a context is assembled, and what to include.

    ``message`` is the user's message, and empty at the start of a session. ``directory`` is where the session works. ``session`` is
    its id, because the model already has what was said in it. ``marks`` are the fingerprints of failures that the message reports.
    ``already_shown`` has the keys that this session was shown before. ``client`` decides which files the session loads by itself.

    ``core`` asks for memories that always apply. ``days`` asks for the work of the last days and, if there is a message, only for
    work related to it. ``rules`` asks for the project's rules, for clients that do not load them from a file. ``whole`` asks for
    all memories of the project, and ``others`` for fixes from other projects.
    """

    message: str = ""
    directory: str = ""
    session: str = ""
    marks: tuple[str, ...] = ()
    budget: int = 1_200
    core: bool = True
    days: bool = True
    already_shown: frozenset[str] = frozenset()
    client: str = "claude"
    rules: bool = False
    others: bool = True
    whole: bool = False


class RecallEnvironment(NamedTuple):
    """The environment of a lookup.

    It has the store file, the user's home, the active profiles, the time zone for dates, and the time limit for reading in seconds.
    ``weights`` come from the person's settings of recall.
    """

    store: str
    user: str
    profiles: tuple[str, ...] = ("coding",)
    zone: "tzinfo | None" = None
    seconds: float = SECONDS
    weights: RecallWeights = DEFAULT_WEIGHTS


# Reads the result of a lookup by meaning. It maps memory ids to the number of standard deviations by which a memory is nearer to
# the message than others, and ``relevance.DOUBT`` to the doubt. It is empty if no answer comes in time.
NearnessReader = Callable[[], Mapping[str, float]]
# Starts a lookup by meaning among the memories of some scopes.
NearnessLookup = Callable[[list[str]], NearnessReader]


class ContextLookup(NamedTuple):
    """The parts of one lookup in a store. ``scopes`` are the user scope and, after it, the project's scope.

    ``missed`` receives the facts that are not near enough. It is None if the caller does not show them, as in hooks.
    """

    reader: StoreReader
    place: RecallEnvironment
    asked: ContextRequest
    now: datetime
    scopes: list[str]
    missed: list[ContextPiece] | None = None

    def is_valid(self, memory: RecallMemory) -> bool:
        """True if a memory has content and is not expired."""
        until = parse_store_instant(memory.valid_until)
        return bool(memory.content) and (until is None or until > self.now)

    def local_day(self, text: str) -> str:
        """The date of a stored instant in the person's time zone, in ISO format; empty for an empty text."""
        at = parse_store_instant(text)
        return at.astimezone(self.place.zone).date().isoformat() if at else ""


def parse_store_instant(text: str) -> datetime | None:
    """Parse an instant from the store's format; None for an empty text."""
    return datetime.fromisoformat(text) if text else None


class MessageTerms(NamedTuple):
    """The names in a message. A name is a word, an identifier or a path, given as the words under which it is indexed.

    ``said`` has all names, ``names`` the distinctive ones. ``worth`` maps each word to its weight. ``memories`` maps a word to the
    rows of the memories that contain it. ``notes`` does the same for the project's notes. ``intent`` is the request of a short
    message.
    """

    names: tuple[tuple[str, ...], ...]
    worth: dict[str, float]
    said: tuple[tuple[str, ...], ...]
    memories: dict[str, list[int]]
    notes: dict[str, list[int]]
    intent: Intent = NO_INTENT

    def asked(self) -> list[float]:
        """The weight of each name: the weight of its heaviest word."""
        return [max(self.worth[word] for word in name) for name in self.names]


def parse_message_terms(look: ContextLookup) -> MessageTerms:
    """The names in the message of a lookup, with weights for how rare they are in the store."""
    names = extract_names(look.asked.message)
    words = list(dict.fromkeys(word for name in names for word in name))[:_WORDS]
    memories = {word: look.reader.memory_rows_with_word(word) for word in words}
    notes: dict[str, list[int]] = {}
    worth = _weigh_words(look, memories, notes)
    telling = tuple(found for name in names if (found := tuple(word for word in name if worth.get(word, 0.0) >= TELLING)))
    return MessageTerms(telling, worth, names, memories, notes, detect_intent(look.asked.message))


def find_nearby(look: ContextLookup, message: MessageTerms, read_nearness: NearnessReader) -> dict[str, list[ContextPiece]]:
    """The facts and the earlier work near the message, by the name of their layer."""
    return {FACTS: _find_facts(look, message, read_nearness), PAST: _find_past_work(look, message) if message.names else []}


def shared_terms(message: MessageTerms, text: str) -> dict[str, float]:
    """The names that a message and a text share. Maps the stem of each name's heaviest shared word to its weight."""
    there = {stem(word) for word in index_words(text).split()}
    shared: dict[str, float] = {}
    for name in message.said:
        found = [word for word in name if stem(word) in there and message.worth.get(word)]
        if found:
            best = max(found, key=lambda word: message.worth[word])
            shared.setdefault(stem(best), message.worth[best])
    return shared


def _weigh_words(look: ContextLookup, memories: Mapping[str, list[int]], notes: dict[str, list[int]]) -> dict[str, float]:
    """The weight of each word: its rarity in the person's texts or in the project's notes, whichever is lower.

    Adds to ``notes`` the rows of the project's notes that contain each telling word.
    """
    counts = {word: len(rows) + look.reader.count_turns_with_word(word) for word, rows in memories.items()}
    worth = word_weights(counts, look.reader.count_texts())
    of_project = look.scopes[1:]
    count = look.reader.count_notes(of_project) if of_project else 0
    if count:
        notes |= {word: look.reader.note_rows_with_word(word, of_project) for word in memories if worth[word] >= TELLING}
    return {word: min(each, word_weight(len(notes.get(word, ())), count, PROJECT)) for word, each in worth.items()}


def extract_names(text: str) -> tuple[tuple[str, ...], ...]:
    """The distinct names in a text, each as a tuple of index words. A name is a word, or an identifier or path with its parts.

    Of a long text only the beginning and the end are read.
    """
    whole = text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]} {text[-_ENDS:]}"
    known = {word for half in (whole[:_ENDS], whole[_ENDS:]) if half for word in telling_words(half) if is_telling_word(word)}
    found = (tuple(word for word in _split_part(part) if word in known) for part in whole.split())
    return tuple(dict.fromkeys(item for item in found if item))


def _split_part(part: str) -> Iterable[str]:
    """The distinct index words of a text without spaces."""
    bare = part.strip(",.;:!?()'\"")
    plain = bare.isascii() and bare.isalpha() and (bare[1:].islower() or bare.islower())  # a fast path for the common case
    return (bare.lower(),) if plain else dict.fromkeys(index_words(part).split())


def _rank_rows(
    rows_of: Mapping[str, list[int]], message: MessageTerms, least: int, most: int, select: Callable[[list[int]], list[int]]
) -> dict[int, dict[str, float]]:
    """The rows that share at least ``least`` names with the message, each with its shared words and their weights.

    Rows are ordered by their total shared weight, the greatest first. ``select`` drops rows. At most ``most`` others are returned.
    """
    found: list[dict[int, str]] = []  # for each name, its heaviest word in each row
    weights: dict[int, float] = {}
    seen: set[str] = set()
    for name in message.names:
        best: dict[int, str] = {}
        for word in sorted(name, key=lambda each: -message.worth[each]):
            if stem(word) not in seen:  # otherwise it is another form of a word that is already counted
                seen.add(stem(word))
                best = dict.fromkeys(rows_of.get(word, ()), word) | best
        found.append(best)
        for row, word in best.items():
            weights[row] = weights.get(row, 0.0) + message.worth[word]
    ranked = (row for row in _sort_by_weight(weights) if least == 1 or sum(row in best for best in found) >= least)
    rows: list[int] = []
    several = most
    while len(rows) < most and (candidates := list(islice(ranked, several))):
        rows += select(candidates)
        several *= 2
    return {row: {best[row]: message.worth[best[row]] for best in found if row in best} for row in rows[:most]}


def _sort_by_weight(weights: Mapping[int, float]) -> Iterator[int]:
    """Yield the rows in descending order of weight. The many rows of the same weight are in ascending order."""
    alike: dict[float, list[int]] = {}
    for row, weight in weights.items():
        alike.setdefault(weight, []).append(row)
    for weight in sorted(alike, reverse=True):
        yield from sorted(alike[weight])


def _find_facts(look: ContextLookup, message: MessageTerms, read_nearness: NearnessReader) -> list[ContextPiece]:
    profiles, use = list(look.place.profiles), look.place.weights

    def select(rows: list[int]) -> list[int]:
        return look.reader.active_rows(rows, look.scopes, profiles)

    shared = _rank_rows(message.memories, message, 1, _CANDIDATES, select)
    topics = message.intent.topics
    topical = look.reader.memory_rows_with_phrases(topic_phrases(topics), look.scopes, profiles, _TOPICAL) if topics else []
    asked = message.asked()
    began = monotonic()
    # A message of everyday words only ("go with the second option") refers to the conversation itself.
    meaning = read_nearness() if message.intent.topics or max(asked, default=0.0) > PLAIN else {}
    look.reader.extend_deadline(monotonic() - began)
    rows = dict.fromkeys((*shared, *topical, *look.reader.memory_rows_by_id(list(meaning), look.scopes, profiles)))
    memories = look.reader.memories(list(rows))
    belonging = {memory.row: count_topic_phrases(memory.line, topics) for memory in memories} if topics else {}
    described = min(1.0, _CROWDED / max(1, sum(map(bool, belonging.values()))))
    shares = {memory.row: described if memory.category in _DESCRIBING else 1.0 for memory in memories}
    most = max((count * shares[row] for row, count in belonging.items()), default=0.0)
    pieces = []
    for memory in memories:
        if not look.is_valid(memory) or memory.sessions == {look.asked.session}:
            continue  # it was said in this session, so the model already has it
        words, needed = _split_shared_words(message, memory, shared.get(memory.row, {}))
        worded = _score_nearness(words, set(index_words(" ".join(memory.artifacts)).split()), memory.content, asked)
        words_of_topic = belonging.get(memory.row, 0)
        share = shares[memory.row]
        aside = words_of_topic * share * _ASIDE < most  # it mentions the topic in passing, and others are about it
        topic = 0.0 if aside else share * topic_nearness(words_of_topic, bare=message.intent.bare)
        # A fix must share the topic of the failure, or enough words with it, because "error" and "host" occur in many memories.
        compared = bool(meaning) and (not look.asked.marks or bool(topic) or has_enough_in_common([*words.values()], 0))
        # Words alone can be enough for a memory without a score for its meaning, because it may have no vector yet.
        alone = bool(look.asked.marks) or memory.id not in meaning
        parts = Likeness(
            worded,
            max(words.values(), default=0.0),
            topic,
            meaning.get(memory.id, 0.0) if compared else None,
            DOUBTED * meaning.get(DOUBT, 0.0),
            memory.category in CORE_CATEGORIES and memory.scope == "user",
            needed,
        )
        close = parts.relevance(words_alone=alone)
        if (close < use.floor and look.missed is None) or is_already_said(look.asked.message, memory.content):
            continue  # it does not help, or the message says it
        if close < use.floor and look.missed is not None:
            look.missed.append(_missed_piece(look, memory, words, parts))
            continue
        value = fact_score(
            close,
            last_seen=parse_store_instant(memory.last_seen),
            now=look.now,
            uses=memory.uses,
            confidence=memory.confidence,
            weights=use,
        )
        reason = _fact_reason(parts, words, topics, whole=look.missed is not None)
        pieces.append(_fact_piece(look, memory, close, value, reason))
    best = sorted(pieces, key=lambda each: (-each.score, each.key))[: use.most]
    # A person who reports a failure needs the one fix that helped, so further results must be very near.
    further = CLEAR if look.asked.marks else min(FURTHER * use.floor, CLEAR)
    return [piece for place, piece in enumerate(best) if not place or piece.near >= (further if place < FEW else CLEAR)]


def _fact_reason(parts: Likeness, words: Mapping[str, float], topics: Iterable[Topic], *, whole: bool) -> str:
    """The reason why a fact is near. ``whole`` adds the figures, for a person who asked for the reasons."""
    reasons = (
        _format_shared_words(words) if words else "",
        f"its topic: {', '.join(topic.name for topic in topics)}" if parts.topic else "",
        "a request that needs it" if parts.needed else "",
        "its meaning" if parts.meaning else "",
        f"({_format_likeness(parts)})" if whole else "",
    )
    return "; ".join(filter(None, reasons))


def _missed_piece(look: ContextLookup, memory: RecallMemory, words: Mapping[str, float], parts: Likeness) -> ContextPiece:
    """A piece for a fact that is not near enough. Its reason has the words that it shares with the message, and the figures."""
    because = (f"{_format_shared_words(words)}, which is too little; " if words else "") + _format_likeness(parts)
    return _fact_piece(look, memory, parts.relevance(), sum(words.values()), because)


def _fact_piece(look: ContextLookup, memory: RecallMemory, near: float, score: float, reason: str) -> ContextPiece:
    return ContextPiece(FACTS, memory.id, memory.line, look.local_day(memory.last_seen), near, score, reason)


def _format_likeness(parts: Likeness) -> str:
    meaning = "meanings not compared" if parts.meaning is None else f"meaning {parts.meaning:.1f} deviations above the others"
    doubt = f", less {parts.doubt:.1f} because the message may ask for nothing remembered" if parts.doubt else ""
    always = ", less because every session starts with it" if parts.always else ""
    needed = f", a request that needs it {parts.needed:.2f}" if parts.needed else ""
    return (
        f"words {parts.words:.2f} (the most telling {parts.telling:.2f}), topic {parts.topic:.2f}{needed}, {meaning}{doubt}{always}"
    )


def _split_shared_words(message: MessageTerms, memory: RecallMemory, words: dict[str, float]) -> tuple[dict[str, float], float]:
    """Two results: the shared ``words`` that occur in the memory itself, and the nearness of the best of its requests."""
    if not (words and memory.needed_for):
        return words, 0.0
    own = set(map(stem, index_words(" ".join((memory.content, *memory.artifacts))).split()))
    asked = message.asked()
    near = (_score_nearness(shared_terms(message, request), set(), request, asked) for request in memory.needed_for)
    return {word: worth for word, worth in words.items() if stem(word) in own}, max(near)


def _score_nearness(words: Mapping[str, float], about: set[str], text: str, asked: list[float]) -> float:
    shared, named = list(words.values()), sum(word in about for word in words)
    return nearness_score(shared, named, len(extract_names(text)), asked) if has_enough_in_common(shared, named) else 0.0


def _find_past_work(look: ContextLookup, message: MessageTerms) -> list[ContextPiece]:
    """Earlier work in this project that shares enough names with the message, of which at least one is in its outcome.

    Work is left out if it has no outcome, if it was on the same request as the message, or if its outcome is already listed.
    """
    shared = _rank_rows(message.notes, message, _SHARED, _NOTES, list)
    asked = message.asked()
    pieces: list[ContextPiece] = []
    results: list[frozenset[str]] = []
    for note in sorted(look.reader.notes(list(shared)), key=lambda each: list(shared).index(each.row)):
        words, result = shared[note.row], tokenize(note.result)
        came = set(index_words(note.result).split())
        if (
            note.session == look.asked.session
            or not note.ended
            or not is_related_work(list(words.values()))
            or came.isdisjoint(words)
            or is_similar_request(look.asked.message, note.asked)
            or any(jaccard_similarity(result, item) > _LIKE for item in results)
        ):
            continue
        close = _score_nearness(words, came, note.text, asked)
        if not close:
            continue
        results.append(result)
        pieces.append(
            ContextPiece(
                PAST, note.key, note.text, look.local_day(note.at), close, sum(words.values()), _format_shared_words(words)
            )
        )
    return pieces


def _format_shared_words(words: Mapping[str, float]) -> str:
    best = sorted(words, key=lambda word: (-words[word], word))[:4]
    return f"it shares {', '.join(best)} with the message"
