"""Prompts in the person's name of which nothing shows that they typed them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from kept.core.event import UNCONFIRMED_MARK, Author, EventKind
from kept.sources.documents import EventDraft
from kept.sources.pieces import MessagePiece, count_note

_Prompt = TypeVar("_Prompt", MessagePiece, EventDraft)


def label_unconfirmed(pieces: Sequence[_Prompt], noted: dict[str, int], mark: str) -> list[_Prompt]:
    """Prompts in the person's name that a program or an agent may have sent, counted under what leaves it open: what they tell
    waits.
    """
    own = [piece.kind is EventKind.PROMPT and piece.author is Author.HUMAN for piece in pieces]
    if any(own):
        count_note(noted, f"unconfirmed-prompt:{mark}")
    return [
        replace(piece, reason=f"{UNCONFIRMED_MARK}{piece.reason}") if unsure else piece
        for piece, unsure in zip(pieces, own, strict=True)
    ]
