"""What a page is to the rest of the application: its name, its place, and its routes."""

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import APIRouter

from kept.workspace import Workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class NavigationPage:
    """``path`` is where the navigation leads, ``key`` the letter that goes there after ``g``; ``count`` says how much waits there,
    ``mark`` what must be seen on every page (empty: nothing).
    """

    id: str
    title: str
    path: str
    key: str
    router: APIRouter
    count: Callable[[Workspace], int] | None = None
    mark: Callable[[Workspace], str] | None = None
