"""A person's edits of lines in the note of a day, stored in place of those lines."""

from datetime import date

from kept.core.document import DAY_LINE, Edits
from kept.core.errors import UsageError
from kept.core.summary import Form, Part, Passage
from kept.days.day_notes import key_of, noted_on
from kept.days.llm_summaries import pages, put
from kept.memories.person import usable
from kept.workspace import Workspace


def jotted(workspace: Workspace, day: date, edits: Edits) -> int:
    """Take over what a person made of a day's lines: other words, or none. Returns of how many lines. Raises StoreError."""
    made = {**edits.revised, **dict.fromkeys(edits.removed, "")}
    lines = {key.removeprefix(DAY_LINE): words for key, words in made.items() if key.startswith(DAY_LINE)}
    with workspace.store.transaction():
        return sum(_taken(workspace, day, key, words) for key, words in lines.items())


def _taken(workspace: Workspace, day: date, key: str, words: str) -> bool:
    line = _find_line(workspace, day, key)
    if line is None:
        return False
    try:
        put(workspace, line, usable(workspace, words) if words else "")
    except UsageError:
        return False
    return True


def _find_line(workspace: Workspace, day: date, key: str) -> Passage | None:
    """The line of a day that is known by a key: of the daybook, or of what was worked on."""
    page = pages(workspace, day, day).get(day)
    known = {each.id: each for lines in (page.lines.values() if page else ()) for each in lines}
    if key in known:
        return known[key]
    for noted, bullet in noted_on(workspace, day):
        if key_of(bullet) == key:
            return Passage(
                id=bullet.source,
                form=Form.LINE,
                kind="questions" if bullet.part is Part.OPEN else "solutions",
                text=bullet.text,
                at=noted.note.at,
                events=(noted.note.event,),
                sessions=(noted.session,),
                day=day,
                scope=bullet.scope,
            )
    return None
