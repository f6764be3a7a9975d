"""Errors that a person pastes into a prompt (logs, stack traces), with the cause the assistant found and how the person took it.

There is no second run to compare with: the person's next words decide, and a check that passes after the change helps.
"""

from collections.abc import Iterator, Sequence

import re2

from kept.model.event import Author, Event, Kind
from kept.model.failure import error_lines, fingerprint, fingerprints, readable, weight
from kept.stages.extract.actions import Command, Edit, changed_line, configures
from kept.stages.extract.causes import cause_in, confirms, denies, lasting, plain, remedy_in, words_of
from kept.stages.extract.pairs import LOOKBACK, checks, said_between
from kept.stages.extract.phrasing import compose
from kept.stages.extract.remedies import Fix, written

_PROMPTS = 12  # prompts after a pasted error among which it can be confirmed as mended
_CHARS = 8_000
_STRONG = 5
_SHOWN = re2.compile(r"(?m)^[ \t]*(?:[$❯%>]|PS [^>\n]{1,60}>)[ \t]+\S[^\n]{1,200}\n+[ \t]*(\S[^\n]{10,200})$")
_TROUBLE = re2.compile(r"(?i)error|fail|fehler|erreur|erro\b|错误|エラー")


def fixes_of(events: Sequence[Event], commands: Sequence[Command], edits: Sequence[Edit], low: int, high: int) -> Iterator[Fix]:
    """The fixes of pasted errors in ``events[low:high]``, in the order of the prompts."""
    prompts = [place for place in range(low, high) if events[place].kind is Kind.PROMPT and events[place].author is Author.HUMAN]
    for index, place in enumerate(prompts):
        error = pasted(events[place].text)
        if error:
            answers = [
                each
                for each in prompts[index + 1 : index + 1 + _PROMPTS]
                if events[each].session == events[place].session and each - place <= LOOKBACK
            ]
            for end, confirmed in _ends(events, answers, error):
                fix = _fix(events, commands, edits, place=place, end=end, error=error, confirmed=confirmed)
                if fix is not None:
                    yield fix


def pasted(text: str) -> str:
    """The line of a prompt that tells a pasted error, or an empty string. A prompt of one line must name a typed error."""
    lines = [line for line in error_lines(text) if weight(line) >= _STRONG and not line.endswith("?")]
    first = min(lines, key=text.find, default="")
    if first and (weight(first) > _STRONG or "\n" in text.strip()):
        return first
    shown = _SHOWN.search(text[:_CHARS]) if _TROUBLE.search(text[:_CHARS]) else None
    return str(shown[1]).strip() if shown else ""


def _ends(events: Sequence[Event], answers: Sequence[int], error: str) -> Iterator[tuple[int, bool]]:
    """The prompts that let a pasted error rest: the first one that does not deny it, and the one that says it works."""
    mark = fingerprint(error)
    for number, place in enumerate(answers):
        text = events[place].text
        if mark in fingerprints(text) or denies(text):
            return
        if confirms(text):
            yield place, True
            return
        if number == 0:
            yield place, False
        if pasted(text):
            return


def _fix(
    events: Sequence[Event],
    commands: Sequence[Command],
    edits: Sequence[Edit],
    *,
    place: int,
    end: int,
    error: str,
    confirmed: bool,
) -> Fix | None:
    session = events[place].session
    said = said_between(events, place, end)
    about = words_of(readable(error))
    causes = [(event, found, kept) for event in said if (found := cause_in(event.text, about=about)) and (kept := lasting(found))]
    changes = [each for each in edits if place < each.place < end and each.call.session == session]
    ran = [each for each in commands if place < each.place < end and each.call.session == session]
    if not (changes or ran):
        return None
    cause = causes[-1] if causes else None
    told = next(((event, found) for event in said if (found := remedy_in(event.text)) and not (cause and found == cause[1])), None)
    configured = bool(changes) and all(configures(each.path) for each in changes)
    change = next(((each, found) for each in changes if (found := written(each, error))), None) if configured else None
    if cause is None and change is None:
        return None
    remedy = plain(told[1]) if told else change[1] if change else ""
    fresh = {each.path for each in changes} & {each.path for each in edits if each.place < place and each.call.session == session}
    checked = bool(changes) and any(each.place > changes[0].place and checks(each) for each in ran)
    signals = (
        *("pasted by the user", "error text"),
        *(("cause stated",) if cause else ()),
        *(("something was changed",) if changes else ()),
        *(("remedy stated",) if remedy else ()),
        *(("configuration changed",) if change else ()),
        *(("a check passes after the change",) if checked else ()),
        *(("the code was written just before",) if fresh else ()),
        *(("the user says it works",) if confirmed else ()),
    )
    content = compose(error, "", remedy=remedy, cause=cause[2] if cause else "")
    quotes = (
        (events[place], error),
        *((cause[:2],) if cause else ()),
        *((told,) if told else ()),
        *(((change[0].call, changed_line(change[0])),) if change else ()),
        *(((events[end], events[end].text.strip()),) if confirmed else ()),
    )
    return Fix(error=error, content=content, signals=signals, quotes=quotes, success=events[end])
