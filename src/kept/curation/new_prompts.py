"""The user's prompts that no request about a project has shown to a model yet.

A prompt may make a memory untrue without being worth a memory itself ("make it 5"), so extraction leaves no trace of it.
"""

import json
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import groupby

from kept.core.codec import to_canonical_json
from kept.core.event import EventKind, is_note
from kept.core.memory import USER_SCOPE
from kept.core.spans import typed_text
from kept.core.value import dataclass
from kept.curation.advice import SaidPrompt, should_ask_about
from kept.store.values import Thread
from kept.workspace import Workspace

_SHOWN = "shown prompts"  # key of the store's note with the number of the last shown prompt of each scope
_BEFORE = 40  # at most this many events before a prompt are searched for the reply before it


@dataclass(frozen=True, kw_only=True, slots=True)
class NewPrompts:
    """Prompts by the scope of their project, in the order of their times. ``groups`` are the groups of memories in these scopes.

    ``shown`` maps each scope that was looked at to the number of its last prompt once these are shown.
    """

    by_scope: Mapping[str, Sequence[SaidPrompt]]
    groups: frozenset[tuple[str, str]]
    shown: Mapping[str, int]


def load_new_prompts(workspace: Workspace) -> NewPrompts:
    """Load the prompts since :func:`save_shown_prompts`, of projects that have memories. Raises StoreError.

    A project is left out until a model has read all its sessions, because it may find memories in them.
    """
    groups = {(memory.profile, memory.scope) for memory in workspace.store.log.memories() if should_ask_about(memory)}
    archive, shown = workspace.store.archive, _load_shown(workspace)
    unread = {workspace.scope(thread.project, thread.path) for thread, _ in archive.list_threads_pending_llm()}
    scopes = {scope for _, scope in groups} - {USER_SCOPE} - unread
    places = archive.prompts_after(min((shown.get(scope, 0) for scope in scopes), default=0)) if scopes else ()
    found = defaultdict[str, list[SaidPrompt]](list)
    for number, several in groupby(sorted(places, key=lambda place: place[1:]), key=lambda place: place[1]):
        (thread,) = archive.threads_by_id((number,))
        scope = workspace.scope(thread.project, thread.path)
        if scope in scopes:
            new = [ordinal for prompt, _, ordinal in several if prompt > shown.get(scope, 0)]
            found[scope] += _load_prompts(workspace, thread, new)
    last = max((number for number, *_ in places), default=0)
    return NewPrompts(
        by_scope={scope: sorted(prompts, key=lambda prompt: prompt.at) for scope, prompts in found.items()},
        groups=frozenset(group for group in groups if found.get(group[1])),
        shown=dict.fromkeys(scopes, last) if last else {},
    )


def save_shown_prompts(workspace: Workspace, prompts: NewPrompts, *, except_in: Container[str]) -> None:
    """Record that a model has seen these prompts, except those of some scopes."""
    now = {scope: number for scope, number in prompts.shown.items() if scope not in except_in}
    if now:
        workspace.store.save_note(_SHOWN, to_canonical_json(_load_shown(workspace) | now))


def _load_shown(workspace: Workspace) -> dict[str, int]:
    return dict(json.loads(workspace.store.note(_SHOWN) or "{}"))


def _load_prompts(workspace: Workspace, thread: Thread, ordinals: Sequence[int]) -> Iterator[SaidPrompt]:
    """Yield the prompts of a thread at these ordinals that have typed words and a time."""
    start = 0
    for ordinal in ordinals:
        *before, prompt = workspace.store.archive.events(thread.id, max(start, ordinal - _BEFORE), ordinal + 1)
        start = ordinal
        if prompt.at is not None and not is_note(prompt) and (typed := typed_text(prompt)):
            reply = next((event.text for event in reversed(before) if event.kind is EventKind.RESPONSE), "")
            yield SaidPrompt(text=typed, reply=reply, event=prompt.key, session=thread.session, at=prompt.at)
