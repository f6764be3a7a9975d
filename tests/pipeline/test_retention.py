"""Turns that are older than the settings keep them: shown, erased when a person asks for it, and not read in again."""

import json
from contextlib import closing
from datetime import date

import pytest

from cases import each_case
from kept.cli.dispatch import main
from kept.core.errors import ConfigError, UsageError
from kept.llm.replies import QuestionNote, ReplyCache
from kept.local.settings import ArchiveSettings, count_days, parse_settings
from kept.pipeline.erase.forget import find_erasure_places, forget, make_retention_request
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.write_journal import make_entry_options, write_journal_entry
from talking import OTHER, RULE, say

OLD, YOUNG, NEAR = "how long is the old quay at low tide", "how deep is the young harbour now", "how wide is the sluice of the dam"


def call(*words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code


def kept_texts(workspace):
    archive = workspace.store.archive
    return {event.text for thread in archive.threads() for event in archive.events(thread.id, 0, thread.events)}


@pytest.fixture
def set_keep(home):
    def write(**values):
        path = home / ".config/kept/config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[archive]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()))

    return write


@pytest.fixture
def said(home):
    say(home, "old", RULE, OLD, day="2020-01-05")
    say(home, "dam", NEAR, day="2020-01-06", cwd="/x/dam")
    say(home, "young", OTHER, YOUNG, day="2026-01-05")
    return home


def test_an_aged_turn_goes_for_good_and_what_a_memory_rests_on_stays(desk_at, said, set_keep):
    set_keep(keep="2y")
    with desk_at(said) as workspace:
        run_pipeline(workspace, [said / ".claude"], RunOptions())
        before = {memory.id: (memory.content, memory.evidence) for memory in workspace.store.log.memories()}
        assert any(RULE in content for content, _ in before.values())
        request = make_retention_request(workspace)
        assert {place.where for place in find_erasure_places(workspace, request) if "2020-01-05" in place.where}
        assert OLD in kept_texts(workspace)

        report = forget(workspace, request)

        assert (report.problems, report.remains, report.memories) == ((), (), ())
        texts = kept_texts(workspace)
        assert not {OLD, NEAR} & texts
        assert {RULE, OTHER, YOUNG} <= texts
        run_pipeline(workspace, [said / ".claude"], RunOptions(force=True))
        assert not {OLD, NEAR} & kept_texts(workspace)
        after = {memory.id: (memory.content, memory.evidence) for memory in workspace.store.log.memories() if memory.content}
        assert after == before
        assert find_erasure_places(workspace, make_retention_request(workspace)) == ()
        assert workspace.store.find_damage() == ()


def test_a_project_is_kept_as_long_as_the_settings_say_of_it(desk_at, said, set_keep):
    set_keep(keep="2y")
    with desk_at(said) as workspace:
        run_pipeline(workspace, [said / ".claude"], RunOptions())
    set_keep(keep="2y", projects=["dam=always"])
    with desk_at(said) as workspace:
        forget(workspace, make_retention_request(workspace))
        assert NEAR in kept_texts(workspace)
        assert OLD not in kept_texts(workspace)
    set_keep(projects=["dam=90d"])
    with desk_at(said) as workspace:
        forget(workspace, make_retention_request(workspace))
        assert NEAR not in kept_texts(workspace)
        assert YOUNG in kept_texts(workspace)


def test_replies_of_models_go_with_the_conversation_they_are_about(desk_at, said, set_keep):
    set_keep(keep="2y")
    with desk_at(said) as workspace:
        run_pipeline(workspace, [said / ".claude"], RunOptions())
        with closing(ReplyCache(workspace.paths.replies)) as replies:
            for session in ("old", "young"):
                note = QuestionNote(key=session, purpose="facts", version="1", schema={}, about=(session,))
                replies.save_reply(note, "m", {"facts": []}, workspace.clock())
        forget(workspace, make_retention_request(workspace))
        with closing(ReplyCache(workspace.paths.replies)) as replies:
            assert list(replies.find_reply_keys({"old", "young"}, lambda _: False)) == ["young"]


def test_a_proposal_that_waits_in_review_stays_when_its_turn_is_old(said, set_keep, capsys):
    set_keep(keep="2y")
    wish = "I prefer short answers without any preamble, always."
    say(said, "wish", wish, day="2020-01-07")
    call("run", "--no-llm", "--quiet")
    assert call("forget", "--aged", "--yes") == 0
    assert "Forgotten: no memory" in capsys.readouterr().out
    call("review", "--all", "--list")
    assert wish in capsys.readouterr().out


def test_a_journal_entry_keeps_what_it_tells_of_turns_that_aged(desk_at, said, set_keep):
    set_keep(keep="2y")
    with desk_at(said, also=("journal",)) as workspace:
        run_pipeline(workspace, [said / ".claude"], RunOptions())
        entry = write_journal_entry(workspace, make_entry_options(workspace), date(2020, 1, 6)).path
        before = entry.read_text()
        assert NEAR in before.casefold()
        forget(workspace, make_retention_request(workspace))
        assert NEAR not in kept_texts(workspace)
        assert entry.read_text() == before


def test_nothing_ages_unless_the_settings_say_so(desk_at, said):
    with desk_at(said) as workspace:
        run_pipeline(workspace, [said / ".claude"], RunOptions())
        with pytest.raises(UsageError, match="keep everything"):
            make_retention_request(workspace)


def test_where_nothing_is_old_enough_that_is_said(desk_at, said, set_keep):
    set_keep(keep="99y")
    with desk_at(said) as workspace:
        run_pipeline(workspace, [], RunOptions())
        with pytest.raises(UsageError, match="no turn is older"):
            make_retention_request(workspace)


def test_aged_turns_are_shown_and_stay_without_a_yes(said, set_keep, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(said))
    set_keep(keep="2y")
    assert call("run", "--quiet", str(said / ".claude")) == 0
    assert call("forget", "--aged") != 0
    shown = capsys.readouterr()
    assert "2020-01-06" in shown.out
    assert "2026-01-05" not in shown.out
    assert "add --yes" in shown.err
    assert call("forget", "--aged", "--yes") == 0
    assert call("forget", "--aged", "--until", "2020-12-31") != 0


def test_turns_that_were_erased_for_their_age_are_not_offered_again(said, set_keep, capsys):
    set_keep(keep="2y")
    assert call("run", "--quiet", str(said / ".claude")) == 0
    assert call("forget", "--aged", "--yes") == 0
    for again in ((), ("--dry-run",), ("--yes",)):
        capsys.readouterr()
        assert call("forget", "--aged", *again) != 0
        shown = capsys.readouterr()
        assert shown.out == ""
        assert "no turn is older than the settings allow" in shown.err


@each_case(("span", "days"), [("2y", 732), ("6m", 186), ("3w", 21), ("90d", 90), ("always", None), ("", None)])
def test_a_span_of_time_counts_its_longest_days(span, days):
    assert count_days(span) == days


@pytest.mark.parametrize("line", ['keep = "soon"', 'keep = "0d"', 'projects = ["harbor"]', 'projects = ["=6m"]'])
def test_a_span_that_is_none_is_refused_by_name(line):
    with pytest.raises(ConfigError):
        parse_settings(f"[archive]\n{line}".encode(), "config.toml")


def test_spans_of_projects_are_read_by_their_last_equals_sign():
    assert ArchiveSettings(projects=("a=b=6m", "c = always")).project_days == {"a=b": 186, "c": None}
