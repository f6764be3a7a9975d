"""A richer scanner for secrets, where one is installed (the extra ``scanner``): MongoDB's kingfisher, in process and offline.

It only adds findings to kept's own rules. Its ways of testing or revoking a credential are never touched.
"""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_LEAST = 8  # bytes: shorter findings are names, not secrets
_SECONDS = 5.0
_SLUG = re.compile(r"[^a-z0-9]+")


def load_scanner() -> Callable[[bytes], Iterator[tuple[int, int, str]]] | None:
    """What finds secrets in UTF-8 bytes, as (start, end, kind); None where no richer scanner is installed."""
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
    """A rule's name as the kind of a mark: ``betterleaks.github-pat`` is ``github-pat``."""
    return _SLUG.sub("-", rule.rpartition(".")[2].lower()).strip("-")[:40] or "secret"
