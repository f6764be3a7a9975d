"""The areas of the API that require the key, each a router; list a new one here. Every change goes through one of them."""

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
