"""What each output says: the memory file and the card, the notes of days, the knowledge pages and what
ties them together, and why a memory is where it is.

Pure: memories and profiles in, documents out. Knows no file, no store and nothing of what stood there before.
"""

from kept.stages.compose.days import days
from kept.stages.compose.graph import graph
from kept.stages.compose.pages import Page, pages
from kept.stages.compose.routes import Route, routes
from kept.stages.compose.sheet import HARD_CAP, compose, is_shown, leading, ranked, relevance

__all__ = ["HARD_CAP", "Page", "Route", "compose", "days", "graph", "is_shown", "leading", "pages", "ranked", "relevance", "routes"]
