"""What each output says: the memory file and the card, the notes of days, the knowledge pages and what
ties them together, and why a memory is where it is.

Pure: memories and profiles in, documents out. Knows no file, no store and nothing of what stood there before.
"""

from kept.outputs.compose.graph import build_graph
from kept.outputs.compose.pages import OutputRoute, Page, compose_day_notes, compose_pages, find_routes
from kept.outputs.compose.sheet import HARD_CAP, compose_sheet, is_shown, rank_memories, relevance_score, select_leading

__all__ = [
    "HARD_CAP",
    "OutputRoute",
    "Page",
    "build_graph",
    "compose_day_notes",
    "compose_pages",
    "compose_sheet",
    "find_routes",
    "is_shown",
    "rank_memories",
    "relevance_score",
    "select_leading",
]
