"""Every file of the shared transcripts and samples: nothing is lost, nothing is read twice, growth changes nothing."""

import random
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from kept.core.errors import SourceError
from kept.core.event import Cursor, RecordAccount
from kept.local.files.walking import find_files
from kept.sources.registry import SOURCES, SkippedFile, identify_file
from kept.store.sqlite import SqliteStore
from reading import at_once, read, read_in_pieces

GROWING = {"claude-code", "codex", "gemini-cli", "pi", "copilot-cli", "cursor-agent", "generic"}
LARGEST = 200_000  # bytes of a file that is grown: each length is read on its own


def files_of(shared: Path, every: int = 1):
    """Every sample, and of the transcripts every one, every seventeenth, …"""
    yield from find_files(shared / "samples")
    yield from islice(find_files(shared / "transcripts"), 0, None, every)


def claimed(shared: Path, every: int = 1):
    for path in files_of(shared, every):
        found = identify_file(path)
        if not isinstance(found, SkippedFile):
            yield found, path


@pytest.mark.parametrize("every", [17, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.shared
def test_every_record_of_every_file_is_kept_or_set_aside_by_a_reason_and_reading_it_again_adds_nothing(shared, tmp_path, every):
    formats = set()
    with SqliteStore(tmp_path / "kept.db") as store:
        for source, path in claimed(shared, every):
            events, _, cursor = read(source, path)  # asserts that the account adds up
            assert all(each.at is not None or each.precision == "none" for each in events), path
            formats.add(source.name)
            store.archive.add_slice(source.name, str(path), events, RecordAccount(), cursor, anew=True)
            assert store.archive.add_slice(source.name, str(path), events, RecordAccount(), cursor, anew=True) == 0, path
            assert not [each for part in source.read(path, cursor) for each in part.events], path
    assert len(formats) >= 12


@pytest.mark.parametrize("every", [17, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.shared
def test_every_line_of_every_shared_file_is_a_record_and_every_file_that_is_not_read_says_why(shared, every):
    read_files = 0
    for path in files_of(shared, every):
        source = identify_file(path)
        if isinstance(source, SkippedFile):
            assert source.sentence, path
        elif path.suffix == ".jsonl" and source.name != "vscode-chat":  # whose lines are changes of one object
            _, account, cursor = read(source, path)
            data = path.read_bytes()
            lines = sum(bool(line.strip()) for line in data.split(b"\n"))
            assert account.records + bool(account.pending) >= lines, path  # a line may hold several
            assert cursor.offset + account.pending == len(data), path
            read_files += 1
    assert read_files > 100 / every


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.shared
def test_whatever_else_is_shared_is_kept_set_aside_by_a_reason_or_a_named_failure(shared, every):
    read_files = 0
    for folder in sorted(each for each in shared.iterdir() if each.is_dir() and each.name not in ("transcripts", "samples")):
        for path in islice(find_files(folder), 0, None, every):
            source = identify_file(path)
            if isinstance(source, SkippedFile):
                assert source.sentence, path
            else:
                with suppress(SourceError):  # a failure with its reason
                    read(source, path)  # asserts that the account adds up
                    read_files += 1
    assert read_files > 40 / every


# A record of each format, as its first line, and one that is its own and says nothing.
FIRST = {
    "claude-code": b'{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":"x"}}',
    "codex": b'{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cwd":"/p"}}',
    "pi": b'{"type":"session","version":3,"id":"x","cwd":"/p","timestamp":"2026-01-01T00:00:00Z"}',
    "cursor-agent": b'{"role":"user","message":{"content":[{"type":"text","text":"x"}]}}',
    "gemini-cli": b'{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z"}',
    "copilot-cli": b'{"type":"session.start","data":{},"id":"1","parentId":null}',
    "generic": b'{"role":"user","content":"x","session":"s"}',
}
ODD = (
    b'{"type":"of-tomorrow","x":1}',
    b"[]",
    b"{",
    b"no json",
    b'{"type":"user","message":7}',
    b'"x"',
    b'{"a":1} {"b":2}',
    b"\xff\xfe",
)


@pytest.mark.parametrize("name", FIRST)
def test_every_line_of_a_file_is_a_record_that_was_kept_or_set_aside_by_a_named_reason(tmp_path, name):
    source = next(each for each in SOURCES if each.name == name)
    (path := tmp_path / "a.jsonl").write_bytes(b"\n".join([FIRST[name], *ODD, b"", FIRST[name]]) + b"\n")
    _, account, _ = read(source, path)  # asserts that records are what was kept and what was set aside
    assert account.records == len(ODD) + 1 + 2  # one line holds two
    assert all(account.dropped)
    assert account.pending == 0


@pytest.mark.shared
@pytest.mark.slow
def test_reading_everything_twice_adds_nothing_and_an_untouched_file_gives_no_slice(shared, tmp_path):
    with SqliteStore(tmp_path / "kept.db") as store:
        cursors = {}
        for turn in range(2):
            for source, path in claimed(shared):
                fresh = 0
                for part in source.read(path, Cursor()):
                    fresh += store.archive.add_slice(source.name, str(path), part.events, RecordAccount(), part.cursor, anew=True)
                    cursors[path] = part.cursor
                assert turn == 0 or fresh == 0, path
        for source, path in claimed(shared):
            again = list(source.read(path, cursors[path])) if path in cursors else []
            assert not [each for part in again for each in part.events], path


@pytest.mark.parametrize("every", [17, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.shared
def test_a_growing_file_gives_each_record_once_wherever_it_was_cut(shared, tmp_path, every):
    draw, seen = random.Random(7), 0
    for source, path in claimed(shared, every):
        if source.name in GROWING and path.suffix == ".jsonl" and path.stat().st_size <= LARGEST:
            data, copy = path.read_bytes(), tmp_path / path.name
            ends = sorted(draw.sample(range(1, len(data)), min(12, len(data) - 1)))
            whole, whole_account, whole_cursor = at_once(source, copy, data)
            pieces, account, cursor = read_in_pieces(source, copy, data, ends)
            assert pieces == whole, path
            assert replace(account, pending=0, noted={}) == replace(whole_account, pending=0, noted={}), path
            assert cursor == whole_cursor, path
            copy.unlink()
            seen += 1
    assert seen >= 10
