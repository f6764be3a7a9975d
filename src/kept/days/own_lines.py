"""A person's edits of day summaries: lines put otherwise or deleted, as operations of the log."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from kept.core.codec import digest
from kept.core.fold import find_undone_passes
from kept.core.operation import Reword
from kept.core.summary import Passage, PassageForm
from kept.workspace import Workspace


def reword_line(passage: Passage, words: str, now: datetime) -> Reword:
    """The operation that puts a person's words (none: it is deleted) in the place of a line, or of their own earlier ones."""
    if passage.form is not PassageForm.OWN:
        name = digest("own", str(passage.day), passage.scope, passage.id, size=7)
        passage = replace(passage, id=name, form=PassageForm.OWN, thread=0, by="you", made_of="", instead=passage.id, text="")
    reason = "a line of the day was deleted" if not words else "a line of the day was put otherwise"
    return Reword(memory=passage.id, at=now, reason=reason, line=passage, content=words)


def restore_lines(workspace: Workspace, ids: Iterable[str]) -> None:
    """Have the lines that a person reworded as the log says they stand: by the last of the operations that are not undone.

    Raises StoreError.
    """
    store = workspace.store
    off = find_undone_passes(store.log.undo_redo_passes())
    for number in ids:
        history = [(made.id, one) for made, one in store.log.operations_on(number) if isinstance(one, Reword)]
        effective = [reword for made, reword in history if made not in off]
        if effective:
            store.days.own(replace(effective[-1].line, text=effective[-1].content))
        elif history and history[0][1].line.text:
            store.days.own(history[0][1].line)
        else:
            store.days.erase_passages([number])
