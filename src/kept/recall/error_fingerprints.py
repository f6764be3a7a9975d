"""Fingerprints of the failures that a message reports: of its error lines, and of text after a colon or in quotes."""

from kept.core.error_fingerprint import fingerprint_error, fingerprint_errors

_LINES = 40  # lines at the start of a message that are searched for quoted errors: a person quotes them in their own sentence
_LEAST = 12  # minimum length of a quoted error in characters
_PARTS = 4  # texts after a colon, in backticks and in double quotes: at most this many of each per line


def message_fingerprints(message: str) -> tuple[str, ...]:
    """The distinct fingerprints of a message, that of the most specific error line first."""
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
