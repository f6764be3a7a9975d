"""The areas of the API, each with a router. Requests to them need the key. A new area must be listed here."""

from fastapi import APIRouter

from kept.web.api import files, graph, memories, prompts, runs, settings

AREAS: tuple[APIRouter, ...] = (
    memories.router,
    files.router,
    prompts.router,
    graph.router,
    runs.router,
    settings.router,
)
