"""Causes that the assistant stated and then acted on, as known fixes: what was wrong, and where it was put right.

A cause counts when a file was changed for it in the same exchange and the person's next words do not deny it, or a check passed. Where
nothing was changed, only the person's own "that's it" makes the setting that was suggested a fix. Knows nothing of error texts:
failures that can be paired with a success are the business of ``fixes``.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import re2

from kept.model.artifact import artifacts
from kept.model.codec import digest
from kept.model.event import Author, Event, Kind, least
from kept.model.failure import fingerprint, readable
from kept.model.lexicon import Lexicon
from kept.model.memory import Candidate
from kept.model.profile import Profile
from kept.model.text import one_line
from kept.stages.extract.actions import Command, Done, Edit, actions_of
from kept.stages.extract.causes import (
    announces,
    blames,
    cause_in,
    confirms,
    dangles,
    denies,
    lasting,
    plain,
    plain_marks,
    sentences,
    usable,
    words_of,
)
from kept.stages.extract.cues import has, specific, strip_first
from kept.stages.extract.fixes import CATEGORY, TRIGGER
from kept.stages.extract.pairs import checks
from kept.stages.extract.pasted import pasted
from kept.stages.extract.phrasing import compose, shown_error
from kept.stages.extract.prose import Voice, passages
from kept.stages.extract.turn import evidence_of
from kept.stages.extract.view import LOOKBACK, is_prompt

BASE = 0.3
SIGNALS = {
    "cause announced": 0.15,
    "cause under its own heading": 0.2,
    "trouble reported": 0.15,
    "changed afterwards": 0.1,
    "a check passes after the change": 0.1,
    "names artifacts": 0.1,
    "the person moves on": 0.1,
    "the person says it works": 0.2,
    "written in the same exchange": -0.2,
    "only says how it is made": -0.2,
}
_CEILING = 0.95
# Below this it would only fill the review.
LEAST = 0.65
_LONGEST = 300
_REACH = 4  # prompts in which an error that was pasted can still be what the assistant explains
_CAUSE_CHARS = 230
_PLACES = re2.compile(
    r"\s*\((?:lines? |[\w./-]+:)\d[\d, :–-]*\)|\s+(?:in|at|of) (?:step|phase) \d+\b|\s*(?:[—–-] )?\blines? \d+(?:[-–]\d+)?|\s*[✅❌✓✗⚠️]+"
)
# A consequence that was expected is no cause.
_EXPECTED = re2.compile(r"(?i)\bshould (?:be|have|work|pick|still|already|now|match)\b|^(?:doesn|don|isn|aren|can|won|wasn)['’]t\b")
_BECAUSE = re2.compile(r"(?i)^(?:so|this|that|it|and|but|which)\b")
_SET_TO = re2.compile(
    r"`([A-Za-z][\w-]*(?:\.[\w-]+)+|[A-Z][A-Z0-9_]{3,})`[^`]{0,100}?\b(?:[Ss]et(?:ting)?|[Cc]hange|[Tt]urn)\b[^`]{0,25}\bto `([^`\n]{1,40})`"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stated:
    """A cause as it was stated: the event, the verbatim pieces, the pieces of its remedy, and whether it had a heading."""

    event: Event
    place: int
    cause: tuple[str, ...]
    remedy: str
    headed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Exchange:
    """A prompt's exchange ``[begin, end)``, what was done in it, and the prompt that follows (None: not seen)."""

    begin: int
    end: int
    follower: Event | None
    edits: tuple[Edit, ...]
    commands: tuple[Command, ...]


def propose(
    events: Sequence[Event],
    start: int,
    stop: int,
    *,
    profile: Profile,
    lexicon: Lexicon,
    scope: Callable[[str], str],
    done: Done | None = None,
) -> tuple[Candidate, ...]:
    """The candidates of category ``known_fix`` whose exchange ends in ``[start, stop)``, or is the last one of it; looks back only."""
    if profile.category_for(CATEGORY) is None:
        return ()
    low = max(0, start - LOOKBACK)
    prompts = [place for place in range(low, stop) if is_prompt(events[place])]
    commands, edits = done or actions_of(events, low, stop)
    found: list[Candidate] = []
    for number, begin in enumerate(prompts):
        end = prompts[number + 1] if number + 1 < len(prompts) else stop
        if end < start or (end == stop and begin < start and stop == start):
            continue
        follower = events[end] if end < stop else None
        if end >= start and (follower is not None or begin >= start):
            exchange = _Exchange(
                begin=begin,
                end=end,
                follower=follower,
                edits=tuple(each for each in edits if begin < each.place < end),
                commands=tuple(each for each in commands if begin < each.place < end),
            )
            candidate = _mended(events, exchange, profile, lexicon, scope) or _relieved(events, exchange, profile, lexicon, scope)
            found += [candidate] if candidate else []
    return tuple(found)


def _mended(
    events: Sequence[Event], exchange: _Exchange, profile: Profile, lexicon: Lexicon, scope: Callable[[str], str]
) -> Candidate | None:
    """The cause that an exchange stated last and changed a file for."""
    asked, follower = events[exchange.begin], exchange.follower
    if not exchange.edits or (follower is not None and disputes(follower.text, asked.text, lexicon)):
        return None
    stated = _last_stated(events, exchange, lexicon)
    if stated is None:
        return None
    changed = [each for each in exchange.edits if stated.headed or each.place > stated.place]
    changed = [each for each in changed if not _beside(each.path)] or changed
    if not changed:
        return None
    content = _content(stated, changed[0].path, lexicon)
    error = _error_before(events, exchange) if content else ""
    if error and (_lasts(events, exchange, error) or len(content) + len(shown_error(error)) > _LONGEST - 6):
        return None  # it pairs with the error, or cannot be told with it
    if error:
        content = compose(error, "", remedy="", cause=content)
    if not content:
        return None
    in_trouble = troubled(asked.text, lexicon)
    passed = any(each.place > changed[0].place and checks(each) for each in exchange.commands)
    fresh = [each for each in exchange.edits if each.place < stated.place]
    if follower is None and not passed:
        return None  # whether the person takes it is not known yet: their next words may stand in another episode
    signals = (
        "cause under its own heading" if stated.headed else "cause announced",
        "changed afterwards",
        *(("trouble reported",) if in_trouble else ()),
        *(("a check passes after the change",) if passed else ()),
        *(("names artifacts",) if len(artifacts(" ".join(stated.cause))) > 1 else ()),
        *(("written in the same exchange",) if fresh and not stated.headed and not in_trouble else ()),
        *(("only says how it is made",) if not (in_trouble or error or stated.remedy or blames(" ".join(stated.cause))) else ()),
        *_outcome(follower),
    )
    quotes = [(stated.event, piece) for piece in stated.cause]
    quotes += [(stated.event, stated.remedy)] if stated.remedy and plain(stated.remedy).rstrip(".") in content else []
    quotes += [(changed[0].call, changed[0].path)]
    quotes += [(each, error) for each in events[: exchange.end] if error and is_prompt(each) and error in each.text][-1:]
    anchor = stated.event if follower is None else follower
    return _candidate(
        content, signals, quotes, anchor, profile, where=scope(anchor.project), mark=fingerprint(error) if error else ""
    )


def _error_before(events: Sequence[Event], exchange: _Exchange) -> str:
    """The error that the person pasted last, in this exchange or the few before it, and that nothing has mended since."""
    prompts = [each for each in events[: exchange.begin + 1] if is_prompt(each) and each.session == events[exchange.begin].session]
    for each in prompts[: -_REACH - 1 : -1]:
        error = pasted(each.text)
        if error or confirms(each.text):
            return error
    return ""


def _lasts(events: Sequence[Event], exchange: _Exchange, error: str) -> bool:
    """Whether the exchange states a cause of the error that stays true: then it is told with the error as its fix."""
    about = words_of(readable(error))
    said = (each.text for each in events[exchange.begin : exchange.end] if each.kind is Kind.RESPONSE)
    return any(lasting(cause) for text in said if (cause := cause_in(text, about=about)))


def _relieved(
    events: Sequence[Event], exchange: _Exchange, profile: Profile, lexicon: Lexicon, scope: Callable[[str], str]
) -> Candidate | None:
    """The setting that the assistant suggested last, where the person says that this was it."""
    follower = exchange.follower
    if follower is None or exchange.edits or not (confirms(follower.text[:160]) or has(lexicon.relief, follower.text[:80])):
        return None
    if has(lexicon.refusal, follower.text):
        return None
    for place in range(exchange.end - 1, exchange.begin, -1):
        event = events[place]
        if event.kind is Kind.RESPONSE and event.author is Author.ASSISTANT:
            suggested = _SET_TO.search(event.text[-8_000:])
            if suggested is None:
                return None
            trouble = _trouble(events, exchange, lexicon)
            if not trouble:
                return None
            told, words = trouble
            content = f"{words}: {lexicon.phrase('set')} `{suggested[1]}` {lexicon.phrase('to')} `{suggested[2]}`."
            quotes = [(told, words), (event, suggested[0]), (follower, follower.text.strip().split("\n", 1)[0])]
            signals = ("trouble reported", "names artifacts", "the person says it works")
            return _candidate(content[:1].upper() + content[1:], signals, quotes, follower, profile, where=scope(follower.project))
    return None


def _trouble(events: Sequence[Event], exchange: _Exchange, lexicon: Lexicon) -> tuple[Event, str] | None:
    """What the person said was wrong: the last "why …" of theirs before the relief, without its question words."""
    for place in range(exchange.begin, max(-1, exchange.begin - LOOKBACK), -1):
        event = events[place]
        if not is_prompt(event) or event.session != events[exchange.begin].session:
            continue
        for piece in sentences(event.text):
            words = strip_first(lexicon.wonder, piece)
            if words != piece and 4 <= len(words.split()) <= 25 and not has(lexicon.profanity, words):
                return event, words.rstrip("?!. ")
    return None


def _last_stated(events: Sequence[Event], exchange: _Exchange, lexicon: Lexicon) -> _Stated | None:
    """The last cause that the exchange states; one under a heading of its own comes before all others."""
    found: list[_Stated] = []
    for place in range(exchange.begin + 1, exchange.end):
        event = events[place]
        if event.kind is Kind.RESPONSE and event.author is Author.ASSISTANT:
            acted = place + 1 < exchange.end and events[place + 1].kind is Kind.TOOL_CALL
            found += _stated_in(event, place, lexicon, acted=acted)
    headed = [each for each in found if each.headed]
    return next(iter(headed[::-1] or found[::-1]), None)


def _stated_in(event: Event, place: int, lexicon: Lexicon, *, acted: bool) -> Iterator[_Stated]:
    pieces = sentences(event.text)
    cleans = [plain_marks(piece) for piece in pieces]
    remedy = next(iter(_under(lexicon.remedy_label, pieces, cleans, lexicon)), "")
    headed = _under(lexicon.cause_label, pieces, cleans, lexicon)
    if headed:
        yield _Stated(event=event, place=place, cause=headed, remedy=remedy, headed=True)
        return
    for number, clean in enumerate(cleans):
        pointed = announces(clean, alone=True)
        if not (pointed or announces(clean, alone=False)) or number + pointed >= len(pieces):
            continue
        first = number + pointed
        run = _run(pieces, cleans, first, lexicon)
        if run:
            yield _Stated(event=event, place=place, cause=run, remedy=remedy, headed=False)
            return
    mends = next((number for number, clean in enumerate(cleans) if number and has(lexicon.mends, clean)), 0)
    if acted and mends:
        first = next((number for number in range(mends) if artifacts(cleans[number]) and has(lexicon.lack, cleans[number])), -1)
        run = _run(pieces[:mends], cleans[:mends], first, lexicon) if first >= 0 else ()
        if run:
            yield _Stated(event=event, place=place, cause=run, remedy=remedy, headed=False)


def _under(label: str, pieces: Sequence[str], cleans: Sequence[str], lexicon: Lexicon) -> tuple[str, ...]:
    """The pieces under the last heading of a kind, up to the next heading, that can be told elsewhere."""
    for number in range(len(pieces) - 1, -1, -1):
        rest = strip_first(label, cleans[number])
        if rest == cleans[number] or not _is_heading(pieces[number]):
            continue
        run: list[str] = []
        for piece, clean in zip(pieces[number + 1 :], cleans[number + 1 :], strict=True):
            if _is_heading(piece) or sum(len(each) for each in run) + len(clean) > _CAUSE_CHARS:
                break
            if not _tells(clean, lexicon, loose=True) or has(lexicon.mends, clean):
                break
            run.append(piece)
        if run:
            return tuple(run)
    return ()


def _is_heading(piece: str) -> bool:
    """Whether a piece is a heading: marked as one, in bold, or a few words that end no sentence."""
    bare = piece.strip()
    marked = bare.startswith("#") or (bare.startswith("**") and bare.rstrip(":").endswith("**"))
    return marked or (len(bare.split()) <= 5 and not bare.startswith(("-", "*", "•")) and bare[-1:] not in ".!?。")


def _run(pieces: Sequence[str], cleans: Sequence[str], first: int, lexicon: Lexicon) -> tuple[str, ...]:
    """The sentences from ``first`` on that state one cause: at most three, until the assistant turns to what it will do."""
    run: list[str] = []
    for number in range(first, min(first + 3, len(pieces))):
        clean = cleans[number]
        told = _BECAUSE.sub("", clean).strip() if run else clean
        stops = has(lexicon.mends, clean) or not _tells(told, lexicon, loose=number == first)
        if stops or _is_heading(pieces[number]) or sum(len(each) for each in run) + len(clean) > _CAUSE_CHARS:
            break
        run.append(pieces[number])
    return tuple(run)


def _tells(clean: str, lexicon: Lexicon, *, loose: bool) -> bool:
    """Whether a sentence states how something is, surely and by itself."""
    sure = not has(lexicon.hedge, clean) and not _EXPECTED.search(clean) and not (loose and dangles(clean))
    return sure and usable(clean, loose=loose, least=4)


def _content(stated: _Stated, path: str, lexicon: Lexicon) -> str:
    listed = any(piece.lstrip().startswith(("-", "*", "•")) for piece in stated.cause[1:])
    told = [one_line(_PLACES.sub("", plain(piece))).strip() for piece in stated.cause]
    text = "; ".join(each.rstrip(" .;:") for each in told) if listed else " ".join(_closed(each) for each in told)
    text = _closed(text)
    named = bool(artifacts(text)) or (stated.headed and specific(text, lexicon))
    if not named or has(lexicon.agent_talk, text) or has(lexicon.own_slip, text):
        return ""
    remedy = one_line(_PLACES.sub("", plain(stated.remedy))).strip() if stated.remedy else ""
    if remedy and len(text) + len(remedy) + 8 <= _LONGEST and remedy.rstrip(".") not in text:
        text = f"{text} {lexicon.phrase('fix')}: {_closed(remedy)}"
    name = "/".join(path.replace("\\", "/").split("/")[-2:])
    if len(text) + len(name) + 16 <= _LONGEST and name.rsplit("/", 1)[-1] not in text and "`" not in name:
        text = f"{text[:-1]} ({lexicon.phrase('fixed in')} `{name}`)."
    return text if len(text) <= _LONGEST and text.count("`") % 2 == 0 else ""


def _beside(path: str) -> bool:
    """Whether a file only tests or describes the thing that was mended."""
    name = path.replace("\\", "/").casefold()
    return "test" in name.rsplit("/", 1)[-1] or "/tests/" in name or name.endswith((".md", ".txt", ".lock", "ignore"))


def _closed(text: str) -> str:
    text = text.rstrip(" :;,!")
    return text if text.endswith((".", "。", "…")) else f"{text}."


def _outcome(follower: Event | None) -> tuple[str, ...]:
    if follower is None:
        return ()
    return ("the person says it works",) if confirms(follower.text) else ("the person moves on",)


def disputes(text: str, asked: str, lexicon: Lexicon) -> bool:
    """Whether the person's next words deny that it is mended, tell of trouble again, or say the same once more."""
    if confirms(text):
        return False
    again = one_line(text) == one_line(asked)
    told = f"{text[:300]} {text[300:][-100:]}"
    unsettled = any(has(cue, told) for cue in (lexicon.defect, lexicon.expletive, lexicon.correction_start))
    return again or unsettled or denies(text) or has(lexicon.refusal, text) or bool(pasted(text))


def troubled(text: str, lexicon: Lexicon) -> bool:
    """Whether a prompt reports that something is wrong, in the person's words or in those of a review they pass on."""
    told = has(lexicon.defect, text[:4_000]) or bool(pasted(text)) or has(lexicon.correction, text[:4_000])
    return told or any(each.voice is Voice.REPORTED for each in passages(text, lexicon))


def _candidate(
    content: str,
    signals: tuple[str, ...],
    quotes: Sequence[tuple[Event, str]],
    anchor: Event,
    profile: Profile,
    *,
    where: str,
    mark: str = "",
) -> Candidate | None:
    sure = round(min(_CEILING, BASE + sum(SIGNALS[each] for each in signals)), 2)
    evidence = tuple(evidence_of(event, quote.strip()) for event, quote in quotes if quote.strip())
    if sure < LEAST or not evidence:
        return None
    return Candidate(
        id=digest(profile.id, CATEGORY, where, TRIGGER, anchor.key, content),
        profile=profile.id,
        category=CATEGORY,
        scope=where,
        content=content,
        confidence=sure,
        trigger=TRIGGER,
        at=anchor.at,
        origin=least(tuple(each.origin for each in evidence)),
        artifacts=artifacts(content),
        evidence=evidence,
        reasoning="; ".join(signals),
        fingerprint=mark,
    )
