"""Global options, taken out of the arguments wherever they stand. Knows no command."""

from collections.abc import Sequence
from dataclasses import dataclass

from kept.core.errors import UsageError

_VALUES = {"--home": "home", "--profile": "profile", "--tz": "zone"}
_SWITCHES = {"--quiet": "quiet", "-q": "quiet", "--verbose": "verbose", "-v": "verbose", "--new-store": "anew"}


@dataclass(frozen=True, kw_only=True, slots=True)
class GlobalOptions:
    """The global options of one call; None and False where they were not given."""

    home: str | None = None
    profile: str | None = None
    zone: str | None = None
    quiet: bool = False
    verbose: bool = False
    anew: bool = False


def split_global_options(arguments: Sequence[str]) -> tuple[GlobalOptions, list[str]]:
    """The global options, and the arguments without them. Nothing after ``--`` is touched. Raises UsageError."""
    chosen: dict[str, str | bool] = {}
    rest: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            rest += [word, *waiting]
            break
        if word in _SWITCHES:
            chosen[_SWITCHES[word]] = True
        elif name in _VALUES:
            if not equals and waiting:
                value = waiting.pop(0)
            # An empty value is a shell variable nobody set: falling back to the real home would be the worst answer.
            if not value:
                raise UsageError(f"{name} needs a value", hint=f"write {name} {_EXAMPLES[name]}")
            chosen[_VALUES[name]] = value
        else:
            rest.append(word)
    return GlobalOptions(**chosen), rest  # type: ignore[arg-type]  # the tables above pair each option with a field of its type


_EXAMPLES = {"--home": "/tmp/trial", "--profile": "coding", "--tz": "Europe/Berlin"}  # noqa: S108 - an example, never opened
