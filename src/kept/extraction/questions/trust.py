"""Trust: decide which rewordings are refused, who is the author of a claim, and whether a claimed fix names the step that helped.

A claim is judged by the events it cites and those around them. Neither the model nor a tool's text is trusted. The step that helped
is a command or change made in the session, or one that the person names.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kept.core.artifact import find_artifacts
from kept.core.error_fingerprint import error_message, find_error_lines
from kept.core.event import Author, Event, EventKind, Origin, least_trusted
from kept.core.memory import Evidence
from kept.core.pattern import Pattern, compile_late
from kept.core.spans import quote_origin, typed_text
from kept.core.statement import find_content
from kept.core.text import is_cjk, one_line
from kept.extraction.questions.support import (
    drops_markers,
    find_distortion,
    find_whole_sentences,
    has_other_order,
    is_inflected,
    is_qualified,
    locate,
    measure_support,
    opens_with_denial,
)
from kept.extraction.rules.harms import cut_error_prose, has_prose, installs_unnamed_package, is_harmful_command
from kept.extraction.rules.patterns import compile_pattern, list_texts, skip_filler
from kept.profiles.lexicons import Lexicon, number_words

_PASSAGE = Pattern(r"`([^`\n]{2,300})`")
_ADDRESS = Pattern(r"(?:https?|ftp|git|ssh)://[^\s`'\")>]*[^\s`'\")>.,:;!?]")
_ORDERED = Pattern(
    r"(?i)\b(?:run|running|ran|execute|executing|use|using|type|call|install|installing|set|setting|add|adding|führe"
    r"|starte|exécute\w*|ejecuta\w*|execute)\s+[\"'“]?(\S+(?: \S+)?)"
)
_INSTALLED = Pattern(r"[\w.-]+ (?:-m pip |tool |pip )?(?:install|add|i|get|require) \S+")
_STEPS = Pattern(r"&&|\|\||[;|]")
_PREPARING = frozenset(("cd", "export", "set", "source", "echo", "cat", "ls"))
_LONG_WORD = 4
_ASKS = ("?", "？")
_SHELL = Pattern(r"[|;&]|\$\(|^(?:sudo|curl|wget|bash|sh|rm|iex|powershell|eval)\b")


def is_unproven_fix(
    content: str, cited: Iterable[Event], events: Sequence[Event], *, stated: bool = False, agreed: Iterable[Event] = ()
) -> bool:
    """True if a claimed fix names no command or change that was made in the session and helped, and none that the person names. The
    fix need not name one if the person stated it, or said that the assistant's suggestion helped (``stated``). A question is never
    a fix.

    ``events`` are the session's events around the claim, in order. A call helped if it passed after a failure; words that the
    failed call does not contain identify it. A command that occurs only in a tool's text disqualifies the claim. A command in a
    reply that the person ``agreed`` to does not, unless it is harmful.
    """
    if content.rstrip().endswith(_ASKS):
        return True
    said = "\n".join(one_line(typed_text(event)) for event in cited if event.author is Author.HUMAN).casefold()
    helped, failed = _find_helpful_calls(events)
    ran = "\n".join((*helped, *failed)).casefold()
    names = [one_line(name).casefold() for name in _PASSAGE.findall(content)]
    known = "\n".join((ran, said, *(one_line(event.text).casefold() for event in agreed)))
    foreign = (name for name in names if name not in known and not _is_error(name, events))
    shown = [name for name in _PASSAGE.findall(content) or [content] if one_line(name).casefold() not in said]
    if any(
        is_harmful_command(name) or (name != content and has_prose(name) and cut_error_prose(name) != name.rstrip(" .:,;=([{"))
        for name in shown
    ):
        return True
    errors = [line for event in events if event.kind is EventKind.TOOL_OUTPUT for line in find_error_lines(event.text)]
    placed = shown if shown != [content] else _INSTALLED.findall(content)
    if installs_unnamed_package((item for item in placed if one_line(item).casefold() not in said), errors, " ; ".join(failed)):
        return True
    orders = [name for name in _ADDRESS.findall(content.casefold()) if name not in ran and name not in said]
    if orders or any(_SHELL.search(name) or " " in name for name in foreign):
        return True
    before = "\n".join(failed).casefold()
    parts = {word for name in names for word in (name, *name.split()) if len(word) > 2}
    parts |= {match.casefold() for match in _ORDERED.findall(one_line(content).replace("`", ""))}
    made = any(part in call.casefold() and part not in before for call in helped for part in parts)
    again = any(name in call.casefold() for call in helped for name in names if " " in name and name not in _find_last_call(failed))
    return not (stated or made or again or any(part in said for part in parts))


def holds_harmful_command(content: str) -> bool:
    """True if a sentence contains a command that only a person may pass on."""
    return any(map(is_harmful_command, _PASSAGE.findall(content) or [content]))


def _find_last_call(calls: Sequence[str]) -> str:
    return calls[-1].casefold() if calls else ""


def _is_error(name: str, events: Sequence[Event]) -> bool:
    """True if a passage is the beginning of an error message in the session."""
    for event in events:
        if event.kind is EventKind.TOOL_OUTPUT:
            for line in find_error_lines(event.text):
                shown = one_line(error_message(line)).casefold()
                if not _SHELL.search(name) and name in shown[: len(name) + 40]:
                    return True
    return False


def _find_helpful_calls(events: Sequence[Event]) -> tuple[list[str], list[str]]:
    """The texts of calls that passed between a failure and the success of the failed call, and the texts of the failed calls."""
    calls = {event.tool.call: event for event in events if event.kind is EventKind.TOOL_CALL and event.tool and event.tool.call}
    failed: list[str] = []
    passed: list[str] = []
    helped: list[str] = []
    for event in events:
        if event.kind is not EventKind.TOOL_OUTPUT or event.tool is None or event.author is not Author.TOOL:
            continue
        call = calls.get(event.tool.call, event)
        tool = call.tool or event.tool
        text = one_line(f"{tool.target}\n{tool.detail}")
        if event.tool.ok is False or event.tool.exit_code or (event.tool.ok is None and find_error_lines(event.text)):
            failed.append(text)
        elif failed:
            passed.append(text)
            if any(_is_similar_call(text, line) for line in failed):
                helped = list(passed)
    return helped, failed


def _is_similar_call(left: str, right: str) -> bool:
    """True if two command lines run the same program or share several long words."""
    common = set(left.split()) & set(right.split())
    programs = [{step.split()[0] for step in _STEPS.split(line) if step.split()} - _PREPARING for line in (left, right)]
    return bool(programs[0] & programs[1]) or sum(len(word) >= _LONG_WORD for word in common) > 1


FIX = "known_fix"
UNSUPPORTED = "unsupported"
_SUPPORT = 0.34  # minimum share of a claim's content words in the cited events, if it cites others than the person
_COMMON = 0.1  # the same for a claim that cites only the person; nearby texts count too
_UNSAID = 0.1  # maximum share of a wording's content words that occur in no event
_TEXT_CHARS = 8_000
_CARRIED = 0.5  # the person's quotes alone support a claim if they contain this share of its content words
_WHOLE = 0.9  # if they contain this share, quotes by others add nothing
_NEIGHBOURS = 8
_OPENING = 160  # characters at the start of a prompt that may contain the agreement
_SENTENCE = compile_late(r"[.!;\n。！；]")
_WORD = compile_late(r"\w+")
_OPTION = compile_late(r"(?:^|[\s(*#])([1-9])(?:[.):]|\*\*)")
_NAME = Pattern(r"[^\s|;&$<>]+")
_SHORT_OPTION = Pattern(r"(?:^|\s)(-[A-Za-z])\b")


def find_trust_fault(
    content: str, category: str, evidence: Sequence[Evidence], events: Mapping[int, Event], lexicon: Lexicon
) -> str:
    """The first trust check that a content with this evidence fails, in words; empty if it passes all.

    ``events`` maps ordinals to the events around the evidence.
    """
    keys = {item.event for item in evidence}
    cited = {place: event for place, event in events.items() if event.key in keys}
    words = one_line(content).casefold()
    verbatim = bool(words) and any(words in one_line(text).casefold() for event in cited.values() for text in list_texts(event))
    own = all(item.origin is Origin.USER for item in evidence)
    # the words of a fix that the session proves need not occur in anybody's text
    worded = not verbatim and (own or category != FIX)
    checks: tuple[Callable[[], str], ...] = (
        lambda: "" if verbatim else _find_support_fault(content, evidence, cited, events),
        lambda: "" if verbatim else _find_name_fault(content, cited, events),
        lambda: _find_remedy_fault(content, evidence, cited, events, lexicon) if category == FIX else "",
        lambda: _find_unsaid_fault(content, cited, events) if worded else "",
        lambda: _find_polarity_fault(content, evidence, cited, events) if worded else "",
        lambda: _find_order_fault(content, evidence) if worded else "",
    )
    return next((fault for check in checks if (fault := check())), "")


def _find_support_fault(content: str, evidence: Sequence[Evidence], cited: Mapping[int, Event], events: Mapping[int, Event]) -> str:
    """UNSUPPORTED if the events do not support the claim, else empty. For the person's own words a small share suffices."""
    said = [text for event in cited.values() for text in list_texts(event)]
    if all(item.origin is Origin.USER for item in evidence):
        holds = (
            measure_support(content, *said, *find_nearby_texts(events, cited)) >= _COMMON and measure_support(content, *said) > 0
        )
    else:
        holds = bool(said) and measure_support(content, *said) >= _SUPPORT
    return "" if holds else UNSUPPORTED


def _find_unsaid_fault(content: str, cited: Mapping[int, Event], events: Mapping[int, Event]) -> str:
    """A fault if too many words occur in no nearby event, else empty. Other words may mean something else, and the claim could use
    a passage instead.
    """
    said = [text for event in cited.values() for text in list_texts(event)]
    if any(map(is_cjk, content)) != any(is_cjk(char) for text in said for char in text):
        return "another language than that of the words it cites"
    words, known = (
        find_content(content),
        {word for text in (*said, *find_nearby_texts(events, cited)) for word in find_content(text[:_TEXT_CHARS])},
    )
    unsaid = [word for word in words - known if not any(is_inflected(word, other) for other in known)]
    return "other words than those that were said" if len(unsaid) > _UNSAID * len(words) else ""


def _find_name_fault(content: str, cited: Mapping[int, Event], events: Mapping[int, Event]) -> str:
    """A fault if a name in the claim occurs nowhere nearby, or an option not in the cited words; else empty. A tool's text may
    supply names but no commands.
    """
    own = one_line("\n".join(text for event in cited.values() for text in list_texts(event)))
    said = one_line("\n".join((own, *find_nearby_texts(events, cited, 99))))
    shown = one_line("\n".join(text for event in find_nearby_events(events, cited).values() for text in list_texts(event)))
    for name in (*find_artifacts(content), *_SHORT_OPTION.findall(content)):
        known = own if name.startswith("-") else f"{said} {shown}" if _NAME.fullmatch(name) and "://" not in name else said
        if one_line(name).casefold() not in known.casefold():
            return "names what is not there"
    return ""


def _find_remedy_fault(
    content: str, evidence: Sequence[Evidence], cited: Mapping[int, Event], events: Mapping[int, Event], lexicon: Lexicon
) -> str:
    ordered = [events[place] for place in sorted(events)]
    own = [item for item in evidence if item.origin is Origin.USER]
    granted = _find_granted_quotes(evidence, events, lexicon)  # the person says that the assistant's suggestion helped
    is_stated = (len(own) == len(evidence) and _carries(content, own, _CARRIED)) or (
        bool(granted) and _rests_on(content, (*own, *granted), evidence)
    )
    keys = {item.event for item in granted}
    agreed = [event for event in cited.values() if event.key in keys]
    return (
        "nothing shows that it helped" if is_unproven_fix(content, cited.values(), ordered, stated=is_stated, agreed=agreed) else ""
    )


def _find_polarity_fault(
    content: str, evidence: Sequence[Evidence], cited: Mapping[int, Event], events: Mapping[int, Event]
) -> str:
    """The way in which a claim distorts the sentences that it quotes; empty if it does not."""
    by_key = {event.key: event for event in cited.values()}
    sentences = [find_whole_sentences(item.quote, by_key[item.event]) for item in evidence if item.event in by_key]
    around = [text for event in cited.values() for text in list_texts(event)]
    kind = find_distortion(content, sentences, around, tuple(find_nearby_texts(events, cited)))
    return f"{kind} is not that of the words it cites" if kind else ""


def _find_order_fault(content: str, evidence: Sequence[Evidence]) -> str:
    """A fault that comparing words does not show (a dropped marker, or another order); empty if there is none."""
    quotes = [item.quote for item in evidence]
    if drops_markers(content, quotes):
        return "without what its quotes deny or restrict"
    return "another order of the words it cites" if any(has_other_order(content, quote) for quote in quotes) else ""


def find_nearby_events(events: Mapping[int, Event], places: Mapping[int, Event], reach: int = _NEIGHBOURS) -> dict[int, Event]:
    """The events within ``reach`` of the ordinals in ``places``, in order."""
    close = {place + step for place in places for step in range(-reach, reach + 1)}
    return {place: events[place] for place in sorted(close & events.keys())}


def find_nearby_texts(events: Mapping[int, Event], places: Mapping[int, Event], reach: int = _NEIGHBOURS) -> Iterator[str]:
    """Yield nearby texts that people typed or assistants wrote, and the arguments of tool calls."""
    for event in find_nearby_events(events, places, reach).values():
        if event.kind is EventKind.PROMPT:
            yield typed_text(event)
        elif event.author is Author.ASSISTANT:
            yield from list_texts(event)


def find_claim_author(
    content: str, evidence: Sequence[Evidence], events: Mapping[int, Event], lexicon: Lexicon
) -> tuple[Origin, tuple[str, ...]]:
    """The author of a claim, and the signals for that. It is the person if their quotes support the claim, alone or together with
    quotes of the assistant that they agreed to. It is the assistant if its quotes and the person's support the claim. Otherwise it
    is the least trusted author.

    Text that the assistant only repeats from a tool counts as the tool's.
    """
    own = [item for item in evidence if item.origin is Origin.USER]
    if own and (len(own) == len(evidence) or _carries(content, own, _CARRIED)):
        return Origin.USER, ("the user's words",)
    granted = _find_granted_quotes(evidence, events, lexicon)
    if granted and _rests_on(content, (*own, *granted), evidence):
        return Origin.USER, ("agreed to by the user",)
    origins = [Origin.TOOL if is_repeated(item, events) else item.origin for item in evidence]
    said = [item for item, origin in zip(evidence, origins, strict=True) if origin is not Origin.TOOL]
    if said and _rests_on(content, said, evidence):
        return Origin.ASSISTANT, ()
    return least_trusted(tuple(origins)) if origins else Origin.TOOL, ()


def _carries(content: str, quotes: Iterable[Evidence], share: float) -> bool:
    return measure_support(content, *(item.quote for item in quotes)) >= share


def _rests_on(content: str, quotes: Sequence[Evidence], evidence: Sequence[Evidence]) -> bool:
    """True if ``quotes``, a part of the evidence, suffice for a claim."""
    return len(quotes) == len(evidence) or _carries(content, quotes, _WHOLE)


def _find_granted_quotes(evidence: Sequence[Evidence], events: Mapping[int, Event], lexicon: Lexicon) -> list[Evidence]:
    """The assistant's quotes that the person's next prompt agrees to or says work. That prompt must be cited too."""
    places = {event.key: place for place, event in events.items()}
    own = {places[item.event] for item in evidence if item.origin is Origin.USER and item.event in places}
    return [
        item
        for item in evidence
        if item.origin is Origin.ASSISTANT
        and (place := places.get(item.event)) is not None
        and (answer := find_next_prompt(place, events)) in own
        and is_agreement(events[answer], lexicon, events[place].text, item.quote)
        and not is_repeated(item, events)
    ]


def is_repeated(item: Evidence, events: Mapping[int, Event]) -> bool:
    """True if a quote of the assistant occurred before in a tool's output or in pasted text."""
    place = next((place for place, event in events.items() if event.key == item.event), -1)
    words = one_line(item.quote).casefold()
    return item.origin is Origin.ASSISTANT and any(
        words in one_line(event.text).casefold() and quote_origin(event, item.quote) is Origin.TOOL
        for earlier, event in events.items()
        if earlier < place
    )


def is_disputed(evidence: Sequence[Evidence], events: Mapping[int, Event], lexicon: Lexicon, *, theirs: bool) -> bool:
    """True if the person's next prompt corrects what the assistant or a tool said, retracts their own words, or denies the
    statement. A denial does not count if the claim is the person's own (``theirs``). At least one event of the evidence must be in
    ``events``.
    """
    keys = {item.event for item in evidence}
    last = max(place for place, event in events.items() if event.key in keys)
    following = find_next_prompt(last, events)
    if following < 0:
        return False
    own = all(item.origin is Origin.USER for item in evidence)
    opening = typed_text(events[following]).strip()[:200]
    if not theirs and events[last].author is Author.ASSISTANT and opens_with_denial(opening):
        return True
    for words in lexicon.spoken:
        pattern = words.taken_back if own else words.correction
        if pattern and compile_pattern(pattern).match(opening[skip_filler(opening, words) :]):
            return True
    return False


def is_turned_down(each: Evidence, beside: Sequence[Evidence], events: Mapping[int, Event]) -> bool:
    """True if an assistant's quote supports nothing, because the prompt that answers it begins with a denial and is cited too."""
    own = {other.event for other in beside if other.origin is Origin.USER}
    place = next((place for place, event in events.items() if event.key == each.event and event.author is Author.ASSISTANT), -1)
    following = find_next_prompt(place, events) if place >= 0 else -1
    return following >= 0 and events[following].key in own and opens_with_denial(typed_text(events[following]))


def find_next_prompt(place: int, events: Mapping[int, Event]) -> int:
    """The ordinal of the person's next prompt; -1 if there is none."""
    prompts = (
        event
        for event in sorted(events)
        if event > place and events[event].kind is EventKind.PROMPT and events[event].author is Author.HUMAN
    )
    return next(prompts, -1)


def is_agreement(event: Event, lexicon: Lexicon, proposal: str, quote: str) -> bool:
    """True if a prompt begins with agreement, without a question or reservation. If it names one of several numbered options, that
    option must contain the quote.
    """
    opening = _SENTENCE.split(typed_text(event).strip()[:_OPENING])[0]
    agreed = compile_pattern(lexicon.agreement).match(opening) if lexicon.agreement else None
    if agreed is None or agreed[0].endswith(_ASKS) or is_qualified(opening[agreed.end() :]):
        return False
    units = {**number_words(), **number_words("ordinals")}
    named = {units.get(word, word) for word in _WORD.findall(opening[agreed.end() :].casefold())}
    found = locate(quote, proposal)
    options = [(option.start(), option[1]) for option in _OPTION.finditer(proposal)]
    chosen = named & {number for _, number in options}
    meant = [number for start, number in options if found and start < found[1]]
    return not chosen or (bool(meant) and meant[-1] in chosen)
