"""A check of text that goes as it is into a file of the person's own (settings, prompts, profiles, edited files): it holds no
secret.

There a mark in the place of a secret would be of no use, so the whole change is refused.
"""

from kept.core.errors import UsageError
from kept.core.redact import redact

_KEY = b"compared within one call"


def refuse_secrets(text: str, *, before: str = "", where: str = "", hint: str = "leave it out; nothing was changed") -> None:
    """Raise UsageError where a text holds a secret that ``before``, what stands there now, does not hold."""
    known = {redacted_secret.fingerprint for redacted_secret in redact(before, key=_KEY).found}
    for item in redact(text, key=_KEY).found:
        if item.fingerprint not in known:
            raise UsageError(f"this looks like a secret ({item.kind}), which kept stores nowhere", where=where, hint=hint)
