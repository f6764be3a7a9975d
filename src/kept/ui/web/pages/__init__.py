"""The pages, in the order of the navigation. A page is a module with a router and a :class:`Page`; to add one, list it here."""

from kept.ui.web.navigation import Page
from kept.ui.web.pages import memories

PAGES: tuple[Page, ...] = (memories.PAGE,)

__all__ = ["PAGES", "Page"]
