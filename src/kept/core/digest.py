"""The hashes from which kept makes ids. Hooks import this module, so it must load fast.

``hashlib`` also takes BLAKE2 from ``_blake2``, but it loads OpenSSL as well, which takes longer than all other work of a hook.
"""

from _blake2 import blake2b


def digest(*parts: str, size: int = 16) -> str:
    """The BLAKE2b hash of texts in hex. ``size`` is in bytes. Each text is prefixed by its length, so that lists cannot collide."""
    framed: list[bytes] = []
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        framed += len(raw).to_bytes(8, "big"), raw
    return blake2b(b"".join(framed), digest_size=size).hexdigest()


def hash_texts(*parts: str) -> str:
    """A hash of texts in their order, as 32 hex digits; readers make event keys with it."""
    text = "".join([f"{len(part)}:{part}" for part in parts])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def twin_of(kind: str, stamp: str, call: str, text: str) -> str:
    """A hash by which a copy of an event with another native id is recognised, in all formats. Empty without a time stamp."""
    return hash_texts(kind, stamp, call, " ".join(text.split())) if stamp else ""


def hash_bytes(data: bytes, setting: str = "") -> str:
    """A hash of bytes as 32 hex digits. The same bytes have different hashes under different ``setting`` (at most 16 bytes)."""
    return blake2b(data, digest_size=16, person=setting.encode()).hexdigest()


def text_hash(text: str) -> int:
    """A 64-bit hash of a text. It is stored with the text's vector, to notice when the vector is from another text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
