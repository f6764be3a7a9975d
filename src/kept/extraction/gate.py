"""The gate: accept a candidate as a memory, hold it for a person, or refuse it. It always gives the reason.

The gate judges only the candidate itself, by the rules of its category. It knows neither the transcript nor the existing memories.
Only ``is_grounded`` receives texts.
"""

import unicodedata
from collections.abc import Iterator, Mapping

from kept.core.artifact import find_artifacts
from kept.core.event import FORGOTTEN_MARK, Origin
from kept.core.invisible import strip_invisible
from kept.core.memory import ACCOUNT, DECIDED, REDACTED, REMEMBER, SAID_ONCE, UNSAID, Accepted, Candidate, Held, Refused, Verdict
from kept.core.pattern import Pattern
from kept.core.sentences import is_status_report
from kept.core.text import one_line
from kept.extraction.rules.passages import LONGEST_PASSAGE
from kept.extraction.rules.patterns import has_match
from kept.extraction.rules.tellings import ERRAND
from kept.extraction.sensitive import has_account_number, is_redacted, names_unsaid_secret
from kept.profiles.lexicons import Lexicon
from kept.profiles.profile import Category, Profile, Writer

LONGEST = 480  # characters; a line of the memory file has 500
_QUOTED = 390  # characters; a longer passage may have been cut to a quote of this length
_UNSEEN = ("Cn", "Co", "Zl", "Zp")  # unassigned and private-use characters, separators of lines and paragraphs
# A capitalized word inside a sentence: a name.
_NAME = Pattern(r"[a-z,] ([A-Z][a-z]+)\b")


def judge(candidate: Candidate, profile: Profile, *, lexicon: Lexicon) -> Verdict:
    """Return the verdict on a candidate. If it is refused or held, the verdict names the first rule that it broke."""
    category = profile.category(candidate.category)
    if category is None:
        return Refused(reason="unknown category", detail=candidate.category[:60])
    refusal = next((Refused(reason=reason) for reason in _list_refusals(candidate, category, lexicon)), None)
    verdict = refusal or _find_hold(candidate, category) or Accepted()
    if isinstance(verdict, Held) and candidate.confidence < category.review:
        return Refused(
            reason="not sure enough to ask", detail=f"confidence {candidate.confidence:.2f} is below {category.review:.2f}"
        )
    return verdict


def is_grounded(candidate: Candidate, texts: Mapping[str, str]) -> bool:
    """True if each quote occurs verbatim (except for white space) in its event, and each artifact of the content in any of the
    texts.

    ``texts`` maps event keys to the texts of the cited events and their neighbours, including targets of tool calls. A candidate
    without evidence never gets here, because :func:`judge` refuses it.
    """
    for entry in candidate.evidence:
        quote = one_line(entry.quote)
        if not quote or quote not in one_line(texts.get(entry.event, "")):
            return False
    names = (name.casefold().removesuffix(" …") for name in find_artifacts(candidate.content))  # the content may abbreviate a name
    places = (*(item.event for item in candidate.evidence), *texts)  # cited texts come first, because they contain most names
    return all(any(name in one_line(texts[place]).casefold() for place in places) for name in names)


def _list_refusals(candidate: Candidate, category: Category, lexicon: Lexicon) -> Iterator[str]:
    """Yield the reasons to refuse a candidate. The caller needs only the first one, and the last ones take longest to find."""
    text = candidate.content
    if not any(item.quote.strip() for item in candidate.evidence):
        yield "no evidence"
    if any(FORGOTTEN_MARK in words for words in (text, *(item.quote for item in candidate.evidence))):
        yield "forgotten words"
    if _is_untrusted(candidate, category):
        yield "untrusted author"
    if strip_invisible(text)[1] > 0 or any(unicodedata.category(char) in _UNSEEN for char in text):
        yield "invisible text"
    if len(text) > (LONGEST_PASSAGE if _is_passage(candidate) else LONGEST):
        yield "too long"
    if candidate.doubt in (SAID_ONCE, ERRAND):
        yield candidate.doubt
    if candidate.trigger == REMEMBER and names_unsaid_secret(text):
        yield UNSAID
    # The person may have decided something about software that itself has memories.
    decided = candidate.origin is Origin.USER and candidate.trigger == DECIDED
    if not category.self_reference and not decided and has_match(lexicon.agent_talk, text):
        yield "self-reference"
    if category.specific and not candidate.fingerprint and not (category.users_words and candidate.origin is Origin.USER):
        if is_status_report(text):
            yield "status report"
        if not _is_specific(text):
            yield "unspecific"


def _find_hold(candidate: Candidate, category: Category) -> Held | None:
    if category.users_words and not any(item.origin is Origin.USER and item.quote.strip() for item in candidate.evidence):
        return Held(reason="not the user's words", detail="nothing the user said themselves supports it")
    if category.users_words and candidate.origin is not Origin.USER:
        return Held(reason="not the user's words", detail="it rests on words that are not the user's")
    if not category.tool_words and candidate.origin is Origin.TOOL:
        return Held(reason="a tool's words", detail="nobody said it: it rests on what a tool printed")
    if Writer.MACHINE not in category.writers:
        return Held(reason="not extracted", detail="only a person, or an agent that asks, writes into this category")
    if is_redacted(candidate.content) and not candidate.fingerprint:  # a command that fixed an error helps without its secret
        return Held(reason=REDACTED)
    if has_account_number(candidate.content):
        return Held(reason=ACCOUNT)
    if candidate.doubt:
        return Held(reason=candidate.doubt)
    if candidate.confidence < category.floor:
        return Held(reason="unsure", detail=f"confidence {candidate.confidence:.2f} is below {category.floor:.2f}")
    return None


def _is_untrusted(candidate: Candidate, category: Category) -> bool:
    """True if the evidence is injected, sub-agent, compaction or abandoned text. Also true if it is a tool's text and the category
    needs the user's words.
    """
    authors = {item.author for item in candidate.evidence}
    return bool(authors & {"injected", "subagent", "compaction", "abandoned"}) or (category.users_words and "tool" in authors)


def _is_passage(candidate: Candidate) -> bool:
    """True if the content is a long passage that the person typed, of which the quote has only the beginning."""
    own = [item.quote for item in candidate.evidence if item.origin is Origin.USER and len(item.quote) >= _QUOTED]
    return any(candidate.content.startswith(quote) for quote in own)


def _is_specific(text: str) -> bool:
    """True if a text names something concrete: a file, a function, a setting, a command, a version, or a proper name."""
    return bool(find_artifacts(text)) or _NAME.search(text) is not None
