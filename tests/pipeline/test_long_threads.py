"""A long thread is extracted stretch by stretch: each commits by itself, and together they say what one would say."""

import pytest

from kept.days import day_notes
from kept.extraction import extract_threads, stretches
from kept.intake import projects
from kept.pipeline import run
from kept.pipeline.run import RunOptions, run_pipeline
from kept.store.archive.turns import Archive
from talking import OTHER, RULE, say

PROMPTS = [RULE if n == 3 else OTHER if n == 31 else f"Now look at part {n} and tell me why it is slow." for n in range(70)]
SMALL = 45  # more than the longest episode


class CutShortError(Exception):
    """The process ends here."""


def candidates(workspace):
    found = [workspace.store.log.thread_proposals(thread.id, 0) for thread in workspace.store.archive.threads()]
    return [(each.ordinal, each.judged) for proposals in found for each in proposals]


def extractions(workspace):
    return [each for each in workspace.store.log.pass_heads() if each.stage == "extract"]


@pytest.fixture
def whole(desk_at, tmp_path):
    """What the run over the long conversation proposes in one stretch."""
    say(tmp_path / "there", "s", *PROMPTS)
    with desk_at(tmp_path / "there") as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert len(extractions(workspace)) == 1
        return candidates(workspace)


def test_stretches_propose_what_one_does(desk_at, home, whole, monkeypatch):
    say(home, "s", *PROMPTS)
    monkeypatch.setattr(extract_threads, "WINDOW", SMALL)
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [], RunOptions())
        told = [(place, each.candidate.content) for place, each in candidates(workspace)]
        assert told == [(place, each.candidate.content) for place, each in whole]
        assert report.extracted.candidates == len(whole)
        assert len(extractions(workspace)) > 1


def test_extracting_unchanged_stretches_again_notes_nothing(desk_at, home, whole, monkeypatch):
    say(home, "s", *PROMPTS)
    monkeypatch.setattr(extract_threads, "WINDOW", SMALL)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = extractions(workspace)
        assert run_pipeline(workspace, [], RunOptions(force=True)).extracted.candidates == len(whole)
        assert extractions(workspace) == before


def test_a_run_cut_short_between_stretches_goes_on_after_the_last_one(desk_at, home, whole, monkeypatch):
    say(home, "s", *PROMPTS)
    monkeypatch.setattr(extract_threads, "WINDOW", SMALL)
    for module in (extract_threads, stretches):
        monkeypatch.setattr(module, "AHEAD", 2)
    with desk_at(home) as workspace:
        stretch, done = stretches.analyse_window, []

        def cut_short(window):
            if len(done) == 2:
                raise CutShortError
            done.append(window.place)
            return stretch(window)

        monkeypatch.setattr(extract_threads, "analyse_window", cut_short)
        with pytest.raises(CutShortError):
            run_pipeline(workspace, [], RunOptions())
        (thread,) = workspace.store.archive.threads(pending=True)
        assert done[-1] < thread.extracted < thread.events
        monkeypatch.setattr(extract_threads, "analyse_window", stretch)
        run_pipeline(workspace, [], RunOptions())
        assert [(place, each.candidate.content) for place, each in candidates(workspace)] == [
            (place, each.candidate.content) for place, each in whole
        ]
        assert not [*workspace.store.archive.threads(pending=True)]


def test_a_run_after_one_that_was_cut_short_holds_no_more_than_a_window_of_a_thread(desk_at, home, monkeypatch):
    say(home, "s", *(f"note {n}" for n in range(6 * SMALL)))
    for module in (extract_threads, projects, day_notes):
        monkeypatch.setattr(module, "WINDOW", SMALL)
    with desk_at(home) as workspace:
        with monkeypatch.context() as patched:
            patched.setattr(run, "record_projects", cut_short_at_once)
            with pytest.raises(CutShortError):
                run_pipeline(workspace, [], RunOptions())
        events, held = Archive.events, []
        monkeypatch.setattr(Archive, "events", lambda *asked: held.append(len(found := events(*asked))) or found)
        run_pipeline(workspace, [], RunOptions())
        assert max(held) <= SMALL + extract_threads.LOOKBACK + extract_threads.AHEAD < 12 * SMALL


def cut_short_at_once(*_args, **_options):
    raise CutShortError
