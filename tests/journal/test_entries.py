"""The journal: entries, what they know, what is learnt from them, and that nothing of a person's is lost."""

import json
import re
from datetime import UTC, date, datetime, timedelta

import pytest

from kept.core.errors import ConfigError, UsageError
from kept.core.event import Origin
from kept.core.memory import Status
from kept.journal.entry import is_entry_edited, parse_entry_head
from kept.llm.adapters.scripted import ScriptedModel
from kept.llm.client import LlmClient
from kept.memories import person
from kept.memories.browse import refused_candidates
from kept.pipeline.erase.forget import forget, make_erasure_request
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.write_journal import (
    EntryState,
    backfill_entries,
    load_entry_heads,
    make_entry_options,
    plan_backfill,
    write_journal_entry,
)
from talking import converse, say

DAWN = datetime(1, 1, 1, tzinfo=UTC)
FIRST = date(2026, 1, 5)
RULES = (
    "Never use pip in this repo, always use `uv sync` instead.",
    "We decided to keep the tide tables in `tides.sqlite` instead of CSV files.",
    "In this project we always write dates as ISO 8601 in UTC, never in local time.",
)


def day(number: int) -> date:
    return FIRST + timedelta(days=number)


def days_of_work(home, count=3):
    for number in range(count):
        say(
            home,
            f"s{number}",
            f"Please add the harbour page number {number} to `tides.py` with `uv sync`.",
            RULES[number % len(RULES)],
            day=day(number).isoformat(),
        )


def journal_memories(workspace):
    return [each for each in workspace.store.log.memories() if each.profile == "journal" and each.status is Status.ACTIVE]


def texts(home):
    return {each.name: each.read_text() for each in sorted((home / "journal").glob("*.md"))}


@pytest.fixture
def journal_at(desk_at, home):
    """A workspace with the journal's profile at work and the sessions read."""

    def at():
        return desk_at(home, also=("journal",))

    return at


def write_all(workspace, days, **options):
    run_pipeline(workspace, [], RunOptions())
    return [write_journal_entry(workspace, make_entry_options(workspace, **options), each) for each in days]


def test_an_entry_tells_the_day_and_says_that_no_model_wrote_it(journal_at, home):
    days_of_work(home)
    with journal_at() as workspace:
        (done,) = write_all(workspace, [day(0)])
        assert done.state is EntryState.WRITTEN
        text = done.path.read_text()
        assert "tides.py" in text
        assert "without a language model" in text
        head = parse_entry_head(text)
        assert head is not None
        assert (head.first, head.writer, head.sessions, head.tokens) == (day(0), "extractive", 1, (0, 0))
        assert sum(head.shares.values()) == pytest.approx(1, abs=0.02)


def test_an_entry_of_a_day_without_times_keeps_the_order_of_what_was_said(journal_at, home):
    path = say(home, "s", "Rename the harbour page.", "Mend the tide import in `tides.py` for every gauge of the north.")
    path.write_text(re.sub(r"T10:\d\d:\d\d", "T12:00:00", path.read_text()))
    with journal_at() as workspace:
        (done,) = write_all(workspace, [date(2026, 1, 5)])
        text = done.path.read_text()
    assert text.index("Rename the harbour page") < text.index("Mend the tide import")


def test_an_entry_contains_nothing_from_after_its_day_whatever_was_read_before(journal_at, home):
    days_of_work(home)
    with journal_at() as workspace:
        write_all(workspace, [day(0), day(1), day(2)])
    told = texts(home)
    for number, text in enumerate(told.values()):
        for later in range(number + 1, 3):
            assert f"page number {later}" not in text
            assert RULES[later].split()[-4] not in text or RULES[later].split()[-4] in " ".join(RULES[: number + 1])
            assert day(later).isoformat() not in text


def test_what_was_answered_after_midnight_is_not_in_the_entry_of_the_day_before(journal_at, home):
    path = say(home, "late", "Please rewrite the tide reader in `tides.py` tonight.", day="2026-01-05")
    after = {
        "type": "assistant",
        "uuid": "late-answer",
        "parentUuid": None,
        "sessionId": "late",
        "cwd": "/x/harbor",
        "timestamp": "2026-01-06T03:00:00.000Z",
        "message": {
            "role": "assistant",
            "id": "late-answer",
            "content": [{"type": "text", "text": "The reader now skips herons entirely in tides.py."}],
        },
    }
    with path.open("a") as file:
        file.write(json.dumps(after) + "\n")
    with journal_at() as workspace:
        (done,) = write_all(workspace, [day(0)])
        assert "tide reader" in done.path.read_text()
        assert "herons" not in done.path.read_text()


def test_a_memory_that_was_worded_anew_later_is_told_in_its_words_of_then(journal_at, home):
    say(home, "a", "Never use pip in this repo, always use `uv sync` instead.", day="2026-01-05")
    say(home, "b", "Please run `uv sync` for the tide tables.", day="2026-01-06")
    say(home, "c", "Never use pip in this repo, always use `uv sync --frozen` instead.", day="2026-01-09")
    with journal_at() as workspace:
        (done,) = write_all(workspace, [date(2026, 1, 6)])
        assert "--frozen" not in done.path.read_text()


def test_an_entry_links_an_older_memory_to_the_day_it_was_made(journal_at, home):
    days_of_work(home)
    with journal_at() as workspace:
        _, second = write_all(workspace, [day(0), day(1)])
        head = second.head
        assert head is not None
        assert head.memories
        text = second.path.read_text()
        assert f"[{day(0).isoformat()}]({day(0).isoformat()}.md), {head.memories[0]}" in text
        memory = workspace.store.log.memory(head.memories[0])
        assert memory is not None
        assert memory.first_seen.date() == day(0)


def test_an_entry_links_to_no_day_that_has_no_entry(journal_at, home):
    days_of_work(home)
    with journal_at() as workspace:
        (second,) = write_all(workspace, [day(1)])
        assert second.head is not None
        assert second.head.memories
        text = second.path.read_text()
        assert f"({day(0).isoformat()}, {second.head.memories[0]})" in text
        assert "](" not in text


def test_an_entry_tells_by_project_what_was_attempted_and_how_it_ended(journal_at, home):
    converse(
        home,
        "a",
        ("user", "We have a problem. Make the tide import skip rows without a gauge."),
        ("agent", "I see.\n\nRows without a gauge are skipped by the tide import now.\n\nAll tests pass."),
    )
    with journal_at() as workspace:
        (done,) = write_all(workspace, [day(0)])
        text = done.path.read_text()
    assert (
        "### harbor\n- **Make the tide import skip rows without a gauge.** Rows without a gauge are skipped by the tide import now."
        in text
    )
    assert "tests pass" not in text
    assert "…" not in text


def test_an_entry_without_a_model_tells_what_was_settled_and_what_stays_open(journal_at, home):
    prompt = "Rename the harbour module to port. Keep the old tables instead of copying them. Who owns the gauges? I'll ask Ana."
    converse(home, "a", ("user", prompt), ("agent", "The harbour module is called port now."))
    with journal_at() as workspace:
        (done,) = write_all(workspace, [day(0)])
        text = done.path.read_text()
    assert "## Decisions\n\n- Keep the old tables instead of copying them\n" in text
    assert "## Open questions\n\n- Who owns the gauges?\n" in text


def test_a_week_tells_once_what_its_days_say_again(journal_at, home):
    for number in range(3):
        say(home, f"s{number}", "Please make the nightly tide import skip rows without a gauge.", day=day(number).isoformat())
    with journal_at() as workspace:
        write_all(workspace, [day(0)])
        done = write_journal_entry(workspace, make_entry_options(workspace, "weekly"), day(0), day(6))
        assert done.path.read_text().count("skip rows without a gauge") == 1


def test_a_week_tells_once_what_another_line_of_it_says_more_fully(journal_at, home):
    wish = "Please make the nightly tide import skip rows without a gauge"
    for number, end in enumerate((".", " of the 90 stations.")):
        say(home, f"s{number}", f"{wish}{end}", day=day(number).isoformat())
    with journal_at() as workspace:
        write_all(workspace, [day(0)])
        text = write_journal_entry(workspace, make_entry_options(workspace, "weekly"), day(0), day(6)).path.read_text()
        assert text.count("skip rows without a gauge") == 1
        assert "of the 90 stations" in text


def test_doing_a_day_twice_changes_nothing(journal_at, home):
    days_of_work(home)
    with journal_at() as workspace:
        write_all(workspace, [day(0), day(1)])
        before, store = texts(home), workspace.store.path.read_bytes()
        again = [write_journal_entry(workspace, make_entry_options(workspace), each) for each in (day(0), day(1))]
        assert [each.state for each in again] == [EntryState.UNCHANGED, EntryState.UNCHANGED]
        assert texts(home) == before
        assert workspace.store.path.read_bytes() == store


def test_an_entry_is_remembered_once_by_the_journals_profile_with_no_more_trust_than_an_assistants_words(journal_at, home):
    days_of_work(home)
    with journal_at() as workspace:
        write_all(workspace, [day(0), day(1), day(2)])
        found = journal_memories(workspace)
        assert any("tides.sqlite" in each.content for each in found)
        assert {each.origin for each in found} == {Origin.ASSISTANT}
        assert all(each.observations == 1 for each in found)
        assert {each.first_seen.astimezone(workspace.zone).date() for each in found} <= {day(0), day(1), day(2)}
        before = [each.id for each in found]
        run_pipeline(workspace, [], RunOptions(force=True))
        assert [each.id for each in journal_memories(workspace)] == before


def test_what_an_entry_recalls_is_not_learnt_from_it_again(journal_at, home):
    say(home, "a", "Never use pip in this repo, always use `uv sync` instead.", day="2026-01-05")
    say(
        home,
        "b",
        "Please replace pip by `uv sync` in the repo of the tide tables, in all three of its deploy scripts.",
        day="2026-01-06",
    )
    with journal_at() as workspace:
        _, second = write_all(workspace, [day(0), day(1)])
        assert "uv sync` instead" in second.path.read_text()
        events = [
            each
            for thread in workspace.store.archive.threads()
            if thread.path == str(second.path)
            for each in workspace.store.archive.events(thread.id, 0, thread.events)
        ]
        assert events
        assert not any("uv sync` instead" in each.text for each in events)


def test_a_hand_edit_is_kept_and_read_again(journal_at, home):
    days_of_work(home)
    with journal_at() as workspace:
        (done,) = write_all(workspace, [day(1)])
        path = done.path
        text = path.read_text().replace("tides.sqlite", "harbour.duckdb")
        path.write_text(text)
        assert is_entry_edited(text)
        say(home, "more", "Please also draw the map in `maps.py`.", day=day(1).isoformat())
        run_pipeline(workspace, [], RunOptions())
        assert write_journal_entry(workspace, make_entry_options(workspace), day(1)).state is EntryState.EDITED
        assert path.read_text() == text
        contents = [each.content for each in journal_memories(workspace)]
        assert any("harbour.duckdb" in each for each in contents)
        assert not any("tides.sqlite" in each for each in contents)


def test_a_file_of_somebody_elses_is_never_overwritten(journal_at, home):
    days_of_work(home)
    own = home / "journal" / f"{day(0).isoformat()}.md"
    own.parent.mkdir()
    own.write_text("# Dear diary\n")
    with journal_at() as workspace:
        (done,) = write_all(workspace, [day(0)])
        assert done.state is EntryState.FOREIGN
        assert own.read_text() == "# Dear diary\n"


def test_more_sessions_of_a_day_make_its_entry_anew(journal_at, home):
    days_of_work(home, 1)
    with journal_at() as workspace:
        write_all(workspace, [day(0)])
        say(home, "more", "Please also draw the coast in `maps.py` today.", day=day(0).isoformat())
        (done,) = write_all(workspace, [day(0)])
        assert done.state is EntryState.WRITTEN
        assert "maps.py" in done.path.read_text()


def test_a_day_without_sessions_has_no_entry(journal_at, home):
    days_of_work(home, 1)
    with journal_at() as workspace:
        (done,) = write_all(workspace, [day(9)])
        assert done.state is EntryState.NOTHING
        assert not done.path.exists()


def test_a_backfill_cut_short_anywhere_ends_as_one_that_was_not(desk_at, home, tmp_path):
    def filled(folder, stop_after):
        days_of_work(folder, 5)
        stops = [stop_after] if stop_after is not None else []
        for stop in (*stops, None):
            seen = []

            def tell(each, seen=seen, stop=stop):
                seen.append(each)
                if stop is not None and len(seen) > stop:
                    raise KeyboardInterrupt

            with desk_at(folder, also=("journal",)) as workspace:
                run_pipeline(workspace, [], RunOptions())
                work = make_entry_options(workspace)
                try:
                    backfill_entries(workspace, work, plan_backfill(workspace, work, day(0), day(4)).days, tell)
                except KeyboardInterrupt:
                    continue
                memories = sorted((each.content, str(each.status), str(each.first_seen)) for each in workspace.store.log.memories())
        return texts(folder), memories

    whole = filled(tmp_path / "whole", None)
    assert len(whole[0]) == 5
    entries, memories = filled(tmp_path / "cut", 2)
    assert [plain(each) for each in entries.values()] == [plain(each) for each in whole[0].values()]
    assert strip(memories) == strip(whole[1])


def plain(text):
    """An entry without what depends on the folder it lies in: ids hash the project, which here is a folder."""
    return re.sub(r"[0-9a-f]{10,16}", "·", text)


def strip(memories):
    return [(content, status, seen) for content, status, seen in memories]


def test_the_sections_of_another_journal_are_told_on_their_day(journal_at, home):
    notes = home / "diary" / "memory"
    notes.mkdir(parents=True)
    for number in (0, 1):
        (notes / f"{day(number).isoformat()}.md").write_text(
            f"## Step {number}: rewrite the tide reader number {number}\n\nDone in `tides.py`.\n"
        )
    with journal_at() as workspace:
        run_pipeline(workspace, [notes], RunOptions())
        assert plan_backfill(workspace, make_entry_options(workspace), day(-5), day(5)).days == (day(0), day(1))
        text = write_journal_entry(workspace, make_entry_options(workspace), day(0)).path.read_text()
        assert "tide reader number 0" in text
        assert "tide reader number 1" not in text
        assert "tricky" not in text


def test_where_the_journals_profile_remembers_sessions_too_its_memories_are_told(home, desk_at):
    days_of_work(home)
    with desk_at(home, profile="journal") as workspace:
        (done,) = write_all(workspace, [day(1)])
        text = done.path.read_text()
        assert "## Decisions" in text
        write_journal_entry(workspace, make_entry_options(workspace), day(1))
        assert done.path.read_text() == text


def test_what_is_forgotten_goes_out_of_the_entries_and_of_what_was_archived_of_them(journal_at, home):
    days_of_work(home)
    with journal_at() as workspace:
        done = write_all(workspace, [day(1), day(2)])
        found = [each for each in workspace.store.log.memories() if "tides.sqlite" in each.content and each.profile == "coding"]
        told = {each.id: each.profile for each in workspace.store.log.memories() if "tides.sqlite" in each.content}
        assert set(told.values()) == {"coding", "journal"}
        gone = forget(workspace, make_erasure_request(workspace, found))
        assert (gone.problems, gone.remains) == ((), ())
        assert set(gone.memories) == set(told)
        assert all("tides.sqlite" not in each.path.read_text() for each in done)
        assert "harbour page number 1" in done[0].path.read_text()
        assert not is_entry_edited(done[0].path.read_text())
        run_pipeline(workspace, [], RunOptions())
        assert workspace.store.archive.find_mentions("sqlite", DAWN) == ()
        assert not any("tides.sqlite" in each.content for each in workspace.store.log.memories())
        assert workspace.store.find_damage() == ()


# --- with a model


def author(ask):
    """Writes one paragraph about the first note and one that nothing carries; extracts nothing."""
    if ask.purpose in ("curate", "outdated"):
        return {"operations": []}
    if ask.purpose != "journal":
        notes = {kind: [] for kind in ("problems", "solutions", "decisions", "questions")}
        return {"hints": [], "memories": [], "notes": notes}
    first = next(line for line in ask.prompt.splitlines() if line.startswith("s1 "))
    words = first.partition("): ")[2]
    return {
        "paragraphs": [
            {"part": "worked", "text": words, "sources": ["s1"]},
            {"part": "decided", "text": "From now on everything is stored in `oracle.db` by decree.", "sources": ["s1"]},
        ]
    }


def with_model(workspace, answer=author):
    object.__setattr__(workspace, "llm", LlmClient(lambda: ScriptedModel(answer)))
    return workspace


def test_a_models_paragraph_stands_only_where_what_it_cites_carries_it(journal_at, home):
    days_of_work(home)
    with journal_at() as raw:
        workspace = with_model(raw)
        (done,) = write_all(workspace, [day(0)])
        assert done.state is EntryState.WRITTEN
        assert done.refused == 1
        assert "oracle.db" not in done.path.read_text()
        assert done.head is not None
        assert done.head.tokens[0] > 0


def test_a_models_sentence_that_repeats_a_memory_is_not_learnt_from_again(journal_at, home):
    say(home, "a", "We decided to keep the tide tables in `tides.sqlite` instead of CSV files.", day=day(0).isoformat())
    say(
        home,
        "b",
        "Please let the reader in `tides.py` cope with gauges that `tides.sqlite` lacks in winter, and draw the missing ones "
        "in grey.",
        day=day(1).isoformat(),
    )
    repeated = "We decided to keep the tide tables in `tides.sqlite` instead of CSV files."

    def answer(ask):
        if ask.purpose != "journal":
            return author(ask)
        notes = dict(line.split(" ", 1) for line in ask.prompt.splitlines() if re.match(r"s\d+ ", line))
        today = next(each.partition("): ")[2] for each in notes.values() if each.startswith("(worked"))
        return {"paragraphs": [{"part": "worked", "text": f"{today}. {repeated}", "sources": list(notes)}]}

    with journal_at() as raw:
        workspace = with_model(raw, answer)
        _, second = write_all(workspace, [day(0), day(1)])
        text = second.path.read_text()
        assert f"{repeated} ([{day(0).isoformat()}]" in text
        (thread,) = (each for each in workspace.store.archive.threads() if each.path == str(second.path))
        read = " ".join(each.text for each in workspace.store.archive.events(thread.id, 0, thread.events))
        assert "gauges" in read
        assert "CSV" not in read
        assert all(each.observations == 1 for each in workspace.store.log.memories() if "CSV" in each.content)


def test_one_question_is_asked_for_an_entry_and_none_for_a_day_done_before(journal_at, home):
    days_of_work(home)
    asked = []

    def answer(ask):
        asked.append(ask.purpose)
        return author(ask)

    with journal_at() as raw:
        workspace = with_model(raw, answer)
        write_all(workspace, [day(0)])
        assert asked.count("journal") == 1
        write_all(workspace, [day(0)])
        assert asked.count("journal") == 1


def test_an_unreadable_reply_writes_nothing_and_ends_the_backfill_there(journal_at, home):
    days_of_work(home)
    with journal_at() as raw:
        workspace = with_model(raw, lambda ask: "no json" if ask.purpose == "journal" else author(ask))
        run_pipeline(workspace, [], RunOptions())
        found = backfill_entries(workspace, make_entry_options(workspace), (day(0), day(1)), lambda _: None)
        assert [each.state for each in found] == [EntryState.FAILED]
        assert found[0].reason
        assert not found[0].path.exists()


def test_a_plan_tells_the_questions_that_a_backfill_then_asks(journal_at, home):
    days_of_work(home)
    asked = []

    def answer(ask):
        asked.append(ask.purpose)
        return author(ask)

    with journal_at() as raw:
        workspace = with_model(raw, answer)
        run_pipeline(workspace, [], RunOptions(model=False))
        work = make_entry_options(workspace)
        found = plan_backfill(workspace, work, day(0), day(4))
        assert asked == []
        assert found.days == (day(0), day(1), day(2))
        backfill_entries(workspace, work, found.days, lambda _: None)
        assert found.estimate is not None
        assert found.estimate.questions == pytest.approx(len(asked), rel=0.2)


# --- forms and settings


def test_a_users_own_template_is_followed_and_its_entries_are_not_learnt_from(journal_at, home):
    days_of_work(home)
    own = home / ".config" / "kept" / "templates" / "standup.md"
    own.parent.mkdir(parents=True)
    own.write_text("# Standup {{date}}\n\n## Did\n\n{{worked}}\n\n## Blocked\n\n{{open}}\n")
    with journal_at() as workspace:
        run_pipeline(workspace, [], RunOptions())
        done = write_journal_entry(workspace, make_entry_options(workspace, "standup"), day(0))
        text = done.path.read_text()
        assert "# Standup 2026-01-05" in text
        assert "## Did" in text
        assert "## Blocked" not in text
        run_pipeline(workspace, [done.path], RunOptions())
        assert journal_memories(workspace) == []


def test_an_unknown_template_is_named_with_those_there_are(journal_at, home):
    with journal_at() as workspace, pytest.raises(UsageError) as told:
        make_entry_options(workspace, "nothing")
    assert "weekly" in str(told.value)


def test_a_template_with_an_unknown_setting_is_refused(journal_at, home):
    own = home / ".config" / "kept" / "templates" / "odd.md"
    own.parent.mkdir(parents=True)
    own.write_text("---\nspam: yes\n---\n{{worked}}\n")
    with journal_at() as workspace, pytest.raises(ConfigError):
        make_entry_options(workspace, "odd")


def test_a_template_with_an_unknown_slot_is_refused_with_those_there_are(journal_at, home):
    own = home / ".config" / "kept" / "templates" / "odd.md"
    own.parent.mkdir(parents=True)
    own.write_text("# {{date}}\n\n## {{nope}}\n\n{{worked}}\n")
    with journal_at() as workspace, pytest.raises(ConfigError, match=r"unknown slot \{\{nope\}\}.*worked"):
        make_entry_options(workspace, "odd")


def test_entries_bring_the_journals_profile_to_work_without_a_second_copy_in_the_memory_file(journal_at, desk_at, home):
    days_of_work(home)
    with journal_at() as workspace:
        write_all(workspace, [day(0), day(1)])
    with desk_at(home) as workspace:
        assert "journal" in {each.id for each in workspace.profiles}
        run_pipeline(workspace, [], RunOptions())
        assert (home / ".claude" / "rules" / "memory.md").read_text().count("tides.sqlite") == 1


@pytest.mark.parametrize(
    ("name", "heading"),
    [("journal", "# 2026-01-05"), ("weekly", "# Week of"), ("release-notes", "# Changes,"), ("project-update", "# Update,")],
)
def test_every_form_that_comes_with_kept_gives_an_entry_of_its_own(journal_at, home, name, heading):
    days_of_work(home, 2)
    with journal_at() as workspace:
        run_pipeline(workspace, [], RunOptions())
        done = write_journal_entry(workspace, make_entry_options(workspace, name), day(0), day(1) if name != "journal" else None)
        text = done.path.read_text()
        assert heading in text
        assert "tides" in text
        assert "{{" not in text


def test_what_an_entry_says_too_vaguely_is_refused_and_listed_with_the_reason(journal_at, home):
    days_of_work(home, 1)
    with journal_at() as workspace:
        (done,) = write_all(workspace, [day(0)])
        vague, named = "We decided to do things better from now on.", "We decided to keep gauges in `gauges.toml`."
        done.path.write_text(f"{done.path.read_text()}\n## Decisions\n\n- {vague}\n- {named}\n")
        run_pipeline(workspace, [], RunOptions())
        reasons = {each.candidate.content: str(each.verdict) for each in refused_candidates(workspace)}
        assert any(text.startswith(vague[:30]) for text in reasons)
        assert any(each.content.startswith(named[:30]) for each in journal_memories(workspace))
        assert not any(each.content.startswith(vague[:30]) for each in journal_memories(workspace))


def test_the_heads_of_all_entries_tell_their_shares_by_day(journal_at, home):
    days_of_work(home)
    with journal_at() as workspace:
        write_all(workspace, [day(1), day(0)])
        assert [each.first for each in load_entry_heads(workspace)] == [day(0), day(1)]


def test_what_an_entry_says_of_its_project_is_one_memory_with_the_projects_and_stays_retired_with_it(home, desk_at):
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text('profile = "journal"\n')
    days_of_work(home)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = {each.id: each.content for each in journal_memories(workspace)}
        assert before
        write_all(workspace, [day(number) for number in range(3)])
        run_pipeline(workspace, [], RunOptions())
        assert {each.id: each.content for each in journal_memories(workspace)} == before
        first = min(before)
        person.retire(workspace, first)
        run_pipeline(workspace, [], RunOptions(force=True))
        assert before[first] not in {each.content for each in journal_memories(workspace)}
        shown = json.loads((home / "kept" / "journal.json").read_text())
        assert {one["id"] for several in shown.values() for one in several} == {each.id for each in journal_memories(workspace)}
