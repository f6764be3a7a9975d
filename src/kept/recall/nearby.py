"""What is near to a message: facts by words and by meaning, and what was worked on earlier, where something came of it.

A hook waits for this, so it imports next to nothing. A fact's score is the seed's formula over the better of two likenesses: that
of the words (:mod:`kept.recall.relevance`) and the cosine that somebody who has vectors tells. Texts come from the store alone.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, tzinfo
from time import monotonic
from typing import NamedTuple

from kept.core.fence import FACTS, PAST, ContextPiece
from kept.core.text import index_words, jaccard_similarity, tokenize
from kept.recall.question import telling_words
from kept.recall.relevance import (
    CLEAR,
    DOUBT,
    FEW,
    FURTHER,
    PLAIN,
    PROJECT,
    SEED,
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
from kept.recall.topics import NO_INTENT, Intent, Topic, count_topic_words, detect_intent, topic_phrases
from kept.store.reader import RecallMemory, StoreReader

CORE_CATEGORIES = ("identity", "person", "preference", "preferences", "constraint")  # those of the user's scope are always shown
SECONDS = 0.5  # reading the store may take so long; a hook gives less
_CANDIDATES = 40
_TOPICAL = 60
_ASIDE = 3
_NOTES = 12
_SHARED = 2  # names that what was worked on must share with a message at least
_LIKE = 0.5  # likeness from which two things that were done came to the same
_WORDS = 60
_ENDS = 2_000


class ContextRequest(NamedTuple):
    """What is asked for.

    ``message`` is what the user said (empty at the start of a session), ``directory`` where, ``session`` whose archived turns are
    before the model anyway. ``marks`` are the fingerprints of failures the message tells of. ``core`` asks for what always holds,
    ``days`` for what was worked on in the last days (of that, what a message is about, where there is one). ``told`` are the keys
    of what was shown in the session before. ``client`` decides which files the session has read by itself; ``rules`` asks for the
    rules of the project, which such files would hold, ``whole`` for all that is remembered of the project. ``others`` lets fixes in
    that helped in another project.
    """

    message: str = ""
    directory: str = ""
    session: str = ""
    marks: tuple[str, ...] = ()
    budget: int = 1_200
    core: bool = True
    days: bool = True
    told: frozenset[str] = frozenset()
    client: str = "claude"
    rules: bool = False
    others: bool = True
    whole: bool = False


class RecallEnvironment(NamedTuple):
    """Where it is looked for: the store file, the user's home, the active profiles, the zone whose days are shown, how long
    reading may take.

    ``weights`` are a person's settings of recall.
    """

    store: str
    user: str
    profiles: tuple[str, ...] = ("coding",)
    zone: tzinfo | None = None
    seconds: float = SECONDS
    weights: RecallWeights = SEED


# By how many deviations memories are nearer to a message than others, by id; empty where nobody tells in time.
Meant = Callable[[], Mapping[str, float]]
Nearest = Callable[[list[str]], Meant]  # begins to look among the memories of these scopes


class ContextLookup(NamedTuple):
    """One look into a store: at what, where, for what, when, and the scopes that count, the project's after the user's.

    ``missed`` takes up what is not near enough, for whoever wants to see it; a hook does not.
    """

    reader: StoreReader
    place: RecallEnvironment
    asked: ContextRequest
    now: datetime
    scopes: list[str]
    missed: list[ContextPiece] | None = None

    def is_valid(self, memory: RecallMemory) -> bool:
        """Whether a memory still holds."""
        until = parse_store_instant(memory.valid_until)
        return bool(memory.content) and (until is None or until > self.now)

    def local_day(self, text: str) -> str:
        """The day of an instant in the person's zone; empty where there is none."""
        at = parse_store_instant(text)
        return at.astimezone(self.place.zone).date().isoformat() if at else ""


def parse_store_instant(text: str) -> datetime | None:
    """An instant as the store writes it."""
    return datetime.fromisoformat(text) if text else None


class MessageTerms(NamedTuple):
    """What a message names, each as the forms under which it is found, and what these are worth.

    ``names`` are those that tell something, ``notes`` the rows of what was worked on in the project that has a word. ``intent`` is
    what a message of few words asks for.
    """

    names: tuple[tuple[str, ...], ...]
    worth: dict[str, float]
    said: tuple[tuple[str, ...], ...]
    notes: dict[str, list[int]]
    intent: Intent = NO_INTENT

    def asked(self) -> list[float]:
        """What each name is worth: as much as its best form."""
        return [max(self.worth[word] for word in name) for name in self.names]


def parse_message_terms(look: ContextLookup) -> MessageTerms:
    """What the message names."""
    names = extract_names(look.asked.message)
    notes: dict[str, list[int]] = {}
    worth = _weigh_words(look, names, notes)
    telling = tuple(found for name in names if (found := tuple(word for word in name if worth.get(word, 0.0) >= TELLING)))
    return MessageTerms(telling, worth, names, notes, detect_intent(look.asked.message))


def find_nearby(look: ContextLookup, message: MessageTerms, meant: Meant) -> dict[str, list[ContextPiece]]:
    """The facts, and what was worked on, that are near to the message."""
    return {FACTS: _find_facts(look, message, meant), PAST: _find_past_work(look, message) if message.names else []}


def shared_terms(message: MessageTerms, text: str) -> dict[str, float]:
    """What a message and a text both name, with what that is worth."""
    there = {stem(word) for word in index_words(text).split()}
    shared: dict[str, float] = {}
    for name in message.said:
        found = [word for word in name if stem(word) in there and message.worth.get(word)]
        if found:
            best = max(found, key=lambda word: message.worth[word])
            shared.setdefault(stem(best), message.worth[best])
    return shared


def _weigh_words(look: ContextLookup, names: tuple[tuple[str, ...], ...], notes: dict[str, list[int]]) -> dict[str, float]:
    """What words are worth, by how rare they are in the person's texts and the project's work; ``notes`` is filled."""
    words = list(dict.fromkeys(word for name in names for word in name))[:_WORDS]
    worth = word_weights({word: look.reader.count_texts_with_word(word) for word in words}, look.reader.count_texts())
    of_project = look.scopes[1:]
    count = look.reader.count_notes(of_project) if of_project else 0
    if count:
        notes |= {word: look.reader.note_rows_with_word(word, of_project) for word in words if worth[word] >= TELLING}
    return {word: min(each, word_weight(len(notes.get(word, ())), count, PROJECT)) for word, each in worth.items()}


def extract_names(text: str) -> tuple[tuple[str, ...], ...]:
    """What a text names, each once: a word, or an identifier or path with its parts. Of a long text its ends."""
    whole = text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]} {text[-_ENDS:]}"
    known = {word for half in (whole[:_ENDS], whole[_ENDS:]) for word in telling_words(half) if is_telling_word(word)}
    found = (tuple(word for word in dict.fromkeys(index_words(part).split()) if word in known) for part in whole.split())
    return tuple(dict.fromkeys(item for item in found if item))


def _rank_rows(rows_of: Callable[[str], list[int]], message: MessageTerms, least: int, most: int) -> dict[int, dict[str, float]]:
    """The rows that share at least so many names with the message, most first, each with the shared words and their worth."""
    shared: dict[int, dict[str, float]] = {}
    seen: set[str] = set()
    for name in message.names:
        best: dict[int, str] = {}
        for word in sorted(name, key=lambda each: -message.worth[each]):
            if stem(word) in seen:
                continue  # another form of what is counted already
            seen.add(stem(word))
            for row in rows_of(word):
                best.setdefault(row, word)
        for row, word in best.items():
            shared.setdefault(row, {})[word] = message.worth[word]
    several = [(sum(words.values()), row) for row, words in shared.items() if len(words) >= least]
    return {row: shared[row] for _, row in sorted(several, key=lambda each: (-each[0], each[1]))[:most]}


def _find_facts(look: ContextLookup, message: MessageTerms, meant: Meant) -> list[ContextPiece]:
    profiles, use = list(look.place.profiles), look.place.weights

    def rows_of(word: str) -> list[int]:
        return look.reader.memory_rows_with_word(word, look.scopes, profiles)

    shared = _rank_rows(rows_of, message, 1, _CANDIDATES)
    topics = message.intent.topics
    topical = look.reader.memory_rows_with_phrases(topic_phrases(topics), look.scopes, profiles, _TOPICAL) if topics else []
    asked = message.asked()
    began = monotonic()
    # Everyday words alone ("go with the second option") are about what stands in the conversation.
    meaning = meant() if message.intent.topics or max(asked, default=0.0) > PLAIN else {}
    look.reader.extend_deadline(monotonic() - began)
    rows = dict.fromkeys((*shared, *topical, *look.reader.memory_rows_by_id(list(meaning), look.scopes, profiles)))
    memories = look.reader.memories(list(rows))
    belonging = {memory.row: count_topic_words(memory.line, topics) for memory in memories} if topics else {}
    most = max(belonging.values(), default=0)
    pieces = []
    for memory in memories:
        if (
            not look.is_valid(memory)
            or memory.sessions == {look.asked.session}
            or is_already_said(look.asked.message, memory.content)
        ):
            continue  # what was said in this session is before the model anyway
        words = shared.get(memory.row, {})
        worded = _score_nearness(words, set(index_words(" ".join(memory.artifacts)).split()), memory.content, asked)
        words_of_topic = belonging.get(memory.row, 0)
        aside = words_of_topic * _ASIDE < most  # it names the topic in passing, and others are about it
        topic = 0.0 if aside else topic_nearness(words_of_topic, bare=message.intent.bare)
        # What answers a failure names enough of it: "error" and "host" stand in many.
        compared = bool(meaning) and (not look.asked.marks or bool(topic) or has_enough_in_common([*words.values()], 0))
        # What was not compared has no vector yet, or search finds better ones.
        alone = bool(look.asked.marks) or memory.id not in meaning
        parts = Likeness(
            worded,
            max(words.values(), default=0.0),
            topic,
            meaning.get(memory.id, 0.0) if compared else None,
            meaning.get(DOUBT, 0.0),
            memory.category in CORE_CATEGORIES and memory.scope == "user",
        )
        close = parts.relevance(words_alone=alone)
        if close < use.floor:
            if look.missed is not None:
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
        pieces.append(
            ContextPiece(
                FACTS,
                memory.id,
                memory.line,
                look.local_day(memory.last_seen),
                close,
                value,
                _fact_reason(parts, words, topics, whole=look.missed is not None),
            )
        )
    best = sorted(pieces, key=lambda each: (-each.score, each.key))[: use.most]
    # Who tells of a failure looks for the one thing that helped.
    further = CLEAR if look.asked.marks else min(FURTHER * use.floor, CLEAR)
    return [piece for place, piece in enumerate(best) if not place or piece.near >= (further if place < FEW else CLEAR)]


def _fact_reason(parts: Likeness, words: Mapping[str, float], topics: Iterable[Topic], *, whole: bool) -> str:
    """Why a fact is near; the ``whole`` of it for a person who asks."""
    return "; ".join(
        filter(
            None,
            (
                _format_shared_words(words) if words else "",
                f"its topic: {', '.join(topic.name for topic in topics)}" if parts.topic else "",
                "its meaning" if parts.meaning else "",
                f"({_format_likeness(parts)})" if whole else "",
            ),
        )
    )


def _missed_piece(look: ContextLookup, memory: RecallMemory, words: Mapping[str, float], parts: Likeness) -> ContextPiece:
    """A fact that is not near enough, with what it has in common with the message all the same."""
    because = (f"{_format_shared_words(words)}, which is too little; " if words else "") + _format_likeness(parts)
    return ContextPiece(
        FACTS, memory.id, memory.line, look.local_day(memory.last_seen), parts.relevance(), sum(words.values()), because
    )


def _format_likeness(parts: Likeness) -> str:
    meaning = "meanings not compared" if parts.meaning is None else f"meaning {parts.meaning:.1f} deviations above the others"
    doubt = f", less {parts.doubt:.1f} because the message may ask for nothing remembered" if parts.doubt else ""
    always = ", less because every session starts with it" if parts.always else ""
    return f"words {parts.words:.2f} (the most telling {parts.telling:.2f}), topic {parts.topic:.2f}, {meaning}{doubt}{always}"


def _score_nearness(words: Mapping[str, float], about: set[str], text: str, asked: list[float]) -> float:
    shared, named = list(words.values()), sum(word in about for word in words)
    return nearness_score(shared, named, len(extract_names(text)), asked) if has_enough_in_common(shared, named) else 0.0


def _find_past_work(look: ContextLookup, message: MessageTerms) -> list[ContextPiece]:
    """What was worked on earlier in this project that shares enough with the message, where the names of both are in what came of
    it.

    A request alone tells a session nothing, the same request again as little, and what came of it but once.
    """
    shared = _rank_rows(lambda word: message.notes.get(word, []), message, _SHARED, _NOTES)
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
