"""An optional second scanner for secrets (the extra ``scanner``): MongoDB's kingfisher, in this process and offline.

It only adds to the findings of kept's own rules. Its functions to test or revoke credentials are never called.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kept.core.pattern import compile_late

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
