"""Find the open prompts of a session before its conversation is compacted: typed prompts with a trigger in whose turn the agent
handed nothing over.
"""

from collections.abc import Sequence

from kept.core.event import Author, Event, EventKind
from kept.core.spans import typed_text
from kept.core.text import one_line
from kept.extraction.rules.handover import find_suggestions
from kept.extraction.rules.patterns import is_prompt
from kept.intake.triggers import has_trigger
from kept.workspace import Workspace

_TAIL_EVENTS = 4_000  # events at the end of a session
_MOST_PROMPTS = 5  # the latest prompts that are listed
_PROMPT_CHARS = 300  # characters of a listed prompt


def find_open_prompts(workspace: Workspace, path: str) -> tuple[str, ...]:
    """The open prompts of a transcript's session, earliest first. Raises StoreError."""
    archive = workspace.store.archive
    threads = list(archive.threads(path=path))
    if not threads:
        return ()
    last = threads[-1]
    return _find_open_lines(archive.events(last.id, max(0, last.events - _TAIL_EVENTS), last.events))


def _find_open_lines(events: Sequence[Event]) -> tuple[str, ...]:
    """The typed lines with a trigger, from prompts since the last compaction whose turn has no hand-over."""
    found: list[str] = []
    starts = [place for place, event in enumerate(events) if is_prompt(event)]
    for start, stop in zip(starts, [*starts[1:], len(events)], strict=True):
        if next(find_suggestions(events, start, stop), None) is None:
            lines = [one_line(line) for line in typed_text(events[start]).splitlines()]
            found += [line[:_PROMPT_CHARS] for line in lines if has_trigger(line)]
        if any(_is_compaction(event) for event in events[start:stop]):
            found.clear()
    return tuple(dict.fromkeys(found))[-_MOST_PROMPTS:]


def _is_compaction(event: Event) -> bool:
    return event.kind is EventKind.PROMPT and event.author is Author.COMPACTION
