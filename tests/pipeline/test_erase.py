"""Erasing everywhere: one sentence in every kind of place that kept writes to, and none of it left; near copies only when
chosen.
"""

import ast
import json
import re
import sqlite3
import textwrap
from base64 import b64encode, encodebytes
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import date
from importlib import import_module
from pathlib import Path, PurePath
from urllib.parse import quote

import pytest

import kept
from cases import each_case
from clock import Clock
from kept.cli.dispatch import main
from kept.core.erasure import ErasureWords
from kept.core.errors import StoreError, UsageError
from kept.core.event import FORGOTTEN_MARK
from kept.core.memory import Status
from kept.core.spans import find_spans
from kept.core.summary import Passage, PassageForm
from kept.journal.feed_reading import collect_feeds
from kept.llm.replies import QuestionNote, ReplyCache
from kept.local.queue import log_hook_problem
from kept.memories import person
from kept.memories.backups import create_backup, make_daily_backup
from kept.memories.history import undo
from kept.paths import find_paths
from kept.pipeline.erase.files import entries_between
from kept.pipeline.erase.forget import (
    close_left,
    collect_words,
    erase_forgotten,
    find_erasure_places,
    forget,
    forget_opted_out,
    list_left,
    make_erasure_request,
)
from kept.pipeline.erase.holders import list_holders
from kept.pipeline.erase.proof import find_out_of_reach, find_remaining_words
from kept.pipeline.importing import import_file
from kept.pipeline.nightly import run_nightly
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import export_archive
from kept.pipeline.write_journal import make_entry_options, write_journal_entry
from kept.store.packing import unpack_text
from kept.store.sqlite import SqliteStore
from kept.store.traces import traces
from kept.workspace import open_workspace
from prepared import Prepared, open_at
from talking import converse, forget_ids, say

DAY = date(2026, 1, 5)
SAID = "Never deploy the harbour service on Fridays, because the tide crew is away."
NEAR = "Don't deploy the harbour service on a Friday, the tide crew is away."
ALIKE = "Never deploy the harbour service on Fridays: the tide crew is then away."
LOUD = "AS I SAID: NEVER **DEPLOY** THE HARBOUR SERVICE\non Fridays, because the `tide crew` is away!"
OTHER = "Never use pip in this repo, always use `uv sync` instead."
STATE = (".local", "share", "kept")


def words_in(text):
    return re.findall(r"\w+", re.sub(r"[*_`>]", "", re.sub(r"\\n", " ", text)).casefold())


def runs_of(text, size=6):
    words = words_in(text)
    return {" ".join(words[at : at + size]) for at in range(len(words) - size + 1)}


def decoded(path):
    """Everything in a file as text: rows and unpacked values of a database, and its bytes."""
    data = path.read_bytes()
    yield data.decode("utf-8", "ignore")
    if data.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(path)) as database:
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                for row in database.execute(f'SELECT * FROM "{table}"'):
                    for cell in row:
                        if isinstance(cell, bytes) and cell[:1] in (b"x", b"i"):
                            yield unpack_text(cell)
                        elif isinstance(cell, str):
                            yield cell


def holding(home, text=SAID):
    """The files of kept's below a home that hold a run of six words of a text."""
    wanted = runs_of(text)
    own = [path for path in home.rglob("*") if path.is_file() and "projects" not in path.parts and path.name != "feed.xml"]
    return [
        path
        for path in own
        if any(run in told for piece in decoded(path) for told in [" ".join(words_in(piece))] for run in wanted)
    ]


def fill(home, workspace_at):
    """Have the sentence stand in every kind of place of a home."""
    state = home.joinpath(*STATE)
    (home / ".config" / "kept").mkdir(parents=True)
    (home / ".config" / "kept" / "config.toml").write_text(
        f'[llm]\nrecording = "{home / "recording.jsonl"}"\n[[feed]]\nkind = "rss"\nname = "quay"\npath = "{home / "feed.xml"}"\n'
    )
    item = (
        "<item><title>News</title><guid>1</guid><description>{}</description><pubDate>Mon, 05 Jan 2026 09:30:00 "
        "GMT</pubDate></item>"
    )
    (home / "feed.xml").write_text(f"<rss><channel>{item.format(f'They say: {SAID}')}</channel></rss>")
    (home / "recording.jsonl").write_text(json.dumps({"key": "k", "text": json.dumps({"facts": [SAID]})}) + "\n")
    converse(
        home,
        "a",
        ("user", SAID),
        ("agent", f"Understood: {SAID} I will wait."),
        ("run", "cat notes.txt"),
        ("out", '{"notes": "one\\nNever deploy the harbour service\\non Fridays, because the tide crew is away."}'),
        ("user", LOUD),
        ("agent", "Yes."),
        ("user", OTHER),
        ("agent", f"Done. {NEAR}"),
    )
    say(home, "b", f"> {SAID}\n\nWhy did we say this?", OTHER, day="2026-01-06")
    with workspace_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        if not any(each.content == SAID for each in workspace.store.log.memories()):
            person.create_memory(workspace, SAID, "constraint")
        collect_feeds(workspace)
        write_journal_entry(workspace, make_entry_options(workspace), DAY)
        kept = person.create_memory(workspace, "The harbour service is deployed by the night crew on Mondays.", "decision")
        person.retire(workspace, kept.id, f"it contradicts “{SAID}”")
        at = workspace.clock()
        line = Passage(
            id="0a0b0c0d0e0f00",
            form=PassageForm.OWN,
            day=DAY,
            scope="user",
            thread=0,
            ordinal=0,
            at=at,
            kind="decisions",
            text=f"Decided: {SAID}",
            events=(),
        )
        workspace.store.days.save_passage(line)
        number = workspace.store.log.start_run("run", at)
        workspace.store.log.end_run(number, at, {"problems": [f"not written: {SAID}"]})
        with closing(ReplyCache(workspace.paths.replies)) as replies:
            replies.save_reply(QuestionNote(key="k", purpose="facts", version="1", schema={}), "m", {"facts": [SAID]}, at)
        make_daily_backup(workspace)
        create_backup(workspace, home / "by-hand.db")
        log_hook_problem(str(state), "2026-01-05T10:00:00Z", "prompt", f"could not say {SAID}")
        (state / "night.log").write_text(f"2026-01-05 read: FAILED: {SAID}\n")
        (state / "failures.json").write_text(json.dumps([["night read", "2026-01-05", SAID]]))
        (state / "aside").mkdir(exist_ok=True)
        (state / "aside" / "memory.md.1").write_text(f"# Memory\n- {SAID}\n")
        (state / "agents").mkdir()
        (state / "agents" / "x.jsonl").write_text(json.dumps({"text": f"so: {SAID}"}) + "\n")
        (state / "jobs").mkdir()
        (state / "jobs" / "q.md").write_text(f"# kept job\n{SAID}\n")
        memory_file = home / ".claude" / "rules" / "memory.md"
        memory_file.write_text(f"{memory_file.read_text()}\nMy own line: {SAID}\n")


class Full:
    """A home in which the sentence stands in every kind of place; opens a workspace there."""

    def __init__(self, factory):
        self._clock = Clock()
        self._made = Prepared(factory, lambda home: fill(home, self._workspace_at))
        self._after = self._clock.parse_moment

    def restored(self, patch):
        self.home, self._clock.parse_moment = self._made.again(patch), self._after
        return self

    def _workspace_at(self, home):
        env = {"HOME": str(home), "KEPT_EMBEDDINGS": "hashing"}
        return open_workspace(find_paths(str(home), env), zone="Europe/Berlin", clock=self._clock, env=env, also=("journal",))

    def __call__(self):
        return self._workspace_at(self.home)


@pytest.fixture(scope="module")
def full_once(tmp_path_factory):
    return Full(tmp_path_factory)


@pytest.fixture
def full(full_once, monkeypatch):
    return full_once.restored(monkeypatch)


def the_memory(workspace):
    return next(each for each in workspace.store.log.memories() if each.content.startswith("Never deploy"))


KINDS = {
    "the store",
    "backups",
    "the journal",
    "external sources",
    "what models replied",
    "the recording of a model",
    "what hooks left",
    "logs and notes of runs",
    "files put aside",
    "what agents observed",
    "questions for the user's own agent",
    "the files kept writes",
}


def test_one_sentence_in_every_kind_of_place_leaves_none(full):
    with full() as workspace:
        request = make_erasure_request(workspace, [the_memory(workspace)])
        found = [place for place in find_erasure_places(workspace, request) if not place.near]
        assert {place.holder for place in found} == KINDS
        turns = {place.where for place in found if place.where.startswith("a conversation")}
        assert {where.rpartition(", ")[2] for where in turns} == {"you", "the assistant", "a tool"}
        assert len(holding(full.home)) > 9
        gone = forget(workspace, request)
        assert (gone.problems, gone.remains) == ((), ())
        assert holding(full.home) == []
        assert workspace.store.find_damage() == ()
        assert workspace.store.log.memories()
        assert any(OTHER in each.content for each in workspace.store.log.memories())
        retired = next(each for each in workspace.store.log.memories() if "night crew" in each.content)
        assert retired.reason == "it contradicts “[forgotten].”"
        assert any("a.jsonl still says it" in told for told in gone.out_of_reach)
    for copy in (full.home / "by-hand.db", *full.home.joinpath(*STATE, "backups").glob("*.db")):
        with SqliteStore(copy) as store:
            assert store.find_damage() == ()
            assert any(OTHER in each.content for each in store.log.memories())


LINES = textwrap.wrap(SAID, 26)


def numbered(form):
    """The sentence on several lines, before each of which stands what a program puts there."""
    return "\n".join(["", *(form.format(number) + line for number, line in enumerate(LINES, 9))])


FORMS = {
    "the numbers of cat": numbered("{:6}\t"),
    "numbers and arrows": numbered("  {}→"),
    "numbers in brackets": numbered("[{}] "),
    "numbers and letters": numbered("L{}: "),
    "what grep puts before": numbered("docs/rules.md:{}:"),
    "what git blame puts before": numbered("^1a2b3c4d (anna 2026-01-05 10:00:00 +0000 {:3}) "),
    "times": numbered("2026-01-05T10:00:{:02}.123Z "),
    "two columns of numbers": numbered("| 1 | {:3} | "),
    "numbered lines in JSON": json.dumps({"out": numbered("  {}→") + "\n"}),
    "a link": "see https://tide.example/?q=" + quote(SAID) + "&n=1",
    "a link in a link": "see https://tide.example/?u=" + quote("https://a.example/?q=" + quote(SAID)),
    "letters of another alphabet": SAID.translate(str.maketrans("eoaN", "еоаΝ")),
    "base64": f"token\\n{b64encode(SAID.encode()).decode()} it was",
    "base64 behind a path": f"/mail/{b64encode(f'As I said: {SAID}'.encode()).decode()}",
    "base64 in lines": encodebytes(SAID.encode()).decode(),
    "long base64": b64encode(("The tide is low. " * 700 + SAID + " So it is." * 700).encode()).decode(),
}


@each_case("form", FORMS)
def test_words_in_other_signs_are_found_and_taken_out(form):
    words = ErasureWords(sentences=(SAID,))
    assert words.is_in_text(FORMS[form])
    left = words.remove_from(f"Before. {FORMS[form]} After.")
    assert not words.is_in_text(left)
    assert left.startswith("Before. ")
    assert left.endswith(" After.")


def test_the_letters_of_another_alphabet_are_forgotten_in_their_own_words_in_either_case():
    words = ErasureWords(sentences=("Никогда не выкладывай сервис гавани по пятницам",))
    assert words.is_in_text("НИКОГДА не выкладывай Сервис гавани ПО пятницам!")
    assert not words.is_in_text("Никогда не выкладывай сервис вокзала по пятницам")


def test_a_folder_that_is_named_like_the_words_is_told_and_nothing_else_remains(home, desk_at):
    folder = "Never-deploy-the-harbour-service-on-Fridays-because-the-tide-crew-is-away"
    say(home, folder, f"Remember: {SAID}")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        gone = forget(workspace, make_erasure_request(workspace, said=[SAID]))
        assert (gone.problems, gone.remains) == ((), ())
        assert [each for each in gone.out_of_reach if each.startswith(f"{folder} is the name of a folder or file")]
        workspace.store.log.end_run(
            workspace.store.log.start_run("run", workspace.clock()), workspace.clock(), {"problems": [SAID]}
        )
        assert find_remaining_words(workspace, make_erasure_request(workspace, said=[SAID]).words)


def test_what_was_forgotten_does_not_come_back_by_reading_importing_undoing_or_in_other_words(full):
    with full() as workspace:
        line = {"content": SAID, "category": "constraint", "profile": "coding"}
        (full.home / "memories.jsonl").write_text(json.dumps(line) + "\n" + json.dumps(line | {"content": ALIKE}) + "\n")
        number = the_memory(workspace).id
        forget_ids(workspace, [number])
        run_pipeline(workspace, [], RunOptions(force=True))
        assert import_file(workspace, full.home / "memories.jsonl").left_out["forgotten"] == 2
        (full.home / "memories.jsonl").unlink()
        with pytest.raises(UsageError, match="cannot be undone"):
            undo(workspace, next(str(head.id) for head in workspace.store.log.pass_heads() if head.stage == "forget"))
        collect_feeds(workspace)
        run_nightly(workspace)
        assert holding(full.home) == []
        assert not any("Never deploy" in each.content for each in workspace.store.log.memories() if each.id != number)


def test_a_memory_whose_line_was_reworded_by_hand_is_forgotten_in_both_wordings(home, desk_at):
    reworded = "On Fridays nobody may ship it since the sailors are on shore leave."
    say(home, "a", f"Remember that {OTHER}")
    with desk_at(home) as workspace:
        number = person.create_memory(workspace, SAID, "constraint").id
        run_pipeline(workspace, [], RunOptions())
        memory_file = home / ".claude" / "rules" / "memory.md"
        memory_file.write_text(memory_file.read_text().replace(SAID, reworded))
        forget_ids(workspace, [number])
        assert reworded not in memory_file.read_text()
    assert holding(home) == holding(home, reworded) == []


def test_a_quick_look_names_every_backup_without_reading_it(full, monkeypatch):
    monkeypatch.setattr("kept.pipeline.erase.store.traces", lambda *_: pytest.fail("a backup was read"))
    with full() as workspace:
        request = make_erasure_request(workspace, [the_memory(workspace)])
        found = find_erasure_places(workspace, request, quick=True)
    assert {"backups", "the store"} <= {place.holder for place in found}


def test_near_copies_are_shown_and_stay_unless_they_are_chosen(full):
    with full() as workspace:
        request = make_erasure_request(workspace, [the_memory(workspace)])
        near = [place for place in find_erasure_places(workspace, request) if place.near]
        assert any("Don't deploy the harbour service" in place.text for place in near)
        with pytest.raises(UsageError, match="no near copy"):
            forget(workspace, request, also=["ffffffff"])
        gone = forget(workspace, request, also=[place.id for place in near])
        assert (gone.near, gone.problems, gone.remains) == ((), (), ())
    assert holding(full.home, NEAR) == []


def test_a_near_copy_that_stays_keeps_the_proposal_it_was_made_of(home, desk_at):
    say(home, "a", "Always run lint before pushing to main.")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        proposals = list(workspace.store.log.all_judged_candidates())
        gone = forget(workspace, make_erasure_request(workspace, said=["Always run make lint before pushing to main."]))
        assert [place.text for place in gone.near] == [judged.candidate.content for judged in proposals]
        assert list(workspace.store.log.all_judged_candidates()) == proposals


def test_a_near_copy_that_is_a_memory_is_shown_as_the_memory_and_not_as_the_conversation_that_says_it(home, desk_at):
    say(
        home,
        "a",
        "Never name the client Gribblesnatch in a commit message.",
        "Never name the client Tromblefitz in a commit message.",
    )
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        memory = next(each for each in workspace.store.log.memories() if "Gribblesnatch" in each.content)
        other = next(each for each in workspace.store.log.memories() if "Tromblefitz" in each.content)
        near = [place for place in find_erasure_places(workspace, make_erasure_request(workspace, [memory])) if place.near]
    assert f"memory {other.id}" in [place.where for place in near]


def test_a_near_copy_that_the_memory_rests_on_is_a_near_copy_too(full):
    with full() as workspace:
        memory = the_memory(workspace)
        near = replace(memory.evidence[0], quote=NEAR, event="another")
        words = collect_words(workspace.store, [replace(memory, evidence=(*memory.evidence, near))])
        assert words.is_in_text(SAID)
        assert not words.is_in_text(NEAR)
        assert list(words.find_near_copies(NEAR)) == [NEAR]
        assert "another" not in words.quotes


def test_what_else_a_memory_rests_on_goes_with_it_in_its_own_words(full):
    with full() as workspace:
        memory = the_memory(workspace)
        other = replace(memory.evidence[0], quote="The crew of the tug sleeps from four to nine.", event="another")
        words = collect_words(workspace.store, [replace(memory, evidence=(*memory.evidence, other))])
    assert words.quotes["another"] == (other.quote,)


def test_a_question_for_the_persons_own_agent_goes_whole_where_it_holds_the_words(full):
    jobs = full.home.joinpath(*STATE, "jobs")
    jobs.mkdir(exist_ok=True)
    held, other = jobs / "held.json", jobs / "other.json"
    held.write_text(json.dumps({"prompt": f"Read this: {SAID}"}))
    other.write_text(json.dumps({"prompt": "Read this: the boats leave at noon."}))
    with full() as workspace:
        forget(workspace, make_erasure_request(workspace, [the_memory(workspace)]))
    assert (held.exists(), other.exists()) == (False, True)


def test_settings_of_the_persons_own_that_say_it_are_named_and_no_others(full):
    mine = full.home / ".config" / "kept" / "mine.toml"
    mine.write_text(f"# {SAID}\n")
    with full() as workspace:
        gone = forget(workspace, make_erasure_request(workspace, [the_memory(workspace)]))
    assert [each for each in gone.out_of_reach if "your own settings" in each] == [f"{mine} still says it: your own settings"]


def test_a_copy_of_kepts_own_that_is_gone_is_not_named_and_no_working_copy_is_left(full):
    with full() as workspace:
        pruned = create_backup(workspace, workspace.paths.backups / "kept-2025-01-01.db")
        pruned.unlink()
        gone = forget(workspace, make_erasure_request(workspace, [the_memory(workspace)]))
        assert [each for each in gone.out_of_reach if "not there now" in each] == []
        assert not (workspace.paths.state / "erasing").exists()


def test_a_copy_of_kepts_own_that_cannot_be_rewritten_goes_and_a_persons_stays_and_is_told(full, monkeypatch):
    def refuse(*_):
        raise StoreError("no")

    with full() as workspace:
        theirs, own = create_backup(workspace, full.home / "theirs.db"), workspace.paths.backups / "kept-2025-01-01.db"
        create_backup(workspace, own)
        monkeypatch.setattr("kept.pipeline.erase.store.make_working_copy", refuse)
        gone = forget(workspace, make_erasure_request(workspace, [the_memory(workspace)]))
    assert (theirs.exists(), own.exists()) == (True, False)
    assert any(str(theirs) in problem and "not:" in problem for problem in gone.problems)


def test_what_rests_on_a_session_that_is_left_out_goes_also_where_nothing_of_it_was_erased_just_now(full):
    with full() as workspace:
        assert forget_opted_out(workspace, {"unheard"}, erased=0) == ()
        the_memory(workspace)
        assert forget_opted_out(workspace, {each.session for each in the_memory(workspace).evidence}, erased=0) == ()
        assert the_memory_is_gone(workspace)


def test_a_view_that_somebody_edited_is_without_the_words_too(full):
    with full() as workspace:
        view = full.home / "kept" / "journal.json"
        view.write_text(json.dumps(json.loads(view.read_text()) | {"mine": SAID, "other": "Rain."}))
        forget(workspace, make_erasure_request(workspace, [the_memory(workspace)]))
    left = json.loads(view.read_text())
    assert (left.get("mine"), left.get("other", "Rain.")) in (("[forgotten]", "Rain."), (None, "Rain."))


def test_an_entry_that_a_person_edited_keeps_the_sentences_beside_the_one_that_is_forgotten(full):
    with full() as workspace:
        entry = next((full.home / "journal").rglob(f"{DAY}.md"))
        entry.write_text(f"{entry.read_text()}\nSaw Ines at the lake. {SAID} Then home by bus.\n")
        forget(workspace, make_erasure_request(workspace, [the_memory(workspace)]))
    assert SAID not in entry.read_text()
    assert "Saw Ines at the lake. [forgotten]. Then home by bus." in entry.read_text()


def test_a_span_of_time_is_forgotten_by_its_turns_and_no_session_whole_and_goes_out_of_entries(home, desk_at):
    say(home, "one-session", "Tell the pilots that the tide gauge key hangs behind the blue lantern.", OTHER, day="2026-01-05")
    with desk_at(home, also=("journal",)) as workspace:
        run_pipeline(workspace, [], RunOptions())
        write_journal_entry(workspace, make_entry_options(workspace), DAY)
        entry = next((home / "journal").rglob(f"{DAY}.md"))
        assert "behind the blue lantern" in entry.read_text()
        request = make_erasure_request(workspace, until=workspace.day_bounds(date(2026, 1, 6))[1])
        assert (request.words.sessions, len(request.words.events) > 0) == (frozenset(), True)
        forget(workspace, request)
    assert "behind the blue lantern" not in entry.read_text()


def test_what_another_machine_forgot_is_erased_here_and_nothing_where_it_forgot_nothing(full):
    with full() as workspace:
        assert erase_forgotten(workspace, ()) == ()
        assert the_memory(workspace)
        assert erase_forgotten(workspace, [the_memory(workspace)]) == ()
        assert the_memory_is_gone(workspace)


def test_a_backup_forgets_a_session_that_is_left_out_though_no_memory_rests_on_it(full):
    said = "Why does the crane inspector come on the second Tuesday only?"
    say(full.home, "asked", said, day="2026-01-09")
    with full() as workspace:
        run_pipeline(workspace, [], RunOptions())
        copy = create_backup(workspace, full.home / "mine.db")
        erased = sum(workspace.store.archive.opt_out(each.session, each.path) for each in workspace.store.archive.threads())
        assert forget_opted_out(workspace, {"asked"}, erased=erased) == ()
    assert [path for path in holding(full.home, said) if path == copy] == []


@pytest.mark.parametrize(("shown", "stays"), [(SAID, False), (OTHER, True)])
def test_the_home_of_the_sample_goes_whole_where_it_holds_the_words(full, shown, stays):
    sample = full.home.joinpath(*STATE, "sample-home", "notes.md")
    sample.parent.mkdir()
    sample.write_text(shown)
    with full() as workspace:
        gone = forget(workspace, make_erasure_request(workspace, [the_memory(workspace)]))
        assert gone.places["the bundled sample"] == (not stays)
    assert sample.parent.exists() is stays


def test_a_sentence_that_never_was_a_memory_is_forgotten_by_its_words(full):
    say(full.home, "c", "The vault code of the lighthouse is under the third blue mat.", day="2026-01-07")
    with full() as workspace:
        run_pipeline(workspace, [], RunOptions())
        said = "the vault code of the lighthouse is under the third blue mat"
        gone = forget(workspace, make_erasure_request(workspace, said=[said]))
        assert (gone.problems, gone.remains) == ((), ())
        assert holding(full.home, said) == []
        assert workspace.store.find_damage() == ()
        assert forget(workspace, make_erasure_request(workspace, said=[said])).places.total() == 0
        say(full.home, "d", f"Remember that {said}.", day="2026-01-08")
        run_pipeline(workspace, [], RunOptions())
        assert [each.content for each in workspace.store.log.memories() if "vault code" in each.content] == []


@pytest.mark.parametrize("said", ["all tests must run with `--slow`", "From now on all tests must run with `--slow`."])
def test_what_is_left_around_forgotten_words_is_the_persons_own_and_becomes_no_memory(home, desk_at, said):
    say(home, "c", "From now on all tests must run with `--slow`.")
    say(home, "d", "In this repo all tests must run with `--slow`, always.")
    say(home, "e", "From now on all tests must run with `--slow`. We always deploy on Tuesdays.")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert forget(workspace, make_erasure_request(workspace, said=[said])).remains == ()
        run_pipeline(workspace, [], RunOptions(force=True))
        left = [each for each in workspace.store.log.memories() if each.content and each.status in (Status.ACTIVE, Status.HELD)]
        assert [each.content for each in left] == ["We always deploy on Tuesdays."]
        archive = workspace.store.archive
        texts = [event.text for thread in archive.threads() for event in archive.events(thread.id, 0, thread.events)]
        assert not [text for text in texts if "slow" in text]
        assert all(span.is_typed for text in texts for span in find_spans(text))


def test_words_that_nothing_held_are_in_no_file_after_they_are_forgotten(home, desk_at):
    with desk_at(home) as workspace:
        gone = forget(workspace, make_erasure_request(workspace, said=["Xylophonist"]))
        assert (gone.places.total(), gone.remains) == (0, ())
    files = [path for path in home.rglob("*") if path.is_file()]
    assert [path for path in files if b"xylophonist" in path.read_bytes().lower()] == []


def test_the_proof_sees_a_word_in_the_full_text_index(home, desk_at):
    with desk_at(home) as workspace:
        with closing(sqlite3.connect(workspace.paths.store)) as database, database:
            database.execute("INSERT INTO memory_index (rowid, words) VALUES (9, 'Xylophonist')")
        found = find_remaining_words(workspace, ErasureWords(sentences=("Xylophonist",)))
        assert f"{workspace.paths.store} (table memory_index_data)" in found


def test_what_is_to_be_forgotten_in_a_later_session_is_retired_and_no_evidence(home, desk_at):
    say(home, "a", "From now on all tests must run with `--slow`.", day="2026-01-05")
    say(home, "b", "Forget that all tests must run with `--slow`.", day="2026-01-06")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        (memory,) = workspace.store.log.memories()
        assert memory.status is Status.RETIRED
        assert [each.session for each in memory.evidence] == ["a"]


@pytest.mark.parametrize("request_to_forget", ["Forget what I said about hazelnuts.", "Forget my hazelnut allergy."])
def test_a_request_that_took_it_back_is_forgotten_with_it(home, desk_at, request_to_forget):
    say(home, "a", "Remember that I am allergic to hazelnuts.", day="2026-01-05")
    say(home, "b", request_to_forget, day="2026-01-06")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        for memory in workspace.store.log.memories():
            assert forget(workspace, make_erasure_request(workspace, [memory])).remains == ()
        files = [path for path in workspace.paths.state.rglob("*") if path.is_file()]
        assert [path for path in files if b"hazelnut" in path.read_bytes().lower()] == []


def test_the_proof_names_what_a_holder_forgot(full):
    with full() as workspace:
        words = ErasureWords(sentences=(SAID,))
        forget_ids(workspace, [the_memory(workspace).id])
        assert find_remaining_words(workspace, words) == ()
        left = full.home.joinpath(*STATE, "left.txt")
        left.write_text(f"x {LOUD}")
        assert find_remaining_words(workspace, words) == (f"{left} (bytes)",)
        workspace.store.log.start_run(f"planted: {SAID}", workspace.clock())
        assert f"{workspace.paths.store} (table runs)" in find_remaining_words(workspace, words)


def test_a_holder_that_refuses_is_told_and_the_others_erase(full, monkeypatch):
    with full() as workspace:
        request = make_erasure_request(workspace, [the_memory(workspace)])
        log = full.home.joinpath(*STATE, "night.log")
        log.unlink()
        log.symlink_to(full.home / "elsewhere.log")
        (full.home / "elsewhere.log").write_text(SAID)
        (full.home / "recording.jsonl").chmod(0o600)
        monkeypatch.setattr("kept.pipeline.erase.files.remove_recorded_replies", _refuse)
        gone = forget(workspace, request)
        assert any("the recording of a model" in problem for problem in gone.problems)
        assert gone.remains == (f"{full.home / 'recording.jsonl'} (bytes)",)
        assert the_memory_is_gone(workspace)
    assert (full.home / "elsewhere.log").read_text() == SAID


def _refuse(text, sessions, tells):
    from kept.core.errors import ConfigError  # noqa: PLC0415

    if any(tells(line) for line in text.splitlines()):
        raise ConfigError("no")
    return text, 0


def the_memory_is_gone(workspace):
    return not any(each.content.startswith("Never deploy") for each in workspace.store.log.memories())


@pytest.fixture
def unpackings(monkeypatch):
    """The blocks that were unpacked to look for words, by their bytes."""
    counted = Counter()

    def counting(body):
        counted[bytes(body)] += 1
        return unpack_text(body)

    monkeypatch.setattr("kept.store.archive.blocks.unpack_text", counting)
    monkeypatch.setattr("kept.store.traces.unpack_text", counting)
    return counted


def test_a_search_index_that_cannot_be_written_is_told_and_the_proof_still_runs(full, monkeypatch):
    def refuse(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kept.pipeline.erase.forget.drop_stale_vectors", refuse)
    with full() as workspace:
        gone = forget(workspace, make_erasure_request(workspace, [the_memory(workspace)]))
    assert any("the search index" in each and "No space left" in each for each in gone.problems)


def test_a_block_is_unpacked_once_in_the_search_the_erasing_the_backups_and_the_proof(home, desk_at, unpackings, monkeypatch):
    monkeypatch.setattr("kept.store.archive.turns.BLOCK_EVENTS", 4)
    for number in range(10):
        say(home, f"s{number}", SAID if number == 5 else f"The crane number {number} is blue.", *["Go on."] * 6)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        make_daily_backup(workspace)
        for name in ("one", "two"):
            create_backup(workspace, home / f"{name}.db")
        blocks = blocks_of(workspace.paths.store)
        assert len(blocks) > 10
        request = make_erasure_request(workspace, [the_memory(workspace)])
        find_erasure_places(workspace, request)
        before = len(blocks & unpackings.keys())
        gone = forget(workspace, request)
        assert (gone.problems, gone.remains, before) == ((), (), len(blocks))
        holding_it = {body for body in blocks if unpackings[body] > 1}
        assert len(holding_it) == 1, "only a block in which the words stand is looked at closely, in each copy"
        assert [unpackings[body] for body in blocks_of(workspace.paths.store) - blocks] == [1], "the proof reads what was rewritten"


def blocks_of(path):
    """The packed blocks of a store."""
    with closing(sqlite3.connect(path)) as database:
        return {row[0] for row in database.execute("SELECT body FROM blocks")}


def test_near_copies_are_looked_for_in_what_was_said_and_not_in_what_tools_printed(home, desk_at):
    converse(
        home,
        "a",
        ("user", SAID),
        ("run", "cat notes.txt"),
        ("out", NEAR),
        ("agent", "Done."),
        ("user", "Go on."),
        ("agent", "Yes."),
    )
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        found = find_erasure_places(workspace, make_erasure_request(workspace, said=[SAID]))
        assert not [place for place in found if place.near]
        assert any(place.where.startswith("a conversation") for place in found)
        printed = find_erasure_places(workspace, make_erasure_request(workspace, said=[NEAR]))
        assert any(place.where.endswith("a tool") and not place.near for place in printed)


def unclaimed(workspace):
    """The files below the state folder that no holder answers for."""
    claims = [claim for holder in list_holders(workspace) for claim in holder.claims]
    state = workspace.paths.state
    found = (path for path in sorted(state.rglob("*")) if not path.is_dir())
    return tuple(path for path in found if not claimed(path.relative_to(state), claims))


def claimed(path, claims):
    return any(
        path.as_posix().startswith(claim.removesuffix("**/*"))
        if claim.endswith("**/*")
        else len(path.parts) == len(PurePath(claim).parts) and path.match(claim)
        for claim in claims
    )


def test_every_file_below_the_state_folder_has_a_holder(full):
    with full() as workspace:
        run_nightly(workspace)
        assert unclaimed(workspace) == ()
        names = [holder.name for holder in list_holders(workspace)]
        assert len(set(names)) == len(names)
        (full.home.joinpath(*STATE) / "diary.txt").write_text("new")
        (full.home.joinpath(*STATE) / "new").mkdir()
        (full.home.joinpath(*STATE) / "new" / "night.log").write_text("new")
        assert [path.name for path in unclaimed(workspace)] == ["diary.txt", "night.log"]


def names_in_code():
    """The names that the code joins to the state folder (``….state / NAME``), each with its module."""
    root = Path(kept.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if "state / " not in (text := path.read_text()):
            continue
        module = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.BinOp(left=ast.Attribute(attr="state") | ast.Name(id="state"), op=ast.Div(), right=right):
                    yield module, eval(ast.unparse(right), vars(import_module(module)))


def test_every_name_that_the_code_joins_to_the_state_folder_has_a_holder(home, desk_at):
    names = set(names_in_code())
    assert ("kept.intake.project_evidence", "first_commits.json") in names
    assert ("kept.intake.survey", "unread.json") in names
    with desk_at(home) as workspace:
        for module, name in sorted(names):
            claims = [claim for holder in list_holders(workspace) for claim in holder.claims]
            assert any(PurePath(PurePath(claim).parts[0]).match(name) or PurePath(name).match(claim) for claim in claims), (
                module,
                name,
            )


@pytest.fixture
def two_projects(home, desk_at, prepared_projects):
    """Opens a home with two projects and a session on each of two days."""
    return lambda: desk_at(home)


def tell_two_projects(home):
    say(home, "one-session", SAID, OTHER, cwd="/x/harbor", day="2026-01-05")
    say(home, "two-session", "We decided to paint the lighthouse in red stripes.", cwd="/x/lighthouse", day="2026-01-05")
    say(home, "three-session", "The crane inspector only comes on the second Tuesday.", cwd="/x/harbor", day="2026-01-09")
    with open_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        make_daily_backup(workspace)


@pytest.fixture(scope="module")
def prepared_projects(tmp_path_factory):
    return Prepared(tmp_path_factory, tell_two_projects)


def test_a_span_forgotten_whole_takes_its_quotes_from_memories_that_stay(home, desk_at):
    rule = "Never use pip in this repo, always use `uv sync` instead."
    say(home, "one-session", rule, day="2026-01-05")
    say(home, "two-session", f"Remember: {rule}", day="2026-01-09")
    with desk_at(home, also=("journal",)) as workspace:
        run_pipeline(workspace, [], RunOptions())
        write_journal_entry(workspace, make_entry_options(workspace), date(2026, 1, 9))
        write_journal_entry(workspace, make_entry_options(workspace), DAY)
        memory = next(each for each in workspace.store.log.memories() if "uv sync" in each.content)
        assert {quote.at.day for quote in memory.evidence} == {5, 9}
        request = make_erasure_request(workspace, since=workspace.day_bounds(date(2026, 1, 8))[0])
        assert memory.id not in {each.id for each in request.memories}
        assert any(place.where == f"what memory {memory.id} rests on" for place in find_erasure_places(workspace, request))
        gone = forget(workspace, request)
        after = workspace.store.log.memory(memory.id)
        assert after.content == memory.content
        assert {quote.at.day: quote.quote == "[forgotten]" for quote in after.evidence} == {5: False, 9: True}
        assert workspace.store.find_damage() == ()
        assert [path for told in gone.out_of_reach if "journal entry" in told for path in re.findall(r"[\d-]+(?=\.md)", told)] == [
            "2026-01-09"
        ]
        assert not [place for place in find_erasure_places(workspace, request) if place.where.startswith("what memory")]


def test_entries_of_a_span_are_those_with_a_day_in_it_and_of_a_span_open_at_one_end_no_session_goes_whole(two_projects):
    with two_projects() as workspace:
        early, late = DAY, date(2026, 1, 9)
        for day in (early, late):
            write_journal_entry(workspace, make_entry_options(workspace), day)
        between, last = (workspace.day_bounds(date(2026, 1, day))[0] for day in (7, 9))
        for start, end, days in (
            *((None, between, {early}), (between, None, {late}), (None, None, {early, late})),
            *((between, between, set()), (last, last, {late})),
        ):
            assert {path.stem for path in entries_between(workspace, [(start, end)])} == {f"{day}" for day in days}, (start, end)
        for span in ({"since": between}, {"until": between}):
            request = make_erasure_request(workspace, **span)
            assert request.words.events, span
            assert request.words.sessions == frozenset(), span


def test_a_session_that_is_forgotten_leaves_none_of_its_sentences_in_the_journal(home, desk_at):
    say(home, "one-session", "Tell the pilots that the tide gauge key hangs behind the blue lantern.", OTHER, day="2026-01-05")
    say(home, "two-session", "Why does the crane inspector come on the second Tuesday only?", day="2026-01-05")
    with desk_at(home, also=("journal",)) as workspace:
        run_pipeline(workspace, [], RunOptions())
        write_journal_entry(workspace, make_entry_options(workspace), DAY)
        entry = next((home / "journal").rglob(f"{DAY}.md"))
        assert "behind the blue lantern" in entry.read_text()
        gone = forget(workspace, make_erasure_request(workspace, source="one-session"))
        assert any("one-session.jsonl still contains the session" in told for told in gone.out_of_reach)
    assert "behind the blue lantern" not in entry.read_text()
    assert "crane inspector" in entry.read_text()


def test_what_an_archived_entry_repeats_of_a_session_goes_with_the_session_and_the_rest_of_the_entry_stays(home, desk_at):
    say(home, "one-session", "Why does the tide gauge key hang behind the blue lantern on Sundays?", OTHER, day="2026-01-05")
    say(home, "two-session", "Why does the crane inspector come on the second Tuesday only?", day="2026-01-05")
    with desk_at(home, also=("journal",)) as workspace:
        run_pipeline(workspace, [], RunOptions())
        write_journal_entry(workspace, make_entry_options(workspace), DAY)
        run_pipeline(workspace, [], RunOptions())
        made = create_backup(workspace, home / "made.db")
        gone = forget(workspace, make_erasure_request(workspace, source="one-session"))
        assert (gone.remains, gone.problems) == ((), ())
        assert workspace.store.find_damage() == ()
    for path in (workspace.paths.store, made):
        with SqliteStore(path) as store:
            texts = [event.text for each in store.archive.threads() for event in store.archive.events(each.id, 0, each.events)]
            texts += [text for _, text in store.log.stored_texts()]
        assert not any("blue lantern" in text for text in texts)
        assert any("crane inspector" in text and FORGOTTEN_MARK in text for text in texts)


def test_a_note_of_the_persons_own_in_the_folder_of_the_journal_is_out_of_reach_and_no_failure(home, desk_at):
    note = home / "journal" / "2026-01-03.md"
    note.parent.mkdir()
    note.write_text(f"# 2026-01-03\n\n{SAID}\n")
    (other := note.with_name("2026-01-02.md")).write_text("# 2026-01-02\n\nRain.\n")
    say(home, "one-session", SAID, day="2026-01-05")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        gone = forget(workspace, make_erasure_request(workspace, said=[SAID]))
        assert (gone.remains, gone.problems) == ((), ())
        assert sum(str(note) in told for told in gone.out_of_reach) == 1
        assert not any(str(other) in told for told in gone.out_of_reach)
        assert all(run.ended_at for run in workspace.store.log.runs())
    assert SAID in note.read_text()


def test_an_export_that_kept_wrote_is_named_unless_it_is_gone(home, desk_at, capsys):
    say(home, "one-session", SAID, day="2026-01-05")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        export_archive(workspace, home / "all.jsonl.gz")
        export_archive(workspace, home / "gone.jsonl.gz")
        (home / "gone.jsonl.gz").unlink()
    with pytest.raises(SystemExit):
        main(["--home", str(home), "export", "--output", str(home / "out.md"), "--format", "md"])
    capsys.readouterr()
    with desk_at(home) as workspace:
        gone = forget(workspace, make_erasure_request(workspace, [the_memory(workspace)]))
        for name in ("all.jsonl.gz", "out.md"):
            assert any(told.startswith(f"{home / name} still says it") for told in gone.out_of_reach), gone.out_of_reach
        assert not [told for told in gone.out_of_reach if "gone.jsonl.gz" in told]


def test_what_forgetting_left_is_listed_until_a_person_closes_it(home, desk_at):
    say(home, "one-session", SAID, day="2026-01-05")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        gone = forget(workspace, make_erasure_request(workspace, said=[SAID]))
        assert gone.out_of_reach
        ((run, left),) = list_left(workspace).items()
        assert tuple(left) == gone.out_of_reach
        close_left(workspace, run)
        assert list_left(workspace) == {}


WHOLE = {
    "session": ({"source": "one-session"}, (SAID, OTHER), ("crane inspector", "red stripes")),
    "source": ({"source": "claude-code"}, (SAID, OTHER, "paint the lighthouse in red stripes"), ()),
    "project": ({"project": "harbor"}, (SAID, OTHER, "crane inspector only comes on the second"), ("red stripes",)),
    "span": ({"since": date(2026, 1, 8)}, ("crane inspector only comes on the second",), ("tide crew", "red stripes")),
    "span to": ({"until": date(2026, 1, 6)}, (SAID, "paint the lighthouse in red stripes"), ("crane inspector",)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_session_a_project_and_a_span_of_time_are_forgotten_whole(two_projects, home, name):
    asked, gone, left = WHOLE[name]
    with two_projects() as workspace:
        if "project" in asked:
            asked = {"project": workspace.find_scope(asked["project"])}
        if "since" in asked:
            asked = {"since": workspace.day_bounds(asked["since"])[0]}
        if "until" in asked:
            asked = {"until": workspace.day_bounds(asked["until"])[1]}
        done = forget(workspace, make_erasure_request(workspace, **asked))
        assert (done.problems, done.remains) == ((), ())
        run_pipeline(workspace, [], RunOptions(force=True))
        assert workspace.store.find_damage() == ()
        texts = [
            event.text
            for thread in workspace.store.archive.threads()
            for event in workspace.store.archive.events(thread.id, 0, thread.events)
        ]
        for words in left:
            assert any(words in text for text in texts), words
    for words in gone:
        assert holding(home, words) == [], words


def test_a_holder_of_files_erases_as_many_places_as_it_finds_and_then_none(full):
    with full() as workspace:
        words = make_erasure_request(workspace, [the_memory(workspace)]).words
        wanted = {"what hooks left", "logs and notes of runs", "files put aside", "what agents observed", "what models replied"}
        holders = [each for each in list_holders(workspace) if each.name in wanted]
        assert {each.name for each in holders} == wanted
        for holder in holders:
            found = len([place for place in holder.find(words) if not place.near])
            assert (holder.erase(words), holder.erase(words), list(holder.find(words))) == (found, 0, []), holder.name
            assert found


def test_of_transcripts_those_are_named_that_still_say_it_and_no_others(home, desk_at):
    says, other = say(home, "a", SAID), say(home, "b", OTHER)
    with desk_at(home) as workspace:
        words = ErasureWords(sentences=(SAID,))
        told = list(find_out_of_reach(workspace, words, [str(says), str(other), str(home / "gone.jsonl")]))
        assert told == [f"{says} still says it: the file belongs to another program"]


def test_every_run_that_forgets_words_comes_to_its_end(home, desk_at):
    say(home, "a", SAID)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        forget(workspace, make_erasure_request(workspace, said=["Wombats sleep in crate number five."]))
        assert [run.command for run in workspace.store.log.runs() if run.ended_at is None] == []
        assert [run.command for run in workspace.store.log.runs()].count("forget") == 2


def test_whoever_asks_for_one_place_is_told_before_the_rest_of_a_file_is_read(tmp_path, monkeypatch):
    path = tmp_path / "copy.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE told (said TEXT); CREATE TABLE others (said TEXT);")
        database.execute("INSERT INTO told VALUES ('The keeper sleeps on every Tuesday night.')")
        database.executemany("INSERT INTO others VALUES (?)", [("nothing of it",)] * 10)
        database.commit()
    looked = []
    words = ErasureWords(sentences=("The keeper sleeps on every Tuesday night.",))
    look = ErasureWords.may_be_in_packed
    monkeypatch.setattr(ErasureWords, "may_be_in_packed", lambda self, *given: looked.append(given) or look(self, *given))
    assert next(traces(path, words)) == "table told"
    assert len(looked) == 1
    assert list(traces(path, words)) == ["table told", "bytes"]


def test_words_between_long_runs_of_empty_bytes_are_found(tmp_path):
    path = tmp_path / "copy"
    said = b"The keeper sleeps on every <b>Tuesday</b> night."
    path.write_bytes(bytes(9_000).join((b"<a", said[:20] + bytes(300) + said[20:], b"<b>")))
    words = ErasureWords(sentences=("The keeper sleeps on every Tuesday night.",))
    assert list(traces(path, words)) == ["bytes"]
    path.write_bytes(bytes(9_000).join((b"<a", said[:20], b"<b>")))
    assert list(traces(path, words)) == []


def test_a_memory_of_another_client_stays_when_that_of_one_is_forgotten_and_all_is_judged_again(desk_at, home):
    vault = "From now on the vault of client {} is opened by Anna in Oslo alone."
    say(home, "a", vault.format("Gribblesnatch"), vault.format("Tromblefitz"))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        forget_ids(workspace, [memory.id for memory in workspace.store.log.memories() if "Gribble" in memory.content])
        run_pipeline(workspace, [], RunOptions(force=True))
        left = [(memory.content, memory.status) for memory in workspace.store.log.memories() if memory.content]
        assert left == [(vault.format("Tromblefitz"), Status.ACTIVE)]
