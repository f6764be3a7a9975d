"""A memory with its particulars, as `kept show` and `kept why` print it."""

from collections.abc import Iterator

from kept.cli.lists import FORGOTTEN, scope_name
from kept.cli.show import Line, format_count, format_id, line
from kept.core.memory import Memory, Status
from kept.core.times import format_day, format_minute
from kept.memories.browse import TRUST
from kept.profiles.profile import category_title
from kept.workspace import Workspace


def memory_card_lines(workspace: Workspace, memory: Memory) -> Iterator[Line]:
    """A memory with its particulars."""
    status, zone = memory.status_at(workspace.clock()), workspace.zone
    marks = (status.value, "pinned" if memory.pinned else "", "yours" if memory.owned else "")
    place = (
        f"  {category_title(workspace.profiles, memory.profile, memory.category)} · "
        f"{scope_name(memory.scope, workspace.scope_names())} · "
        f"{', '.join(filter(None, marks))}"
    )
    yield line((format_id(memory.id), "yellow"), (place, "dim"))
    yield line((memory.content or FORGOTTEN, "bold"))
    seen = (
        f"first seen {format_day(memory.first_seen, zone)}, last seen {format_day(memory.last_seen, zone)}, in "
        f"{format_count(memory.observations, 'session')}"
    )
    yield line((f"{seen}; rests on {TRUST[memory.origin]}", "dim"))
    if memory.artifacts:
        yield line((f"names: {', '.join(memory.artifacts)}", "dim"))
    if memory.valid_until:
        yield line((f"valid until {format_minute(memory.valid_until, zone)}", "dim"))
    for words, ids in (
        ("may contradict" if status is Status.HELD else "superseded by", memory.superseded_by),
        ("resolved by", memory.resolved_by),
        ("took the place of", ", ".join(memory.supersedes)),
    ):
        if ids:
            yield line((f"{words} {ids}", "dim"))
    if memory.reason and status is not Status.ACTIVE:
        yield line((f"because: {memory.reason}", "dim"))
    yield from _succession_lines(workspace, memory)


def _succession_lines(workspace: Workspace, memory: Memory) -> Iterator[Line]:
    """What stands in the place of a memory now, and what stood in its place before."""
    now = workspace.store.log.memory(memory.superseded_by) if memory.superseded_by else None
    if now is not None:
        told = "said later: " if memory.status is Status.HELD else "now: "
        yield line((told, "dim"), now.content or FORGOTTEN)
    for number in memory.supersedes:
        old = workspace.store.log.memory(number)
        if old is not None and old.superseded_by == memory.id and old.content != memory.content:
            since = f" {old.reason}" if old.reason.startswith("it was so until") else ""
            yield line(("before: ", "dim"), old.content or FORGOTTEN, (since, "dim"))
