"""Any server with OpenAI's chat completions API: OpenAI, Ollama, vLLM, llama.cpp, LM Studio. The library is imported on first use.

A server that does not support JSON schemas is asked for plain JSON. One that does not support JSON either is asked for text. In
both cases the question contains the schema. The library's own retries are disabled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from kept.llm.adapter import AdapterFailure, AdapterReply, AdapterResult, LibraryModel, estimate_usage
from kept.llm.adapters.ollama import served_context
from kept.llm.ask import UNKNOWN_CONTEXT, VENDOR_CONTEXT, Ask, Fault, known_context
from kept.local.settings import LlmSettings

if TYPE_CHECKING:
    import openai

_ENDED = ("completed", "expired", "cancelled", "failed")
_FORMS = ("schema", "json", "text")  # reply formats, from the strictest to the loosest


class OpenAI(LibraryModel):
    """A model of OpenAI, or of another server with its chat completions API."""

    library, purpose, base_error = "openai", "OpenAI's interface", "OpenAIError"
    key_variable, example = "OPENAI_API_KEY", "gpt-6-luna"
    _form = _FORMS[0]

    @cached_property
    def _client(self) -> openai.OpenAI:
        client: openai.OpenAI = self._library.OpenAI(**self._options)
        return client

    def ask(self, ask: Ask) -> AdapterResult:
        """Ask once. If the server does not support the reply format, ask again with a looser one, and use that from then on."""
        for form in _FORMS[_FORMS.index(self._form) :]:
            result = self._catch_api_errors(partial(self._complete, ask, form))
            if result is not None:
                self._form = form
                return result
        return AdapterFailure(fault=Fault.FAILED, reason="the server supports no reply format")

    def submit(self, asks: Mapping[str, Ask]) -> str | AdapterFailure:
        """Submit a batch."""
        url: Literal["/v1/chat/completions"] = "/v1/chat/completions"
        rows = [
            {"custom_id": name, "method": "POST", "url": url, "body": self._request(ask, self._form)} for name, ask in asks.items()
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows).encode()

        def create_batch() -> str:
            file = self._client.files.create(file=("questions.jsonl", text), purpose="batch")
            return self._client.batches.create(input_file_id=file.id, endpoint=url, completion_window="24h").id

        return self._catch_api_errors(create_batch)

    def collect(self, batch: str) -> Mapping[str, AdapterResult] | AdapterFailure | None:
        """Return the replies of a batch, or None while it is running."""
        return self._catch_api_errors(lambda: self._collect_replies(batch))

    def _complete(self, ask: Ask, form: str) -> AdapterReply | None:
        """Ask for a reply in the format ``form``. None if the server does not support it."""
        try:
            return _read_completion(self._client.chat.completions.create(**self._request(ask, form)).to_dict(warnings=False), ask)
        except self._library.BadRequestError as error:
            message = json.dumps(error.body, default=str).lower()
            if form != _FORMS[-1] and ("response_format" in message or "json_schema" in message or "schema" in message):
                return None
            raise

    def _request(self, ask: Ask, form: str) -> dict[str, Any]:
        schema = {"name": "reply", "strict": True, "schema": dict(ask.schema)}
        forms: dict[str, dict[str, Any]] = {
            "schema": {"response_format": {"type": "json_schema", "json_schema": schema}},
            "json": {"response_format": {"type": "json_object"}},
            "text": {},
        }
        return {
            "model": self._model,
            "messages": [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.prompt}],
            "max_tokens" if "base_url" in self._options else "max_completion_tokens": ask.most,
        } | forms[form]

    def _collect_replies(self, batch: str) -> Mapping[str, AdapterResult] | None:
        state = self._client.batches.retrieve(batch)
        if state.status not in _ENDED:
            return None
        replies: dict[str, AdapterResult] = {}
        for file in filter(None, (state.output_file_id, state.error_file_id)):
            for line in self._client.files.content(file).text.splitlines():
                row = json.loads(line)
                replies[row["custom_id"]] = _parse_batch_row(row)
        return replies


def _parse_batch_row(row: Mapping[str, Any]) -> AdapterResult:
    response = row.get("response") or {}
    if response.get("status_code") != 200:
        return AdapterFailure(fault=Fault.FAILED, reason=f"the batch answered {response.get('status_code') or 'with an error'}")
    return _read_completion(response["body"], None)


def _read_completion(body: Mapping[str, Any], ask: Ask | None) -> AdapterReply:
    choice = body["choices"][0]
    message = choice["message"]
    text = message.get("content") or ""
    refused = bool(message.get("refusal")) or choice.get("finish_reason") == "content_filter"
    used = body.get("usage") or {}
    cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens")
    usage = estimate_usage(ask, text, read=used.get("prompt_tokens"), written=used.get("completion_tokens"), cached=cached)
    return AdapterReply(text=text, usage=usage, truncated=choice.get("finish_reason") == "length", refused=refused)


create_model = OpenAI.from_settings


def find_context(settings: LlmSettings) -> int:
    """The model's context size in tokens, from the user's own server if it reports one, else by the model's name."""
    if settings.base_url:
        return served_context(settings.model, settings.base_url) or UNKNOWN_CONTEXT
    return known_context(settings.model) or VENDOR_CONTEXT
