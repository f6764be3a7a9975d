"""Every format whose file is a log of JSON records, as it grows: samples of each tool, with and without their last newline."""

import random
from collections import Counter
from itertools import chain

import pytest

from kept.core.event import Cursor, RecordAccount
from kept.local.files.walking import find_files
from kept.sources.registry import SkippedFile, identify_file

EACH = 4  # files of a format
LOGS = frozenset({"claude-code", "codex", "pi", "copilot-cli", "cursor-agent", "gemini-cli"})


def read(source, path, cursor):
    slices = list(source.read(path, cursor))
    account = sum((piece.account for piece in slices), RecordAccount())
    return [event for piece in slices for event in piece.events], account, slices[-1].cursor if slices else cursor


def logs(shared):
    """Small files, a few of each format."""
    seen = Counter()
    for path in chain(find_files(shared / "samples"), find_files(shared / "transcripts" / "inputs")):
        if path.suffix == ".jsonl" and path.stat().st_size < 500_000:
            source = identify_file(path)
            if not isinstance(source, SkippedFile) and source.name in LOGS and seen[source.name] < EACH:
                seen[source.name] += 1
                yield source, path
    assert seen.keys() >= {"claude-code", "codex", "pi", "gemini-cli"}


@pytest.mark.shared
@pytest.mark.parametrize("ended", [True, False], ids=["with a last newline", "without"])
def test_a_log_of_any_tool_reads_the_same_however_it_grew(shared, tmp_path, ended):
    chance = random.Random(3)
    for source, original in logs(shared):
        path = tmp_path.joinpath(*original.relative_to(shared).parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = original.read_bytes().rstrip(b"\n") + b"\n" * ended
        path.write_bytes(data)
        whole = read(source, path, Cursor())
        for _ in range(3):
            events, account, cursor = [], RecordAccount(), Cursor()
            for end in [*sorted(chance.randrange(len(data)) for _ in range(3)), len(data)]:
                path.write_bytes(data[:end])
                more, part, cursor = read(source, path, cursor)
                events += more
                account += part
            assert (events, account, cursor) == whole, f"{source.name}: {original.name}"
        path.unlink()
