"""``kept completion``: complete commands, options and names of settings in a shell.

The shell calls ``kept --complete WORD…`` at every Tab.
"""

import sys
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from kept.cli.parsers import create_parser
from kept.cli.registry import COMMANDS, GLOBAL_OPTIONS
from kept.core.errors import UsageError

_SHELLS = {
    "bash": 'put it into ~/.bashrc: eval "$(kept completion bash)"',
    "zsh": 'put it into ~/.zshrc: eval "$(kept completion zsh)"',
    "fish": "kept completion fish > ~/.config/fish/completions/kept.fish",
    "powershell": "put it into $PROFILE: kept completion powershell | Out-String | Invoke-Expression",
}


def completion(shell: str = "") -> None:
    """Print the script that completes `kept` in your shell. Its first line says how to load it."""
    if shell not in _SHELLS:
        raise UsageError(f"no completion for {shell!r}" if shell else "which shell?", hint=f"one of: {', '.join(_SHELLS)}")
    script = files("kept.cli").joinpath(f"shells/{shell}.txt").read_text(encoding="utf-8")
    sys.stdout.write(f"# {_SHELLS[shell]}\n{script}")


def complete_words(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Complete the last of the words after ``kept``. Yields each completion with its meaning."""
    *before, last = words or [""]
    name = next((item for item in before if item in COMMANDS), "")
    yield from ((word, meaning) for word, meaning in _possible_completions(name, before[-2:], last) if word.startswith(last))


def _possible_completions(name: str, before: Sequence[str], last: str) -> Iterator[tuple[str, str]]:
    if last.startswith("-"):
        yield from _option_completions(name)
        yield from ((option.split()[0].rstrip(","), meaning) for option, meaning in GLOBAL_OPTIONS)
    elif not name:
        yield from ((command.name, command.summary) for command in COMMANDS.values())
    elif name == "config" and before[-1:] in (["get"], ["set"]):
        from kept.local.settings import load_meanings  # noqa: PLC0415 - only here

        yield from ((setting, meaning) for _, _, own in load_meanings() for setting, (_, meaning) in own.items())
    else:
        yield from ((action, "") for action in _action_words(name) if before[-1:] == [name])


def _option_completions(name: str) -> Iterator[tuple[str, str]]:
    for parameter in _command_parameters(name):
        yield from (
            (option, getattr(parameter, "help", "") or "")
            for option in (*parameter.opts, *parameter.secondary_opts)
            if option[:1] == "-"
        )


def _action_words(name: str) -> Iterator[str]:
    """The possible values of a command's first argument, if it is a choice."""
    first = next((parameter for parameter in _command_parameters(name) if parameter.param_type_name == "argument"), None)
    metavar = str(getattr(first, "metavar", "") or "")
    yield from (word for word in metavar.split("|") if word.islower()) if "|" in metavar else ()


def _command_parameters(name: str) -> Sequence[Any]:
    return create_parser(COMMANDS[name]).params if name else ()
