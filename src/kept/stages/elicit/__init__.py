"""Extraction with a model: what is asked about a conversation piece by piece, and what may be taken from the replies. Asks nobody itself."""

from kept.stages.elicit.answer import KINDS, Answer, answer
from kept.stages.elicit.chunks import Chunk, Turn, chunks
from kept.stages.elicit.gaps import as_memories, narrowed, settled
from kept.stages.elicit.outcome import folded, summed, summing
from kept.stages.elicit.question import PURPOSE, Hint, hints, question
from kept.stages.elicit.reading import TRIGGER, Claim, Reading
from kept.stages.elicit.turns import shown, weigh

__all__ = [
    "KINDS", "PURPOSE", "TRIGGER", "Answer", "Chunk", "Claim", "Hint", "Reading", "Turn", "answer", "as_memories", "chunks",
    "folded", "hints", "narrowed", "question", "settled", "shown", "summed", "summing", "weigh",
]  # fmt: skip
