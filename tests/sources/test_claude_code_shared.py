"""Claude Code files of the shared folder: real sessions, the modern sample, hostile files."""

import json
from collections import Counter

import pytest

from claude_lines import read
from kept.core.errors import SourceError
from kept.core.event import Author, RecordAccount
from kept.local.files.walking import find_files
from kept.sources.formats.claude_code import ClaudeCode
from kept.sources.registry import SkippedFile, identify_file


def read_all(paths):
    accounts, events = RecordAccount(), []
    for path in paths:
        source = identify_file(path)
        if isinstance(source, SkippedFile):
            continue
        found, account, _ = read(path)
        accounts += account
        events += found
    return events, accounts


@pytest.mark.parametrize("every", [19, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.shared
def test_every_record_of_the_real_sessions_is_accounted_for(shared, every):
    events, account = read_all([*find_files(shared / "transcripts" / "inputs" / "claude-code-jsonl")][::every])
    assert account.records == account.kept + sum(account.dropped.values())
    assert (account.malformed, account.pending) == (0, 0)
    counts = Counter(event.author for event in events)
    assert min(account.dropped["summary"], counts[Author.TOOL], counts[Author.HUMAN]) > 0
    assert all(event.at is not None and event.project.startswith("/Users/") for event in events)
    assert not any(event.text.startswith(("<", "[Request", "Caveat")) for event in events if event.author is Author.HUMAN)


@pytest.mark.parametrize("every", [19, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.shared
def test_every_real_session_reads_the_same_in_two_halves(shared, tmp_path, every):
    path = tmp_path / "s1.jsonl"
    for original in [*find_files(shared / "transcripts" / "inputs" / "claude-code-jsonl")][::every]:
        data = original.read_bytes()
        path.write_bytes(data)
        whole = read(path)
        path.write_bytes(data[: len(data) // 2])
        first, before, cursor = read(path)
        path.write_bytes(data)
        second, after, cursor = read(path, cursor)
        assert (first + second, before + after, cursor) == whole, original.name


@pytest.mark.shared
def test_the_modern_sample_reads_as_expected(shared):
    folder = shared / "samples" / "claude-code" / "synthetic-modern" / "-home-u-proj-x"
    first, account, _ = read(folder / "11111111-1111-4111-8111-111111111111.jsonl")
    assert [event.record for event in first if event.author in (Author.HUMAN, Author.ASSISTANT, Author.TOOL)] == [
        *("u1", "a2", "a3", "u2", "a4", "u3", "a5")
    ]
    assert {event.record: event.author for event in first if event.record in ("m1", "c1", "u4", "u5")} == {
        "m1": Author.INJECTED,
        "c1": Author.COMPACTION,
        "u4": Author.INJECTED,
        "u5": Author.INJECTED,
    }
    assert account.pending > 0
    second, _, _ = read(folder / "22222222-2222-4222-8222-222222222222.jsonl")
    owned = {event.key for event in first}
    assert [event.record for event in second if event.key not in owned] == ["u6", "a6", "u7"]
    assert {event.project for event in first + second} == {"/home/u/proj.x"}


@pytest.mark.shared
def test_hostile_files_are_read_as_their_index_says(shared):
    index = json.loads((shared / "hostile" / "index.json").read_text())
    files = [entry for entry in index["files"] if (entry["file"] or "").startswith("jsonl/")]
    assert files
    for entry in files:
        path = shared / "hostile" / entry["file"]
        assert isinstance(identify_file(path), ClaudeCode), entry["id"]
        if entry.get("file_error"):
            with pytest.raises(SourceError):
                read(path)
            continue
        events, account, _ = read(path)
        if "accept" in entry:
            assert account.kept == entry["accept"], entry["id"]
        assert account.malformed <= entry.get("reject", entry.get("reject_max", 1)), entry["id"]
        assert account.malformed >= entry.get("reject", 0), entry["id"]
        assert (account.pending > 0) == entry.get("pending_tail", False), entry["id"]
        trusted = " ".join(event.text for event in events if event.author is Author.HUMAN)
        assert not [word for word in entry.get("must_not_reach_memory", ()) if word in trusted], entry["id"]
        json.dumps([event.text for event in events], ensure_ascii=False).encode()
