"""Embedders: a text's meaning as a vector of length one. The local model, a server, and one that needs nothing.

The heavy ones are imported when they are first asked for: a hook that asks for none must not pay for any.
"""

from collections.abc import Mapping, Sequence
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

ROOM = 2**30  # bytes of memory a process must be free to take: below, what numpy stands on ends the process instead of telling
PACK = Path(__file__).with_name("minilm.pack")
MANY_PACK = Path(__file__).with_name("universal.pack")
LOCAL, OFF, HASHING = "local", "off", "hashing"
MULTILINGUAL, SMALL = "multilingual", "small"


class Embedder(Protocol):
    """Turns texts into vectors. ``name`` tells model and version: vectors of different names are never compared."""

    @property
    def name(self) -> str:
        """Model and version."""
        ...

    def embed(self, texts: Sequence[str], *, question: bool = False) -> "NDArray[np.float32]":
        """One vector for each text, so that the product of a question's and a text's is a cosine. Raises KeptError."""
        ...


def create_embedder(
    choice: str, model: str = "", env: Mapping[str, str] | None = None, *, local: str = MULTILINGUAL, stays: bool = False
) -> Embedder | None:
    """The embedder of a setting: ``local``, ``off``, ``hashing``, or the address of a server, which is asked for a ``model``. None
    where there is none.

    ``local`` says which model is meant by ``local``; where the multilingual one is not here, it is the small one. In a process that
    ``stays`` it trades memory for time. The environment's ``KEPT_EMBEDDINGS`` goes before the setting. Raises ConfigError for a
    server that cannot be one, and where the process may not take the memory that vectors need.
    """
    asked = (env or {}).get("KEPT_EMBEDDINGS") or choice
    if asked == OFF:
        return None
    if asked == LOCAL and not PACK.exists():
        return None
    check_memory_limit()
    if asked == LOCAL:
        found = _load_local_model(many=local != SMALL and MANY_PACK.exists())
        if stays:
            found.widen_weights()
        return found
    if asked == HASHING:
        from kept.recall.embed.hashing import HashingEmbedder  # noqa: PLC0415 - numpy is heavy

        return HashingEmbedder()
    from kept.recall.embed.server import ServerEmbedder  # noqa: PLC0415 - heavy, and only wanted here

    return ServerEmbedder(asked, model, (env or {}).get("KEPT_EMBEDDINGS_KEY", ""))


def find_model_name(choice: str, model: str = "", env: Mapping[str, str] | None = None, *, local: str = MULTILINGUAL) -> str:
    """The name of the embedder of a setting, a local one's without loading it; empty where there is none. Raises ConfigError."""
    if ((env or {}).get("KEPT_EMBEDDINGS") or choice) != LOCAL or not PACK.exists():
        found = create_embedder(choice, model, env, local=local)
        return found.name if found else ""
    check_memory_limit()
    packs = (PACK, MANY_PACK) if local != SMALL and MANY_PACK.exists() else (PACK,)
    return " + ".join(Pack(path).name for path in packs)


def check_memory_limit() -> None:
    """Raise ConfigError where the memory of this process is limited to less than vectors need."""
    with suppress(ImportError):  # there is no such limit on Windows
        import resource  # noqa: PLC0415 - not on every system

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY and most < ROOM:
            raise ConfigError("this process may take too little memory for search by meaning", hint="raise ulimit -v to 1 GB")


@lru_cache(maxsize=2)
def _load_local_model(*, many: bool) -> "MiniLM | BlendedEmbedder":
    from kept.recall.embed.minilm import MiniLM  # noqa: PLC0415 - numpy is heavy

    if not many:
        return MiniLM(PACK)
    from kept.recall.embed.universal import BlendedEmbedder, UniversalEncoder  # noqa: PLC0415 - as above

    return BlendedEmbedder(MiniLM(PACK), UniversalEncoder(MANY_PACK))


@lru_cache(maxsize=1)
def known_words() -> frozenset[str]:
    """The words that the local model knows whole: the common ones of English. None where the model is not here."""
    if not PACK.exists():
        return frozenset()
    return frozenset(Pack(PACK).tensor("vocabulary").tobytes().decode("utf-8").split("\n"))


__all__ = [
    "HASHING",
    "LOCAL",
    "MANY_PACK",
    "MULTILINGUAL",
    "OFF",
    "PACK",
    "SMALL",
    "Embedder",
    "check_memory_limit",
    "create_embedder",
    "find_model_name",
    "known_words",
]
