"""What to put before a session: what always holds, the last days, what helped against this failure, what is near to the message.

A hook waits for this: it and everything below it imports next to nothing and reads the store within a deadline. By words and failure
fingerprints alone; who has vectors gives them as ``nearest``.
"""

import os
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from kept.adapters.glance import Glance, Known
from kept.model.context import CORE, DAYS, FACTS, FIXES, PAST, Context, Piece
from kept.model.text import index_words
from kept.stages.recall.question import telling_words
from kept.stages.recall.scoring import fact_score
from kept.stages.relevance import TELLING, enough, nearness, stem, tells, weights
from kept.stages.sandwich import sandwich

CORE_CATEGORIES = ("identity", "person", "preference", "preferences", "constraint")  # those of the user's scope are always shown
NOTHING = Context((), 0, {})
SECONDS = 0.5  # reading the store may take so long; a hook gives less
_CANDIDATES = 40
_NOTES = 12
_ALIKE = 4  # names that what was worked on must share with a message: with fewer a reader found most of it beside the point
_DONE = 2  # the weight from which on something was done and not only asked
_WORDS = 60
_ENDS = 2_000


class Asked(NamedTuple):
    """What is asked for.

    ``message`` is what the user said (empty at the start of a session), ``directory`` where, ``session`` whose archived turns are
    before the model anyway. ``marks`` are the fingerprints of failures the message tells of. ``core`` asks for what always holds,
    ``told`` are the keys of what was shown in the session before. ``client`` decides which files the session has read by itself.
    """

    message: str = ""
    directory: str = ""
    session: str = ""
    marks: tuple[str, ...] = ()
    budget: int = 1_200
    core: bool = True
    told: frozenset[str] = frozenset()
    client: str = "claude"


class Weights(NamedTuple):
    """What the seed's formula weighs with."""

    recent_boost: float = 0.1
    recent_days: float = 7.0
    use_boost: float = 0.05


_WEIGHTS = Weights()


class Place(NamedTuple):
    """Where it is looked for: the store file, the user's home, the profiles at work, the zone whose days are shown, how long reading may take."""

    store: str
    user: str
    profiles: tuple[str, ...] = ("coding",)
    zone: tzinfo | None = None
    seconds: float = SECONDS


Nearest = Callable[[list[str]], list[Piece]]


def assemble(place: Place, asked: Asked, *, now: datetime, scope: str = "", nearest: Nearest | None = None) -> Context:
    """The context for a message; nothing where the store cannot be read in time. ``scope`` is that of the directory where it is known.

    ``nearest`` gives the facts that are near by meaning, given the scopes to look in. Raises StoreError where there is a store that cannot be read.
    """
    if not os.path.isfile(place.store):  # noqa: PTH113 - pathlib takes longer to import than a search takes
        return NOTHING
    with closing(Glance(place.store, place.seconds)) as glance:
        found = scope or (glance.scope(asked.directory) if asked.directory else "")
        look = _Look(glance, place, asked, now, ["user", *([found] if found and found != "user" else [])])
        offered = {
            FIXES: [_fix(look, each) for each in glance.fixes(list(asked.marks))],
            CORE: _core(look) if asked.core else [],
            DAYS: _days(look) if asked.core else [],
            **_near(look),
        }
        if nearest is not None and asked.message:
            offered[FACTS] = _merged(offered.get(FACTS, []), nearest(look.scopes))
        keys, texts = _present(glance, asked, place.user)
    return sandwich(offered, budget=asked.budget, present=texts, told=asked.told | keys)


class _Look(NamedTuple):
    glance: Glance
    place: Place
    asked: Asked
    now: datetime
    scopes: list[str]


def _alive(look: _Look, memory: Known) -> bool:
    until = _instant(memory.valid_until)
    return bool(memory.content) and (until is None or until > look.now)


def _instant(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _day(look: _Look, text: str) -> str:
    at = _instant(text)
    return at.astimezone(look.place.zone).date().isoformat() if at else ""


def _fix(look: _Look, memory: Known) -> Piece:
    where = "" if memory.scope in look.scopes else f" [{look.glance.names([memory.scope]).get(memory.scope, 'another project')}]"
    reason = f"the message tells of the same failure{where and ', met in another project'}"
    return Piece(
        FIXES, memory.id, memory.content + where, _day(look, memory.last_seen), 1.0, memory.confidence - bool(where), reason
    )


def _core(look: _Look) -> list[Piece]:
    found = look.glance.core(look.scopes, list(CORE_CATEGORIES), list(look.place.profiles))
    return [
        Piece(
            CORE, each.id, each.content, _day(look, each.last_seen), 1.0, each.pinned + each.confidence * min(1.0, 0.8 + each.observations / 50),
            "pinned" if each.pinned else f"a {each.category} that holds everywhere",
        )
        for each in found
        if _alive(look, each)
    ]  # fmt: skip


def _days(look: _Look) -> list[Piece]:
    """What was worked on in this project today and yesterday, other sessions' only, where something came of it."""
    today = look.now.astimezone(look.place.zone).replace(hour=0, minute=0, second=0, microsecond=0)
    start = (today - timedelta(days=1)).astimezone(UTC)
    if len(look.scopes) < 2:
        return []
    return [
        Piece(
            DAYS,
            each.key,
            each.text,
            _day(look, each.at),
            1.0,
            float(each.weight),
            "worked on in this project in the last two days",
        )
        for each in look.glance.notes_between(_text(start), _text(look.now), look.scopes[1:])
        if each.session != look.asked.session and each.ended and each.weight >= _DONE
    ]


def _text(instant: datetime) -> str:
    """An instant as the store writes it."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class _Message(NamedTuple):
    """The telling names and words of a message: each as the forms under which it is found, and what they are worth."""

    names: tuple[tuple[str, ...], ...]
    worth: dict[str, float]

    def value(self, name: tuple[str, ...]) -> float:
        """What a name is worth: as much as its best form."""
        return max(self.worth[word] for word in name)


def _near(look: _Look) -> dict[str, list[Piece]]:
    """The facts and turns that share enough telling words with the message."""
    names = names_in(look.asked.message)
    words = list(dict.fromkeys(word for name in names for word in name))[:_WORDS]
    worth = weights({word: look.glance.count(word) for word in words}, look.glance.texts()) if len(names) > 1 else {}
    telling = tuple(found for name in names if (found := tuple(word for word in name if worth.get(word, 0.0) >= TELLING)))
    if len(telling) < 2:
        return {}
    message = _Message(telling, worth)
    return {FACTS: _facts(look, message), PAST: _past(look, message)}


def names_in(text: str) -> tuple[tuple[str, ...], ...]:
    """What a text names, each once: a word, or an identifier or path with its parts. Of a long text its ends."""
    whole = text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]} {text[-_ENDS:]}"
    known = {word for half in (whole[:_ENDS], whole[_ENDS:]) for word in telling_words(half) if tells(word)}
    found = (tuple(word for word in dict.fromkeys(index_words(each).split()) if word in known) for each in whole.split())
    return tuple(dict.fromkeys(each for each in found if each))


def _gathered(rows_of: Callable[[str], list[int]], message: _Message, least: int, most: int) -> dict[int, dict[str, float]]:
    """The rows that share at least so many names with the message, those first that share most; each with the shared words and their worth."""
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


def _facts(look: _Look, message: _Message) -> list[Piece]:
    def rows_of(word: str) -> list[int]:
        return look.glance.memories_of(word, look.scopes, list(look.place.profiles))

    shared = _gathered(rows_of, message, 2, _CANDIDATES)
    pieces = []
    for memory in look.glance.memories(list(shared)):
        if not _alive(look, memory) or memory.sessions == {look.asked.session}:
            continue  # what was said in this session is before the model anyway
        words = shared[memory.row]
        about = set(index_words(" ".join(memory.artifacts)).split())
        named = sum(word in about for word in words)
        if not enough(list(words.values()), named):
            continue
        near = nearness(list(words.values()), named, len(names_in(memory.content)), _asked(message))
        value = fact_score(
            near,
            last_seen=_instant(memory.last_seen),
            now=look.now,
            uses=memory.uses,
            confidence=memory.confidence,
            weights=_WEIGHTS,
        )
        pieces.append(Piece(FACTS, memory.id, memory.content, _day(look, memory.last_seen), near, value, _because(words)))
    return pieces


def _merged(worded: list[Piece], meant: list[Piece]) -> list[Piece]:
    """Facts that are near by words or by meaning, each once, with the better of its scores."""
    best = {each.key: each for each in sorted((*worded, *meant), key=lambda each: each.score)}
    return list(best.values())


def _asked(message: _Message) -> list[float]:
    return [message.value(name) for name in message.names]


def _past(look: _Look, message: _Message) -> list[Piece]:
    """What was worked on earlier in this project that shares enough with the message, where something tells what came of it.

    A request alone tells a session nothing, and the same request is often made many times.
    """
    if len(look.scopes) < 2:
        return []

    def rows_of(word: str) -> list[int]:
        return look.glance.notes_of(word, look.scopes[1:])

    shared = _gathered(rows_of, message, _ALIKE, _NOTES)
    pieces = []
    for note in look.glance.notes(list(shared)):
        words = shared[note.row]
        about = set(index_words(" ".join(each for each in note.text.split() if not each.strip(".,:;!?()").isalpha())).split())
        named = sum(word in about for word in words)
        if note.session == look.asked.session or not note.ended or not enough(list(words.values()), named):
            continue
        near = nearness(list(words.values()), named, len(names_in(note.text)), _asked(message))
        pieces.append(Piece(PAST, note.key, note.text, _day(look, note.at), near, near, _because(words)))
    return pieces


def _because(words: dict[str, float]) -> str:
    best = sorted(words, key=lambda word: (-words[word], word))[:4]
    return f"it shares {', '.join(best)} with the message"


def _present(glance: Glance, asked: Asked, user: str) -> tuple[frozenset[str], list[str]]:
    """What the session has read by itself: keys of memories, and the words of other lines, in kept's files that the client loads."""
    keys: set[str] = set()
    texts: list[str] = []
    if asked.client != "claude":
        return frozenset(), []
    for path, lines in glance.outputs():
        folder = os.path.dirname(path)  # noqa: PTH120 - as above
        own = path.startswith(f"{user}/.claude/")
        if own or asked.directory == folder or asked.directory.startswith(f"{folder}/"):
            keys.update(key for key, _ in lines if key and ":" not in key)
            texts += [text.removeprefix("- ") for key, text in lines if not key and text.strip()]
    return frozenset(keys), texts


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


__all__ = ["NOTHING", "Asked", "Place", "assemble", "utc_now"]
