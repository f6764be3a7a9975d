"""Sentences that say why something failed, and words by which a person confirms or denies that it is mended.

Lexicons per language as data; knows nothing of commands.
"""

import re2

from kept.model.text import is_cjk, one_line
from kept.stages.extract.writing import unstressed

SENTENCE_CHARS = 220
_READ_CHARS = 4_000

# Openings that announce a cause; what follows them is the cause itself.
_ANNOUNCED = re2.compile(
    r"(?i)^(?:(?:ah|aha|right|ok(?:ay)?|good|great|perfect|found it|there it is|now i see)\b[,.!:—–-]*\s*)?(?:so\s+)?(?:i (?:see|found|know) )?"
    r"(?:the (?:real |actual |true |underlying |likely )?(?:root )?(?:issue|problem|cause|reason|culprit|bug|error|failure)(?: here)? (?:is|was)(?: because| due to)?(?: that)?"
    r"|(?:root )?cause:|(?:the )?(?:problem|issue|reason|culprit|bug|fix):|(?:it|this|that) (?:turns|turned) out(?: that)?|turns out(?: that)?"
    r"|die ursache (?:ist|war)|das problem (?:ist|war|liegt)|ursache:|el problema (?:es|era)(?: que)?|la causa (?:es|era)(?: que)?"
    r"|le problème (?:est|était|vient)(?: que)?|la cause (?:est|était)|o problema (?:é|era)(?: que)?|a causa (?:é|era)"
    r"|问题(?:是|在于|出在)|原因(?:是|在于|:|：)|原因は|問題は)\s*[:,：]?\s*",
)
# A short sentence that only announces; the next one is the cause.
_POINTS = re2.compile(
    r"(?i)^(?:(?:i )?(?:found|see|got|spotted) (?:it|the (?:real |root )?(?:issue|problem|bug|cause|culprit))|(?:that|this|here|there)(?:'s| is| was) the (?:real |root )?"
    r"(?:issue|problem|bug|cause|culprit)|das ist (?:das problem|der fehler|die ursache)|找到(?:问题|原因)了|これが原因)\b",
)
_CAUSAL = re2.compile(
    r"(?i)\b(?:because|caused by|due to|since|doesn't (?:support|read|allow|accept|have|handle|include)|does not (?:support|read|allow|accept|have|handle|include|satisfy)"
    r"|requires?|only (?:supports?|accepts?|works?|reads?|allows?|valid)|by default|must be|has to be|needs? to be|isn't supported|not supported|deprecated"
    r"|(?:was|is) (?:invalid|wrong|incorrect|missing|not installed)|overwr\w+|shadow(?:s|ed)|conflicts? with|is ignored|silently|weil|wegen|verlangt|benötigt|porque|debido a|requiere|parce que|à cause de|nécessite|por causa de|precisa)\b"
    r"|因为|由于|需要|ため|必要",
)
_NEEDS = re2.compile(
    r"(?i)\b(?:needs?|must|should|requires?|only|never|not|cannot|without|missing|lacks?|fails?|empty|wrong\w*|incorrect\w*|stale|lost|breaks?|no|nothing|nie|nicht|kein\w*|sin|sans|sem|jamais|pas|não|nunca)\b|n[’']t\b|没|不|ない"
)
_REMEDY = re2.compile(
    r"(?i)^(?:the (?:simplest |right |real |actual )?(?:fix|solution|workaround)(?: here)?(?::| is to| is| was to| was)|solution:|fix:|lösung:|solución:|solution :)\s*",
)
_HEDGED = re2.compile(
    r"(?i)\b(?:probably|might|maybe|perhaps|seems?|appears?|likely|possibly|could be|i think|i suspect|let's see|wahrscheinlich|vielleicht|quizás|peut-être|talvez)\b|可能|かもしれ",
)
_CHATTER = re2.compile(
    r"(?i)^(?:let me|let's|i |i'll|i'm|i've|we |we'll|now|first|next|then|also|done|good|great|perfect|ok|okay|ich werde|lass|voy a|je vais|vou)\b",
)
_BARE = re2.compile(
    r"(?i)^(?:it|its|it's|this|that|that's|these|those|they|there|he|she|here|both|same|which|so|and|but|however|es|das|dies|esto|eso|cela|c'est|isso)\b",
)

# A state that work has ended, or that only this work knows: told in the past, or of "our" code, a line, "the new test".
_ENDED = re2.compile(
    r"(?i)\b(?:was|were|wasn't|weren't|had|hadn't|did|didn't|could(?:n't| not)|wrote|got|ran|broke|threw|came|went|took|made|lost|left|no longer|right now|currently|so far|yet"
    r"|our|my|your|we|i|you|lines? \d+|line numbers?|(?:the|this) (?:new|old|current|existing|previous|earlier|last) \w+|(?:the|this) (?:test|change|commit|function|file|implementation|refactor\w*)"
    r"|wurde|wurden|war|waren|hatte|était|avait|estaba|tenía|estava|tinha)\b",
)
_PAST = re2.compile(
    r"(?i)\b(?:was|were|had|did|could have|would have|wurde|wurden|war|waren|hatte|était|avait|estaba|tenía|estava|tinha)\b|(?:was|were|had|did)n[’']t\b"
)
_CONSEQUENCE = re2.compile(r"(?i)^(.{25,}?),\s+(?:so|which|hence|therefore|thus|sodass|also|donc|por eso)\b.*$")
_DANGLES = re2.compile(r"(?i)\b(?:it|them|this|that|these|those|one|ones)\s*(?:[(.,;:]|$)")
_BE = frozenset(
    (
        "is",
        "are",
        "be",
        "been",
        "being",
        "isn't",
        "aren't",
        "not",
        "never",
        "always",
        "only",
        "the",
        "a",
        "an",
        "and",
        "or",
        "get",
        "gets",
        "as",
        "if",
        "when",
        "must",
        "explicitly",
        "already",
        # A participle behind these is an adjective ("a struct with no exported fields").
        "no",
        "any",
        "all",
        "each",
        "every",
        "its",
        "their",
        "with",
        "without",
        "of",
        "for",
    )
)

_YES = re2.compile(
    r"(?i)^(?:(?:ok|okay|yes|yeah|yep|ah|oh|omfg|omg|wow|nice|great|cool|thanks|perfect|awesome|super|gut|ja|sí|oui|sim)\b[,.! ]*)*"
    r"(?:(?:it |that |this |all |everything |now )?(?:it )?(?:works?|worked|working|fixed|resolved|solved|passes|green)(?:[.,!]| now| great| fine| again| well| perfectly|$)|that(?:'s| is| was) it\b|that did it|that fixed"
    r"|problem (?:is )?(?:solved|gone)|error is gone|no more errors?|funktioniert|geht jetzt|läuft|behoben|funciona|arreglado|resuelto|ça marche|ça fonctionne|résolu|corrigé|funcionou|resolvido"
    r"|好了|可以了|解决了|成功了|動きました|直りました|できました)",
)
_NO = re2.compile(
    r"(?i)\b(?:still|again|same (?:error|issue|problem)|not (?:working|fixed)|doesn't work|does not work|didn't (?:work|help)|nope|no luck|another error|now (?:i'm|i am|i) get"
    r"|immer noch|geht nicht|todavía|sigue|no funciona|toujours|ne marche pas|ainda|não funciona)\b|还是|仍然|不行|まだ",
)
_WORD = re2.compile(r"[\pL\pN_][\pL\pN\pM_./@-]*[\pL\pN_]")
_MARKS = re2.compile(r"^\s*(?:[-*•]|\d+[.)])\s+|^#{1,6}\s+")


def confirms(text: str) -> bool:
    """Whether a person's short message says that it works now."""
    line = one_line(text[:160])
    return len(text) <= 160 and not denies(text) and bool(_YES.match(line)) and "?" not in line


def denies(text: str) -> bool:
    """Whether a person's message says, near its start, that it still does not work."""
    return bool(_NO.search(one_line(text[:300])))


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of prose outside code blocks, each a verbatim piece of one line of the text."""
    found: list[str] = []
    fenced = False
    for line in text[:_READ_CHARS].splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and line.strip() and not line.startswith(("    ", "\t", "|", ">")):
            found.extend(_split(line.strip()))
    return tuple(found)


def _split(line: str) -> list[str]:
    pieces: list[str] = []
    begin, coded = 0, False
    for place, char in enumerate(line):
        coded ^= char == "`"
        ends = char in "。！？" or (char in ".!?" and line[place + 1 : place + 2] in ("", " "))
        if ends and not coded and not line[begin:place].endswith(("e.g", "i.e", "vs", "etc", "z.B")):
            pieces.append(line[begin : place + 1].strip())
            begin = place + 1
    pieces.append(line[begin:].strip())
    return [piece for piece in pieces if piece]


def plain(sentence: str) -> str:
    """A sentence without emphasis marks, list marks and its announcing words, starting with a capital where it did not with code."""
    text = plain_marks(sentence).strip(" :—–-")
    rest = _ANNOUNCED.sub("", text, count=1)
    rest = _REMEDY.sub("", rest, count=1) or rest
    rest = str(rest)
    first = rest.split(" ", 1)[0]
    return rest[:1].upper() + rest[1:] if first.isalpha() else rest


def cause_in(text: str, *, about: frozenset[str]) -> str:
    """The sentence of a text that best says why something failed, verbatim; empty where none does.

    ``about`` are words of the error and the command: a sentence that announces no cause must share one of them.
    """
    best, score = "", 0
    pieces = sentences(text)
    for place, piece in enumerate(pieces):
        clean = plain_marks(piece)
        pointed = place > 0 and len(pieces[place - 1].split()) <= 8 and bool(_POINTS.match(plain_marks(pieces[place - 1])))
        announced = bool(_ANNOUNCED.match(clean))
        if not usable(clean, loose=announced or pointed):
            continue
        shares = bool(about & words_of(clean))
        causal = bool(_CAUSAL.search(clean))
        points = 4 * announced + 3 * pointed + 2 * causal + 2 * shares + ("`" in piece)
        if (announced or pointed or (causal and shares)) and points > score:
            best, score = piece, points
    return best


def blames(text: str) -> bool:
    """Whether a stated cause says what is wrong, or needed, rather than how something is made."""
    return bool(_CAUSAL.search(text) or _NEEDS.search(text))


def past(text: str) -> bool:
    """Whether a sentence tells how something was."""
    return bool(_PAST.search(text))


def lasting(sentence: str) -> str:
    """What of a stated cause stays true when the work is done, without its announcement; empty where nothing does.

    A tool's or platform's way of being lasts ("go-git ignores the global gitignore"); what was wrong with the code does not, nor does
    a sentence whose last word points elsewhere. A consequence told in the past is left out.
    """
    whole = plain(sentence)
    parts = _CONSEQUENCE.match(whole)
    for text in (whole, str(parts[1]) if parts else ""):
        if text and usable(text, loose=False) and not _ENDED.search(text) and not _DANGLES.search(text) and not _narrates(text):
            return text if text.endswith((".", "。", "…")) else f"{text}."
    return ""


def _narrates(text: str) -> bool:
    """Whether one of the first words is a verb in the past ("the skill created session files")."""
    words = [word.casefold().strip("`*,()") for word in text.split()[:9]]
    return any(
        len(word) > 3
        and word.endswith("ed")
        and word.isalpha()
        and words[place - 1] not in _BE
        and not word.endswith(("need", "eed"))
        for place, word in enumerate(words)
        if place > 0
    )


def remedy_in(text: str) -> str:
    """The sentence of a text that names the remedy (``The fix: …``), verbatim; empty where none does."""
    return next(
        (
            piece
            for piece in sentences(text)
            if _REMEDY.match(plain_marks(piece)) and usable(plain_marks(piece), loose=True, least=3)
        ),
        "",
    )


def plain_marks(sentence: str) -> str:
    """A sentence without emphasis and list marks."""
    return one_line(_MARKS.sub("", unstressed(sentence))).strip()


def announces(sentence: str, *, alone: bool) -> bool:
    """Whether a sentence without marks announces a cause: in its own words, or (``alone``) only points at the sentence after it."""
    return bool(_POINTS.match(sentence)) and len(sentence.split()) <= 8 if alone else bool(_ANNOUNCED.match(sentence))


def dangles(sentence: str) -> bool:
    """Whether a sentence ends a clause with a pronoun, which may stand for something outside it."""
    return bool(_DANGLES.search(sentence))


def usable(sentence: str, *, loose: bool, least: int = 5) -> bool:
    """Whether a sentence stands by itself: long enough, no question, no guess, no chatter, no bare pronoun at its start."""
    body = _ANNOUNCED.sub("", sentence, count=1)
    long_enough = len(body.split()) >= least or sum(is_cjk(char) for char in body[:80]) >= 8
    return (
        long_enough
        and len(body) <= SENTENCE_CHARS
        and not body.endswith(("?", ":", "："))
        and not _HEDGED.search(sentence)
        and not _CHATTER.match(body)
        and not (_BARE.match(body) and not (loose and body != sentence))
    )


def words_of(text: str) -> frozenset[str]:
    """The salient words of a text: those of four characters or more, and what stands in backticks."""
    coded = (piece.strip() for piece in text.split("`")[1:-1:2])
    return frozenset(word for word in _WORD.findall(text.casefold()) if len(word) >= 4) | frozenset(
        piece for piece in coded if 0 < len(piece) <= 80
    )
