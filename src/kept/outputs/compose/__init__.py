"""What each output says: the memory file and the card, the notes of days, the knowledge pages and what
ties them together, and why a memory is where it is.

Pure: memories and profiles in, documents out. Knows no file, no store and nothing of what stood there before.
"""

from kept.outputs.compose.days import days
from kept.outputs.compose.graph import graph
from kept.outputs.compose.pages import Page, pages
from kept.outputs.compose.routes import Route, routes
from kept.outputs.compose.sheet import HARD_CAP, compose, is_shown, leading, ranked, relevance

__all__ = ["HARD_CAP", "Page", "Route", "compose", "days", "graph", "is_shown", "leading", "pages", "ranked", "relevance", "routes"]
