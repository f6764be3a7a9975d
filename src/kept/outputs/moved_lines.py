"""Find the lines of memories that a person moved below another heading, which moves no memory. Pure."""

from collections.abc import Sequence

from kept.core.document import Line
from kept.core.markup import BOM, is_bullet, parse_fact, split_lines
from kept.outputs.merge_edits import classify_lines, is_fact


def find_moved_back(base: Sequence[Line], theirs: bytes, written: Sequence[Line]) -> list[str]:
    """The ids of memories whose lines ``theirs`` has below other headings than ``base``, and ``written`` below those of ``base``.

    A line whose own heading was deleted was not moved. Lines with the same words are left out.
    """
    text = split_lines(theirs.decode("utf-8", "replace").removeprefix(BOM))
    left, titles = _headings_by_words(text), {line.rstrip() for line, _ in text}
    before, now = ({line.key: parse_fact(line.text)[0] for line in lines if is_fact(line)} for lines in (base, written))
    was, put = (_headings_by_words([(line.text, line.end) for line in lines]) for lines in (base, written))
    return [
        key
        for key, words in now.items()
        if (place := put.get(words))
        and place == was.get(before.get(key, ""))
        and left.get(words, place) != place
        and titles.issuperset(place)
    ]


def _headings_by_words(lines: Sequence[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """The headings above each bullet, by its words. Empty for bullets below no heading, and for words of several bullets."""
    found: dict[str, tuple[str, ...]] = {}
    above: dict[int, str] = {}
    for line in classify_lines(lines):
        if line.level:
            above = {level: text for level, text in above.items() if level < line.level} | {line.level: line.bare}
        elif not line.fenced and is_bullet(line.text):
            words = parse_fact(line.text)[0]
            found[words] = () if words in found else tuple(above.values())
    return found
