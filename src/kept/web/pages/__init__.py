"""The pages, in the order of the navigation. A page is a module with a router and a :class:`Page`; to add one, list it here."""

from kept.web.navigation import Page
from kept.web.pages import context, days, files, graph, memories, overview, prompt, review, runs, settings

PAGES: tuple[Page, ...] = (
    overview.PAGE,
    memories.PAGE,
    review.PAGE,
    days.PAGE,
    graph.PAGE,
    context.PAGE,
    files.PAGE,
    prompt.PAGE,
    runs.PAGE,
    settings.PAGE,
)

__all__ = ["PAGES", "Page"]
