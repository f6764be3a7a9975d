"""Models that ask nobody: one answers from a file or function, one replays another model's recorded replies.

A recording has one JSON object per line. It stores replies, not questions: a question is identified by a hash that is independent
of the model's name, and by the sessions it is about.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from kept.core import codec
from kept.core.errors import ConfigError
from kept.core.value import dataclass
from kept.llm.adapters.base import AdapterFailure, AdapterReply, AdapterResult, EstimatingModel, Model, estimate_usage
from kept.llm.ask import Ask, Fault, Usage

Answer = Callable[[Ask], AdapterResult | Mapping[str, Any] | str]
_OPTIONAL = {"requests": '{"memories": []}'}
"""The reply to questions of a purpose that a script or recording has no line for: kept manages without an answer to these."""


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
    """A model that answers with the first line of a file that matches the question.

    Each line is a JSON object: ``reply`` (an object or a text), and optionally the questions it is for: ``purpose`` and
    ``contains`` (words of the prompt). Questions without a matching line get an empty reply. Only a line that names the purpose
    ``requests`` answers questions of that purpose. Raises ConfigError.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the script of replies cannot be read: {error}", where=str(path)) from error
    rules = [_parse_rule(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]

    def find_reply(ask: Ask) -> str:
        usual = _OPTIONAL.get(ask.purpose, "")
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
            "the line is no rule of a script", where=where, hint='write {"contains": "words", "reply": {…}}'
        ) from error


class RecordingModel:
    """A model that records the replies of another one."""

    def __init__(self, model: Model, path: Path) -> None:
        self._model = model
        self._path = path
        self._lock = Lock()
        self.name = model.name

    def ask(self, ask: Ask) -> AdapterResult:
        """Ask the model and record its reply. Raises ConfigError if the recording cannot be written."""
        result = self._model.ask(ask)
        if isinstance(result, AdapterReply):
            row = {"key": ask.key(""), "purpose": ask.purpose, "version": ask.version, "about": list(ask.about)}
            self._append(json.dumps(row | _reply_to_row(result)))
        return result

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


class ReplayModel(EstimatingModel):
    """A model that replays a recording. Raises ConfigError for a file that it cannot read.

    Unrecorded questions fail, except that those of the purpose ``requests`` get an empty reply if the recording has none of them.
    """

    def __init__(self, path: Path) -> None:
        self.name = f"recorded:{path.name}"
        try:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
            self._replies = {row["key"]: _reply_from_row(row) for row in rows}
            self._purposes = {row.get("purpose") for row in rows}
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ConfigError(f"the recording cannot be read: {error}", where=str(path), hint="set llm.recording to one") from error

    def ask(self, ask: Ask) -> AdapterResult:
        """The recorded reply to this question."""
        if ask.purpose in _OPTIONAL and ask.purpose not in self._purposes:
            return AdapterReply(text=_OPTIONAL[ask.purpose], usage=estimate_usage(ask, _OPTIONAL[ask.purpose], cost=0.0))
        unrecorded = AdapterFailure(fault=Fault.FAILED, reason="the recording has no reply to this question")
        return self._replies.get(ask.key(""), unrecorded)


def remove_recorded_replies(text: str, sessions: Collection[str], holds_words: Callable[[str], bool]) -> tuple[str, int]:
    """Remove from a recording the replies about these sessions, and those that hold a text for which ``holds_words`` is true.

    An unreadable line is removed if ``holds_words`` is true of it. Returns the rest of the recording and the number removed.
    """
    lines = [part for part in text.split("\n") if part.strip()]
    left = [line for line in lines if not _is_removed(line, sessions, holds_words)]
    return "".join(f"{item}\n" for item in left), len(lines) - len(left)


def _is_removed(line: str, sessions: Collection[str], holds_words: Callable[[str], bool]) -> bool:
    row = _parse_json(line)
    if not isinstance(row, dict):
        return holds_words(line)
    text = row.get("text")
    texts = [text, *_strings(_parse_json(text))] if isinstance(text, str) else [line]
    about = row.get("about")
    return bool(isinstance(about, list) and set(_strings(about)) & set(sessions)) or any(map(holds_words, texts))


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


def _reply_to_row(reply: AdapterReply) -> dict[str, Any]:
    return {"text": reply.text, "cut": reply.truncated, "refused": reply.refused, "usage": codec.dump(reply.usage)}


def _reply_from_row(row: Mapping[str, Any]) -> AdapterReply:
    return AdapterReply(text=row["text"], usage=codec.load(Usage, row["usage"]), truncated=row["cut"], refused=row["refused"])
