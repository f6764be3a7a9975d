"""Self-reference: how much of an entry speaks of the machinery of memory and journal itself."""

import re2

from kept.core.sentences import sentence_texts

_ITEM = re2.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")


def entry_sentences(text: str) -> tuple[str, ...]:
    """The sentences of an entry's body: no headings, quotations, comments or empty lines."""
    lines = [_ITEM.sub("", line) for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", ">", "<!--"))]
    return tuple(sentence for line in lines for sentence in sentence_texts(line))


def self_reference_share(text: str, machinery: str) -> float:
    """The share (0 to 1) of the sentences that speak of the machinery; ``machinery`` is an RE2 pattern of its words. 0 for no
    text.
    """
    pattern = re2.compile(machinery)
    found = entry_sentences(text)
    return round(sum(pattern.search(item) is not None for item in found) / len(found), 4) if found else 0.0
