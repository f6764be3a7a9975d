"""Tellings: sentences in which a person explicitly asks to remember something, or states a rule that holds from now on.

Processes one sentence at a time, and returns the position of the passage to remember. Never changes a word.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from kept.core.memory import (
    BAN,
    COMMAND,
    CORRECTION,
    DECIDED,
    FROM_NOW_ON,
    NOTE,
    ONCE,
    REMEMBER,
    RULE,
    SHORT,
    UNSURE,
    WITHDRAWAL,
    Frame,
)
from kept.core.pattern import Pattern
from kept.core.sentences import SentenceSpan
from kept.core.statement import find_content
from kept.core.text import QUESTION_MARKS
from kept.core.value import dataclass, replace
from kept.core.words import opens_with
from kept.extraction.rules.assertion import asks_last, find_unasserted_reason, is_question
from kept.extraction.rules.framing import TellingPosition, find_frame
from kept.extraction.rules.memory_verbs import (
    CLAUSE,
    COLONS,
    DENSE_CLAUSE,
    LABEL,
    LABEL_WORDS,
    LEFT_WORDS,
    find_back_reference,
    find_clauses,
    find_label,
    find_memory_verb,
    is_asking,
    is_lasting,
    is_memory_refusal,
    is_tail,
    min_passage_chars,
)
from kept.extraction.rules.patterns import (
    SPACE,
    compile_pattern,
    count_mass,
    find_languages,
    has_match,
    is_in_language,
    match_words,
    skip_filler,
)
from kept.profiles.lexicons import LANGUAGES, TellingPatterns, load_telling_patterns, word_list

# Reasons to hold a telling for review.
UNMEASURED = "kept's rules for this language are not tested yet"
LONG = "longer than a line of the memory file"
GOES_ON = "may go on in the next line"
# Reasons to refuse a telling.
ERRAND = "it asks for a note but says nothing to remember"
LEAST, MOST = 3, 400  # minimum words and maximum characters of a passage that can stand alone
# The memory command of kept or another program. Other commands are not tellings. A command after a number sign has a single line.
# If more text follows below it, it is a heading.
_COMMAND = Pattern(
    r"(?i)^\s*(?:[/$]\s*(?:[\w-]+:)?(?:remember|memori[sz]e|memory)\s*:?\s+((?s:\S.*?))"
    r"|#\s*(?:remember|memori[sz]e|memory)[ \t]*:?[ \t]+(\S[^\n]*?))\s*$"
)
_OTHER_COMMAND = Pattern(r"^\s*/[A-Za-z][\w:-]*(?:\s|$)", needs=("/",))
# A statement with a condition is mostly about a product's behaviour, or for the current task.
_CONDITIONS = (match_words("change", "depends"), match_words("expiry", "until"))
# Behind these words, a clause tells of a case and does not report.
_CASES = (match_words("polarity", "depends"), match_words("assertion", "relative"))
_NUMBER = Pattern(r"\d[.)]\s*$")
_STOPS = ".!?…。！？"


@dataclass(frozen=True, kw_only=True, slots=True)
class Telling:
    """The characters ``[start, end)`` of a prompt that are to be remembered.

    ``trigger`` is the reason why it is a telling. ``doubt`` is the reason to hold it; empty if it is certain. ``language`` is the
    language of the words that introduce it. ``withdrawn`` are the words that a withdrawal names. ``about`` is the line
    that announces the list of which the passage is an item.
    """

    start: int
    end: int
    trigger: str
    language: str
    doubt: str = ""
    withdrawn: str = ""
    about: str = ""


def find_tellings(
    text: str,
    spans: Sequence[SentenceSpan],
    patterns: Sequence[TellingPatterns],
    around: Sequence[TellingPatterns],
    spoken: Collection[str],
) -> Iterator[tuple[int, Telling]]:
    """Yield the tellings in a prompt, each with the number of its sentence, in order.

    ``patterns`` are those with a word in the prompt. ``around`` are the patterns of all languages, for the surrounding sentences.
    ``spoken`` are the languages of the prompt and the conversation.
    """
    patterns = sorted(patterns, key=lambda each: each.language not in spoken)
    taken: set[int] = set()
    listed = 0  # the end of the last item of a list, which may have several sentences
    for place in range(len(spans) if patterns else 0):
        if place in taken or spans[place].start < listed:
            continue
        for number, telling in _find_sentence_tellings(text, spans, place, patterns, around):
            if number not in taken:
                taken.add(number)
                listed = max(listed, telling.end if number > place else 0)
                words = text[spans[place].start : spans[place].end]
                foreign = telling.language not in spoken and not any(
                    pattern.language == telling.language and is_in_language(words, pattern, patterns) for pattern in patterns
                )
                # "nie" means "never" in German, but only "not" in Polish
                if (foreign and telling.trigger in (BAN, RULE)) or (telling.doubt == UNSURE and _is_unmeant(text, telling)):
                    continue
                unsure = foreign and telling.language not in LANGUAGES
                yield number, replace(telling, doubt=telling.doubt or UNMEASURED) if unsure else telling


def _is_unmeant(text: str, telling: Telling) -> bool:
    """True if an unsure telling only announces what stands below, or its author does not assert it."""
    return text[: telling.end].endswith(COLONS) or bool(find_unasserted_reason(text, telling.start, telling.end))


def parse_memory_command(text: str) -> Telling | None:
    """The argument of a memory command such as "/remember the build needs Node 22"; None if the prompt is a different text."""
    given = _COMMAND.match(text)
    if not given:
        return None
    start, end = given.span(1 if given[1] else 2)
    return Telling(start=start, end=end, trigger=COMMAND, language="")


def is_command(text: str) -> bool:
    """True if a prompt is a command to the client, whose words are never a telling."""
    return _OTHER_COMMAND.match(text) is not None


def _find_sentence_tellings(
    text: str, spans: Sequence[SentenceSpan], place: int, patterns: Sequence[TellingPatterns], around: Sequence[TellingPatterns]
) -> Iterator[tuple[int, Telling]]:
    words = text[spans[place].start : spans[place].end]
    likely = {each.language for each in find_languages("words", words)}
    for pattern in (each for each in patterns if each.language in likely or each.language not in LANGUAGES):
        found = tuple(_read_sentence(text, spans, place, pattern))
        if found and any(is_memory_refusal(words, other) for other in around):
            return
        if found:
            numbers = [place, *(number for number, _ in found)]
            last = max(number for number, span in enumerate(spans) if number in numbers or span.end <= found[-1][1].end)
            position = TellingPosition(sentences=spans, place=place, first=min(numbers), last=last, spoken=pattern)
            for number, telling in found:
                yield number, replace(telling, doubt=telling.doubt or find_frame(text, telling.start, telling.end, position) or "")
            return


def _read_sentence(
    text: str, spans: Sequence[SentenceSpan], place: int, patterns: TellingPatterns
) -> Iterator[tuple[int, Telling]]:
    span = spans[place]
    words = text[span.start : span.end]
    reported = has_match(patterns.reported, words)
    head = skip_filler(words, patterns)
    back = find_back_reference(words, head, patterns, opens=not place)
    if back is not None and back[1]:
        whole = Telling(start=span.start + head, end=span.end, trigger=REMEMBER, language=patterns.language, doubt=back[1])
        yield place, _check_telling(text, whole, patterns)
        return
    if back is not None and (place or back[0] >= min_passage_chars(patterns)):
        yield from _find_passage_before(text, spans, place, back[0], patterns)
        return
    listed = place + 1 < len(spans) and (spans[place + 1].bullet or words.endswith(COLONS))
    remembered = find_memory_verb(words, head, patterns, listed=listed)
    if remembered is not None:
        at, doubt = remembered
        yield from _find_passage_after(text, spans, place, (at, Frame.QUOTED if reported else doubt), patterns)
        return
    withdrawn = _find_withdrawn(words[head:], patterns)
    trigger, doubt = (WITHDRAWAL, "") if withdrawn else _find_rule(words, head, patterns)
    announced = listed and not reported and _find_announcement(words[head:], patterns, opens=not place)
    if announced:
        told = Telling(start=span.start, end=span.end, trigger=announced[0], language=patterns.language, doubt=announced[1])
        yield from _find_points(text, spans, place, told, patterns)
        return
    if reported and trigger not in (NOTE, WITHDRAWAL):
        return
    if span.bullet and _NUMBER.search(text[max(0, span.start - 8) : span.start]):
        doubt = doubt or UNSURE  # numbered items are more often options than rules
    if has_match(patterns.label, find_label(words[head:])) and words[:head].rstrip()[-1:].isalnum():
        head = 0  # "one thing to remember: …" is one label
    if trigger:
        telling = Telling(
            start=span.start + head, end=span.end, trigger=trigger, language=patterns.language, doubt=doubt, withdrawn=withdrawn
        )
        yield place, _check_telling(text, telling, patterns)


def _find_withdrawn(rest: str, patterns: TellingPatterns) -> str:
    """The words that a sentence declares as no longer valid, also if from another session. Empty if it withdraws nothing, or if it
    also states a new value.
    """
    stays = has_match(patterns.from_now_on, rest) or is_asking(rest, patterns)
    return "" if stays else _cut_withdrawn(rest, patterns)


def _cut_withdrawn(rest: str, patterns: TellingPatterns) -> str:
    match = compile_pattern(patterns.withdraws).match(rest) if patterns.withdraws else None
    named = next(filter(None, match.groups()[1:]), rest[match.end(1) :]) if match else ""
    return str(DENSE_CLAUSE.split(named.strip(SPACE), 1)[0])


def find_withdrawn_content(prompt: str) -> frozenset[str]:
    """The content words of what the beginning of a prompt takes back by name ("forget the rule about …"), in any language."""
    heads = ((prompt[skip_filler(prompt, patterns) :], patterns) for patterns in load_telling_patterns())
    return frozenset().union(*(find_content(_cut_withdrawn(rest, patterns)) for rest, patterns in heads))


def _find_announcement(rest: str, patterns: TellingPatterns, *, opens: bool) -> tuple[str, str] | None:
    """The trigger of the list below a sentence that only announces it ("From now on:", "rules for this repo:"), and the reason for
    doubt. None if it announces nothing, or is more than a label. ``opens``: no sentence precedes it.
    """
    label = rest.rstrip(SPACE)
    bare = _cut_validity(label, patterns)
    asks, ends = is_question(label) or has_match(patterns.reminisce, label), rest.endswith(COLONS)
    if asks or count_mass(label) > LABEL_WORDS or (bare == label and not ends):
        return None
    if ends and count_mass(bare) <= LEFT_WORDS and is_lasting(label, patterns):
        return FROM_NOW_ON, "" if has_match(patterns.from_now_on, label) else UNSURE  # "in the future:" may announce plans
    first = " ".join(label.split()[:2]) if patterns.spaced else label
    if not has_match(patterns.label, first) or opens_with("orders", label):
        return None
    if bare == label:  # below a task, "Rules:" introduces a part of it
        return (NOTE, UNSURE) if opens else None
    return NOTE, ""


def _find_passage_after(
    text: str, spans: Sequence[SentenceSpan], place: int, found: tuple[int, str], patterns: TellingPatterns
) -> Iterator[tuple[int, Telling]]:
    """Yield the passage that a memory verb introduces: the rest of its sentence. If nothing follows, yield the list items below or
    the next sentence.
    """
    (at, doubt), span = found, spans[place]
    telling = Telling(start=span.start + at, end=span.end, trigger=REMEMBER, language=patterns.language, doubt=doubt)
    if text[telling.start : telling.end].strip(SPACE):
        if text[telling.end - 1] in QUESTION_MARKS:
            telling = replace(telling, end=telling.end - 1)
        yield place, _check_telling(text, telling, patterns)
        return
    yield from _find_points(text, spans, place, telling, patterns)


def _find_points(
    text: str, spans: Sequence[SentenceSpan], place: int, telling: Telling, patterns: TellingPatterns
) -> Iterator[tuple[int, Telling]]:
    """Yield the list items below a sentence, each with the number of its first sentence; if there are none, the next sentence.
    Below a colon, also yield the next lines, but they may be about something else.
    """
    points: dict[int, int] = {}
    line = text[spans[place].start : spans[place].end]
    for number, (before, span) in enumerate(pairwise(spans[place:]), place + 1):
        gap = text[before.end : span.start]
        if points and span.bullet and "\n" not in gap:
            points[max(points)] = span.end  # another sentence of the same item
            continue
        below = line.endswith(COLONS) and gap.count("\n") == 1 and text[before.end - 1] not in _STOPS
        if points and not (span.bullet if before.bullet else below and not span.bullet):
            break
        points[number] = span.end
    for number, end in points.items():
        about = line.rstrip(SPACE) if "\n" in text[spans[place].end : spans[number].start] else ""
        doubt = telling.doubt or (UNSURE if number > place + 1 and not spans[number].bullet else "")
        point = replace(telling, start=spans[number].start, end=end, doubt=doubt, about=about)
        yield number, _check_telling(text, point, patterns)


def _find_passage_before(
    text: str, spans: Sequence[SentenceSpan], place: int, back: int, patterns: TellingPatterns
) -> Iterator[tuple[int, Telling]]:
    """Yield the passage that "remember this" refers to: the text before it in its sentence, or the previous sentence."""
    span = spans[place]
    telling = Telling(start=span.start, end=span.start + back, trigger=REMEMBER, language=patterns.language)
    if back >= min_passage_chars(patterns):
        yield place, _check_telling(text, telling, patterns)
    elif place:
        before = replace(telling, start=spans[place - 1].start, end=spans[place - 1].end)
        yield place - 1, _check_telling(text, before, patterns)


def _find_rule(words: str, head: int, patterns: TellingPatterns) -> tuple[str, str]:
    """The trigger that makes a sentence a lasting rule (empty: none), and the reason for doubt."""
    rest = words[head:]
    asks = is_asking(rest, patterns) or is_question(rest.rstrip(" ?？"))  # a question may lack its question mark
    request = compile_pattern(patterns.request).match(rest) if patterns.request else None
    ordered = rest[request.end(1) :].lstrip(SPACE) if request else rest
    here = has_match(patterns.here, rest)
    trails, report = asks_last(rest), UNSURE if _reports_failure(rest, patterns) else ""
    if (asks and request is None) or (trails and report):
        return "", ""
    describes = has_match(patterns.describes, rest)
    ban = has_match(patterns.never, ordered) and not has_match(patterns.no_ban, ordered)
    always = has_match(patterns.always, ordered)
    decided = has_match(patterns.decided, rest) or _is_decided_in_clause(words, head, patterns)
    checks = (
        (has_match(patterns.from_now_on, rest), FROM_NOW_ON, report),
        (here and (ban or always or has_match(patterns.must, rest) or has_match(patterns.ours, rest)), RULE, report),
        (has_match(patterns.quits, ordered) and not any(each.search(ordered) for each in _CONDITIONS), BAN, ""),
        (ban, BAN, report),
        (always, RULE, report if has_match(patterns.practice, rest) else UNSURE),
        (_has_contrast(rest, patterns) and not describes, BAN, ""),
        (has_match(patterns.ours, rest), RULE, UNSURE),
        (decided, DECIDED, "" if has_match(patterns.reason, rest) or is_lasting(rest, patterns) else UNSURE),
        (has_match(patterns.correction, words), CORRECTION, UNSURE),
        (has_match(patterns.later, rest) and not describes, FROM_NOW_ON, UNSURE),
        (_has_label(rest, patterns), NOTE, ""),
        (count_mass(rest) >= LEAST and _is_reminder(words, head, patterns), NOTE, "" if is_lasting(rest, patterns) else UNSURE),
        (has_match(patterns.lasting, rest) and not describes, NOTE, UNSURE),
        (has_match(patterns.errand, rest), NOTE, ERRAND),
    )
    for holds, trigger, doubt in checks:
        if holds:
            return trigger, doubt or (UNSURE if asks or trails else "")
    return "", ""


def _reports_failure(rest: str, patterns: TellingPatterns) -> bool:
    """True if the first clause of a sentence reports that something fails, and does not begin with an order."""
    rest = compile_pattern(patterns.from_now_on).sub(" ", rest) if patterns.from_now_on else rest
    clause = CLAUSE.split(rest.lstrip(SPACE), 1)[0]
    for case in _CASES:
        clause = case.split(clause, 1)[0]
    ordered = compile_pattern(patterns.never).sub(" ", clause) if patterns.never else clause
    return has_match(patterns.failure, clause) and not opens_with("orders", ordered.lstrip(SPACE))


def _is_decided_in_clause(words: str, head: int, patterns: TellingPatterns) -> bool:
    """True if a later clause, not after a colon, states a decision and its reason ("…, we decided to stay on dbt because …")."""
    starts = find_clauses(words, head, patterns)[1:]
    clauses = (words[start:] for start in starts if not words[:start].rstrip().endswith(COLONS))
    return any(has_match(patterns.decided, clause) and has_match(patterns.reason, clause) for clause in clauses)


def _is_reminder(words: str, head: int, patterns: TellingPatterns) -> bool:
    """True if a clause says that it is a reminder, a rule, or an order that the person gave before."""
    clauses = (words[start:] for start in dict.fromkeys((0, *find_clauses(words, head, patterns))))
    return any(has_match(patterns.note, clause) and not has_match(patterns.no_ban, clause) for clause in clauses)


def _has_label(rest: str, patterns: TellingPatterns) -> bool:
    """True if a sentence begins with a label that announces a rule or a decision ("decision from the retro: …")."""
    label = LABEL.match(rest)
    if (
        label is None
        or count_mass(label[1]) > LABEL_WORDS
        or opens_with("orders", label[1])
        or has_match(patterns.describes, label[1])
    ):
        return False
    first = " ".join(label[1].split()[:2]) if patterns.spaced else label[1]
    return has_match(patterns.label, first) or has_match(patterns.label, label[1].rsplit(" to ", 1)[-1].join(("to ", "")))


def _has_contrast(rest: str, patterns: TellingPatterns) -> bool:
    """True if a prohibition follows an order ("…, never as …")."""
    match = compile_pattern(patterns.contrast).search(rest) if patterns.contrast else None
    return match is not None and not has_match(
        patterns.no_ban, rest[match.start(1) :].lstrip(" ,;").removeprefix("and ").removeprefix("but ")
    )


def _check_telling(text: str, telling: Telling, patterns: TellingPatterns) -> Telling:
    """Strip white space from a telling, and set the first reason to hold it."""
    passage = text[telling.start : telling.end].lstrip()
    start = telling.end - len(passage)
    hidden = text[telling.end :].lstrip().startswith("[redacted:")  # the colon before a secret says that something is missing
    words = passage.rstrip().rstrip(" ,;:–—-" if telling.trigger == REMEMBER and not hidden else "")
    end = start + len(words)
    doubts = (
        (SHORT if _says_little(words, telling, patterns) else ""),
        telling.doubt,
        ("" if patterns.measured or telling.trigger == REMEMBER else UNMEASURED),
        (ONCE if _is_one_time(telling.trigger, words, patterns) else ""),
        (SHORT if count_mass(words) < LEAST or words.endswith(COLONS) else ""),
        (LONG if len(words) > MOST else ""),
        (GOES_ON if _can_continue(text, end, patterns) else ""),
    )
    return replace(telling, start=start, end=end, doubt=next(filter(None, doubts), ""))


def _says_little(words: str, telling: Telling, patterns: TellingPatterns) -> bool:
    """True if an unsure telling has few words besides those that say when it holds, or any has none ("from now on please")."""
    if telling.doubt == UNSURE and count_mass(_cut_validity(words, patterns)) < LEAST:
        return True
    return telling.trigger == FROM_NOW_ON and is_tail(compile_pattern(patterns.from_now_on or "^$").sub(" ", words), patterns)


def _cut_validity(words: str, patterns: TellingPatterns) -> str:
    """The words of a passage, without those that say when and where it holds ("for future sessions in this repo")."""
    for source in filter(None, (patterns.from_now_on, patterns.later, patterns.lasting, patterns.here)):
        words = compile_pattern(source).sub(" ", words)
    return words


def _is_one_time(trigger: str, words: str, patterns: TellingPatterns) -> bool:
    """True if a telling may be for one occasion only. In a passage to remember, a bare "now" announces a change instead."""
    if trigger == FROM_NOW_ON or not patterns.occasion:
        return False
    reason = compile_pattern(patterns.reason).search(words) if trigger == DECIDED and patterns.reason else None
    words = words[: reason.start()] if reason else words  # a decision holds even if its reason is temporary
    if trigger == DECIDED and patterns.when:  # "we decided yesterday": that is when, and not for how long
        words = compile_pattern(patterns.when).sub(" ", words)
    found = (match[match.lastindex].casefold().strip() for match in compile_pattern(patterns.occasion).finditer(words))
    return any(trigger != REMEMBER or item not in word_list("change", "present") for item in found)


def _can_continue(text: str, end: int, patterns: TellingPatterns) -> bool:
    """True if a sentence may continue on the next line. Without spaces between words, a line end ends no sentence."""
    following = text[end:].lstrip(" \t\u3000")
    begins = following[1:2].isalnum() and not following[1:2].isdigit()
    return not patterns.spaced and text[end - 1] not in _STOPS and following.startswith("\n") and begins
