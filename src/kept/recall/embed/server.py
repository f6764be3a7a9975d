"""Embeddings from a server with the OpenAI API (``POST <address>/embeddings``). Used only if a person configured a server."""

import json
import urllib.request
from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from kept.core.errors import ConfigError, KeptError
from kept.local.fetching import fetch

_SECONDS = 60
_MOST_REPLY = 256 * 2**20  # bytes
_AT_ONCE = 128


class UnreachableError(KeptError):
    """The embedding server could not be reached, or its reply is invalid."""

    exit_code = 1


class ServerEmbedder:
    """A model on a server. ``address`` is the base URL of the API, usually ending in ``/v1``.

    Raises ConfigError if ``address`` is not an HTTP address or ``model`` is empty.
    """

    def __init__(self, address: str, model: str, key: str = "") -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise ConfigError(f"{address[:80]!r} is not the address of a server", hint="use local, off, or http(s)://…/v1")
        if not model:
            raise ConfigError("an embedding server needs the name of a model", hint="kept config set recall.embeddings_model NAME")
        self.name = f"{model} @ {parts.hostname}"
        self._address = f"{address.rstrip('/')}/embeddings"
        self._model = model
        self._key = key

    def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:  # noqa: ARG002 - the signature of all embedders
        """One unit vector per text, shape (texts, dimensions). Raises UnreachableError if the server gives no valid reply."""
        parts = [self._request_vectors(texts[start : start + _AT_ONCE]) for start in range(0, len(texts), _AT_ONCE)]
        vectors = np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
        return vectors

    def _request_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        body = json.dumps({"model": self._model, "input": list(texts), "encoding_format": "float"}).encode()
        request = urllib.request.Request(self._address, body, headers)  # noqa: S310 - the scheme was checked above
        try:
            response = fetch(request, seconds=_SECONDS, most=_MOST_REPLY)
            if response.status != HTTPStatus.OK:
                raise self._unreachable_error(f"it answered {response.status}")
            rows = json.loads(response.data)["data"]
            vectors = np.asarray([row["embedding"] for row in sorted(rows, key=lambda row: row["index"])], np.float32)
        except OSError as error:
            raise self._unreachable_error(str(getattr(error, "reason", error))) from error
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
            raise self._unreachable_error("its reply is not a list of embeddings") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise self._unreachable_error("its reply does not fit the question")
        return vectors

    def _unreachable_error(self, why: str) -> UnreachableError:
        return UnreachableError(
            f"the embedding server cannot be used: {why}", where=self.name, hint="kept config set recall.embeddings local"
        )
