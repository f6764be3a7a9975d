"""Claude over Anthropic's API, one question at a time or in batches. The vendor's library is imported when a client is needed.

The stable part of a question comes first and is marked for the provider's cache. The library's own retries are disabled, because
:mod:`kept.llm.retry` does them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kept.llm.adapter import AdapterFailure, AdapterReply, AdapterResult, LibraryModel, estimate_usage, read_count
from kept.llm.ask import VENDOR_CONTEXT, Ask, Fault, known_context
from kept.local.settings import LlmSettings

if TYPE_CHECKING:
    import anthropic


class Anthropic(LibraryModel):
    """A model of Anthropic, or of a server with the same API."""

    library, purpose, base_error = "anthropic", "Claude", "AnthropicError"
    key_variable, example = "ANTHROPIC_API_KEY", "claude-haiku-5-5"

    @cached_property
    def _client(self) -> anthropic.Anthropic:
        client: anthropic.Anthropic = self._library.Anthropic(**self._options)
        return client

    def ask(self, ask: Ask) -> AdapterResult:
        """Ask once."""
        return self._catch_api_errors(lambda: _parse_api_message(self._client.messages.create(**self._request(ask)), ask))

    def count(self, ask: Ask) -> int:
        """The number of tokens of a question. The vendor counts them free of charge. If that fails, the number is an estimate."""
        request = {name: value for name, value in self._request(ask).items() if name != "max_tokens"}
        try:
            return int(self._client.messages.count_tokens(**request).input_tokens)
        except (self._library.AnthropicError, ValueError, AttributeError):
            return super().count(ask)

    def submit(self, asks: Mapping[str, Ask]) -> str | AdapterFailure:
        """Submit a batch."""
        requests: Any = [{"custom_id": name, "params": self._request(ask)} for name, ask in asks.items()]
        return self._catch_api_errors(lambda: str(self._client.messages.batches.create(requests=requests).id))

    def collect(self, batch: str) -> Mapping[str, AdapterResult] | AdapterFailure | None:
        """Return the replies of a batch, or None while it is running."""
        return self._catch_api_errors(lambda: self._collect_replies(batch))

    def _collect_replies(self, batch: str) -> Mapping[str, AdapterResult] | None:
        if self._client.messages.batches.retrieve(batch).processing_status != "ended":
            return None
        replies: dict[str, AdapterResult] = {}
        for item in self._client.messages.batches.results(batch):
            if item.result.type == "succeeded":
                replies[item.custom_id] = _parse_api_message(item.result.message, None)
            else:
                replies[item.custom_id] = AdapterFailure(fault=Fault.FAILED, reason=f"the batch says that it is {item.result.type}")
        return replies

    def _request(self, ask: Ask) -> dict[str, Any]:
        return {
            "model": self._model,
            "max_tokens": ask.most,
            "system": [{"type": "text", "text": ask.system, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": ask.prompt}],
            "output_config": {"format": {"type": "json_schema", "schema": dict(ask.schema)}},
        }


def _parse_api_message(message: anthropic.types.Message, ask: Ask | None) -> AdapterReply:
    text = "".join(block.text for block in message.content if block.type == "text")
    used = message.usage
    cached = read_count(used.cache_read_input_tokens)
    read = read_count(used.input_tokens) + cached + read_count(used.cache_creation_input_tokens)
    usage = estimate_usage(ask, text, read=read, written=used.output_tokens, cached=cached)
    truncated = message.stop_reason in ("max_tokens", "model_context_window_exceeded")
    return AdapterReply(text=text, usage=usage, truncated=truncated, refused=message.stop_reason == "refusal")


create_model = Anthropic.from_settings


def find_context(settings: LlmSettings) -> int:
    """Look up the model's context size in tokens by its name."""
    return known_context(settings.model) or VENDOR_CONTEXT
