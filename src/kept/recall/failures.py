"""Fingerprints of the failures that a message tells of: of error lines, and of what stands behind a colon or in quotes."""

from kept.core.error_fingerprint import fingerprint_error, fingerprint_errors

_LINES = 40  # of a message, from its start: what a person quotes stands in a sentence of their own
_LEAST = 12  # characters a quoted error has at least
_PARTS = 4


def message_fingerprints(message: str) -> tuple[str, ...]:
    """The fingerprints, the most telling error line first; each once."""
    parts: list[str] = []
    for line in message[:4_000].splitlines()[:_LINES]:
        rest = line
        for _ in range(_PARTS):
            rest = rest.partition(": ")[2]
            parts.append(rest)
        parts += line.split("`")[1::2][:_PARTS]
        parts += line.split('"')[1::2][:_PARTS]
    quoted = (fingerprint_error(part.strip()) for part in parts if len(part.strip()) >= _LEAST)
    return tuple(dict.fromkeys(item for item in (*fingerprint_errors(message), fingerprint_error(message), *quoted) if item))
