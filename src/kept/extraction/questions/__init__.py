"""Extraction with a model: what is asked about a conversation piece by piece, and what may be taken from the replies. Asks nobody
itself.
"""

from kept.extraction.questions.answer import SURE, TASK, Answer, apply_overrulings, overruled_candidate_ids, read_answer
from kept.extraction.questions.question import END, PURPOSE, Excerpt, Hint, build_question_ask, hints, split_reply
from kept.extraction.questions.reading import KINDS, ChunkReading, Claim, build_condense_ask, merge_points, read_condensed_points
from kept.extraction.questions.turns import Chunk, Turn, chunks, estimate_tokens_high, is_worth_asking, render_turn

__all__ = [
    "END",
    "KINDS",
    "PURPOSE",
    "SURE",
    "TASK",
    "Answer",
    "Chunk",
    "ChunkReading",
    "Claim",
    "Excerpt",
    "Hint",
    "Turn",
    "apply_overrulings",
    "build_condense_ask",
    "build_question_ask",
    "chunks",
    "estimate_tokens_high",
    "hints",
    "is_worth_asking",
    "merge_points",
    "overruled_candidate_ids",
    "read_answer",
    "read_condensed_points",
    "render_turn",
    "split_reply",
]
