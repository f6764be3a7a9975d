"""The hash of texts that everything in kept is named by. Imports nothing heavy: hooks wait for it.

``_blake2`` is where ``hashlib`` has this hash from; ``hashlib`` itself loads OpenSSL, which takes longer than a hook's answer.
"""

from _blake2 import blake2b


def digest(*parts: str, size: int = 16) -> str:
    """A hex BLAKE2b of texts, each framed by its length so that no two lists of texts collide; ``size`` is in bytes."""
    state = blake2b(digest_size=size)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "big"))
        state.update(raw)
    return state.hexdigest()


def hash_texts(*parts: str) -> str:
    """A hash of texts in their order, as 32 hexadecimal digits: what readers name events by."""
    state = blake2b(digest_size=16)
    for part in parts:
        state.update(str(len(part)).encode() + b":" + part.encode("utf-8", "surrogatepass"))
    return state.hexdigest()


def twin_of(kind: str, stamp: str, call: str, text: str) -> str:
    """What recognises an event in a copy whose native id changed: the same in every format; empty without a time."""
    return hash_texts(kind, stamp, call, " ".join(text.split())) if stamp else ""


def hash_bytes(data: bytes, setting: str = "") -> str:
    """A hash of bytes as 32 hex digits, by which they are known again; ``setting`` (at most 16 bytes) is what else decides."""
    return blake2b(data, digest_size=16, person=setting.encode()).hexdigest()


def text_hash(text: str) -> int:
    """A 64-bit hash of a text: a vector counts only for the text it was made of."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
