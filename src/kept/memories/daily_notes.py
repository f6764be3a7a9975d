"""A person's edits of lines in the note of a day, stored in place of those lines."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date

from kept.core.document import DAY_LINE, Edits
from kept.core.errors import UsageError
from kept.core.operation import Reword
from kept.core.summary import Passage, PassageForm, SummaryPart
from kept.days.day_notes import bullet_key, notes_of_day, reword_line
from kept.days.llm_summaries import load_day_summaries
from kept.memories.person import clean_memory_text
from kept.workspace import Workspace


def reword_lines(workspace: Workspace, day: date, edits: Edits) -> Iterator[Reword]:
    """The operations of what a person made of a day's lines: other words, or none. Raises StoreError."""
    own = {
        passage.id: passage.text for passage in workspace.store.days.passages_of_days(day, day) if passage.form is PassageForm.OWN
    }
    made = {**edits.revised, **dict.fromkeys(edits.removed, "")}
    for key, words in made.items():
        line = _find_line(workspace, day, key.removeprefix(DAY_LINE)) if key.startswith(DAY_LINE) else None
        if line is not None:
            if line.form is PassageForm.OWN and workspace.store.log.operations_on(line.id):
                line = replace(line, text="")  # the log has these words already
            with suppress(UsageError):
                operation = reword_line(line, clean_memory_text(workspace, words) if words else "", workspace.clock())
                if own.get(operation.memory) != operation.content:
                    yield operation


def _find_line(workspace: Workspace, day: date, key: str) -> Passage | None:
    """The line of a day that is known by a key: of the daybook, or of what was worked on."""
    page = load_day_summaries(workspace, day, day).get(day)
    known = {passage.id: passage for lines in (page.lines.values() if page else ()) for passage in lines}
    if key in known:
        return known[key]
    for note, bullet in notes_of_day(workspace, day):
        if bullet_key(bullet) == key:
            return Passage(
                id=bullet.source,
                form=PassageForm.LINE,
                kind="questions" if bullet.part is SummaryPart.OPEN else "solutions",
                text=bullet.text,
                at=note.note.at,
                events=(note.note.event,),
                sessions=(note.session,),
                day=day,
                scope=bullet.scope,
            )
    return None
