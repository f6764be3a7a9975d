"""Where nothing changed no file is composed or read again; where anything did, all are."""

from datetime import timedelta

import pytest

from kept.core.memory import Status
from kept.outputs import write
from kept.pipeline.run import RunOptions, run_pipeline
from kept.sources import stat_cache
from talking import RULE, say

MEMORY = ".claude/rules/memory.md"


@pytest.fixture
def composed(monkeypatch):
    """How often files were composed. Two seconds have passed between a write and the next look at its file."""
    times, moment = [], stat_cache.time_ns
    monkeypatch.setattr(stat_cache, "time_ns", lambda: moment() + 10_000_000_000)
    made = write.compose_outputs
    monkeypatch.setattr(write, "compose_outputs", lambda *given: times.append(1) or made(*given))
    return times


def test_a_run_with_nothing_new_composes_nothing(desk_at, home, composed):
    say(home, "one", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert len(composed) == 1
        assert not run_pipeline(workspace, [], RunOptions()).written.files
        assert len(composed) == 1


def test_an_edit_a_deleted_file_and_a_later_hour_are_seen(desk_at, home, clock, composed):
    say(home, "one", RULE, "Remember that the api listens on port 8080.")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        text = (home / MEMORY).read_text()
        (home / MEMORY).write_text("".join(line for line in text.splitlines(keepends=True) if "8080" not in line))
        run_pipeline(workspace, [], RunOptions())
        (port,) = [each for each in workspace.store.log.memories() if "8080" in each.content]
        assert port.status is Status.RETIRED
        (home / MEMORY).unlink()
        run_pipeline(workspace, [], RunOptions())
        assert not (home / MEMORY).exists() or "8080" not in (home / MEMORY).read_text()
        times = len(composed)
        clock.parse_moment += timedelta(hours=1)
        run_pipeline(workspace, [], RunOptions())
        assert len(composed) == times + 1


def test_a_changed_setting_is_written(desk_at, home, composed):
    say(home, "one", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    config = home / ".config" / "kept" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('handover = "off"\n')
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert len(composed) == 2
