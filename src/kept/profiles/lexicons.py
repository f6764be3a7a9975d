"""The lexicons of the languages, read from the TOML files beside this module and joined into one value.

Each cue is a list of RE2 fragments. In a language written with spaces a fragment must stand between word borders; in one without,
it may stand anywhere. ``{name}`` in a fragment is replaced by the words of that macro.
"""

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from importlib import resources
from typing import Any

import re2

from kept.model.errors import ConfigError
from kept.model.lexicon import Lexicon

LANGUAGES = ("en", "de", "es", "fr", "pt", "zh", "ja")

# Cues that open a sentence or a message, and cues that end it.
_FIRST = frozenset(
    {
        "opener",
        "request",
        "task",
        "agreement",
        "announced",
        "acceptance",
        "refusal",
        "question",
        "correction_start",
        "deictic",
        "rule_start",
        "denial",
        "article",
        "assurance",
        "finite",
        "duty",
        "ban",
        "conditional",
        "imperative",
        "widely",
        "concession",
        "confirms",
        "chooser",
        "trailing",
        "cause_label",
        "remedy_label",
        "mends",
        "relief",
        "wonder",
        "elaborates",
        "errand",
        "retracts",
        "did",
        "checking",
        "identity",
        "taste",
        "stack",
        "aim",
        "lesson",
        "insight",
        "noted_decision",
        "noted_rule",
        "noted_question",
        "people_noted",
        "generic",
        "finished",
        "judges",
        "switched",
    }
)
_COMMON = "common"
_LAST = frozenset({"tag", "recommended", "listed"})
# The files write ’ for either apostrophe; \x27 is the straight one, which a TOML literal cannot hold.
_APOSTROPHE = r"[\x27\x{2019}]"
# Neither a letter nor a digit of the scripts that write words apart, so a name may stand between characters of the others: ranges instead of classes keep the automata small.
_EDGE = r"[^\w\x{AA}\x{B5}\x{BA}\x{C0}-\x{24F}\x{370}-\x{1FFF}]"
# A word that goes on behind a hyphen is a name or another word: "go-redis" is nothing to go for.
_END = rf"(?:$|{_EDGE.replace('[^', '[^-')}|-+(?:$|[^-\w]))"


_WORD = re2.compile(r"\pL[\pL']*")
_KANA = re2.compile(r"[\p{Hiragana}\p{Katakana}]")
_HAN = re2.compile(r"\p{Han}")


@cache
def lexicon(languages: tuple[str, ...]) -> Lexicon:
    """The joined lexicon of the languages, in their order. Raises ConfigError for a language that has none."""
    bodies = [_read(language) for language in (*languages, _COMMON)]
    cues = {
        each.name: _pattern(each.name, bodies)
        for each in fields(Lexicon)
        if each.name not in ("languages", "phrases", "softer", "slots", "themes")
    }
    phrases: dict[str, str] = {}
    softer = tuple((rf"(?i)\b(?:{source})\b", words) for body in bodies for source, words in body.get("softer", {}).items())
    for body in bodies:
        phrases = {**body.get("phrases", {}), **phrases}
    slots, themes = (_tables(name, bodies) for name in ("slots", "themes"))
    return Lexicon(languages=languages, softer=softer, slots=slots, themes=themes, phrases=tuple(sorted(phrases.items())), **cues)


def spoken(text: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    """The languages a text is written in, of those given: that with the most common words first, then each that has at least two thirds
    of as many; empty where no common word tells. Languages without spaces are told by their script.
    """
    words = Counter(_WORD.findall(text.casefold().replace("’", "'")))
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    counts = {each: sum(words[word] for word in _common(each)) for each in languages}
    # Two characters of a script without spaces make about one word, every third of which is a common one.
    counts["ja"] = (kana + han) // 6 + 1 if kana > 1 else 0
    counts["zh"] = han // 6 + 1 if han > 1 and kana <= 1 else 0
    told = sorted(((counts[each], -place, each) for place, each in enumerate(languages)), reverse=True)
    most = told[0][0] if told else 0
    return tuple(each for count, _, each in told if count and count * 3 >= most * 2)


@cache
def _common(language: str) -> frozenset[str]:
    return frozenset(str(_read(language).get("common", "")).split())


def _tables(name: str, bodies: list[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    found = ((key, cues) for body in bodies for key, cues in body.get(name, {}).items())
    return tuple((key, rf"(?i)\b(?:{'|'.join(cues)})\b") for key, cues in found)


def _read(language: str) -> Mapping[str, Any]:
    place = resources.files("kept.profiles") / "lexicon" / f"{language}.toml"
    if not language.isalnum() or not place.is_file():
        raise ConfigError(f"no lexicon for the language {language[:40]!r}")
    return tomllib.loads(place.read_text("utf-8").replace("’", _APOSTROPHE))


def _cues(name: str, body: Mapping[str, Any]) -> list[str]:
    cues = list(body.get(name, ()))
    for macro, words in body.get("macros", {}).items():
        cues = [cue.replace(f"{{{macro}}}", f"(?:{'|'.join(words)})") for cue in cues]
    return cues


def _pattern(name: str, bodies: list[Mapping[str, Any]]) -> str:
    spaced = "|".join(cue for body in bodies if body["spaced"] for cue in _cues(name, body))
    dense = "|".join(cue for body in bodies if not body["spaced"] for cue in _cues(name, body))
    sources = []
    for cues, before, after in ((spaced, rf"(?:^|{_EDGE})", rf"(?:$|{_EDGE})"), (dense, "", "")):
        if not cues:
            continue
        if name in _FIRST:
            sources.append(rf"^[\s\"'“(]*({cues}){_END if after else after}")
        elif name in _LAST:
            sources.append(rf"{before}({cues})[\s\"'”)?!.]*$")
        else:
            sources.append(rf"{before}({cues}){after}")
    return f"(?i)(?:{'|'.join(sources)})" if sources else ""
