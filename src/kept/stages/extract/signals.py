"""What one sentence of a person does, and how sure that is: named signals with weights, added up to a confidence.

Judges a sentence together with whether it answers the assistant; the words come from the lexicon.
"""

from dataclasses import dataclass

import re2

from kept.model.artifact import artifacts
from kept.model.lexicon import Lexicon
from kept.model.text import is_cjk
from kept.stages.extract.cues import count, has, specific, strip_all, strip_first, strip_last
from kept.stages.extract.writing import after_step, after_verdict, without_question, without_trailer

BASE = 0.3
# What a person only passes on, or asks, is never sure enough to count without them.
UNSURE = 0.65
WEIGHTS = {
    "rule": 0.25,
    "strong rule": 0.1,
    "practice": 0.3,
    "correction": 0.2,
    "answers the assistant": 0.1,
    "only a correction": -0.1,
    "choice": 0.25,
    "decision": 0.15,
    "announced": 0.25,
    "preference": 0.4,
    "fact": 0.3,
    "goal": 0.3,
    "stated goal": 0.2,
    "names an alternative": 0.1,
    "takes back": 0.3,
    "left open": 0.5,
    "firm": 0.1,
    "general": 0.15,
    "reason": 0.1,
    "names artifacts": 0.1,
    "names parts": 0.1,
    "emphasis": 0.1,
    "said again": 0.2,
    "the assistant confirms it": 0.15,
    "question": -0.5,
    "asks for agreement": -0.05,
    "asks to be told": -0.3,
    "only considered": -0.3,
    "doubt": -0.15,
    "supposed": -0.3,
    "of the moment": -0.25,
    "report": -0.4,
    "vague": -0.3,
    "names a list item": -0.5,
    "step of the task": -0.3,
    "one-off order": -0.6,
    "of what is being built": -0.3,
    "of one file": -0.3,
    "half of it": -0.3,
    "tells of a defect": -0.45,
    "asks": 0.0,
    "asked and not granted": -0.6,
    "mere wish": -0.3,
    "part of a task": -0.3,
    "points outside": -0.25,
    "short": -0.25,
    "chatter": -0.4,
    "about remembering": -0.6,
    "about the agent": -0.6,
    "reported": -0.45,
    "item of a list": -0.3,
    "aside": 0.05,
}
# What speaks against a claim only until somebody confirms it.
_SETTLED = frozenset({"asks for agreement", "asks to be told", "doubt", "supposed"})
_SHOUT = re2.compile(r"\b[A-Z]{3,}\b")
# "ABC 2", "#3": an item of a list that stands elsewhere.
_LISTED = re2.compile(r"\b[A-Z]{2,5} \d{1,2}\b|(?:^|\s)#\d{1,3}\b")
# A goal that names a file is the goal of a task.
_FILE = re2.compile(r"[\w/-]+\.[a-z]{1,5}\b")
_QUOTED = re2.compile(r"\"[^\"\n]{20,}\"|“[^”\n]{20,}”")
_LETTERS = re2.compile(r"\pL")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A sentence read: the category it belongs to (empty: none), the signals that were found, the confidence they add up to."""

    category: str
    trigger: str
    signals: tuple[str, ...]
    confidence: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """Where a sentence stands: an assistant's turn is before it; it is passed on from others; it is in brackets, or a point of a list; its
    like was said before in the session; its prompt tells of a defect (``mending``) or opens with an
    order (``tasked``); what follows grants what it asks for (``granted``), or confirms what it says (``confirmed``).
    """

    answers: bool = False
    reported: bool = False
    aside: bool = False
    item: bool = False
    again: bool = False
    mending: bool = False
    tasked: bool = False
    granted: bool = False
    confirmed: bool = False


def read(sentence: str, lexicon: Lexicon, setting: Setting) -> Reading:
    """Read a sentence: what it does, what speaks for and against remembering it, how sure that makes it."""
    if has(lexicon.unsettled, sentence):
        return _left_open(sentence, lexicon, setting)
    bare = without_trailer(without_question(_bare(sentence, lexicon), lexicon), lexicon)
    requested = strip_first(lexicon.request, bare)
    acts = _acts(bare, sentence, lexicon, answers=setting.answers)
    checks = (
        *(_supports(sentence, lexicon, setting) if acts else ()),
        *_objections(sentence, (bare, requested), acts, lexicon, setting),
    )
    signals = acts + tuple(
        name for name, holds in (*checks, *_placed(setting, sentence, alone=after_step(bare, lexicon) != bare)) if holds
    )
    if setting.confirmed and acts and "asks" not in signals:
        signals = (*(name for name in signals if name not in _SETTLED), "the assistant confirms it")
    category, trigger = _category(set(acts), bare, lexicon)
    weights = [WEIGHTS[name] for name in signals]
    total = min(0.95, BASE + sum(weight for weight in weights if weight > 0)) + sum(weight for weight in weights if weight < 0)
    most = UNSURE if {"reported", "question", "doubt", "supposed", "asks to be told"} & set(signals) else 0.95
    return Reading(category=category, trigger=trigger, signals=signals, confidence=round(min(most, max(0.0, total)), 2))


def _left_open(sentence: str, lexicon: Lexicon, setting: Setting) -> Reading:
    """A sentence that says that something is not decided yet: sure where it says so of something that has a name."""
    checks = (
        ("names artifacts", bool(artifacts(sentence))),
        ("names parts", not artifacts(sentence) and specific(sentence, lexicon)),
        ("mere wish", not has(lexicon.yet, sentence)),
        ("reported", setting.reported),
        ("chatter", has(lexicon.chatter, sentence)),
    )
    signals = ("left open", *(name for name, holds in checks if holds))
    total = BASE + sum(WEIGHTS[name] for name in signals)
    return Reading(category="open_question", trigger="question", signals=signals, confidence=round(max(0.0, total), 2))


_Checks = tuple[tuple[str, bool], ...]


def _supports(sentence: str, lexicon: Lexicon, setting: Setting) -> _Checks:
    names = artifacts(sentence)
    joined = " ".join(names)
    shouted = (word for word in _SHOUT.findall(sentence) if word not in joined and not has(lexicon.technical, word))
    return (
        ("names artifacts", bool(names)),
        ("names parts", not names and specific(sentence, lexicon)),
        ("emphasis", next(shouted, "") != ""),
        ("said again", setting.again),
    )


def _objections(sentence: str, forms: tuple[str, str], acts: tuple[str, ...], lexicon: Lexicon, setting: Setting) -> _Checks:
    bare, requested = forms
    plain = bare.rstrip("\"'”) ?？")
    asks = bare.rstrip("\"'”) ").endswith(("?", "？"))
    tagged = asks and strip_last(lexicon.tag, plain) != plain
    statement = tagged or requested != bare
    practice = "practice" in acts
    return (
        (
            "question",
            not statement and (asks or (has(lexicon.question, bare) and not practice and not has(lexicon.conditional, bare))),
        ),
        ("asks for agreement", tagged),
        (
            "asks to be told",
            tagged
            and not {"practice", "fact"} & set(acts)
            and has(lexicon.seeming, sentence)
            and not has(lexicon.correction_start, sentence),
        ),
        ("only considered", has(lexicon.pondered, bare)),
        ("asks", asks and statement),
        ("asked and not granted", asks and statement and not setting.granted),
        ("doubt", has(lexicon.hedge, strip_all(lexicon.possible, sentence))),
        ("supposed", has(lexicon.hypothetical, sentence)),
        ("of the moment", has(lexicon.transient, bare)),
        ("report", not practice and "announced" not in acts and has(lexicon.report, strip_all(lexicon.anchored, bare))),
        ("vague", has(lexicon.vague, bare)),
        ("names a list item", bool(_LISTED.search(bare))),
        (
            "step of the task",
            not {"choice", "preference"} & set(acts)
            and not {"decision", "reason"} <= set(acts)
            and has(lexicon.task, requested)
            and not has(lexicon.recurring, bare)
            and after_step(bare, lexicon) == bare
            and not has(lexicon.evermore, " ".join(requested.split()[:3])),
        ),
        ("one-off order", _passes(bare, requested, acts, lexicon, setting)),
        ("of what is being built", _builds(sentence, acts, lexicon)),
        ("of one file", "goal" in acts and not practice and _FILE.search(bare) is not None),
        ("tells of a defect", has(lexicon.defect, after_verdict(bare, lexicon)) and "strong rule" not in acts),
        ("part of a task", setting.tasked and not _outlasts(acts, bare, lexicon)),
        ("mere wish", _merely_wishes(sentence, bare, acts, lexicon)),
        (
            "points outside",
            has(lexicon.deictic, requested)
            and not has(lexicon.anchored, requested[:60])
            and not (practice and has(lexicon.practice, requested[:20])),
        ),
        ("short", len(bare.split()) < _least_words(acts, bare, lexicon) and _mass(bare) < (15 if "preference" in acts else 30)),
        ("chatter", has(lexicon.chatter, bare)),
        ("about remembering", has(lexicon.memory_talk, sentence)),
        ("about the agent", has(lexicon.agent_talk, sentence)),
    )


def _passes(bare: str, requested: str, acts: tuple[str, ...], lexicon: Lexicon, setting: Setting) -> bool:
    """Whether a sentence orders a step, or a change of the thing at hand, rather than stating what holds from now on."""
    if "preference" in acts or has(lexicon.recurring, bare):
        return False
    rule = after_step(bare, lexicon)
    if rule != bare:
        return _passes(rule, rule, acts, lexicon, setting)
    assured = strip_first(lexicon.assurance, requested)
    if assured != requested:
        return setting.mending or not has(lexicon.widely, assured)
    if has(lexicon.errand, requested):
        return True
    if has(lexicon.finite, requested) or has(lexicon.evermore, " ".join(requested.split()[:3])):
        return False
    if has(lexicon.task, requested):
        return not ({"reason", "decision"} <= set(acts) or has(lexicon.versus, bare) or {"general", "strong rule"} <= set(acts))
    firm = has(lexicon.hard, bare) or has(lexicon.versus, bare) or {"general", "reason"} & set(acts)
    return has(lexicon.imperative, requested) and not firm and not artifacts(bare)


def _builds(sentence: str, acts: tuple[str, ...], lexicon: Lexicon) -> bool:
    """Whether a sentence asks to see to it that the thing being built behaves so: about nothing that work on any of it is made of."""
    firm = {"practice", "preference", "reason"} & set(acts)
    return has(lexicon.ensures, sentence) and not firm and not has(lexicon.craft, sentence) and not artifacts(sentence)


def _outlasts(acts: tuple[str, ...], bare: str, lexicon: Lexicon) -> bool:
    """Whether a sentence among orders is more than a part of what is ordered: a practice, a wish for all work, a firm general rule."""
    if len(artifacts(bare)) > 2:
        return True
    firm = has(lexicon.hard, bare) or has(lexicon.assurance, bare)
    return (
        bool({"practice", "preference", "goal", "decision"} & set(acts))
        or (firm and bool({"general", "reason"} & set(acts)))
        or ("rule" not in acts and "choice" not in acts)
    )


def _merely_wishes(sentence: str, bare: str, acts: tuple[str, ...], lexicon: Lexicon) -> bool:
    """Whether a sentence says how one thing should be, without a reason, a name or anything general."""
    firm = {"general", "reason", "practice", "preference", "choice", "fact"} & set(acts)
    return "rule" in acts and not firm and not has(lexicon.hard, bare) and has(lexicon.soft, bare) and not artifacts(sentence)


def _mass(text: str) -> int:
    """The letters of a text, each of a script without spaces as three: it says about as much."""
    return sum(3 if is_cjk(letter) else 1 for letter in _LETTERS.findall(text))


def _least_words(acts: tuple[str, ...], bare: str, lexicon: Lexicon) -> int:
    """The words below which a sentence is short for what it does."""
    firm = (
        bool({"names an alternative", "fact"} & set(acts))
        or ("practice" in acts and has(lexicon.anchored, bare))
        or ("rule" in acts and has(lexicon.hard, bare))
    )
    if "preference" in acts:
        return 3
    if "goal" in acts:
        return 8
    return 4 if firm and specific(bare, lexicon) else 5 if {"announced", "correction"} & set(acts) else 6


def _placed(setting: Setting, sentence: str, *, alone: bool) -> _Checks:
    quotes = any(2 * len(each) > len(sentence) and len(each.split()) >= 8 for each in _QUOTED.findall(sentence))
    return (("reported", setting.reported or quotes), ("aside", setting.aside), ("item of a list", setting.item and not alone))


def _bare(sentence: str, lexicon: Lexicon) -> str:
    for _ in range(5):
        shorter = strip_first(lexicon.opener, sentence)
        if shorter == sentence or len(shorter) < 3:
            break
        sentence = shorter
    return sentence


def _acts(bare: str, sentence: str, lexicon: Lexicon, *, answers: bool) -> tuple[str, ...]:
    corrects = has(lexicon.correction, sentence) or has(lexicon.correction_start, sentence)
    ruled = strip_all(lexicon.past_never, bare)
    taken_back = answers and has(lexicon.retracts, sentence) and len(bare.split()) >= 4
    contrasts = has(lexicon.versus, bare)
    announced = has(lexicon.announced, bare) or has(lexicon.announced, sentence)
    checks = (
        ("rule", has(lexicon.constraint, ruled)),
        ("strong rule", count(lexicon.constraint, ruled) > 1),
        ("practice", has(lexicon.practice, bare)),
        ("correction", (corrects and answers) or taken_back or (contrasts and has(lexicon.correction_start, sentence))),
        ("takes back", taken_back),
        ("choice", has(lexicon.choice, bare)),
        ("decision", has(lexicon.decision, sentence) or announced),
        ("announced", announced),
        ("preference", has(lexicon.preference, sentence)),
        ("fact", has(lexicon.fact, bare)),
        ("goal", has(lexicon.goal, bare) or has(lexicon.stated_goal, bare)),
    )
    acts = tuple(name for name, holds in checks if holds)
    if not acts:
        return ()
    more = (
        ("only a correction", acts == ("correction",)),
        ("general", has(lexicon.generaliser, bare)),
        ("reason", has(lexicon.reason, bare)),
        ("stated goal", has(lexicon.stated_goal, bare)),
        ("names an alternative", contrasts),
        ("firm", "rule" in acts and has(lexicon.hard, bare)),
        ("answers the assistant", answers),
    )
    return acts + tuple(name for name, holds in more if holds)


def _category(acts: set[str], bare: str, lexicon: Lexicon) -> tuple[str, str]:
    """The category and trigger of what was found, the most telling first."""
    corrects = "correction" if "correction" in acts else ""
    assured = strip_first(lexicon.assurance, strip_first(lexicon.request, bare))
    firmly = assured != strip_first(lexicon.request, bare) and "practice" not in acts
    ruled = "decision" if has(lexicon.soft, bare) and not has(lexicon.craft, bare) else "constraint"
    order = (
        ("stated goal" in acts and not {"announced", "versus", "firm"} & acts, "goal", "goal"),
        ("takes back" in acts and "fact" not in acts, "decision", "correction"),
        ("announced" in acts and "preference" not in acts, "decision", "decision"),
        ("practice" in acts and has(lexicon.forbids, bare), "constraint", corrects or "teaching"),
        ({"practice", "goal"} <= acts or {"choice", "decision"} <= acts, "decision", "decision"),
        ("practice" in acts, "convention", "teaching"),
        ("preference" in acts, "preference", "preference"),
        ("rule" in acts and has(lexicon.hard, bare), "constraint", corrects or "constraint"),
        ("choice" in acts, "decision", "decision"),
        ("rule" in acts and firmly, ruled, corrects or "constraint"),
        ("rule" in acts and "fact" not in acts, ruled, corrects or "constraint"),
        ("goal" in acts and has(lexicon.verdict, bare), "decision", "correction"),
        ("goal" in acts, "goal", "goal"),
        ("fact" in acts, "project_fact", corrects or "statement"),
        ("rule" in acts, ruled, corrects or "constraint"),
        ("decision" in acts, "decision", "decision"),
        ("correction" in acts, "project_fact", "correction"),
    )
    return next(((category, trigger) for holds, category, trigger in order if holds), ("", ""))
