"""What extraction without a model promises of sessions together: repetition, refusals, decisions of a person, settings, order."""

import json
import os
import subprocess
import sys
from collections import Counter
from importlib.resources import files

import pytest

from kept.cli.dispatch import main
from kept.core.memory import Status
from kept.memories import person
from kept.pipeline.run import RunOptions, run_pipeline
from kept.profiles import load_profile
from talking import converse

FAILING = [
    ("user", "make the thumbnails"),
    ("run", "npm run thumbs"),
    ("failed", "> thumbs\nError: Cannot find module 'sharp'"),
    ("run", "npm install sharp"),
    ("out", "added 1 package"),
    ("run", "npm run thumbs"),
    ("out", "12 thumbnails"),
    ("agent", "They work now."),
]
DECIDED = (
    "we decided to keep every amount in cents in `orders.total`, because floats round wrongly",
    "ok. we decided to keep every amount in `orders.total` in cents because floats round wrongly",
    "we decided to keep every amount in cents in `orders.total` because floats round wrongly",
)
HELD = "Please note that every amount in `orders.total` is in cents."
VAGUE = "Keep the colours of the charts, but do not use more than four."
ABOUT_MEMORY = "The tests must not depend on the clock."
STEP = "run the tests again"


def remembered(desk_at, home, **options):
    with desk_at(home, **options) as workspace:
        report = run_pipeline(workspace, [], RunOptions(model=False))
        return report, workspace.store.log.memories()


def said(*prompts):
    return [turn for words in prompts for turn in (("user", words), ("agent", "OK."))]


def active(memories):
    return [each for each in memories if each.status is Status.ACTIVE]


def test_a_decision_made_in_three_sessions_is_a_convention_with_its_reason(desk_at, home):
    for number, words in enumerate(DECIDED):
        converse(home, f"s{number}", *said(words), day=f"2026-01-0{5 + number}")
        (memory,) = active(remembered(desk_at, home)[1])
        assert memory.category == ("convention" if number == 2 else "decision")
    assert len({each.session for each in memory.evidence}) == 3
    assert memory.content in DECIDED


def test_a_decision_told_three_times_in_one_session_stays_a_decision(desk_at, home):
    converse(home, "s1", *said(*DECIDED))
    assert [each.category for each in active(remembered(desk_at, home)[1])] == ["decision"]


def test_a_fix_that_was_applied_again_is_one_fix_counted_by_sessions_and_surer(desk_at, home):
    converse(home, "s1", *FAILING, day="2026-01-05")
    (once,) = active(remembered(desk_at, home)[1])
    converse(home, "s1b", *FAILING, *FAILING[1:], day="2026-02-05")
    (twice,) = active(remembered(desk_at, home)[1])
    assert (once.category, twice.content, twice.fingerprint) == ("known_fix", once.content, once.fingerprint)
    assert len({each.session for each in twice.evidence}) == 2
    assert twice.observations > once.observations
    assert twice.confidence >= once.confidence


def test_every_refusal_is_counted_by_its_reason_and_listed_with_it_and_what_was_said_once_is_held(desk_at, home, capsys):
    converse(home, "s1", *said(VAGUE, ABOUT_MEMORY, STEP, "We always use pnpm in this project, never npm.", "Never use `x.py`?"))
    with pytest.raises(SystemExit):
        main(["run", "--json", "--no-llm"])
    counted = json.loads(capsys.readouterr().out)["refused"]
    with pytest.raises(SystemExit):
        main(["list", "--refused", "--json"])
    listed = json.loads(capsys.readouterr().out)
    with pytest.raises(SystemExit):
        main(["review", "--all", "--json"])
    held = json.loads(capsys.readouterr().out)
    assert Counter(each["reason"].removeprefix("held: ") for each in (*listed, *held)) == counted
    assert "said once" in counted


def test_a_run_that_tells_more_names_every_reason_and_what_became_of_each_topic(home, capsys):
    converse(
        home, "s1", *said(VAGUE, "We always use pnpm in this project, never npm.", "the rounding of invoices is off by one cent")
    )
    with pytest.raises(SystemExit):
        main(["run", "--verbose", "--no-llm"])
    out = capsys.readouterr().out
    assert "said once → kept review --all" in out
    assert " covered, " in out
    assert " with nothing durable, " in out


def test_the_report_says_of_each_topic_whether_it_is_covered_has_nothing_durable_or_was_missed(desk_at, home):
    converse(
        home,
        "s1",
        *said("We always use pnpm in this project, never npm, because the lockfile is stable."),
        *said("please make the header of the landing page bigger and move the logo to the left"),
        *said(
            "why does the nightly import of the warehouse stock take two hours?",
            "should we never import the stock twice a day then?",
        ),
    )
    covered = remembered(desk_at, home)[0].covered
    assert covered.covered >= 1
    assert covered.nothing >= 1
    assert covered.topics == covered.covered + covered.nothing + len(covered.missed)


def test_what_was_turned_down_in_review_does_not_come_back_however_often_it_is_said(desk_at, home):
    converse(home, "s1", *said(HELD), day="2026-01-05")
    (held,) = remembered(desk_at, home)[1]
    assert held.status is Status.HELD
    with desk_at(home) as workspace:
        person.reject(workspace, held.id)
    converse(home, "s2", *said(HELD), day="2026-01-06")
    converse(home, "s3", *said(f"Okay. {HELD}"), day="2026-01-07")
    found = remembered(desk_at, home)[1]
    assert [each.status for each in found if "cents" in each.content] == [Status.REJECTED]


@pytest.mark.parametrize(("buffer", "episodes"), [((5, 20, 60), 2), ((2, 20, 60), 6), ((4, 4, 600), 3), ((5, 20, 600), 1)])
def test_how_much_is_analysed_together_is_a_setting_of_the_profile(desk_at, home, buffer, episodes):
    place = home / ".config" / "kept" / "profiles"
    place.mkdir(parents=True)
    text = (files("kept.profiles") / "coding.toml").read_text(encoding="utf-8").replace('id = "coding"', 'id = "mine"', 1)
    for name, value in zip(("least", "most", "seconds"), buffer, strict=True):
        text = text.replace(f"{name} = {getattr(load_profile('coding').buffer, name)}", f"{name} = {value}", 1)
    (place / "mine.toml").write_text(text, encoding="utf-8")
    converse(home, "s1", *said("one", "two", "three", "four", "five", "six"))  # 12 events, 70 seconds apart
    assert remembered(desk_at, home, profile="mine")[0].extracted.episodes == episodes


def test_what_must_name_something_and_what_need_not_is_said_by_category():
    specific = {
        each: {one.id: one.specific for one in load_profile(each).categories}
        for each in ("coding", "companion", "vault", "journal")
    }
    assert all(specific["coding"][each] for each in ("constraint", "decision", "convention", "project_fact"))
    assert all(specific["journal"].values())
    assert not any(specific["coding"][each] for each in ("preference", "goal", "known_fix"))
    assert not any(specific["companion"][each] for each in ("person", "people", "preferences"))


def test_the_same_transcripts_give_the_same_memories_whatever_order_the_process_puts_its_sets_in(
    home, tmp_path, monkeypatch, capsys
):
    for number, words in enumerate(DECIDED):
        converse(
            home,
            f"s{number}",
            *said(words, HELD, "we always use pnpm in this project, never npm"),
            *FAILING,
            day=f"2026-01-0{5 + number}",
        )
    both = (
        "from contextlib import suppress\nfrom sys import argv\nfrom kept.cli import main\n"
        "with suppress(SystemExit):\n    main(['--home', argv[1], 'run', argv[2], '--quiet'])\n"
        "main(['--home', argv[1], 'export'])"
    )
    other, here = [(str(tmp_path / name), str(home / ".claude")) for name in ("other", "here")]
    env = os.environ | {"PYTHONHASHSEED": "1"}  # here it is drawn
    done = subprocess.run([sys.executable, "-c", both, *other], env=env, capture_output=True, text=True, check=True)
    monkeypatch.setattr(sys, "argv", ["-c", *here])
    with pytest.raises(SystemExit):
        exec(both)
    assert capsys.readouterr().out == done.stdout
    assert done.stdout.count("\n") == 4
