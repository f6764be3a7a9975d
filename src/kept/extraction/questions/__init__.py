"""Extraction with a model: what is asked about a conversation piece by piece, and what may be taken from the replies. Asks nobody
itself.
"""

from kept.extraction.questions.answer import KINDS, SURE, TASK, Answer, answer
from kept.extraction.questions.chunks import Chunk, Turn, chunks
from kept.extraction.questions.gaps import overruled, settled
from kept.extraction.questions.outcome import folded, summed, summing
from kept.extraction.questions.question import END, PURPOSE, Excerpt, Hint, divided, hints, question
from kept.extraction.questions.reading import Claim, Reading
from kept.extraction.questions.turns import is_told, shown, weigh

__all__ = [
    "END",
    "KINDS",
    "PURPOSE",
    "SURE",
    "TASK",
    "Answer",
    "Chunk",
    "Claim",
    "Excerpt",
    "Hint",
    "Reading",
    "Turn",
    "answer",
    "chunks",
    "divided",
    "folded",
    "hints",
    "is_told",
    "overruled",
    "question",
    "settled",
    "shown",
    "summed",
    "summing",
    "weigh",
]
