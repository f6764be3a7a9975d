"""Adjusts the recorded output paths of a home that was copied or moved, recognised by the paths of its memory files."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kept.store.sqlite import SqliteStore


def move_outputs(store: "SqliteStore", root: Path, memory_files: Sequence[str]) -> None:
    """Change outputs recorded below another home to the same files below ``root``, with their recorded content.

    The other home is recognised by one of the ``memory_files``, which have the same relative path in every home. Raises StoreError.
    """
    stray = [output for output in store.outputs() if not Path(output).is_relative_to(root)]
    names = [f"/{memory_file}" for memory_file in memory_files if memory_file]
    roots = {path.removesuffix(name) for path in stray for name in names if path.endswith(name)}
    with store.transaction() if roots else nullcontext():
        for path in stray:
            old = next((root for root in roots if path.startswith(f"{root}/")), None)
            if old is not None:
                _move_output(store, path, f"{root}{path.removeprefix(old)}")


def _move_output(store: "SqliteStore", path: str, here: str) -> None:
    outputs = () if store.output_states(here) else store.output_states(path)
    for output in outputs[:1]:
        store.save_output(here, output)
    for output in outputs[1:]:
        store.save_pending_output(here, output)
    store.drop_output(path)
