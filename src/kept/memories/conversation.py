"""The archived turns of one session."""

from collections import Counter

from kept.core.errors import UsageError
from kept.core.event import Event
from kept.store.values import Thread
from kept.workspace import Workspace


def load_conversation(workspace: Workspace, session: str) -> tuple[tuple[Thread, tuple[Event, ...]], ...]:
    """The archived turns of a session (or an unambiguous beginning of its id), once whatever the number of its copies.

    Raises UsageError where there is none, or more than one.
    """
    threads = tuple(workspace.store.archive.threads())
    found = [thread for thread in threads if thread.session == session] or [
        thread for thread in threads if session and thread.session.startswith(session)
    ]
    if not found:
        raise UsageError(f"no session {session!r} is archived", hint="see `kept day`, or `kept why ID`, for sessions")
    names = Counter(thread.session for thread in found)
    if len(names) > 1:
        raise UsageError(f"{session!r} could be {len(names)} sessions", hint=", ".join(sorted(names)[:3]))
    seen: set[str] = set()
    result: list[tuple[Thread, tuple[Event, ...]]] = []
    for thread in found:
        events = tuple(event for event in workspace.store.archive.events(thread.id, 0, thread.events) if event.key not in seen)
        seen.update(event.key for event in events)
        if events:
            result.append((thread, events))
    return tuple(result)
