"""A model for tests and demonstrations: its replies come from a file or a function."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kept.core.errors import ConfigError
from kept.core.value import dataclass
from kept.llm.adapter import AdapterFailure, AdapterReply, AdapterResult, EstimatingModel, estimate_usage, require_setting
from kept.llm.ask import VENDOR_CONTEXT, Ask
from kept.local.settings import LlmSettings

OPTIONAL_REPLIES = {
    "requests": '{"memories": []}',
    "recheck": '{"sentences": []}',
    "proofread": '{"lines": []}',
    "outdated": '{"operations": []}',
}
"""Maps purposes to the reply if a script or recording has no line for them. kept can do without answers to such questions."""

Answer = Callable[[Ask], AdapterResult | Mapping[str, Any] | str]


class ScriptedModel(EstimatingModel):
    """A model whose replies come from a function: as text, as the reply's JSON object (a mapping), or as an adapter's result."""

    def __init__(self, answer: Answer, *, name: str = "scripted") -> None:
        self.name = name
        self._answer = answer

    def ask(self, ask: Ask) -> AdapterResult:
        """Call the function."""
        answer = self._answer(ask)
        if isinstance(answer, AdapterReply | AdapterFailure):
            return answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return AdapterReply(text=text, usage=estimate_usage(ask, text, cost=0.0))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    purpose: str
    contains: str
    reply: str


def load_script(path: Path) -> ScriptedModel:
    """Load a model that answers with the first line of a file that matches the question.

    Each line is a JSON object. ``reply`` is an object or a text. ``purpose`` and ``contains`` (words of the prompt) are optional
    and restrict the questions that the line matches. A question without a matching line gets an empty reply. Questions of the
    purpose ``requests`` match only lines that name it. Raises ConfigError if the file cannot be read or a line is invalid.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the script of replies cannot be read: {error}", where=str(path)) from error
    rules = [_parse_rule(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]

    def find_reply(ask: Ask) -> str:
        usual = OPTIONAL_REPLIES.get(ask.purpose, "")
        purposes = (ask.purpose,) if usual else (ask.purpose, "")
        return next((rule.reply for rule in rules if rule.purpose in purposes and rule.contains in ask.prompt), usual)

    return ScriptedModel(find_reply, name=f"scripted:{path.name}")


def _parse_rule(line: str, where: str) -> _Rule:
    try:
        body = json.loads(line)
        reply = body["reply"]
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return _Rule(purpose=str(body.get("purpose", "")), contains=str(body.get("contains", "")), reply=text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            "the line is not a rule of a script", where=where, hint='write {"contains": "words", "reply": {…}}'
        ) from error


def create_model(settings: LlmSettings, env: Mapping[str, str]) -> ScriptedModel:  # noqa: ARG001 - it needs no key
    """Load the model from the settings' script. Raises ConfigError if the script is missing or cannot be read."""
    return load_script(Path(require_setting(settings, "script", "FILE")).expanduser())


def find_context(settings: LlmSettings) -> int:  # noqa: ARG001 - the same for every script
    """The context size in tokens of a vendor's model."""
    return VENDOR_CONTEXT
