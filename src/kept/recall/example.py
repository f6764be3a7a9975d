"""An example of a search that finds something in the person's own sessions."""

from collections.abc import Iterator
from contextlib import closing
from heapq import nlargest
from itertools import pairwise

from kept.core.errors import StoreError
from kept.core.event import Event, EventKind
from kept.core.spans import typed_spans
from kept.core.times import format_instant
from kept.recall.question import telling_words
from kept.store.reader import StoreReader
from kept.workspace import Workspace

_SESSIONS = 10  # of which the prompts are looked at, the latest first
_OPENING = 60  # events of a session
_LETTERS = 4  # of a word that says something by itself
_FEW, _SHARE = 5, 200  # so many texts, or one of so many, may have a word that tells one conversation from another
_SECONDS = 1.0


def find_search_example(workspace: Workspace) -> str:
    """Two telling words that a person typed side by side, each in more texts; empty where none is found in time."""
    try:
        return _find_pair(workspace)
    except StoreError:
        return ""  # a run that did everything does not fail for want of an example


def _find_pair(workspace: Workspace) -> str:
    with closing(StoreReader(str(workspace.paths.store), _SECONDS)) as reader:
        most = max(_FEW, reader.count_texts() // _SHARE)
        for event in _recent_prompts(workspace):
            typed = " ".join(event.text[span.start : span.end].lower() for span in typed_spans(event))
            words = [word for word in telling_words(typed) if len(word) >= _LETTERS]
            pairs = [pair for pair in pairwise(words) if f" {' '.join(pair)} " in f" {typed} "]
            if found := next(
                (pair for pair in pairs if all(1 < reader.count_texts_with_word(word) <= most for word in pair)), None
            ):
                return " ".join(found)
    return ""


def _recent_prompts(workspace: Workspace) -> Iterator[Event]:
    threads = workspace.store.archive.threads()
    latest = nlargest(_SESSIONS, threads, key=lambda thread: (format_instant(thread.last_at) if thread.last_at else "", thread.id))
    for thread in latest:
        yield from (event for event in workspace.store.archive.events(thread.id, 0, _OPENING) if event.kind is EventKind.PROMPT)
