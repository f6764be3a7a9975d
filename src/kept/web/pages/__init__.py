"""The pages in the order of the navigation. A page is a module with a router and a :class:`NavigationPage`; list a new one here."""

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
