"""The words of shells, package managers and compilers that identify steps and failures (``toolwords.toml``).

Program patterns must match a whole name. Failure patterns are searched in single output lines of at most 300 characters.
"""

from pathlib import Path

from kept.core.codec import load_table
from kept.core.pattern import Pattern
from kept.profiles.lexicons import join_alternatives

_WORDS = load_table(Path(__file__).with_name("toolwords.toml"))


def _exact(name: str) -> Pattern:
    return Pattern("|".join(_WORDS["exact"][name]))


def _any_case(name: str) -> Pattern:
    return _ignore_case(_WORDS["any_case"][name])


def _ignore_case(fragments: list[str]) -> Pattern:
    return Pattern(f"(?i)(?:{'|'.join(fragments)})")


TRIVIAL, FILTERS, LOOKERS, INTERPRETERS = map(_exact, ("trivial", "filters", "lookers", "interpreters"))
CARRIERS, GENERAL, KEEPS, CHOOSES = map(_exact, ("carriers", "general", "keeps", "chooses"))
MAKERS = _exact("makers")
REPORTS, LESSENS, REHEARSES, MUFFLES = map(_any_case, ("reports", "lessens", "rehearses", "muffles"))
TRANSIENT, ASSERTS, LACKING, MISUSED = map(_any_case, ("transient", "asserts", "lacking", "misused"))
PRESCRIBES, TAKES_AWAY, UNTELLING = map(_any_case, ("prescribes", "takes_away", "untelling"))
CONFIG, MANIFEST, WEAKENS, DESTROYS, FORCES, RUNS = map(_any_case, ("config", "manifest", "weakens", "destroys", "forces", "runs"))
# Words with which a person rejects an action, or says that it did not help.
TAKEN_BACK = Pattern(
    rf"(?i)\b(?:{join_alternatives('assertion', 'undone', spaced=True)})\b|{join_alternatives('assertion', 'undone', spaced=False)}"
)
KINDS = tuple((_ignore_case(kind["failure"]), _ignore_case(kind["remedy"])) for kind in _WORDS["kinds"])
NAMES: dict[str, frozenset[str]] = {name: frozenset(words) for name, words in _WORDS["names"].items()}
PACKAGES: dict[str, str] = _WORDS["packages"]
