"""Choose the pieces of a context that fit its budget, layer by layer, and leave out repetitions. The result may be empty."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from kept.core.fence import LAYERS, NOTICE, PAST, SAID, TAG, Context, ContextPiece, Layer, estimate_token_count, render_piece
from kept.core.text import jaccard_similarity, number_tokens, tokenize

_SAME = 0.75  # Jaccard similarity from which two lines count as the same
_BY_NAME = {layer.name: layer for layer in LAYERS}
_WHOLE = 0.9  # a passage that contains at least this share of a line's words counts as containing the line
SHOWN = "shown earlier in this session"  # the reason for leaving out a piece that this session was already shown


def fit_to_budget(
    offered: Mapping[str, Sequence[ContextPiece]],
    *,
    budget: int,
    present: Iterable[str] = (),
    already_shown: Collection[str] = (),
    rest: Iterable[ContextPiece] = (),
) -> Context:
    """Choose the pieces to show. They are ordered by layer, and within a layer by score.

    Args:
        offered: the pieces of each layer, in any order.
        budget: tokens for the whole block, its frame included.
        present: texts that the session already has (lines of memory.md or of kept's section of a file).
        already_shown: keys that were already shown in this session.
        rest: pieces that fill the remaining budget, in this order. The share of their layer does not limit them.
    """
    seen = [tokenize(item) for item in present]
    left_out: dict[str, int] = {}
    omitted: list[tuple[ContextPiece, str]] = []
    shown: list[ContextPiece] = []
    frame = estimate_token_count(f"<{TAG}>\n{NOTICE}\n</{TAG}>")
    left = budget - frame
    for layer in LAYERS:
        used = taken = 0
        is_last = not any(offered.get(later.name) for later in LAYERS[LAYERS.index(layer) + 1 :])
        most = left if is_last else min(left, int(layer.share * (budget - frame)))  # the last layer may use all that is left
        for piece in sorted(offered.get(layer.name, ()), key=lambda each: (-each.score, each.key)):
            cost = estimate_token_count(f"{render_piece(piece)}\n") + (estimate_token_count(f"{layer.title}\n") if not used else 0)
            words = tokenize(piece.text)
            reason = _omission_reason(piece, layer, words, seen, already_shown, full=used + cost > most, taken=taken)
            if reason:
                left_out[reason] = left_out.get(reason, 0) + 1
                omitted.append((piece, reason))
                continue
            shown.append(piece)
            seen.append(words)
            used += cost
            taken += 1
        left -= used
    for piece in rest:
        title = "" if any(each.layer == piece.layer for each in shown) else f"{_BY_NAME[piece.layer].title}\n"
        cost, words = estimate_token_count(f"{title}{render_piece(piece)}\n") + bool(title), tokenize(piece.text)
        if not _omission_reason(piece, _BY_NAME[piece.layer], words, seen, already_shown, full=cost > left, taken=0):
            shown.append(piece)
            seen.append(words)
            left -= cost
    shown.sort(key=lambda each: list(_BY_NAME).index(each.layer))
    return Context(tuple(shown), budget - left if shown else 0, left_out, tuple(omitted))


def _omission_reason(
    piece: ContextPiece,
    layer: Layer,
    words: frozenset[str],
    seen: Sequence[frozenset[str]],
    already_shown: Collection[str],
    *,
    full: bool,
    taken: int,
) -> str:
    """The reason why a piece is left out; empty if it is shown."""
    if not piece.text.strip():
        return "nothing to say"
    if piece.near < layer.floor:
        return "not relevant enough"
    if piece.key in already_shown:
        return SHOWN
    if taken >= layer.most:
        return "enough of its layer"
    if full:
        return "over the budget"
    if any(jaccard_similarity(words, item) >= _SAME and number_tokens(words) == number_tokens(item) for item in seen):
        return "in the session already"
    if layer.name in (PAST, SAID) and any(contains_line(words, item) for item in seen):
        return "in the session already"  # a memory made from this passage is shown
    return ""


def contains_line(words: frozenset[str], line: frozenset[str]) -> bool:
    """True if a passage says what a line says, and not much else. Both are given as their words."""
    return len(words & line) >= max(_WHOLE * len(line), len(words) / 2)
