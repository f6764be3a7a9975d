"""The areas of the API that require the key, each a router; list a new one here. Every change goes through one of them."""

from fastapi import APIRouter

from kept.web.api import files, history, memories, prompts, runs, sample, settings, several

AREAS: tuple[APIRouter, ...] = (
    memories.router,
    several.router,
    history.router,
    files.router,
    prompts.router,
    sample.router,
    runs.router,
    settings.router,
)
