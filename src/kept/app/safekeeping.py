"""Safekeeping: proof that the store is whole, what derives from it made anew, text written where a person wants it."""

from pathlib import Path

from kept.adapters import files
from kept.app.desk import Desk
from kept.app.running import settle
from kept.app.writing import Written


def damage(desk: Desk) -> tuple[str, ...]:
    """Everything that is wrong with the store, in words; empty where nothing is."""
    return desk.store.damage()


def rebuild(desk: Desk) -> Written:
    """Recreate the memories and their index from the log alone, then bring the files up to date. Raises StoreError."""
    desk.store.log.rebuild()
    return settle(desk, lambda: None)[1]


def put(path: Path, text: str) -> None:
    """Make a text the content of a file, whole or not at all. Raises KeptError."""
    target = path.absolute()
    files.write(target, text.encode(), expect=files.read(target).stamp, root=target.parent)
