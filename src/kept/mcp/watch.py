"""Subscriptions: a client that listens to the memory file hears that it changed."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent

MEMORY = "kept://memory"
SECONDS = 1.0  # between two looks; nobody looks while nobody listens


class FileBus(InMemorySubscriptionBus):
    """Looks at one file for as long as somebody listens; ``find`` says which file, when the first look is taken."""

    def __init__(self, find: Callable[[], Path]) -> None:
        super().__init__()
        self._find = find

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """As the bus does, with a task that looks."""
        unsubscribe = super().subscribe(listener)
        task = asyncio.get_running_loop().create_task(self._watch_file(listener))

        def leave() -> None:
            task.cancel()
            unsubscribe()

        return leave

    async def _watch_file(self, listener: Callable[[ServerEvent], None]) -> None:
        path = await asyncio.to_thread(self._find)
        before = _stat_stamp(path)
        while True:
            await asyncio.sleep(SECONDS)
            now = _stat_stamp(path)
            if now != before:
                before = now
                listener(ResourceUpdated(uri=MEMORY))


def _stat_stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_ino)
