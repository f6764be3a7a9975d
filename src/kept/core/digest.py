"""The hashes from which ids in kept are made. Hooks import this module, so it must load fast.

``hashlib`` takes BLAKE2 from ``_blake2`` too, but it also loads OpenSSL, which takes longer than all other work of a hook.
"""

from _blake2 import blake2b


def digest(*parts: str, size: int = 16) -> str:
    """The BLAKE2b hash of texts in hex; ``size`` is in bytes. Each text is prefixed by its length, so that lists cannot collide."""
    raws = [part.encode("utf-8", "surrogatepass") for part in parts]
    return blake2b(b"".join([len(raw).to_bytes(8, "big") + raw for raw in raws]), digest_size=size).hexdigest()


def hash_texts(*parts: str) -> str:
    """A hash of texts in their order, as 32 hex digits; readers make event keys with it."""
    text = "".join([f"{len(part)}:{part}" for part in parts])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def twin_of(kind: str, stamp: str, call: str, text: str) -> str:
    """A hash by which a copy of an event is recognised although its native id differs; empty without a time stamp.

    All formats compute it alike.
    """
    return hash_texts(kind, stamp, call, " ".join(text.split())) if stamp else ""


def hash_bytes(data: bytes, setting: str = "") -> str:
    """A hash of bytes as 32 hex digits; ``setting`` (at most 16 bytes) makes hashes made under different settings differ."""
    return blake2b(data, digest_size=16, person=setting.encode()).hexdigest()


def text_hash(text: str) -> int:
    """A 64-bit hash of a text, stored with its vector: the vector is valid only for the text it was made from."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
