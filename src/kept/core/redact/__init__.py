"""Replaces secrets in text by a mark with their kind and a keyed fingerprint.

The rules are data in ``secrets.toml``, and each pattern runs on RE2. One linear scan finds the literal anchors of all rules in a
text. Only rules whose anchor occurs are run. Whether a secret is valid is not checked. Invisible characters must be stripped first.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from kept.core.errors import UsageError
from kept.core.pattern import compile_late
from kept.core.redact.book import load_rule_book
from kept.core.redact.disguises import find_disguised
from kept.core.redact.places import SecretSpan, scan_secrets
from kept.core.redact.shape import compile_re2
from kept.core.value import dataclass, replace

_LEAST = 8  # bytes; a shorter finding is a name and not a secret
_SECONDS = 5.0
_SLUG = compile_late(r"[^a-z0-9]+")


def load_scanner() -> Callable[[bytes], Iterator[tuple[int, int, str]]] | None:
    """A function that finds secrets in UTF-8 bytes, as (start, end, kind); None if the scanner is not installed."""
    if find_spec("kingfisher_sdk") is None:
        return None
    engine = import_module("kingfisher_sdk").Scanner()

    def scan(data: bytes) -> Iterator[tuple[int, int, str]]:
        for finding in engine.scan(data, timeout=_SECONDS):
            place: dict[str, Any] = finding.to_dict()["location"]
            start, end = int(place["start_offset"]), int(place["end_offset"])
            if finding.visible and end - start >= _LEAST:
                yield start, end, rule_kind(str(finding.rule_id))

    return scan


def rule_kind(rule: str) -> str:
    """The kind in a mark for a rule's id: ``betterleaks.github-pat`` becomes ``github-pat``."""
    return _SLUG.sub("-", rule.rpartition(".")[2].lower()).strip("-")[:40] or "secret"


_PASSES = 24  # maximum repetitions while anything is found; a mark can expose the secret next to it, as in lists of codes
_MARK = compile_re2(rb"\[redacted:[a-z0-9-]{1,40}:[0-9a-f]{8}\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class RedactedSecret:
    """A secret that was removed: its kind, its fingerprint (8 hex digits), and the range of its mark in the redacted text."""

    kind: str
    fingerprint: str
    start: int
    end: int


class RedactionResult(NamedTuple):
    """A text without secrets, and the secrets removed from it, in text order."""

    text: str
    found: tuple[RedactedSecret, ...]


Scan = Callable[[bytes], Iterable[tuple[int, int, str]]]


def redact(text: str, *, key: bytes, more: Scan | None = None) -> RedactionResult:
    """Replace every secret in a text by ``[redacted:kind:fingerprint]``. Equal secrets get equal fingerprints under one key.

    ``key`` has 1 to 64 bytes; for another length ValueError is raised. ``more`` is another scanner, which takes UTF-8 bytes and
    returns (start, end, kind in lower case and hyphens) for each secret. Its findings are added. Idempotent. A text without secrets
    is returned as the same object, so that callers may compare by identity.
    """
    if not 1 <= len(key) <= blake2b.MAX_KEY_SIZE:
        raise ValueError("the fingerprint key must have 1 to 64 bytes")
    before = data = text.encode("utf-8", "surrogatepass")
    for _ in range(_PASSES):
        spans = _find_secrets(data, more)
        if not spans:
            break
        data = _replace_spans(data, spans, key)
    if data is before:
        return RedactionResult(text, ())
    known = Counter(mark.group() for mark in _MARK.finditer(before))
    found, chars, at = [], 0, 0
    for mark in _MARK.finditer(data):
        chars, at = chars + len(data[at : mark.start()].decode("utf-8", "surrogatepass")), mark.start()
        if known[mark.group()]:
            known[mark.group()] -= 1
            continue
        _, kind, fingerprint = mark.group()[1:-1].decode().split(":")
        found.append(RedactedSecret(kind=kind, fingerprint=fingerprint, start=chars, end=chars + len(mark.group())))
    return RedactionResult(text=data.decode("utf-8", "surrogatepass"), found=tuple(found))


def _find_secrets(data: bytes, more: Scan | None) -> list[SecretSpan]:
    """The secrets in a text, sorted. They overlap neither each other nor the marks already in the text."""
    called = load_rule_book().match_anchors(data)
    last = len(load_rule_book().rules)
    spans = [*scan_secrets(data, called), *find_disguised(data, called)] if called or b"%" in data or b"=3D" in data else []
    for start, end, kind in more(data) if more is not None else ():
        spans.append(SecretSpan(start=start, end=end, order=last, kind=kind, secret=data[start:end]))
    return _merge_overlaps(spans, data) if spans else []


def _merge_overlaps(spans: list[SecretSpan], data: bytes) -> list[SecretSpan]:
    """Merge overlapping spans to one with the most specific kind. Drop spans that overlap a mark."""
    taken = [match.span() for match in _MARK.finditer(data)]
    ends = [end for _, end in taken]
    result: list[SecretSpan] = []
    for span in sorted((_widen_to_characters(span, data) for span in spans), key=lambda span: (span.start, span.end)):
        mark = bisect_right(ends, span.start)
        if mark < len(taken) and taken[mark][0] < span.end:
            continue
        if result and span.start < result[-1].end:
            last = result.pop()
            best = min(last, span, key=lambda secret: secret.order)
            result.append(replace(best, start=last.start, end=max(last.end, span.end)))
        else:
            result.append(span)
    return result


def _widen_to_characters(span: SecretSpan, data: bytes) -> SecretSpan:
    """Widen a span of bytes so that it splits no UTF-8 character."""
    start, end = span.start, span.end
    while data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return replace(span, start=start, end=end)


def _replace_spans(data: bytes, spans: list[SecretSpan], key: bytes) -> bytes:
    """The bytes with each span replaced by a mark."""
    out: list[bytes] = []
    at = 0
    for span in spans:
        fingerprint = blake2b(b"".join(span.secret.split()), key=key, digest_size=4).hexdigest()
        out += [data[at : span.start], f"[redacted:{span.kind}:{fingerprint}]".encode()]
        at = span.end
    return b"".join([*out, data[at:]])


_KEY = b"compared within one call"


def refuse_secrets(text: str, *, before: str = "", where: str = "", hint: str = "leave it out; nothing was changed") -> None:
    """Raise UsageError if a text contains a secret that its present version ``before`` does not contain.

    This is for a person's own files (settings, prompts, profiles), in which a mark in place of the secret would be useless.
    """
    known = {secret.fingerprint for secret in redact(before, key=_KEY).found}
    for secret in redact(text, key=_KEY).found:
        if secret.fingerprint not in known:
            raise UsageError(f"this looks like a secret ({secret.kind}), and kept stores no secrets", where=where, hint=hint)


_LOGIN = compile_re2(rb"(?i)(\w+://[^\s/?#@:\"']*:|https?://)[^\s/?#:\"'][^\s/?#\"']*@")


def hide_secrets(text: str) -> str:
    """Replace the secrets in a setting by ``***``, logins in addresses included, however weak their passwords are.

    For showing only: unlike those of :func:`redact`, the marks tell nothing of what they stand for.
    """
    shown = _LOGIN.sub(rb"\1***@", text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    marked = redact(shown, key=_KEY).text.encode("utf-8", "surrogatepass")
    bare: bytes = _MARK.sub(b"***", marked)
    return bare.decode("utf-8", "surrogatepass")
