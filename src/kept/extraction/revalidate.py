"""Check a model's proposals again, without asking the model, after their thread changed or moved to another project."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from kept.core.digest import digest
from kept.core.event import FORGOTTEN_MARK, Author
from kept.core.memory import UNDERSTOOD, CandidateVerdict, Refused
from kept.extraction.questions.support import find_verbatim
from kept.extraction.verdicts import commit_span, last_pass_note
from kept.store.values import MODEL, Proposal, Span, Thread
from kept.workspace import Workspace


def revalidate_threads(workspace: Workspace, run: Callable[[], int], threads: Iterable[Thread]) -> None:
    """Refuse a model's proposals from changed threads if the cited words are gone or abandoned. Raises StoreError."""
    for thread in threads:
        with workspace.store.transaction():
            before = workspace.store.log.thread_proposals(thread.id, 0, MODEL)
            after = tuple((proposal.ordinal, _revalidate_proposal(workspace, thread, proposal)) for proposal in before)
            if before:
                span = Span(thread=thread.id, start=0, judged=after)
                commit_span(workspace, run, thread, span, before, stage=MODEL, note=last_pass_note(workspace, before))


def _revalidate_proposal(workspace: Workspace, thread: Thread, proposal: Proposal) -> CandidateVerdict:
    judged = proposal.judged
    if isinstance(judged.verdict, Refused):
        return judged
    (anchor,) = workspace.store.archive.events(thread.id, proposal.ordinal, proposal.ordinal + 1) or (None,)
    events = [workspace.store.archive.event(item.event) for item in judged.candidate.evidence]
    stands = all(
        event is not None and find_verbatim(item.quote, event)
        for item, event in zip(judged.candidate.evidence, events, strict=True)
    )
    if stands and anchor is not None and anchor.author is not Author.ABANDONED:
        return judged
    return replace(judged, verdict=Refused(reason="no longer said"))


def move_proposals(
    workspace: Workspace, run: int, thread: Thread, renamed: dict[str, CandidateVerdict], scopes: tuple[str, str]
) -> dict[str, CandidateVerdict]:
    """Move a model's proposals of a thread from one scope to another, inside a transaction. Returns the new proposals by old id.

    ``renamed`` maps the ids of the rules' candidates to their new versions. Raises StoreError.
    """
    before = workspace.store.log.thread_proposals(thread.id, 0, MODEL)
    if not before:
        return {}
    after = tuple((proposal.ordinal, _move_proposal(workspace, thread, proposal, renamed, scopes)) for proposal in before)
    span = Span(thread=thread.id, start=0, judged=after)
    commit_span(workspace, lambda: run, thread, span, before, stage=MODEL, note=last_pass_note(workspace, before))
    return {old.judged.candidate.id: new for old, (_, new) in zip(before, after, strict=True)}


def _move_proposal(
    workspace: Workspace, thread: Thread, proposal: Proposal, renamed: dict[str, CandidateVerdict], scopes: tuple[str, str]
) -> CandidateVerdict:
    judged, candidate = proposal.judged, proposal.judged.candidate
    if candidate.trigger != UNDERSTOOD:
        return replace(judged, candidate=renamed[candidate.id].candidate) if candidate.id in renamed else judged
    if candidate.scope != scopes[0]:
        return judged
    if not candidate.content or FORGOTTEN_MARK in candidate.content:  # the same place may have other proposals with these words
        number = digest(candidate.id, scopes[1])
    else:
        anchor = next(
            (event.key for event in workspace.store.archive.events(thread.id, proposal.ordinal, proposal.ordinal + 1)), ""
        )
        number = digest(candidate.profile, candidate.category, scopes[1], UNDERSTOOD, anchor, candidate.content)
    rewords = renamed[candidate.rewords].candidate.id if candidate.rewords in renamed else candidate.rewords
    return replace(judged, candidate=replace(candidate, id=number, scope=scopes[1], rewords=rewords))
