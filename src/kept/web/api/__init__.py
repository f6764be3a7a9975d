"""The areas of the API that ask for the key, each a router; to add one, list it here. Every change of anything goes through one."""

from fastapi import APIRouter

from kept.web.api import files, graph, history, memories, prompts, runs, sample, settings, several

AREAS: tuple[APIRouter, ...] = (
    memories.router,
    several.router,
    history.router,
    files.router,
    prompts.router,
    graph.router,
    sample.router,
    runs.router,
    settings.router,
)
