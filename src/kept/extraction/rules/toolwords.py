"""The words of shells, package managers and compilers (``toolwords.toml``) by which a step or a failure is known for what it is.

Program patterns are matched against a whole name; failure patterns are searched in single output lines of at most 300 characters.
"""

import tomllib
from pathlib import Path

from kept.core.pattern import Pattern
from kept.profiles.lexicons import join_alternatives

_WORDS = tomllib.loads(Path(__file__).with_name("toolwords.toml").read_text(encoding="utf-8"))


def _exact(name: str) -> Pattern:
    return Pattern("|".join(_WORDS["exact"][name]))


def _any_case(name: str) -> Pattern:
    return _ignore_case(_WORDS["any_case"][name])


def _ignore_case(fragments: list[str]) -> Pattern:
    return Pattern(f"(?i)(?:{'|'.join(fragments)})")


TRIVIAL, FILTERS, LOOKERS, INTERPRETERS = map(_exact, ("trivial", "filters", "lookers", "interpreters"))
CARRIERS, GENERAL, KEEPS, CHOOSES = map(_exact, ("carriers", "general", "keeps", "chooses"))
VERSIONED, CONTAINERS, MAKERS = map(_exact, ("versioned", "containers", "makers"))
REPORTS, LESSENS, REHEARSES, MUFFLES = map(_any_case, ("reports", "lessens", "rehearses", "muffles"))
TRANSIENT, ASSERTS, LACKING, MISUSED = map(_any_case, ("transient", "asserts", "lacking", "misused"))
PRESCRIBES, TAKES_AWAY, UNTELLING = map(_any_case, ("prescribes", "takes_away", "untelling"))
CONFIG, MANIFEST, WEAKENS, DESTROYS, RUNS = map(_any_case, ("config", "manifest", "weakens", "destroys", "runs"))
# Words with which a person takes back what was done, or says that it did not help.
TAKEN_BACK = Pattern(
    rf"(?i)\b(?:{join_alternatives('assertion', 'undone', spaced=True)})\b|{join_alternatives('assertion', 'undone', spaced=False)}"
)
KINDS = tuple((_ignore_case(kind["failure"]), _ignore_case(kind["remedy"])) for kind in _WORDS["kinds"])
NAMES: dict[str, frozenset[str]] = {name: frozenset(words) for name, words in _WORDS["names"].items()}
PACKAGES: dict[str, str] = _WORDS["packages"]
