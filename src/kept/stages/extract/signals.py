"""What one sentence of a person does, and how sure that is: named signals with weights, added up to a confidence.

Judges a sentence together with whether it answers the assistant; the words come from the lexicon.
"""

from dataclasses import dataclass

import re2

from kept.model.artifact import artifacts
from kept.model.lexicon import Lexicon
from kept.stages.extract.cues import count, has, specific, strip_first, strip_last
from kept.stages.extract.writing import after_step, without_question

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
    "preference": 0.4,
    "fact": 0.25,
    "goal": 0.3,
    "general": 0.15,
    "reason": 0.1,
    "names artifacts": 0.1,
    "names parts": 0.05,
    "emphasis": 0.1,
    "said again": 0.2,
    "question": -0.5,
    "asks for agreement": -0.05,
    "doubt": -0.15,
    "supposed": -0.3,
    "of the moment": -0.25,
    "report": -0.4,
    "vague": -0.3,
    "names a list item": -0.5,
    "step of the task": -0.3,
    "points outside": -0.25,
    "short": -0.2,
    "chatter": -0.4,
    "about remembering": -0.6,
    "about the agent": -0.6,
    "reported": -0.25,
    "item of a list": -0.3,
    "aside": 0.05,
}
_SHOUT = re2.compile(r"\b[A-Z]{3,}\b")
# "ABC 2", "#3": an item of a list that stands elsewhere.
_LISTED = re2.compile(r"\b[A-Z]{2,5} \d{1,2}\b|(?:^|\s)#\d{1,3}\b")
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
    like was said before in the session.
    """

    answers: bool = False
    reported: bool = False
    aside: bool = False
    item: bool = False
    again: bool = False


def read(sentence: str, lexicon: Lexicon, setting: Setting) -> Reading:
    """Read a sentence: what it does, what speaks for and against remembering it, how sure that makes it."""
    bare = without_question(_bare(sentence, lexicon), lexicon)
    requested = strip_first(lexicon.request, bare)
    acts = _acts(bare, sentence, lexicon, answers=setting.answers)
    checks = (*(_supports(sentence, lexicon, setting) if acts else ()), *_objections(sentence, bare, requested, acts, lexicon))
    signals = acts + tuple(name for name, holds in (*checks, *_placed(setting, alone=after_step(bare, lexicon) != bare)) if holds)
    category, trigger = _category(set(acts))
    weights = [WEIGHTS[name] for name in signals]
    total = min(0.95, BASE + sum(weight for weight in weights if weight > 0)) + sum(weight for weight in weights if weight < 0)
    most = UNSURE if {"reported", "question"} & set(signals) else 0.95
    return Reading(category=category, trigger=trigger, signals=signals, confidence=round(min(most, max(0.0, total)), 2))


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


def _objections(sentence: str, bare: str, requested: str, acts: tuple[str, ...], lexicon: Lexicon) -> _Checks:
    plain = bare.rstrip("\"'”) ?？")
    asks = bare.rstrip("\"'”) ").endswith(("?", "？"))
    tagged = asks and strip_last(lexicon.tag, plain) != plain
    statement = tagged or requested != bare
    practice = "practice" in acts
    return (
        ("question", not statement and (asks or (has(lexicon.question, bare) and not practice))),
        ("asks for agreement", tagged),
        ("doubt", has(lexicon.hedge, sentence)),
        ("supposed", has(lexicon.hypothetical, sentence)),
        ("of the moment", has(lexicon.transient, bare)),
        ("report", not practice and has(lexicon.report, bare)),
        ("vague", has(lexicon.vague, bare)),
        ("names a list item", bool(_LISTED.search(bare))),
        (
            "step of the task",
            not {"choice", "preference"} & set(acts) and has(lexicon.task, requested) and after_step(bare, lexicon) == bare,
        ),
        ("points outside", has(lexicon.deictic, requested) and not (practice and has(lexicon.practice, requested[:20]))),
        ("short", len(bare.split()) < (3 if "preference" in acts else 6) and len(_LETTERS.findall(bare)) < 30),
        ("chatter", has(lexicon.chatter, bare)),
        ("about remembering", has(lexicon.memory_talk, sentence)),
        ("about the agent", has(lexicon.agent_talk, sentence)),
    )


def _placed(setting: Setting, *, alone: bool) -> _Checks:
    return (("reported", setting.reported), ("aside", setting.aside), ("item of a list", setting.item and not alone))


def _bare(sentence: str, lexicon: Lexicon) -> str:
    for _ in range(5):
        shorter = strip_first(lexicon.opener, sentence)
        if shorter == sentence or len(shorter) < 3:
            break
        sentence = shorter
    return sentence


def _acts(bare: str, sentence: str, lexicon: Lexicon, *, answers: bool) -> tuple[str, ...]:
    corrects = has(lexicon.correction, sentence) or has(lexicon.correction_start, sentence)
    checks = (
        ("rule", has(lexicon.constraint, bare)),
        ("strong rule", count(lexicon.constraint, bare) > 1),
        ("practice", has(lexicon.practice, bare)),
        ("correction", corrects and answers),
        ("choice", has(lexicon.choice, bare)),
        ("decision", has(lexicon.decision, sentence)),
        ("preference", has(lexicon.preference, sentence)),
        ("fact", has(lexicon.fact, bare)),
        ("goal", has(lexicon.goal, bare)),
    )
    acts = tuple(name for name, holds in checks if holds)
    if not acts:
        return ()
    more = (
        ("only a correction", acts == ("correction",)),
        ("general", has(lexicon.generaliser, bare)),
        ("reason", has(lexicon.reason, bare)),
        ("answers the assistant", answers),
    )
    return acts + tuple(name for name, holds in more if holds)


def _category(acts: set[str]) -> tuple[str, str]:
    """The category and trigger of what was found, the most telling first."""
    order = (
        ("practice", "convention", "teaching"),
        ("preference", "preference", "preference"),
        ("choice", "decision", "decision"),
        ("rule", "constraint", "correction" if "correction" in acts else "constraint"),
        ("goal", "goal", "goal"),
        ("fact", "project_fact", "correction" if "correction" in acts else "statement"),
        ("decision", "decision", "decision"),
        ("correction", "project_fact", "correction"),
    )
    return next(((category, trigger) for act, category, trigger in order if act in acts), ("", ""))
