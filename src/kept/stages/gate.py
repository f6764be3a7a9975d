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
from kept.model.profile import Category, Profile
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
_ASIDE = re2.compile(r"\([^()]*\)")
_SECTION = re2.compile(r"^(?:\||>|\d+\.\s|[-*+]\s)")


def judge(candidate: Candidate, profile: Profile, *, lexicon: Lexicon) -> Verdict:
    """The verdict on a candidate. Refusals and holds name the first rule that was broken."""
    category = profile.category(candidate.category)
    if category is None:
        return Refused(reason="unknown category", detail=candidate.category[:60])
    return _refusal(candidate, category, lexicon) or _hold(candidate, category) or Accepted()


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
    text = candidate.content
    checks = (
        ("no evidence", not any(each.quote.strip() for each in candidate.evidence)),
        ("untrusted author", _untrusted(candidate, category)),
        ("invisible text", any(_invisible(char) for char in text)),
        ("markup", _HOSTILE.search(text) is not None or _SECTION.match(text) is not None),
        ("import", _IMPORT.search(text) is not None),
        ("too long", len(text) > LONGEST),
        ("fragment", _words(text) < (_WORDS if category.specific else _FEW)),
        ("code", _CODE.search(text.strip()) is not None or _coded(text)),
        ("question", text.rstrip().endswith(("?", "？"))),
        ("self-reference", _found(lexicon.agent_talk, text) or _found(lexicon.memory_talk, text)),
        ("chatter", _found(lexicon.chatter, text) and len(text.split()) < 12),
        ("profanity", _found(lexicon.profanity, text)),
        ("unresolved reference", _found(lexicon.deictic, text) and not candidate.artifacts),
        ("unspecific", category.specific and not candidate.fingerprint and not _specific(text, lexicon)),
        ("not actionable", category.actionable and not _found(lexicon.actionable, text)),
    )
    return next((Refused(reason=reason) for reason, broken in checks if broken), None)


def _hold(candidate: Candidate, category: Category) -> Held | None:
    if category.users_words and not any(each.origin is Origin.USER and each.quote.strip() for each in candidate.evidence):
        return Held(reason="not the user's words", detail="nothing the user said themselves supports it")
    if category.users_words and candidate.origin is not Origin.USER:
        return Held(reason="not the user's words", detail="it rests on words that are not the user's")
    if candidate.confidence < category.floor:
        return Held(reason="unsure", detail=f"confidence {candidate.confidence:.2f} is below {category.floor:.2f}")
    return None


def _untrusted(candidate: Candidate, category: Category) -> bool:
    """Injected, sub-agent, compaction and abandoned text supports nothing; tool text supports no category that needs the user's words."""
    authors = {each.author for each in candidate.evidence}
    return bool(authors & {"injected", "subagent", "compaction", "abandoned"}) or (category.users_words and "tool" in authors)


def _specific(text: str, lexicon: Lexicon) -> bool:
    """Whether a text names something concrete: an artifact, two different nouns of the trade, or one in a general rule or a comparison."""
    if artifacts(text):
        return True
    terms = (
        {term[term.lastindex].casefold() for term in _compiled(lexicon.technical).finditer(text)} if lexicon.technical else set()
    )
    return len(terms) > 1 or (len(terms) == 1 and (_found(lexicon.generaliser, text) or _found(lexicon.versus, text)))


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
