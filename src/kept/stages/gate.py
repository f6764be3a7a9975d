"""The gate: whether a candidate may become a memory, waits for a person, or is refused; always with a reason.

Judges the candidate as it stands, by the rules of its category. Knows neither the transcript it came from nor what is remembered
already; ``grounded`` is the one check that is handed the texts.
"""

import unicodedata
from collections.abc import Mapping
from functools import cache

import re2

from kept.model.artifact import artifacts
from kept.model.event import Origin
from kept.model.lexicon import Lexicon
from kept.model.memory import Accepted, Candidate, Held, Refused, Verdict
from kept.model.profile import Category, Profile, Writer
from kept.model.text import is_cjk, one_line

LONGEST = 300
# A complete thought; a wish that needs no artifact may be shorter ("prefer small commits").
_WORDS = 5
_FEW = 3
# Two characters of a script without spaces carry about as much as a word.
_DENSE = 8
_HOSTILE = re2.compile(
    r"[\r\n\x00-\x08\x0b-\x1f\x7f]|<!--|-->|^---|^\s*#{1,6}\s|</?[a-zA-Z][\w-]*[^>]*>\s*$|^<[a-zA-Z/!]|```|~~~|<\|"
)
_IMPORT = re2.compile(r"(?:^|[\s`'\"(])@(?:~|\.{0,2}/|[\w-]+/)\S*")
_CODE = re2.compile(r"^[{}\[\]();]|[{}\[\];]\.?$|^(?:/|https?:)\S*$|^(?:```|//|#!)")
# A pronoun this many words into a sentence has something to stand for.
_BEFORE = 5
# A capital inside a sentence: a name.
_NAME = re2.compile(r"[a-z,] ([A-Z][a-z]+)\b")
_LITERAL = re2.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”")
_ASIDE = re2.compile(r"\([^()]*\)")
# What finds questions on purpose.
_ASKING = frozenset({"noted_question", "open_question"})
# What proposes a line whose slots are passages of what ran.
_TEMPLATE = "error_fix"
_SECTION = re2.compile(r"^(?:\||>|\d+\.\s|[-*+]\s)")


def judge(candidate: Candidate, profile: Profile, *, lexicon: Lexicon) -> Verdict:
    """The verdict on a candidate. Refusals and holds name the first rule that was broken."""
    category = profile.category(candidate.category)
    if category is None:
        return Refused(reason="unknown category", detail=candidate.category[:60])
    held = _refusal(candidate, category, lexicon) or _hold(candidate, category, lexicon) or Accepted()
    if isinstance(held, Held) and candidate.confidence < category.review:
        return Refused(
            reason="not sure enough to ask", detail=f"confidence {candidate.confidence:.2f} is below {category.review:.2f}"
        )
    return held


def grounded(candidate: Candidate, texts: Mapping[str, str]) -> bool:
    """Whether every quote stands verbatim (white space apart) in the text of its event, and every artifact of the content in any text.

    ``texts`` maps event keys to texts: those of the cited events and of their neighbours (a tool's target included).
    """
    for each in candidate.evidence:
        quote = one_line(each.quote)
        if not quote or quote not in one_line(texts.get(each.event, "")):
            return False
    cited = "\n".join(one_line(texts[each.event]) for each in candidate.evidence).casefold()
    missing = [name.casefold() for name in artifacts(candidate.content) if name.casefold() not in cited]
    return bool(candidate.evidence) and all(any(name in one_line(text).casefold() for text in texts.values()) for name in missing)


def _refusal(candidate: Candidate, category: Category, lexicon: Lexicon) -> Refused | None:
    checks = _trust(candidate, category) + (() if candidate.trigger == _TEMPLATE else _form(candidate, category, lexicon))
    return next((Refused(reason=reason) for reason, broken in checks if broken), None)


def _trust(candidate: Candidate, category: Category) -> tuple[tuple[str, bool], ...]:
    """What no candidate may be, whoever words it."""
    text = candidate.content
    return (
        ("no evidence", not any(each.quote.strip() for each in candidate.evidence)),
        ("untrusted author", _untrusted(candidate, category)),
        ("invisible text", any(_invisible(char) for char in text)),
        ("too long", len(text) > LONGEST),
    )


def _form(candidate: Candidate, category: Category, lexicon: Lexicon) -> tuple[tuple[str, bool], ...]:
    """What a sentence may not be. A template whose slots are verbatim is no sentence of anybody's."""
    text = candidate.content
    return (
        ("markup", _HOSTILE.search(text) is not None or _SECTION.match(text) is not None),
        ("import", _IMPORT.search(text) is not None),
        ("fragment", _words(text) < _least(text, category, lexicon)),
        ("code", _CODE.search(text.strip()) is not None or _coded(text)),
        ("question", text.rstrip().endswith(("?", "？")) and candidate.trigger not in _ASKING),
        ("self-reference", _found(lexicon.agent_talk, text) or _found(lexicon.memory_talk, text)),
        ("chatter", _found(lexicon.chatter, text) and len(text.split()) < 12),
        ("profanity", _found(lexicon.profanity, text)),
        (
            "unresolved reference",
            _found(lexicon.deictic, text) and not _found(lexicon.anchored, text[:60]) and not candidate.artifacts,
        ),
        ("unspecific", category.specific and not candidate.fingerprint and not _specific(text, lexicon)),
        ("not actionable", category.actionable and not _found(lexicon.actionable, text)),
    )


def _hold(candidate: Candidate, category: Category, lexicon: Lexicon) -> Held | None:
    if category.users_words and not any(each.origin is Origin.USER and each.quote.strip() for each in candidate.evidence):
        return Held(reason="not the user's words", detail="nothing the user said themselves supports it")
    if category.users_words and candidate.origin is not Origin.USER:
        return Held(reason="not the user's words", detail="it rests on words that are not the user's")
    if not category.tool_words and candidate.origin is Origin.TOOL:
        return Held(reason="a tool's words", detail="nobody said it: it rests on what a tool printed")
    theirs = category.users_words or candidate.origin is Origin.USER
    if theirs and not stands_alone(candidate.content, lexicon):
        return Held(
            reason="does not stand alone", detail="it points at something that it does not name, or a part of it is missing"
        )
    if Writer.MACHINE not in category.writers:
        return Held(reason="not extracted", detail="only a person, or an agent that asks, writes into this category")
    if candidate.confidence < category.floor:
        return Held(reason="unsure", detail=f"confidence {candidate.confidence:.2f} is below {category.floor:.2f}")
    return None


def stands_alone(text: str, lexicon: Lexicon) -> bool:
    """Whether a text can be understood without what was said before it: brackets and quotes are closed, nothing points outside, and a
    pronoun comes after something that it can mean.
    """
    return _balanced(text) and not _found(lexicon.defect, _ASIDE.sub(" ", text)) and not _dangles(text, lexicon)


def _dangles(text: str, lexicon: Lexicon) -> bool:
    free = _LITERAL.sub(" X ", text)
    if lexicon.anchored:
        free = _compiled(lexicon.anchored).sub(" X ", free)
    if _found(lexicon.dangling, free) or _found(lexicon.pointer, free):
        return True
    if _lacks_plural(free, lexicon) or _unnamed(text, lexicon):
        return True
    pronoun = _compiled(lexicon.pronoun).search(free) if lexicon.pronoun else None
    if pronoun is None:
        return False
    before = free[: pronoun.start(pronoun.lastindex)]
    return len(before.split()) < _BEFORE and not artifacts(before) and not _found(lexicon.technical, before) and "X" not in before


def _unnamed(text: str, lexicon: Lexicon) -> bool:
    """Whether a text tells whether something is on, and calls it by a word that only that conversation understands ("the limiter")."""
    told = _compiled(lexicon.switched).search(text) if lexicon.switched else None
    return told is not None and not _found(lexicon.technical, told[told.lastindex].split()[1]) and not artifacts(text)


def _lacks_plural(text: str, lexicon: Lexicon) -> bool:
    """Whether the first "they" comes before anything that it can mean."""
    they = _compiled(lexicon.plural_pronoun).search(text) if lexicon.plural_pronoun else None
    return they is not None and not _found(lexicon.plural_noun, text[: they.start(they.lastindex)])


def _balanced(text: str) -> bool:
    pairs = all(text.count(opened) == text.count(closed) for opened, closed in ("()", "[]", "{}", "“”"))
    return pairs and "=>" not in text and "→" not in text and text.count("`") % 2 == 0 and text.count('"') % 2 == 0


def _untrusted(candidate: Candidate, category: Category) -> bool:
    """Injected, sub-agent, compaction and abandoned text supports nothing; tool text supports no category that needs the user's words."""
    authors = {each.author for each in candidate.evidence}
    return bool(authors & {"injected", "subagent", "compaction", "abandoned"}) or (category.users_words and "tool" in authors)


def _specific(text: str, lexicon: Lexicon) -> bool:
    """Whether a text names something concrete: an artifact, two different nouns of the trade, or one in a general rule or a comparison."""
    if artifacts(text):
        return True
    terms = (
        {term[term.lastindex].casefold() for term in _compiled(lexicon.technical).finditer(text.replace(" ", "  "))}
        if lexicon.technical
        else set()
    )
    terms |= {name[1].casefold() for name in _NAME.finditer(text)}
    cues = (lexicon.generaliser, lexicon.versus, lexicon.practice, lexicon.hard, lexicon.announced)
    return len(terms) > 1 or (len(terms) == 1 and any(_found(cue, text) for cue in cues))


def _least(text: str, category: Category, lexicon: Lexicon) -> int:
    """The words that make a complete thought: one fewer where a rule or a practice names what it is about ("we use pnpm here")."""
    if not category.specific:
        return _FEW
    firm = any(_found(cue, text) for cue in (lexicon.practice, lexicon.hard, lexicon.versus))
    return _WORDS - 1 if firm and _specific(text, lexicon) else _WORDS


def _words(text: str) -> int:
    """The words of a text outside brackets; eight characters of a script without spaces count as five."""
    text = _ASIDE.sub(" ", text)
    dense = sum(1 for char in text if is_cjk(char))
    return len(text.split()) + dense * _WORDS // _DENSE


def _coded(text: str) -> bool:
    marks = sum(1 for char in text if char in "{}[]<>;=|\\^$")
    return marks * 8 > len(text)


def _invisible(char: str) -> bool:
    return unicodedata.category(char) in ("Cf", "Co", "Cs", "Cn") or char in "\u2028\u2029\u3164\u115f\u1160\uffa0"


@cache
def _compiled(source: str) -> "re2._Regexp":
    return re2.compile(source)


def _found(source: str, text: str) -> bool:
    return bool(source) and _compiled(source).search(text) is not None
