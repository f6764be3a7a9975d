"""The list of formats, in the order in which kept tries them: its own entries, saved screens, formats of tools, third-party
formats, general formats.

Third parties add a format as an entry point of the group ``kept.sources``. It names a Source, or a class or function without
arguments that returns one. A plugin that cannot be loaded is left out, and :data:`LEFT_OUT` has the reason.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from zoneinfo import ZoneInfo

from kept.sources.base import Source
from kept.sources.entries import KeptEntries
from kept.sources.formats.aider import Aider
from kept.sources.formats.claude_code import ClaudeCode
from kept.sources.formats.codex import Codex
from kept.sources.formats.console.reader import Console
from kept.sources.formats.copilot import CopilotChat, CopilotCli
from kept.sources.formats.cursor import CursorAgent, CursorEditor
from kept.sources.formats.exports import CHATGPT, CLAUDE_AI
from kept.sources.formats.gemini import Gemini
from kept.sources.formats.generic import Generic
from kept.sources.formats.journal import Journal
from kept.sources.formats.opencode import OpenCode
from kept.sources.formats.pi import Pi
from kept.sources.formats.specstory import SpecStory
from kept.sources.formats.vault import Vault

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "kept.sources"


class LoadedPlugins(NamedTuple):
    """Third-party formats, and those that could not be loaded, as (name, reason)."""

    sources: tuple[Source, ...]
    left_out: tuple[tuple[str, str], ...]


def load_plugins(points: "Iterable[EntryPoint]") -> LoadedPlugins:
    """Load the formats of these entry points, in the order of their names."""
    sources: list[Source] = []
    left_out: list[tuple[str, str]] = []
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        try:
            found = point.load()
            source = cast("Callable[[], Any]", found)() if callable(found) else found
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            left_out.append((point.name, f"cannot be loaded: {type(error).__name__}"))
            continue
        if all(callable(getattr(source, name, None)) for name in ("places", "claims", "read")) and isinstance(
            getattr(source, "name", None), str
        ):
            sources.append(source)
        else:
            left_out.append((point.name, "is not a source: it needs name, places, claims and read"))
    return LoadedPlugins(tuple(sources), tuple(left_out))


def find_plugins(folders: Iterable[str]) -> "tuple[EntryPoint, ...]":
    """The entry points of the group ``kept.sources`` in the packages that are installed in these folders.

    ``importlib.metadata`` parses e-mail headers, which takes a tenth of a run that finds nothing new. It is imported only if a file
    names the group.
    """
    if not any(f"[{GROUP}]".encode() in text for folder in folders for text in _read_entry_points(Path(folder))):
        return ()
    from importlib.metadata import entry_points  # noqa: PLC0415 - as above

    return tuple(entry_points(group=GROUP))


def _read_entry_points(folder: Path) -> Iterator[bytes]:
    with suppress(OSError):
        for package in folder.iterdir():
            if package.suffix in (".dist-info", ".egg-info"):
                with suppress(OSError):
                    yield (package / "entry_points.txt").read_bytes()


_TOOLS: tuple[Source, ...] = (
    *(ClaudeCode(), Codex(), Gemini(), Pi(), SpecStory(), CopilotCli(), CopilotChat(), CursorAgent(), CursorEditor(), OpenCode()),
    *(CHATGPT, CLAUDE_AI, Aider()),
)
_PLUGINS, LEFT_OUT = load_plugins(find_plugins(sys.path))
PLUGINS = frozenset(source.name for source in _PLUGINS)
# Console precedes the tools' formats, because a saved screen may show a record of a transcript.
SOURCES: tuple[Source, ...] = (KeptEntries(), Console(), *_TOOLS, *_PLUGINS, Vault(), Journal(), Generic())


def with_zone(zone: ZoneInfo) -> tuple[Source, ...]:
    """All formats, with ``zone`` as the time zone of times that name none."""
    return tuple(
        replace(cast("Any", source), zone=zone) if "zone" in getattr(source, "__dataclass_fields__", ()) else source
        for source in SOURCES
    )
