"""Ollama by its native API, which accepts both a context size and a schema. Also asks other servers for their context size.

Uses only the standard library.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kept.core.redact import hide_secrets
from kept.llm.adapter import (
    MOST_BYTES,
    AdapterFailure,
    AdapterReply,
    AdapterResult,
    EstimatingModel,
    estimate_usage,
    failure_from_error,
    failure_from_status,
    read_count,
    require_setting,
)
from kept.llm.ask import UNKNOWN_CONTEXT, Ask, Fault
from kept.llm.available import OLLAMA_URL, is_on_this_machine
from kept.local.settings import LlmSettings

if TYPE_CHECKING:
    from kept.local.fetching import Response

_MOST_CONTEXT = 16_384  # the largest context requested, in tokens, because each token uses memory of the machine
_DESCRIPTION_SECONDS = 5.0  # timeout for a server's description of itself


class Ollama(EstimatingModel):
    """A model of an Ollama server with ``context`` tokens of context. ``timeout`` is in seconds."""

    def __init__(self, model: str, *, context: int, base_url: str = "", timeout: float = 180.0) -> None:
        self._model = model
        self._url = (base_url or OLLAMA_URL).rstrip("/")
        self._context = context
        self._timeout = timeout
        self.name = f"ollama:{hide_secrets(base_url)}:{model}"

    def ask(self, ask: Ask) -> AdapterResult:
        """Ask once."""
        body = {
            "model": self._model,
            "messages": [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.prompt}],
            "stream": False,
            "format": dict(ask.schema),
            "options": {"num_ctx": self._context, "num_predict": ask.most},
        }
        try:
            response = _fetch(f"{self._url}/api/chat", self._timeout, body)
            if response.status != HTTPStatus.OK:
                return failure_from_status(response.status, dict(response.headers), _parse_body(response.data))
            return _read_reply(json.loads(response.data), ask)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(getattr(error, "reason", error), TimeoutError):
                return AdapterFailure(fault=Fault.TIMEOUT, reason=f"no reply within {self._timeout:g} seconds")
            server = f"Ollama at {urlsplit(self._url).netloc.rpartition('@')[2]}"
            return failure_from_error(error, server=server if isinstance(error, OSError) else "")


def ollama_context(model: str, base_url: str = "") -> int:
    """Ask an Ollama server for the context size of a model in tokens. 0 if it does not report one."""
    body = _ask_server(f"{(base_url or OLLAMA_URL).rstrip('/')}/api/show", {"model": model})
    return max(
        (read_count(value) for name, value in _mapping(body, "model_info").items() if name.endswith(".context_length")), default=0
    )


def served_context(model: str, base_url: str) -> int:
    """Ask a server (vLLM, LM Studio, llama.cpp) for the context size of a model in tokens. 0 if it does not report one."""
    parts = urlsplit(base_url)
    settings = _mapping(_ask_server(f"{parts.scheme}://{parts.netloc}/props"), "default_generation_settings")
    if context := read_count(settings.get("n_ctx")):
        return context
    listed = _ask_server(f"{base_url.rstrip('/')}/models")
    rows = listed.get("data") if isinstance(listed, Mapping) else None
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, Mapping) and row.get("id") == model:
            sizes = [row.get(name) for name in ("max_model_len", "loaded_context_length", "context_length", "context_window")]
            return next((context for item in sizes if (context := read_count(item))), 0)
    return 0


def _ask_server(url: str, body: Mapping[str, Any] | None = None) -> Any:
    with suppress(OSError, ValueError, RecursionError):
        response = _fetch(url, _DESCRIPTION_SECONDS, body)
        return json.loads(response.data) if response.status == HTTPStatus.OK else {}
    return {}


def _fetch(url: str, timeout: float, body: Mapping[str, Any] | None = None) -> "Response":
    from urllib.request import Request  # noqa: PLC0415 - loads TLS and e-mail, and most commands ask nothing

    from kept.local.fetching import fetch  # noqa: PLC0415 - as above

    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("no address of a server")
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data=data, headers={"Content-Type": "application/json"})  # noqa: S310 - its scheme was checked above
    return fetch(request, seconds=timeout, most=MOST_BYTES, proxies=not is_on_this_machine(url))


def _parse_body(data: bytes) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(data)
    return data.decode("utf-8", "replace")


def _mapping(body: Any, name: str) -> Mapping[str, Any]:
    value = body.get(name) if isinstance(body, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _read_reply(body: Mapping[str, Any], ask: Ask) -> AdapterReply:
    text = str(body["message"]["content"] or "")
    usage = estimate_usage(ask, text, read=body.get("prompt_eval_count"), written=body.get("eval_count"), cost=0.0)
    return AdapterReply(text=text, usage=usage, truncated=body.get("done_reason") == "length")


def create_model(settings: LlmSettings, env: Mapping[str, str]) -> Ollama:  # noqa: ARG001 - it needs no key
    """Create the model that the settings name. Raises ConfigError if its name is missing."""
    name = require_setting(settings, "model", "qwen3:8b")
    context = settings.context or find_context(settings)
    return Ollama(name, context=context, base_url=settings.base_url, timeout=settings.timeout)


def find_context(settings: LlmSettings) -> int:
    """The model's context size in tokens as the server reports it, at most _MOST_CONTEXT."""
    return min(ollama_context(settings.model, settings.base_url) or UNKNOWN_CONTEXT, _MOST_CONTEXT)
