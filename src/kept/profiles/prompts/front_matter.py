"""Edit the categories in the front matter of a prompt as text: every other line stays as the person wrote it.

Knows the form of front matter, not what a category may be.
"""

from collections.abc import Mapping, Sequence

import yaml

_KEY = "categories"
_INDENT = 2


def with_category(text: str, name: str, settings: Mapping[str, str | bool]) -> str:
    """The prompt with a category in its front matter; one of the same name is replaced."""
    lines, stop = _split_prompt_lines(without_category(text, name))
    start, end, entries = _find_categories_block(lines[1:stop])
    indent = entries[0][2] if entries else _INDENT
    yaml_lines = yaml.safe_dump({name: dict(settings)}, allow_unicode=True, width=10_000, sort_keys=False).splitlines()
    new = [f"{' ' * indent}{item}" for item in yaml_lines]
    if start < 0:
        return "\n".join([*lines[:stop], f"{_KEY}:", *new, *lines[stop:]])
    at = 1 + (entries[-1][1] if entries else end)
    return "\n".join([*lines[:at], *new, *lines[at:]])


def without_category(text: str, name: str) -> str:
    """The prompt without that category in its front matter, whose categories become a YAML mapping in block style."""
    text = _to_block_form(text)
    lines, stop = _split_prompt_lines(text)
    start, end, entries = _find_categories_block(lines[1:stop])
    found = next((entry for entry in entries if entry[3] == name), None)
    if found is None:
        return text
    first, last = (start, end) if len(entries) == 1 else found[:2]
    del lines[1 + first : 1 + last]
    if not any(line.strip() for line in lines[1 : stop - (last - first)]):
        return "\n".join(lines[stop - (last - first) + 1 :]).lstrip("\n")  # the front matter is empty now
    return "\n".join(lines)


def _split_prompt_lines(text: str) -> tuple[list[str], int]:
    """The lines of a prompt (with front matter, added if necessary), and the index of the line that ends the front matter."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[0].rstrip() == "---":
        for number, line in enumerate(lines[1:], 1):
            if line.rstrip() in ("---", "..."):
                return lines, number
    return ["---", "---", "", *lines], 1


def _find_categories_block(head: Sequence[str]) -> tuple[int, int, list[tuple[int, int, int, str]]]:
    """The first line and end of the categories, and for each entry (first line, end, column, name); (-1, -1, []) if there are none.

    If the categories have another form than a YAML mapping in block style, there are no entries.
    """
    root = yaml.compose("\n".join(head), Loader=yaml.BaseLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    at = next((number for number, (key, _) in enumerate(pairs) if key.value == _KEY), -1)
    if at < 0:
        return -1, -1, []
    start = pairs[at][0].start_mark.line
    end = pairs[at + 1][0].start_mark.line if at + 1 < len(pairs) else len(head)
    value = pairs[at][1]
    if not isinstance(value, yaml.MappingNode) or value.flow_style:
        return start, end, []
    firsts = [key.start_mark.line for key, _ in value.value]
    lasts = [_trim_entry_end(head, item) for item in (*firsts[1:], end)]
    names = [(key.start_mark.column, str(key.value)) for key, _ in value.value]
    return start, end, [(first, last, *name) for first, last, name in zip(firsts, lasts, names, strict=True)]


def _trim_entry_end(head: Sequence[str], end: int) -> int:
    """The end of an entry, without blank lines and comments that belong to what follows."""
    while end and (not head[end - 1].strip() or head[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _to_block_form(text: str) -> str:
    """Convert the categories of a prompt to a YAML mapping in block style, if they have another form."""
    lines, stop = _split_prompt_lines(text)
    start, end, entries = _find_categories_block(lines[1:stop])
    # The base loader makes lists, mappings and texts only.
    body = yaml.load("\n".join(lines[1:stop]), Loader=yaml.BaseLoader) or {}  # noqa: S506
    if start < 0 or entries:
        return text
    found = body.get(_KEY)
    named = (
        found
        if isinstance(found, Mapping)
        else {item["id"]: {key: item[key] for key in item if key != "id"} for item in found or ()}
    )
    block = (
        yaml.safe_dump({_KEY: dict(named)}, allow_unicode=True, width=10_000, sort_keys=False).splitlines()
        if named
        else [f"{_KEY}:"]
    )
    return "\n".join([*lines[: 1 + start], *block, *lines[1 + end :]])
