"""Embedders turn a text into a vector that represents its meaning: local models, a server, and feature hashing.

An embedder is imported when it is first used, because a hook that needs no embedder must not spend time on imports.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kept.core.errors import ConfigError
from kept.recall.embed.pack import Pack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kept.recall.embed.minilm import MiniLM
    from kept.recall.embed.universal import BlendedEmbedder

_MEMORY = 2**30  # bytes of address space that a process needs. With less, numpy's libraries end it without an exception.
PACK = Path(__file__).with_name("minilm.pack")
MANY_PACK = Path(__file__).with_name("universal.pack")
ADAPTER = Path(__file__).with_name("requests.adapter")
LOCAL, OFF, HASHING = "local", "off", "hashing"
MULTILINGUAL, SMALL = "multilingual", "small"


class Embedder(Protocol):
    """Turns texts into vectors. Vectors of embedders with different names are never compared."""

    @property
    def name(self) -> str:
        """Model and version."""
        ...

    def embed(self, texts: Sequence[str], *, question: bool = False) -> "NDArray[np.float32]":
        """One vector per text, shape (texts, dimensions). Raises KeptError.

        The dot product of a vector made with ``question`` and a vector made without it is a cosine or a weighted mean of cosines.
        """
        ...


def create_embedder(
    choice: str,
    model: str = "",
    env: Mapping[str, str] | None = None,
    *,
    local: str = MULTILINGUAL,
    stays: bool = False,
    requests: bool = False,
) -> Embedder | None:
    """Create the embedder that a setting chooses. Return None for ``off``, and for ``local`` if no local model is installed.

    Args:
        choice: ``local``, ``off``, ``hashing`` or the URL of a server. ``KEPT_EMBEDDINGS`` in the environment overrides it.
        model: the name of the server's model.
        env: the environment variables.
        local: the local model to use. The small one is used if the multilingual one is not installed.
        stays: true for a long-lived process. The model then uses more memory and is faster.
        requests: true for the words before which memories and earlier turns are looked up. Their vectors are compared with those
            of an embedder without this.

    Raises ConfigError if the URL is not the address of a server, if a server has no model name, or if the memory limit of the
    process is too low for vectors.
    """
    asked = (env or {}).get("KEPT_EMBEDDINGS") or choice
    if asked == OFF:
        return None
    if asked == LOCAL and not PACK.exists():
        return None
    check_memory_limit()
    if asked == LOCAL:
        loaded = _load_local_model(many=local != SMALL and MANY_PACK.exists(), requests=requests)
        if stays:
            loaded.widen_weights()
        return loaded
    if asked == HASHING:
        from kept.recall.embed.hashing import HashingEmbedder  # noqa: PLC0415 - numpy is heavy

        return HashingEmbedder()
    from kept.recall.embed.server import ServerEmbedder  # noqa: PLC0415 - heavy, and needed only here

    return ServerEmbedder(asked, model, (env or {}).get("KEPT_EMBEDDINGS_KEY", ""))


def find_model_name(choice: str, model: str = "", env: Mapping[str, str] | None = None, *, local: str = MULTILINGUAL) -> str:
    """The name of the embedder that a setting chooses, or an empty string. Loads no local model. Raises ConfigError."""
    if ((env or {}).get("KEPT_EMBEDDINGS") or choice) != LOCAL or not PACK.exists():
        embedder = create_embedder(choice, model, env, local=local)
        return embedder.name if embedder else ""
    check_memory_limit()
    packs = (PACK, MANY_PACK) if local != SMALL and MANY_PACK.exists() else (PACK,)
    return " + ".join(Pack(path).name for path in packs)


def check_memory_limit() -> None:
    """Raise ConfigError if the memory limit of this process is below what vectors need."""
    with suppress(ImportError):  # Windows has no such limit
        import resource  # noqa: PLC0415 - not on every system

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY and most < _MEMORY:
            raise ConfigError("the memory limit of this process is too low for search by meaning", hint="raise ulimit -v to 1 GB")


@lru_cache(maxsize=4)
def _load_local_model(*, many: bool, requests: bool) -> "MiniLM | BlendedEmbedder":
    from kept.recall.embed.adapter import Adapter  # noqa: PLC0415 - numpy is heavy
    from kept.recall.embed.minilm import MiniLM  # noqa: PLC0415 - as above

    english = MiniLM(PACK, Adapter(ADAPTER, "english") if requests else None)
    if not many:
        return english
    from kept.recall.embed.universal import BlendedEmbedder, UniversalEncoder  # noqa: PLC0415 - as above

    return BlendedEmbedder(english, UniversalEncoder(MANY_PACK, Adapter(ADAPTER, "many") if requests else None))


@lru_cache(maxsize=1)
def known_words() -> frozenset[str]:
    """The vocabulary of the small local model, which contains the common English words. Empty if the model is not installed."""
    if not PACK.exists():
        return frozenset()
    return frozenset(Pack(PACK).tensor("vocabulary").tobytes().decode("utf-8").split("\n"))


def rate_word(word: str) -> float | None:
    """How likely a word is in one of the languages of the multilingual model, as a logarithm. None if the model is not installed.

    A common word has about -10, and a mistyped one of eight letters about -25.
    """
    return _load_word_rater()(word) if MANY_PACK.exists() else None


@lru_cache(maxsize=1)
def _load_word_rater() -> Callable[[str], float]:
    from kept.recall.embed.universal import UniversalEncoder  # noqa: PLC0415 - numpy is heavy

    return UniversalEncoder(MANY_PACK).rate_word
