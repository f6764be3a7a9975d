"""The protocol of a language model, and the meaning of a server's errors. Knows no program, vendor or API."""

import shlex
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable
from urllib.parse import urlsplit

from kept.core.errors import ConfigError
from kept.core.invisible import strip_invisible
from kept.core.text import one_line
from kept.core.value import dataclass, field
from kept.llm.ask import Ask, Fault, Usage
from kept.local.settings import LlmSettings

T = TypeVar("T")
_NO_KEY = "none"  # the libraries require a key, but a server of the user's own may need none
OPTIONAL_REPLIES = {"requests": '{"memories": []}'}
"""The reply to questions of a purpose that a script or recording has no line for: kept manages without an answer to these."""
MOST_BYTES = 8 * 2**20  # of a reply; a longer one is rejected


@dataclass(frozen=True, kw_only=True, slots=True)
class AdapterReply:
    """What came back, verbatim. ``truncated``: it ended at a limit; ``refused``: the vendor says that the model refused."""

    text: str
    usage: Usage
    truncated: bool = False
    refused: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AdapterFailure:
    """No reply. ``reason`` is a clause; ``after`` is how many seconds the server asks to wait; ``usage`` is what it cost."""

    fault: Fault
    reason: str
    after: float | None = None
    usage: Usage = field(default_factory=Usage)


AdapterResult = AdapterReply | AdapterFailure


class Model(Protocol):
    """A language model that answers one question at a time. Several threads may call it at once."""

    @property
    def name(self) -> str:
        """The name under which replies are stored; the part after the last ``:`` identifies the price."""
        ...

    def ask(self, ask: Ask) -> AdapterResult:
        """Ask once. Usage has the tokens that the model reports, or an estimate; ``cost`` is None if it reports none."""
        ...

    def count(self, ask: Ask) -> int:
        """The number of tokens of a question: from the vendor if that is free of charge, else an estimate."""
        ...

    def close(self) -> None:
        """Stop what is running and release resources."""
        ...


class AdapterModule(Protocol):
    """What each module in ``kept/llm/adapters`` has. Its name is the value of the setting ``llm.adapter``."""

    def create_model(self, settings: LlmSettings, env: Mapping[str, str]) -> Model:
        """The model of the settings. Raises ConfigError if something is missing."""
        ...

    def find_context(self, settings: LlmSettings) -> int:
        """The model's context size in tokens, where the settings leave it open; may ask the server for a description of it."""
        ...


def load_api_key(settings: LlmSettings, env: Mapping[str, str], usual: str) -> str:
    """The API key from the environment; a server of the user's own may need none. Raises ConfigError."""
    name = settings.key_env or usual
    key = env.get(name, "")
    if not key and not (settings.base_url and not settings.key_env):
        raise ConfigError(f"there is no key in {name}", hint=f"export {name}=…, or kept config set llm.key_env NAME")
    return key


def require_setting(settings: LlmSettings, name: str, example: str) -> str:
    """The value of a setting of the table ``[llm]``. Raises ConfigError if it is empty."""
    value: str = getattr(settings, name)
    if not value:
        raise ConfigError(f"llm.{name} is not set", hint=f"kept config set llm.{name} {example}")
    return value


def command_words(settings: LlmSettings) -> list[str]:
    """The command line that answers, as words; empty if no program does."""
    return shlex.split(settings.command) if settings.adapter == "command" else []


def program_name(settings: LlmSettings) -> str:
    """The name of the program that answers; empty if no program does."""
    return Path(words[0]).name if (words := command_words(settings)) else ""


@runtime_checkable
class BatchModel(Protocol):
    """A model that also takes many questions at once, at half the price, and answers within a day."""

    def submit(self, asks: Mapping[str, Ask]) -> str | AdapterFailure:
        """Submit questions under names of ours (at most 64 of ``a-zA-Z0-9_-``); returns the batch's id."""
        ...

    def collect(self, batch: str) -> Mapping[str, AdapterResult] | AdapterFailure | None:
        """The replies by name; None while the batch is running; an AdapterFailure if its state cannot be read or it will never
        end.
        """
        ...


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: a third of its bytes, which is close for English, and one per character for Chinese."""
    return len(text.encode("utf-8", "replace")) // 3 + 1


def format_full_prompt(ask: Ask) -> str:
    """A question as one text: the stable part, which shows the form of the reply, comes first."""
    return f"{ask.system}\n\n{ask.prompt}\n"


def estimate_ask_tokens(ask: Ask) -> int:
    """Estimate the tokens of a question."""
    return estimate_tokens(format_full_prompt(ask))


def estimate_usage(ask: Ask, text: str, *, cost: float | None = None) -> Usage:
    """Estimate the usage of a question and its reply if nobody reports it."""
    return Usage(calls=1, input_tokens=estimate_ask_tokens(ask), output_tokens=estimate_tokens(text), cost=cost)


class EstimatingModel:
    """The base of adapters: estimates the tokens of questions, and has nothing to release. Subclasses override what differs."""

    name: str

    def count(self, ask: Ask) -> int:
        """The approximate number of tokens of a question."""
        return estimate_ask_tokens(ask)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


_FAULTS = {401: Fault.SETUP, 402: Fault.SETUP, 403: Fault.SETUP, 404: Fault.SETUP, 408: Fault.OVERLOADED, 429: Fault.RATE_LIMIT}
MESSAGE_CHARS = 200  # characters of a program's or server's message that are passed on


def failure_from_status(status: int, headers: Mapping[str, str], body: object) -> AdapterFailure:
    """The failure for an HTTP error status, with the time that the server asks to wait."""
    fault = _FAULTS.get(status, Fault.OVERLOADED if status >= 500 else Fault.FAILED)
    message = _find_error_message(body)
    reason = f"the server answered {status}{': ' if message else ''}{message}"
    return AdapterFailure(fault=fault, reason=reason, after=_parse_seconds(headers.get("retry-after", "")))


def failure_from_error(error: Exception, *, server: str) -> AdapterFailure:
    """The failure for an exception: a failure of the connection to ``server``, or (if empty) an invalid response."""
    if server:
        return AdapterFailure(fault=Fault.CONNECTION, reason=f"{server} cannot be reached, or the connection broke")
    return AdapterFailure(fault=Fault.FAILED, reason=f"the server's response has an unknown form ({type(error).__name__})")


def _find_error_message(body: object) -> str:
    """The message in a server's error, as one short line; empty if there is none."""
    error: Any = body.get("error", body) if isinstance(body, dict) else body
    message = error.get("message") if isinstance(error, dict) else error
    return one_line(strip_invisible(message)[0])[:MESSAGE_CHARS] if isinstance(message, str) else ""


def _parse_seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None  # a date, or nothing: the default pause applies


class LibraryModel(EstimatingModel):
    """A model behind the library of Anthropic or OpenAI, which have the same structure. The library's own retries are disabled.

    Raises ConfigError if the library is not installed. ``base_error`` is the name of the base class of the library's errors,
    ``timeout`` is in seconds.
    """

    def __init__(self, vendor: str, what: str, model: str, *, base_error: str, key: str, base_url: str, timeout: float) -> None:
        try:
            self._library = import_module(vendor)
        except ImportError as error:
            raise ConfigError(f"the library for {what} is not installed", hint=f"pip install 'kept[{vendor}]'") from error
        self._model = model
        self._base_error = getattr(self._library, base_error)
        address = {"base_url": base_url} if base_url else {}
        self._options = {"api_key": key or _NO_KEY, "max_retries": 0, "timeout": timeout} | address
        self.name = f"{vendor}:{base_url}:{model}"

    def close(self) -> None:
        """Close the connections."""
        if "_client" in self.__dict__:
            self.__dict__["_client"].close()

    def _catch_api_errors(self, call: Callable[[], T]) -> T | AdapterFailure:
        try:
            return call()
        except self._library.APITimeoutError:
            return AdapterFailure(fault=Fault.TIMEOUT, reason=f"no reply within {self._options['timeout']:g} seconds")
        except self._library.APIStatusError as error:
            return failure_from_status(error.status_code, error.response.headers, error.body)
        except (self._base_error, ValueError, TypeError, AttributeError, LookupError) as error:
            server = urlsplit(str(self._options.get("base_url", ""))).netloc.rpartition("@")[2] or "the server"
            return failure_from_error(error, server=server if isinstance(error, self._library.APIConnectionError) else "")
