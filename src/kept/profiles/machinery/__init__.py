"""The words by which a sentence speaks of the machinery of memory, as one pattern."""

import tomllib
from functools import cache
from importlib.resources import files


@cache
def load_machinery_pattern() -> str:
    """An RE2 pattern of those words."""
    body = tomllib.loads((files(__name__) / "words.toml").read_text(encoding="utf-8"))
    return rf"(?i)\b(?:{'|'.join(body['words'])})\b"
