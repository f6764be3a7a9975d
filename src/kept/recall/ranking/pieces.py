"""Pieces of a long text: a model reads some 250 words, and one vector for much text is near to nothing."""

LONGEST = 900  # characters of a piece: some 200 tokens of English, less than the model reads
MOST = 4  # pieces of one text; its beginning tells most, and its end often asks the question


def split_pieces(text: str) -> tuple[str, ...]:
    """A text in at most :data:`MOST` pieces, cut at an empty line, a line's end, a sentence's end or a space; the middle may be
    left out.
    """
    whole = text.strip()
    if len(whole) <= LONGEST:
        return (whole,) if whole else ()
    found: list[str] = []
    rest = whole
    while rest and len(found) < MOST - 1:
        end = _piece_end(rest)
        found.append(rest[:end].strip())
        rest = rest[end:].strip()
    if rest:
        found.append(rest[-LONGEST:].strip())
    return tuple(filter(None, found))


def _piece_end(text: str) -> int:
    """Where the first piece of a text ends."""
    if len(text) <= LONGEST:
        return len(text)
    for mark in ("\n\n", "\n", ". ", "。", " "):
        at = text.rfind(mark, LONGEST // 2, LONGEST)
        if at > 0:
            return at + len(mark)
    return LONGEST
