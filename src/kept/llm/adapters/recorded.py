"""Models that ask nobody: one answers from a file or function, one replays another model's recorded replies.

A recording has one JSON object per line. It stores replies, not questions: a question is identified by a hash that is independent
of the model's name, and by the sessions it is about.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from kept.core import codec
from kept.core.errors import ConfigError
from kept.core.value import dataclass
from kept.llm.adapters.base import AdapterFailure, AdapterReply, Model, Spoken, estimate_tokens, format_full_prompt
from kept.llm.ask import Ask, Fault, Usage

Answer = Callable[[Ask], Spoken | Mapping[str, Any] | str]


class ScriptedModel:
    """A model whose replies come from a function: as text, as the reply's JSON object (a mapping), or as an adapter's result."""

    def __init__(self, answer: Answer, *, name: str = "scripted") -> None:
        self.name = name
        self._answer = answer

    def ask(self, ask: Ask) -> Spoken:
        """Call the function."""
        match self._answer(ask):
            case str() as text:
                return _scripted_reply(ask, text)
            case Mapping() as body:
                return _scripted_reply(ask, json.dumps(body))
            case spoken:
                return spoken

    def count(self, ask: Ask) -> int:
        """The approximate number of tokens of a question."""
        return estimate_tokens(format_full_prompt(ask))

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


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
    """A model that answers with the first line of a file that matches the question.

    Each line is a JSON object: ``reply`` (an object or a text), and optionally the questions it is for: ``purpose`` and
    ``contains`` (words of the prompt). Questions without a matching line get an empty reply. Raises ConfigError.
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


class RecordingModel:
    """A model that records the replies of another one."""

    def __init__(self, model: Model, path: Path) -> None:
        self._model = model
        self._path = path
        self._lock = Lock()
        self.name = model.name

    def ask(self, ask: Ask) -> Spoken:
        """Ask the model and record its reply. Raises ConfigError if the recording cannot be written."""
        spoken = self._model.ask(ask)
        if isinstance(spoken, AdapterReply):
            row = {"key": ask.key(""), "purpose": ask.purpose, "version": ask.version, "about": list(ask.about)} | _reply_row(
                spoken
            )
            self._append(json.dumps(row))
        return spoken

    def count(self, ask: Ask) -> int:
        """The number of tokens of a question as the model counts them."""
        return self._model.count(ask)

    def close(self) -> None:
        """Close the model."""
        self._model.close()

    def _append(self, line: str) -> None:
        try:
            with self._lock:
                handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                with os.fdopen(handle, "a", encoding="utf-8") as file:
                    file.write(f"{line}\n")
        except OSError as error:
            raise ConfigError(f"the recording cannot be written: {error.strerror}", where=str(self._path)) from error


class ReplayModel:
    """A model that replays a recording; unrecorded questions fail. Raises ConfigError for a file that it cannot read."""

    def __init__(self, path: Path) -> None:
        self.name = f"recorded:{path.name}"
        try:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
            self._said = {row["key"]: _recorded_reply(row) for row in rows}
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ConfigError(f"the recording cannot be read: {error}", where=str(path), hint="set llm.recording to one") from error

    def ask(self, ask: Ask) -> Spoken:
        """The recorded reply to this question."""
        silence = AdapterFailure(fault=Fault.FAILED, reason="the recording has no reply to this question")
        return self._said.get(ask.key(""), silence)

    def count(self, ask: Ask) -> int:
        """The approximate number of tokens of a question."""
        return estimate_tokens(format_full_prompt(ask))

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def remove_recorded_replies(text: str, sessions: Collection[str], tells: Callable[[str], bool]) -> tuple[str, int]:
    """Remove from a recording the replies about these sessions and those for which ``tells`` is true. Returns the rest and the
    number removed.

    An unreadable line is removed if ``tells`` is true for it.
    """
    lines = [part for part in text.split("\n") if part.strip()]
    left = [line for line in lines if not _is_removed(line, sessions, tells)]
    return "".join(f"{item}\n" for item in left), len(lines) - len(left)


def _is_removed(line: str, sessions: Collection[str], tells: Callable[[str], bool]) -> bool:
    row = _parse_json(line)
    if not isinstance(row, dict):
        return tells(line)
    text = row.get("text")
    texts = [text, *_strings(_parse_json(text))] if isinstance(text, str) else [line]
    about = row.get("about")
    return bool(isinstance(about, list) and set(_strings(about)) & set(sessions)) or any(tells(item) for item in texts)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            yield from _strings(list(value.values()))


def _reply_row(reply: AdapterReply) -> dict[str, Any]:
    return {"text": reply.text, "cut": reply.truncated, "refused": reply.refused, "usage": codec.dump(reply.usage)}


def _recorded_reply(row: Mapping[str, Any]) -> AdapterReply:
    return AdapterReply(text=row["text"], usage=codec.load(Usage, row["usage"]), truncated=row["cut"], refused=row["refused"])
