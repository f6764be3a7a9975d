"""Collect the words to be forgotten from memories, from their evidence, and from whole sessions and time spans."""

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
    """Collect what must not remain of ``memories``, of given sentences (``said``), of whole sessions, and of single events.

    The sentences of a memory are its content and its earlier contents; a statement that withdrew it is forgotten with it. Its
    evidence is searched for only in longer runs of words, and not in what another memory that stays says. Raises StoreError.
    """
    gone, whole = {memory.id for memory in memories}, tuple(sessions)
    stay = (memory.content for memory in workspace.store.log.memories() if memory.id not in gone)
    quotes = {(quote.event, quote.quote) for memory in memories for quote in _own_quotes(workspace, memory)}
    quotes |= {(quote.event, quote.quote) for withdrawal in _withdrawals_of(workspace, memories) for quote in withdrawal.evidence}
    return ErasureWords(
        sentences=tuple(dict.fromkeys((*said, *(text for memory in memories for text in _all_contents(workspace, memory))))),
        passages=tuple({quote for _, quote in quotes}),
        spared=tuple(dict.fromkeys(stay)),
        cited=tuple(quotes),
        memories=frozenset(gone),
        sessions=frozenset(whole),
        about=frozenset({*whole, *(quote.session for memory in memories for quote in memory.evidence)}),
        events=frozenset(events),
    )


def _own_quotes(workspace: Workspace, memory: Memory) -> list[Evidence]:
    """A memory's evidence, without near copies of a sentence that the evidence also contains verbatim: a person chooses those."""
    words = ErasureWords(sentences=tuple(_all_contents(workspace, memory)))
    quotes = [quote for quote in memory.evidence if quote.quote]
    verbatim = [quote for quote in quotes if words.is_in_text(quote.quote)]
    return [quote for quote in quotes if quote in verbatim or not (verbatim and any(words.find_near_copies(quote.quote)))]


def _withdrawals_of(workspace: Workspace, memories: Sequence[Memory]) -> Iterator[Candidate]:
    """Yield the statements that withdrew the memories, or tried to. One that also matches a memory that stays is left out, since it
    may be why that memory is retired.
    """
    said = [roots_of(find_content(text)) for memory in memories for text in _all_contents(workspace, memory)]
    stay = [roots_of(find_content(memory.content)) for memory in workspace.store.log.memories() if memory not in memories]
    for candidate in (judged.candidate for judged in workspace.store.log.all_judged_candidates()):
        named = roots_of(find_content(candidate.replaces))
        if candidate.trigger == WITHDRAWAL and any(named <= each for each in said) and not any(named <= each for each in stay):
            yield candidate


def _all_contents(workspace: Workspace, memory: Memory) -> list[str]:
    """The content of a memory now, and its contents after each operation."""
    values = (
        getattr(operation, "value", None) or getattr(operation, "facts", None)
        for _, operation in workspace.store.log.operations_on(memory.id)
        if operation.memory == memory.id
    )
    return [text for text in dict.fromkeys((memory.content, *(value.content for value in values if value))) if text]
