"""A model that records the replies of another model, and a model that replays such a recording.

A recording has one JSON object per line. It stores replies, not questions. A question is identified by a hash and by the sessions
it is about. The hash does not depend on the model's name.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from kept.core import codec
from kept.core.errors import ConfigError
from kept.llm.adapter import AdapterFailure, AdapterReply, AdapterResult, EstimatingModel, Model, estimate_usage, require_setting
from kept.llm.adapters.scripted import OPTIONAL_REPLIES
from kept.llm.ask import VENDOR_CONTEXT, Ask, Fault, Usage
from kept.local.settings import LlmSettings


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
    """A model that replays a recording. Raises ConfigError if the file cannot be read.

    A question that is not in the recording fails. Exception: if the recording has no replies for the purpose ``requests``, such
    questions get an empty reply.
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
        if ask.purpose not in self._purposes and (usual := OPTIONAL_REPLIES.get(ask.purpose)):
            return AdapterReply(text=usual, usage=estimate_usage(ask, usual, cost=0.0))
        unrecorded = AdapterFailure(fault=Fault.FAILED, reason="the recording has no reply to this question")
        return self._replies.get(ask.key(""), unrecorded)


def remove_recorded_replies(text: str, sessions: Collection[str], holds_words: Callable[[str], bool]) -> tuple[str, int]:
    """Remove replies from a recording. Returns the rest of the recording and the number of removed replies.

    A reply is removed if it is about one of the sessions, or if ``holds_words`` is true for one of its texts. An unreadable line is
    removed if ``holds_words`` is true for the line.
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


def create_model(settings: LlmSettings, env: Mapping[str, str]) -> ReplayModel:  # noqa: ARG001 - needs no key
    """Create a model that replays the settings' recording. Raises ConfigError if it is missing or cannot be read."""
    return ReplayModel(Path(require_setting(settings, "recording", "FILE")).expanduser())


def find_context(settings: LlmSettings) -> int:  # noqa: ARG001 - the same for every recording
    """The context size in tokens of a vendor's model."""
    return VENDOR_CONTEXT
