"""Small things are committed together, large ones alone, and the outcome is the same."""

from time import time_ns

from hypothesis import given
from hypothesis import strategies as st

from kept.intake import discovery, reading
from kept.local.progress import split_batches
from kept.pipeline.run import RunOptions, run_pipeline
from kept.sources import stat_cache


@given(st.lists(st.integers(0, 50)), st.integers(1, 60))
def test_batches_keep_the_order_and_only_a_batch_of_one_is_over_the_limit(sizes, most):
    made = list(split_batches(sizes, lambda size: size, most))
    assert [size for batch in made for size in batch] == sizes
    assert all(batch for batch in made)
    assert all(sum(batch) <= most or len(batch) == 1 for batch in made)


def test_what_is_committed_together_makes_no_difference(desk_at, tmp_path, transcripts, monkeypatch):
    found = []
    for number, most in enumerate((1, 2**30)):
        monkeypatch.setattr(reading, "BATCH_BYTES", most)
        with desk_at(tmp_path / f"h{number}") as workspace:
            run_pipeline(workspace, [transcripts], RunOptions())
            found.append([(each.id, each.content, each.status) for each in workspace.store.log.memories()])
    assert found[0] == found[1]
    assert found[0]


def test_a_file_that_cannot_be_read_does_not_undo_those_read_with_it(desk_at, tmp_path, transcripts):
    whole = sorted(transcripts.rglob("*.jsonl"))
    whole[-1].with_name("wide.jsonl").write_bytes(whole[-1].read_text().encode("utf-16"))
    with desk_at(tmp_path / "home2") as workspace:
        report = run_pipeline(workspace, [transcripts], RunOptions())
        assert [reason for _, reason in report.reading.skipped] == ["is UTF-16, not UTF-8"]
        assert report.reading.files == len([*workspace.store.archive.files()]) == len(whole)


def test_a_file_that_did_not_change_is_not_opened_again_unless_a_person_says_so(desk_at, home, transcripts, monkeypatch):
    monkeypatch.setattr(stat_cache, "time_ns", lambda: time_ns() + 60 * 10**9)
    number = len(list(transcripts.rglob("*.jsonl")))
    opened = []
    examine = discovery.identify_file
    monkeypatch.setattr(discovery, "identify_file", lambda path, **named: opened.append(path) or examine(path, **named))
    with desk_at(home) as workspace:
        first = run_pipeline(workspace, [transcripts], RunOptions())
        again = run_pipeline(workspace, [transcripts], RunOptions())
        assert (len(opened), again.run, again.sources) == (number, 0, first.sources)
        changed = opened[0]
        changed.write_bytes(changed.read_bytes() + b"{}\n")
        run_pipeline(workspace, [transcripts], RunOptions())
        assert opened[number:] == [changed]
        run_pipeline(workspace, [transcripts], RunOptions(force=True))
        assert len(opened) == 2 * number + 1
