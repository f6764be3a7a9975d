"""Documents of many records: read in slices, stopped after any of them, the same as at once."""

from pathlib import Path

import pytest

from kept.core.errors import SourceError
from kept.core.event import Cursor
from kept.sources import documents
from kept.sources.documents import REWRITTEN, ROWS_LIMIT
from kept.sources.formats.vault import Vault
from reading import read, said

READER = Vault()
SLICE_EVENTS = 100
TURNS = 2 * SLICE_EVENTS + 10


@pytest.fixture
def path(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr(documents, "SLICE_EVENTS", SLICE_EVENTS)
    made = tmp_path / "chat.md"
    made.write_text("".join(f"**{'Assistant' if n % 2 else 'User'}:** word {n % 7}\n" for n in range(TURNS)))
    return made


def test_a_long_document_comes_in_slices_of_bounded_size(path):
    slices = list(READER.read(path, Cursor()))
    assert sum(len(each.events) for each in slices) == TURNS
    assert len(slices) == 3
    assert max(len(each.events) for each in slices) <= SLICE_EVENTS
    assert [each.cursor.offset for each in slices] == [0, 0, path.stat().st_size]


def test_a_document_left_after_any_slice_goes_on_where_it_was_left(path):
    whole = read(READER, path)
    for stop in (1, 2):
        taken = [each for each, _ in zip(READER.read(path, Cursor()), range(stop), strict=False)]
        events, account, cursor = read(READER, path, taken[-1].cursor)
        assert ([event for each in taken for event in each.events] + events, cursor) == (whole[0], whole[2])
        assert sum((each.account for each in taken), start=account) == whole[1]
    assert not list(READER.read(path, whole[2]))


def test_a_document_that_changed_after_a_slice_is_read_from_its_start(path):
    first = next(iter(READER.read(path, Cursor())))
    path.write_text(path.read_text() + "**User:** one more\n")
    events, account, _ = read(READER, path, first.cursor)
    assert said(events[:TURNS]) == said(read(READER, path)[0][:TURNS])
    assert (len(events), account.noted[REWRITTEN]) == (TURNS + 1, 1)
    assert {each.key for each in first.events} <= {each.key for each in events}


def test_a_document_of_too_many_lines_is_refused_with_its_reason(tmp_path):
    path = tmp_path / "chat.md"
    path.write_text("**User:** a\n" * (ROWS_LIMIT + 1))
    with pytest.raises(SourceError, match=f"more than {ROWS_LIMIT} lines"):
        next(READER.read(path, Cursor()))
