"""Orders to remember: where the memory verb of a sentence stands, and where the passage that it means begins or ends.

Processes one sentence at a time and knows nothing of its prompt.
"""

from collections.abc import Sequence

from kept.core.memory import ONCE, PASSING, UNSURE
from kept.core.pattern import Pattern
from kept.core.text import QUESTION_MARKS
from kept.core.words import opens_with
from kept.extraction.rules.assertion import is_limit, is_question
from kept.extraction.rules.patterns import SPACE, compile_pattern, count_mass, has_match, match_words, skip_filler, skip_space
from kept.profiles.lexicons import TellingPatterns

CLAUSE = Pattern(r"\n\s*|[,;:.–—-]\s+|\s(?i:and|so|but|und|aber|et|mais|y|pero|e|mas)\s+|[，；、。：،؛]\s*")
DENSE_CLAUSE = Pattern(r"\n\s*|[,;:.，；、。：]\s*")  # for languages without spaces between words
# A few words before a colon or a dash, which announce the text after it.
LABEL = Pattern(r"^([^:：\n]{2,60}?)\s?(?:[:：]|\s[-–—])[\s\p{Lo}]")
LABEL_WORDS = 8
_LINK = Pattern(r"^\s*(?:[:：,，、،–—]|-\s)\s*")
_SEMICOLON = Pattern(r"[;；]\s*")  # the text after a semicolon may refer to the text before it
COLONS = (":", "：")
_LINKS = (":", "：", "-", "–", "—")
_TURN = Pattern(r"(?i)^(?:and|so|but|und|aber|et|mais|y|pero|e|mas)\s+")
LEFT_WORDS = 2  # maximum words of an announcement besides those that say when it holds
_GENERAL = match_words("polarity", "general")
_NEAR = 3  # words behind a memory verb, of which one may say that a convention follows ("remember to use …")


def find_memory_verb(words: str, head: int, patterns: TellingPatterns, *, listed: bool) -> tuple[int, str] | None:
    """The position of the passage after a memory verb, and the reason for doubt; None if there is no such verb. ``listed``: the
    sentence may announce a list below it, which is then the passage.
    """
    for number, start in enumerate(find_clauses(words, head, patterns)):
        order = _find_order(words, start, patterns)
        if order is None:
            continue
        verb_at, behind = order
        rest = words[behind:]
        pointing = rest[: _measure_tail(rest, (patterns.tail, patterns.pointer))]
        points = listed and has_match(patterns.pointer, pointing) and count_mass(rest) <= LABEL_WORDS
        found = (len(words), "") if points else _find_passage_behind(words, verb_at, behind, patterns)
        if found is None:
            continue
        at, doubt = found
        if has_match(patterns.planned, words) or is_limit(find_label(words[behind:])):
            doubt = PASSING  # "… that the user might …", "remember this for the next ten minutes: …"
        elif has_match(patterns.occasion, words if points else words[:verb_at]):
            doubt = ONCE  # "for this change, keep in mind …"
        elif at == verb_at and (number or _points_outside(_SEMICOLON.split(words[behind:], 1)[0], patterns)):
            doubt = UNSURE  # "…, remember to …" may only be about the order before it, "… before you commit this" about the task
        return at, "" if doubt == UNSURE and is_lasting(words, patterns) else doubt
    return None


def find_label(words: str) -> str:
    """The words before a colon or a dash that announce the rest of a sentence; empty if there are none."""
    label = LABEL.match(words)
    return str(label[1]) if label else ""


def _points_outside(words: str, patterns: TellingPatterns) -> bool:
    """True if a word refers outside the sentence. "Here" does not count if it means the project."""
    return has_match(patterns.outside, words, without=patterns.here)


def is_memory_refusal(words: str, patterns: TellingPatterns) -> bool:
    """True if a sentence, or one of its clauses, asks not to remember something."""
    return any(
        has_match(patterns.refuse, words[start:]) for start in (0, *find_clauses(words, skip_filler(words, patterns), patterns))
    )


def find_clauses(words: str, head: int, patterns: TellingPatterns) -> tuple[int, ...]:
    """The start positions of a sentence's clauses. The first one is after the filler words."""
    return (head, *(cut.end() for cut in (CLAUSE if patterns.spaced else DENSE_CLAUSE).finditer(words)))


def _find_passage_behind(words: str, verb_at: int, behind: int, patterns: TellingPatterns) -> tuple[int, str] | None:
    """The start of the passage after a memory verb, and the reason for doubt. The passage includes the verb, unless a colon or
    "that" follows the verb. None if the sentence only reminisces.
    """
    rest = words[behind:]
    if has_match(patterns.reminisce, rest.lstrip(" ,")):
        return None
    if rest.lstrip().startswith(",") and has_match(patterns.goes_on, rest.lstrip()):
        return verb_at, ""
    mark = _LINK.match(rest)
    at = behind + (mark.end() if mark else len(rest) - len(rest.lstrip()))
    link = compile_pattern(patterns.link).match(words[at:]) if patterns.link else None
    if link:
        at = skip_space(words, at + link.end(1))
    if link or mark or not patterns.spaced or not rest.strip(SPACE):
        return at, ""
    near = " ".join(rest.split()[:_NEAR])
    stands = has_match(patterns.goes_on, rest.lstrip()) or _GENERAL.search(rest) or has_match(patterns.convention, near)
    return verb_at, "" if stands else UNSURE  # "remember to run the tests" is for the moment, "… before every commit" is not


def find_back_reference(words: str, head: int, patterns: TellingPatterns, *, opens: bool) -> tuple[int, str] | None:
    """The position of an order to remember the text before it, and the reason for doubt; None if there is none. The order ends the
    sentence, or other words follow it ("…, remember that and restart both"). ``opens``: no sentence precedes it.

    The words that follow are no part of the passage if they are a request of the moment. If that is unclear, there is a doubt.
    """
    match = compile_pattern(patterns.remember_this).search(words) if patterns.remember_this else None
    if match:
        before = words[head : match.start(1)].rstrip()
        goes_on = patterns.spaced and before[-1:].isalnum() and (is_question(before) or has_match(patterns.needs_verb, before))
        return None if goes_on else (int(match.start(1)), "")  # "how do I save this", "the app doesn't save this"
    if words.rstrip().endswith(COLONS):
        return None
    for start in find_clauses(words, head, patterns):
        order = _find_order(words.rstrip(" ?？"), start, patterns)
        if order is None:
            continue
        verb_at, behind = order
        end = behind + _measure_tail(words[behind:], (patterns.tail, patterns.pointer, patterns.lasting))
        if is_tail(words[end:], patterns):
            return None if _find_order(words, start, patterns) is None else (start, "")
        gap = (CLAUSE if patterns.spaced else DENSE_CLAUSE).match(words[end:])
        points = has_match(patterns.pointer, words[verb_at:end]) or has_match(patterns.remember_this, words[verb_at:behind])
        if not gap or gap[0].strip() in _LINKS or not points:
            continue
        rest, joined = words[end + len(gap[0]) :], gap[0][0].isspace()
        filler = skip_filler(rest, patterns)
        request = rest[filler:]
        orders = opens_with("orders", request) or bool(patterns.request and compile_pattern(patterns.request).match(request))
        # "remember that and restart both": without a comma and a subject, the second verb is an order as well
        orders = orders or (joined and request[:1].islower() and not has_match(patterns.describes, request))
        alone = start - head < min_passage_chars(patterns)
        if (not orders and is_asking(words, patterns)) or not (orders or joined or filler or not alone):
            continue  # "do you remember that, and why?", "remember that, after the update, …"
        turn = _TURN.match(rest)
        moves = filler > (turn.end() if turn else 0) or has_match(patterns.occasion, " ".join(rest.split()[:LEFT_WORDS]))
        unclear = not (orders or moves) or has_match(patterns.words, rest) or is_question(words[head:start].rstrip(SPACE))
        return start, UNSURE if unclear or (opens and alone) else ""
    return None


def _find_order(words: str, start: int, patterns: TellingPatterns) -> tuple[int, int] | None:
    """The start and end of the memory verb that opens a clause, after filler words and words of request; None if there is none."""
    begin = start + skip_filler(words[start:], patterns)
    asked = compile_pattern(patterns.request).match(words[begin:]) if patterns.request else None
    verb_at = skip_space(words, begin + (asked.end(1) if asked else 0))
    verb = compile_pattern(patterns.remember).match(words[verb_at:]) if patterns.remember else None
    return None if verb is None or (is_asking(words, patterns) and asked is None) else (verb_at, verb_at + verb.end(1))


def is_asking(words: str, patterns: TellingPatterns) -> bool:
    """True if a sentence is a question. A question tag ("…, ok?") does not count."""
    sentence = words.rstrip()
    _, comma, tag = sentence.rstrip("?？؟").rpartition(",")
    return sentence.endswith(QUESTION_MARKS) and not (comma and is_tail(tag, patterns))


def is_tail(rest: str, patterns: TellingPatterns) -> bool:
    """True if only words like "that, please" follow the memory verb."""
    end = _measure_tail(rest, (patterns.tail, patterns.pointer, patterns.lead, patterns.lasting))
    return not rest[end:].strip(SPACE)


def _measure_tail(rest: str, sources: Sequence[str]) -> int:
    """The number of characters up to the end of the last word at the beginning of a text that one of the patterns matches."""
    end = at = 0
    while at < len(rest):
        ends = [compile_pattern(source).match(rest[at:]) for source in sources if source]
        longest = max((match.end(1) for match in ends if match), default=0)
        if not longest:
            break
        end = at + longest
        at = skip_space(rest, end)
    return end


def is_lasting(words: str, patterns: TellingPatterns) -> bool:
    """True if a sentence says that it is for later sessions. Its memory verb then leaves no doubt."""
    return any(has_match(source, words) for source in (patterns.from_now_on, patterns.later, patterns.lasting))


def min_passage_chars(patterns: TellingPatterns) -> int:
    """The minimum number of characters before "remember this" in its sentence. With fewer, the previous sentence is meant."""
    return 12 if patterns.spaced else 5
