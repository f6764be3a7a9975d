"""Choose the most informative sentences of some exchanges: the request, the outcome, decisions, and open questions.

The sentences are quoted whole. The choice depends on the words that prompts, answers, commits and file names share.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache

from kept.core.artifact import find_artifacts
from kept.core.event import FORGOTTEN_MARK
from kept.core.pattern import Pattern
from kept.core.sentences import is_status_report, sentence_texts
from kept.core.statement import find_content
from kept.core.text import is_cjk, jaccard_similarity, one_line, tokenize
from kept.core.value import dataclass
from kept.extraction.rules.assertion import is_question
from kept.extraction.rules.patterns import compile_pattern, has_match, skip_filler
from kept.profiles.lexicons import TellingPatterns, join_alternatives

_LONG_SENTENCE = 240  # characters; a longer sentence is less likely to be chosen
_LONGEST = 1_000  # characters; longer text is not a sentence
_TURN_CHARS = 4_000  # at most this many characters of each turn are read
_LEAST_WORDS = 3
_ENOUGH_WORDS = 8  # content words; more do not make a sentence more informative
_AGAIN = 0.6  # word overlap from which a prompt repeats an earlier request
_VERDICT, _VERDICT_CHARS = 3, 80  # sentences and characters at the start of a prompt that may judge the work before it
_LEADING_WORDS = 5  # words at the start of a sentence that are checked for a reference to something before it
_MARKS = Pattern(r"^(?:\s*(?:[>#*\-+•|\x{2190}-\x{2BFF}\x{FE0F}\x{1F000}-\x{1FAFF}]+|\d{1,3}[.)])\s*)+|\*\*|__|^\s+")
_LINK = Pattern(r"\[([^\]\n]{1,200})\]\([^)\n]{1,400}\)", needs=("](",))
_ITEM = Pattern(r"^(?:[*+•-]|\d{1,3}[.)])\s")
# A line such as "Status: done" is a label with its value, and not an outcome.
_LABEL = Pattern(r"(?i)^[a-z][\w ()/-]{0,30}: ", needs=(": ",))
_AT_START = {  # word lists that match only at the start of a sentence, and the pattern of what must follow the word
    "opener": r"(?:[\s,.!:;–—-]+|$)",
    **dict.fromkeys(("process", "leans", "follows", "withdraws"), r"\b"),
}
_CLOSED = ".!?。！？…:;)\"'`”’"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sentence:
    """A sentence without markup and opening words.

    ``item`` is True if the sentence is in a list. ``place`` is the number of sentences before it in its turn.
    """

    text: str
    item: bool
    place: int

    @property
    def content(self) -> frozenset[str]:
        """The content words. They are computed on access, because most sentences are discarded before they are needed."""
        return find_content(self.text)


@cache
def _pattern(name: str) -> Pattern:
    """The pattern that matches a word list of the table ``days`` in the lexicons of all languages."""
    spaced, unspaced = join_alternatives("days", name, spaced=True), join_alternatives("days", name, spaced=False)
    if name in _AT_START:
        return compile_pattern(f"(?i)^(?:{spaced}){_AT_START[name]}")
    return compile_pattern(rf"(?i)\b(?:{spaced})\b" + (f"|{unspaced}" if unspaced else ""))


def content_words(texts: Iterable[str]) -> frozenset[str]:
    """The content words of texts. Only the first 4,000 characters of each text are read."""
    return frozenset(word for text in texts for word in find_content(text[:_TURN_CHARS]))


def find_request(prompts: Sequence[str], subject: AbstractSet[str], spoken: Sequence[TellingPatterns]) -> str:
    """The typed sentence that best expresses the request; empty if there is none. ``subject`` has content words of the outcome."""
    best, fallback = ("", 0.0), ""
    for prompt in prompts:
        if best[0] and not _has_unresolved_reference(best[0], spoken):
            break  # the request is found, and later prompts only correct the work
        for line in _prose_sentences(prompt):
            if FORGOTTEN_MARK in line.text or _pattern("cut").search(_strip_end(line.text)):
                continue
            if _count_words(line.text) < _LEAST_WORDS:
                fallback = fallback or line.text
                continue
            content = line.content
            score = (
                min(len(content), _ENOUGH_WORDS)
                + min(len(content & subject), 4)
                + 4 * _is_request(line.text, spoken)
                - 4 * _has_unresolved_reference(line.text, spoken)
                - 4 * (len(line.text) > _LONG_SENTENCE or line.text.endswith((":", "：")) or line.text.startswith("("))
                - 3 * (line.place > 0 and _pattern("follows").search(line.text) is not None)
                - 3 * (line.place < _VERDICT and _pattern("worked").search(line.text) is not None)
                - min(line.place, 4)
            )
            if best[0] and score + 2 <= best[1]:
                continue
            score += 2 * bool(find_artifacts(line.text))
            if not best[0] or score > best[1]:
                best = line.text, score
    return _strip_end(best[0] or (fallback if _count_words(fallback) >= 2 else ""))


def continues_attempt(prompt: str, before: Sequence[str], *, same_topic: bool) -> bool:
    """True if a prompt continues the current attempt instead of starting a new one.

    It does so if it says that the work failed or ended, repeats an earlier text of the attempt (``before``), or has too few content
    words for a request.
    """
    words, content = tokenize(prompt), content_words((prompt,))
    return (
        (same_topic and len(content) < _LEAST_WORDS)
        or bool(find_verdict(prompt, "failed", "ended"))
        or any(len(earlier) < 2 * len(prompt) and jaccard_similarity(words, tokenize(earlier)) > _AGAIN for earlier in before)
        or bool(find_verdict(prompt, "fails") and (same_topic or not content.isdisjoint(content_words(before))))
    )


def find_verdict(prompt: str, *names: str) -> str:
    """The first of the opening sentences of a prompt that gives a verdict on the work before it; empty if there is none.

    ``names`` are the verdicts to look for: ``failed``, ``fails`` (which may also describe a new problem), or ``ended`` (the person
    stopped the work).
    """
    lines = [line.text for line in _prose_sentences(prompt)[:_VERDICT]]
    return next((_strip_end(line) for line in lines if any(_pattern(name).search(line) for name in names)), "")


def confirms_outcome(prompt: str) -> bool:
    """True if a prompt says that the work before it succeeded."""
    return _pattern("worked").search(prompt[:_VERDICT_CHARS]) is not None and not find_verdict(prompt, "failed")


def withdraws_outcome(reply: str, outcome: str) -> bool:
    """True if a reply begins by withdrawing a statement, and shares at least two content words with ``outcome`` there."""
    opening = reply.lstrip()[: 2 * _LONG_SENTENCE]
    return _pattern("withdraws").search(opening) is not None and len(find_content(opening) & find_content(outcome)) > 1


def find_outcome(replies: Sequence[str], wanted: AbstractSet[str], done: AbstractSet[str]) -> str:
    """The sentence that best states the result of the work; empty if there is none.

    ``replies`` are the latest replies, the last one first. ``wanted`` has the content words of the request, ``done`` those of the
    commits and the names of changed files.
    """
    best = ("", 2.0)
    for number, reply in enumerate(replies):
        offers = reply.rstrip().endswith(("?", "？"))
        for line in _prose_sentences(reply):
            is_result = _count_words(line.text) > _LEAST_WORDS and not line.text.endswith((":", "?", "：", "？"))
            is_result = is_result and not (line.item and offers and not _pattern("done").search(line.text))
            heading = not line.item and not line.text.endswith(tuple(_CLOSED)) and _count_words(line.text) < _ENOUGH_WORDS
            is_no_result = any(_pattern(name).search(line.text) for name in ("process", "guesses")) or _LABEL.search(line.text)
            if not is_result or heading or is_no_result:
                continue
            content = line.content
            score = (
                min(len(content), _ENOUGH_WORDS) / 2
                + 2 * min(len(content & wanted), 4)
                + min(len(content & done), 3)
                + 2 * (_pattern("done").search(line.text) is not None)
                - 1.5 * line.item
                - 2 * line.text.endswith(("!", "！"))
                - 3 * (_pattern("leans").search(line.text) is not None)
                - 3 * (len(line.text) > _LONG_SENTENCE)
                - min(line.place, 12) / 4
                - 1.5 * number
            )
            if score + 1 <= best[1]:
                continue  # finding artifacts is expensive and adds at most one point
            score += bool(find_artifacts(line.text))
            if score > best[1] and not is_status_report(line.text):
                best = line.text, score
    return _strip_end(best[0])


def find_open_question(prompts: Sequence[str], *, answered: bool) -> str:
    """The last typed sentence that leaves something open; empty if there is none.

    It says that something is open, or asks a question that the next sentence postpones. A question in the last prompt also counts
    if that prompt was not ``answered``.
    """
    for number, prompt in enumerate(reversed(prompts)):
        lines = _prose_sentences(prompt)
        for line, following in reversed([*zip(lines, [*lines[1:], None], strict=False)]):
            if FORGOTTEN_MARK in line.text or _count_words(line.text) <= _LEAST_WORDS or len(line.content) <= 1:
                continue
            asks = is_question(line.text) and len(line.text) <= _LONG_SENTENCE
            put_off = asks and following is not None and _pattern("put_off").search(following.text) is not None
            is_open = _pattern("open").search(line.text) is not None and not line.text.endswith((":", "?", "？"))
            if put_off or is_open or (asks and not answered and not number):
                return _strip_end(line.text)
    return ""


def find_closing_question(reply: str) -> str:
    """The question at the end of a reply; empty if there is none, or if it has too few content words to be understood alone."""
    lines = _prose_sentences(reply[-_TURN_CHARS:])
    asks = bool(lines) and reply.rstrip().endswith(lines[-1].text) and is_question(lines[-1].text)
    return lines[-1].text if asks and len(lines[-1].content) > _LEAST_WORDS else ""


def find_decision(prompts: Sequence[str], spoken: Sequence[TellingPatterns]) -> str:
    """The typed sentence that best states a choice, a rejection or a correction; empty if there is none."""
    best = ("", 2)
    for prompt in prompts:
        for line in _prose_sentences(prompt):
            settled = _pattern("settles").search(line.text) or any(
                has_match(patterns.decided, line.text) or has_match(patterns.correction, line.text) for patterns in spoken
            )
            unfit = line.text.endswith(("?", "？", ":", "：")) or len(line.text) > _LONG_SENTENCE or FORGOTTEN_MARK in line.text
            if not settled or unfit or _count_words(line.text) <= _LEAST_WORDS or _pattern("unsure").search(line.text):
                continue
            if _pattern("fails").search(line.text) and not _is_request(line.text, spoken):
                continue
            score = min(len(line.content), _ENOUGH_WORDS) - 4 * _has_unresolved_reference(line.text, spoken)
            if score > best[1]:
                best = line.text, score
    return _strip_end(best[0])


@lru_cache(maxsize=64)  # the verdict, request, decision and question of a prompt are each looked for separately
def _prose_sentences(text: str) -> tuple[_Sentence, ...]:
    """The prose sentences of a text, without code blocks, tables, headings and markup lines."""
    sentences: list[_Sentence] = []
    fenced = False
    for raw in text[:_TURN_CHARS].splitlines():
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        if fenced or line.startswith(("```", "~~~", "|", "#", "<", "{", "@")) or not line:
            continue
        item = _ITEM.search(line) is not None
        for sentence in sentence_texts(one_line(_MARKS.sub("", _LINK.sub("\\1", line)))):
            plain = _strip_opener(sentence)
            if plain and len(plain) <= _LONGEST:
                sentences.append(_Sentence(text=plain, item=item, place=len(sentences)))
    return tuple(sentences)


def _strip_opener(sentence: str) -> str:
    """A sentence without opening words ("ok,", "so"). Its first word gets a capital letter."""
    for _ in range(3):
        shorter = _pattern("opener").sub("", sentence)
        if shorter == sentence:
            break
        sentence = shorter
    first = sentence.split(" ", 1)[0]
    return sentence[:1].upper() + sentence[1:] if first.isalpha() and first.islower() else sentence


def _is_request(text: str, spoken: Sequence[TellingPatterns]) -> bool:
    """True if a sentence has the form of a request ("can you"), or is neither a question nor a description with a subject."""
    for patterns in spoken:
        words = text[skip_filler(text, patterns) :]
        if has_match(patterns.request, words) or has_match(patterns.goal, words):
            return True
        described = patterns.describes and compile_pattern(patterns.describes).match(words)
        if not described and not text.endswith(("?", "？", ":", "：")):
            return True
    return False


def _has_unresolved_reference(text: str, spoken: Sequence[TellingPatterns]) -> bool:
    """True if one of the first five words refers to something before the sentence."""
    return any(
        has_match(patterns.outside, " ".join(text.split()[:_LEADING_WORDS]) if patterns.spaced else text[: 2 * _LEADING_WORDS])
        for patterns in spoken
    )


def _count_words(text: str) -> int:
    """The number of words. In a script without spaces, two characters count as a word."""
    spaced = len(text.split())
    return spaced if spaced > 1 else sum(is_cjk(char) for char in text) // 2 or spaced


def _strip_end(text: str) -> str:
    """A sentence without full stops, commas, semicolons and colons at its end."""
    return text.rstrip(" .;,:")
