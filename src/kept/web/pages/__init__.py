"""The pages in navigation order. A page is a module with a router and a :class:`NavigationPage`. A new page must be listed here."""

from kept.web.pages import context, days, files, graph, memories, overview, review, runs, settings
from kept.web.render import NavigationPage

PAGES: tuple[NavigationPage, ...] = (
    overview.PAGE,
    memories.PAGE,
    review.PAGE,
    days.PAGE,
    graph.PAGE,
    context.PAGE,
    files.PAGE,
    runs.PAGE,
    settings.PAGE,
)

__all__ = ["PAGES", "NavigationPage"]
