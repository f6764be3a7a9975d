"""The words of what is to be forgotten: gathered from memories, from what they rest on, and from whole sessions and spans of
time.
"""

from collections.abc import Iterable, Iterator, Sequence

from kept.core.erasure import ErasureWords
from kept.core.memory import WITHDRAWAL, Candidate, Evidence, Memory
from kept.core.statement import find_content, roots_of
from kept.workspace import Workspace


def collect_words(
    workspace: Workspace,
    memories: Sequence[Memory],
    *,
    said: Iterable[str] = (),
    sessions: Iterable[str] = (),
    events: Iterable[str] = (),
) -> ErasureWords:
    """What must not remain of ``memories``, of sentences that are given as such (``said``), of whole sessions and single events.

    A memory's sentences are what it says and what it said before it was edited; what took it back goes with it. What it rests on
    is looked for in longer runs only, and not where another memory that stays says the same. Raises StoreError.
    """
    gone = {memory.id for memory in memories}
    stay = (memory.content for memory in workspace.store.log.memories() if memory.content and memory.id not in gone)
    quotes = {(quote.event, quote.quote) for memory in memories for quote in _own_quotes(workspace, memory)}
    quotes |= {(quote.event, quote.quote) for withdrawal in _withdrawals_of(workspace, memories) for quote in withdrawal.evidence}
    return ErasureWords(
        sentences=tuple(dict.fromkeys((*said, *(text for memory in memories for text in _all_contents(workspace, memory))))),
        passages=tuple(sorted({quote for _, quote in quotes})),
        spared=tuple(dict.fromkeys(stay)),
        cited=tuple(sorted(quotes)),
        memories=frozenset(gone),
        sessions=frozenset(sessions),
        about=frozenset(quote.session for memory in memories for quote in memory.evidence),
        events=frozenset(events),
    )


def _own_quotes(workspace: Workspace, memory: Memory) -> list[Evidence]:
    """What a memory rests on, without near copies of a sentence that it has in its own words: a person chooses those."""
    words = ErasureWords(sentences=tuple(_all_contents(workspace, memory)))
    quotes = [quote for quote in memory.evidence if quote.quote]
    verbatim = [quote for quote in quotes if words.is_in_text(quote.quote)]
    return [quote for quote in quotes if quote in verbatim or not (verbatim and any(words.find_near_copies(quote.quote)))]


def _withdrawals_of(workspace: Workspace, memories: Sequence[Memory]) -> Iterator[Candidate]:
    """What took the memories back, or was to: it names them, and none that stays, which it may be what keeps retired."""
    said = [roots_of(find_content(text)) for memory in memories for text in _all_contents(workspace, memory)]
    stay = [roots_of(find_content(memory.content)) for memory in workspace.store.log.memories() if memory not in memories]
    for candidate in (judged.candidate for judged in workspace.store.log.all_judged_candidates()):
        named = roots_of(find_content(candidate.replaces))
        if candidate.trigger == WITHDRAWAL and any(named <= each for each in said) and not any(named <= each for each in stay):
            yield candidate


def _all_contents(workspace: Workspace, memory: Memory) -> list[str]:
    """What a memory says now, and what its operations made it say before."""
    values = (
        getattr(operation, "value", None) or getattr(operation, "facts", None)
        for _, operation in workspace.store.log.operations_on(memory.id)
        if operation.memory == memory.id
    )
    return [text for text in dict.fromkeys((memory.content, *(value.content for value in values if value))) if text]
