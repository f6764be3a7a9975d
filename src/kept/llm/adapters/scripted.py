"""A scripted model: it answers by a rule, from a file or a function, and costs nothing. For trials, demonstrations and tests."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kept.core.errors import ConfigError
from kept.llm.adapters.base import AdapterReply, Spoken, estimate_tokens, format_full_prompt
from kept.llm.ask import Ask, Usage

Answer = Callable[[Ask], Spoken | Mapping[str, Any] | str]


class ScriptedModel:
    """A model whose replies a function makes: as it would say them (a text), as what they mean (a mapping), or as what became of
    it.
    """

    def __init__(self, answer: Answer, *, name: str = "scripted") -> None:
        self.name = name
        self._answer = answer

    def ask(self, ask: Ask) -> Spoken:
        """Ask the function."""
        match self._answer(ask):
            case str() as text:
                return _scripted_reply(ask, text)
            case Mapping() as body:
                return _scripted_reply(ask, json.dumps(body))
            case spoken:
                return spoken

    def count(self, ask: Ask) -> int:
        """About how many tokens a question has."""
        return estimate_tokens(format_full_prompt(ask))

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _scripted_reply(ask: Ask, text: str) -> AdapterReply:
    return AdapterReply(
        text=text, usage=Usage(calls=1, input_tokens=estimate_tokens(format_full_prompt(ask)), output_tokens=estimate_tokens(text))
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    purpose: str
    contains: str
    reply: str


def load_script(path: Path) -> ScriptedModel:
    """A model that answers by the first line of a file that fits the question.

    Each line is a JSON object: ``reply`` (an object or a text), and which questions it is for: ``purpose`` and ``contains`` (words
    of the prompt), where they are given. What no line fits gets an empty reply. Raises ConfigError.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the script of replies cannot be read: {error}", where=str(path)) from error
    rules = [_rule(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    return ScriptedModel(lambda ask: _find_scripted_reply(rules, ask), name=f"scripted:{path.name}")


def _rule(line: str, where: str) -> _Rule:
    try:
        body = json.loads(line)
        reply = body["reply"]
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return _Rule(purpose=str(body.get("purpose", "")), contains=str(body.get("contains", "")), reply=text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError("no line of a script", where=where, hint='write {"contains": "words", "reply": {…}}') from error


def _find_scripted_reply(rules: Sequence[_Rule], ask: Ask) -> str:
    fits = (rule.reply for rule in rules if rule.purpose in ("", ask.purpose) and rule.contains in ask.prompt)
    return next(fits, "")
