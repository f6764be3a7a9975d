"""Which failures a message tells of, as fingerprints: of whole error lines, and of what stands behind a colon or in quotes in a
sentence.
"""

_LINES = 40  # of a message, from its start: what a person quotes stands in a sentence of their own
_LEAST = 12  # characters a quoted error has at least
_PARTS = 4


_ENDS = 12_000  # characters of each end of a message in which a word of failing is looked for
_FAILING = (
    "error",
    "exception",
    "traceback",
    "panic",
    "fatal",
    "failed",
    "failure",
    "denied",
    "refused",
    "not found",
    "no such",
    "invalid",
    "cannot",
    "can't",
    "unable to",
    "exit code",
    "exit status",
    "exited",
    "unexpected",
    "undefined",
    "unknown",
)


def failure_marks(message: str) -> tuple[str, ...]:
    """The fingerprints of the failures that a message tells of; none where no word of it says that something failed."""
    ends = (message if len(message) <= 2 * _ENDS else f"{message[:_ENDS]}\n{message[-_ENDS:]}").lower()
    return message_fingerprints(message) if any(item in ends for item in _FAILING) else ()


def message_fingerprints(message: str) -> tuple[str, ...]:
    """The fingerprints, the most telling error line first; each once."""
    from kept.core.error_fingerprint import (  # noqa: PLC0415 - its patterns take longer to compile than a search takes
        fingerprint_error,
        fingerprint_errors,
    )

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
