"""The protocol of a language model, and the conversion of a server's errors to failures. Independent of any vendor or API."""

import shlex
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable
from urllib.parse import urlsplit

from kept.core.errors import ConfigError
from kept.core.invisible import strip_invisible
from kept.core.redact import hide_secrets
from kept.core.text import one_line
from kept.core.value import dataclass, field
from kept.llm.ask import Ask, Fault, Usage
from kept.llm.available import is_on_this_machine
from kept.local.settings import LlmSettings

T = TypeVar("T")
_NO_KEY = "none"  # placeholder: the libraries require a key even if the user's own server needs none
MOST_BYTES = 8 * 2**20  # maximum size of a reply; a larger one is rejected


@dataclass(frozen=True, kw_only=True, slots=True)
class AdapterReply:
    """A reply, verbatim. ``truncated``: it was cut off at a token limit. ``refused``: the vendor reports that the model refused."""

    text: str
    usage: Usage
    truncated: bool = False
    refused: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AdapterFailure:
    """An attempt without a reply. ``reason`` is a clause. The server asks to wait ``after`` seconds. ``usage`` is the cost."""

    fault: Fault
    reason: str
    after: float | None = None
    usage: Usage = field(default_factory=Usage)


AdapterResult = AdapterReply | AdapterFailure


class Model(Protocol):
    """A language model that answers one question at a time. Several threads may call it at once."""

    @property
    def name(self) -> str:
        """The name under which replies are stored. The price is looked up by the part after the last ``:``."""
        ...

    def ask(self, ask: Ask) -> AdapterResult:
        """Ask once. The usage has the tokens that the model reports, or an estimate. Its ``cost`` is None if none is reported."""
        ...

    def count(self, ask: Ask) -> int:
        """The number of tokens of a question, counted by the vendor if that is free of charge, else estimated."""
        ...

    def close(self) -> None:
        """Stop running requests and release resources."""
        ...


class AdapterModule(Protocol):
    """The functions of each module in ``kept/llm/adapters``. The setting ``llm.adapter`` is the name of such a module."""

    def create_model(self, settings: LlmSettings, env: Mapping[str, str]) -> Model:
        """Create the model that the settings select. Raises ConfigError if a required setting, key or library is missing."""
        ...

    def find_context(self, settings: LlmSettings) -> int:
        """The model's context size in tokens, used if it is not set. May ask the server to describe the model."""
        ...


def load_api_key(settings: LlmSettings, env: Mapping[str, str], usual: str) -> str:
    """Return the API key from the environment. Raises ConfigError if it is missing, unless the user's own server needs none."""
    name = settings.key_env or usual
    key = env.get(name, "")
    if not key and not (settings.base_url and not settings.key_env):
        raise ConfigError(f"there is no key in {name}", hint=f"export {name}=…, or kept config set llm.key_env NAME")
    return key


def require_setting(settings: LlmSettings, name: str, example: str) -> str:
    """Return the value of a setting in the table ``[llm]``. Raises ConfigError if it is empty."""
    value: str = getattr(settings, name)
    if not value:
        raise ConfigError(f"llm.{name} is not set", hint=f"kept config set llm.{name} {example}")
    return value


def command_words(settings: LlmSettings) -> list[str]:
    """The words of the command line that runs the model. Empty if the model is not a program."""
    return shlex.split(settings.command) if settings.adapter == "command" else []


def program_name(settings: LlmSettings) -> str:
    """The name of the program that runs the model. Empty if the model is not a program."""
    return Path(words[0]).name if (words := command_words(settings)) else ""


@runtime_checkable
class BatchModel(Protocol):
    """A model that also takes many questions at once, at half the price, and answers within a day."""

    def submit(self, asks: Mapping[str, Ask]) -> str | AdapterFailure:
        """Submit questions by name, and return the batch's id. Names have at most 64 of the characters ``a-zA-Z0-9_-``."""
        ...

    def collect(self, batch: str) -> Mapping[str, AdapterResult] | AdapterFailure | None:
        """Return the replies by name, or None while the batch is running.

        Returns an AdapterFailure if the batch's state cannot be read, or if the batch will never end.
        """
        ...


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text as a third of its bytes in UTF-8. That is close for English. Chinese gets one per character."""
    return len(text.encode("utf-8", "replace")) // 3 + 1


def format_full_prompt(ask: Ask) -> str:
    """Join a question's parts to one text. The stable part comes first, because it shows the form of the reply."""
    return f"{ask.system}\n\n{ask.prompt}\n"


def estimate_ask_tokens(ask: Ask) -> int:
    """Estimate the tokens of a question."""
    return estimate_tokens(format_full_prompt(ask))


def read_count(value: object) -> int:
    """A number that a server reports. 0, like a missing one, if it is not a plausible number of tokens."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**40 else 0


def estimate_usage(
    ask: Ask | None, text: str, *, read: object = 0, written: object = 0, cached: object = 0, cost: float | None = None
) -> Usage:
    """The usage of a question and its reply, with the tokens that the model reports, or else with an estimate of them."""
    return Usage(
        calls=1,
        input_tokens=read_count(read) or (estimate_ask_tokens(ask) if ask else 0),
        output_tokens=read_count(written) or estimate_tokens(text),
        cached_tokens=read_count(cached),
        cost=cost,
    )


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
    """Convert an HTTP error status to a failure, with the seconds that the server asks to wait."""
    fault = _FAULTS.get(status, Fault.OVERLOADED if status >= 500 else Fault.FAILED)
    message = _find_error_message(body)
    reason = f"the server answered {status}{': ' if message else ''}{message}"
    return AdapterFailure(fault=fault, reason=reason, after=_parse_seconds(headers.get("retry-after", "")))


def failure_from_error(error: Exception, *, server: str) -> AdapterFailure:
    """Convert an exception to a failure: the connection to ``server`` failed, or, if that is empty, its response is invalid."""
    if server:
        return AdapterFailure(fault=Fault.CONNECTION, reason=f"{server} cannot be reached, or the connection broke")
    return AdapterFailure(fault=Fault.FAILED, reason=f"the server's response has an unknown form ({type(error).__name__})")


def _find_error_message(body: object) -> str:
    """The message in a server's error as one line of at most MESSAGE_CHARS. Empty if there is none."""
    error: Any = body.get("error", body) if isinstance(body, dict) else body
    message = error.get("message") if isinstance(error, dict) else error
    return one_line(strip_invisible(message)[0])[:MESSAGE_CHARS] if isinstance(message, str) else ""


def _parse_seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None  # the header is a date or missing, so the default pause applies


class LibraryModel(EstimatingModel):
    """A model behind the library of Anthropic or OpenAI, which have the same structure. The library's own retries are disabled.

    ``base_url`` is the address of another server with the same API. ``timeout`` is in seconds. Raises ConfigError if the library is
    not installed. A subclass names its library, what that is for, the base class of the library's errors, the variable that
    usually has the key, and a model as an example.
    """

    library: ClassVar[str]
    purpose: ClassVar[str]
    base_error: ClassVar[str]
    key_variable: ClassVar[str]
    example: ClassVar[str]

    def __init__(self, model: str, *, key: str, base_url: str = "", timeout: float = 180.0) -> None:
        try:
            self._library = import_module(self.library)
        except ImportError as error:
            raise ConfigError(
                f"the library for {self.purpose} is not installed", hint=f"pip install 'kept[{self.library}]'"
            ) from error
        self._model = model
        self._base_error = getattr(self._library, self.base_error)
        from kept.llm.bounded_client import create_client  # noqa: PLC0415 - needs the library

        address = {"base_url": base_url} if base_url else {}
        client = create_client(timeout, proxies=not is_on_this_machine(base_url))
        self._options = {"api_key": key or _NO_KEY, "max_retries": 0, "timeout": timeout, "http_client": client} | address
        self.name = f"{self.library}:{hide_secrets(base_url)}:{model}"  # it is stored beside each reply

    @classmethod
    def from_settings(cls, settings: LlmSettings, env: Mapping[str, str]) -> Self:
        """Create the model that the settings name. Raises ConfigError if its name or key is missing."""
        name = require_setting(settings, "model", cls.example)
        key = load_api_key(settings, env, cls.key_variable)
        return cls(name, key=key, base_url=settings.base_url, timeout=settings.timeout)

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
        except (self._base_error, ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            server = urlsplit(str(self._options.get("base_url", ""))).netloc.rpartition("@")[2] or "the server"
            return failure_from_error(error, server=server if isinstance(error, self._library.APIConnectionError) else "")
