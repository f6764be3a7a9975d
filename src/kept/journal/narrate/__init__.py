"""Narrating: what a day is told with, within its bounds; the entry without a model, or by one; and the entry as a file."""

from kept.journal.narrate.bounds import Bounds, Chosen, choose
from kept.journal.narrate.machinery import self_reference
from kept.journal.narrate.page import edited, head_of, page, slots_of, stamped
from kept.journal.narrate.prose import PURPOSE, prose_of, prose_question

__all__ = [
    "PURPOSE",
    "Bounds",
    "Chosen",
    "choose",
    "edited",
    "head_of",
    "page",
    "prose_of",
    "prose_question",
    "self_reference",
    "slots_of",
    "stamped",
]
