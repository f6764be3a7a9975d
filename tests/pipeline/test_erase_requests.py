"""What a request to forget covers, where its words are shown to stand, and what the report counts of it."""

import json
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta

import pytest

from kept.core.document import Line
from kept.core.erasure import ErasureWords
from kept.core.errors import BusyError, KeptError, StoreError, UsageError
from kept.core.event import Origin
from kept.core.memory import Actor, Evidence, Memory, Status
from kept.core.operation import Add
from kept.core.summary import Passage, PassageForm
from kept.journal.feed_reading import collect_feeds
from kept.llm.replies import QuestionNote, ReplyCache
from kept.local.files import hold_lock
from kept.memories import person
from kept.memories.history import undo
from kept.pipeline.erase.files import ReplyFile
from kept.pipeline.erase.forget import (
    close_left,
    collect_words,
    erase_forgotten,
    find_erasure_places,
    forget,
    forget_opted_out,
    list_left,
    make_erasure_request,
    make_retention_request,
    preview_out_of_reach,
)
from kept.pipeline.erase.store import StoreHolder
from kept.pipeline.run import RunOptions, run_pipeline
from kept.store.values import Draft, Output
from talking import converse, forget_ids, say

SAID = "Never deploy the harbour service on Fridays, because the tide crew is away."
NEAR = "Don't deploy the harbour service on a Friday, the tide crew is away."
OTHER = "Never use pip in this repo, always use `uv sync` instead."
CRANE = "Always write dates of the crane as ISO 8601 in UTC."
WORDS = ErasureWords(sentences=(SAID,))


def cite(quote, event="e", session="s", path="/x/s.jsonl"):
    return Evidence(quote=quote, event=event, session=session, path=path, at=None, author="human", origin=Origin.USER)


def remember(workspace, number, content, *evidence, owned=False):
    """Add a memory with this evidence; returns it."""
    now = workspace.clock()
    value = Memory(
        id=number,
        profile="coding",
        category="constraint",
        scope="user",
        status=Status.ACTIVE,
        content=content,
        confidence=1.0,
        origin=Origin.USER,
        first_seen=now,
        last_seen=now,
        evidence=evidence,
        owned=owned,
    )
    run = workspace.store.log.start_run("import", now)
    add = Add(memory=number, at=now, reason="told", value=value)
    draft = Draft(run=run, stage="import", subject="", actor=Actor.PERSON, recorded_at=now, operations=(add,))
    workspace.store.log.commit(draft)
    workspace.store.log.end_run(run, now, {})
    return workspace.store.log.memory(number)


def contents(workspace):
    return {memory.content for memory in workspace.store.log.memories() if memory.content}


@pytest.fixture
def two_projects(home, desk_at):
    """Two sessions of one project and one of another, read; yields the workspace."""
    say(home, "one-session", f"Remember: {SAID}", day="2026-01-05")
    say(home, "two-session", f"Remember: {CRANE}", cwd="/x/dam", day="2026-01-06")
    say(home, "six-session", f"Remember: {OTHER}", day="2026-01-09")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        yield workspace


COVERED = {  # what is asked for; the memories, the sessions it is about, and those that are forgotten whole
    "source": ({"source": "one-session"}, {SAID}, {"one-session"}, True),
    "beginning of a source": ({"source": "one-sess"}, {SAID}, {"one-session"}, True),
    "project": ({"project": "harbor"}, {SAID, OTHER}, {"one-session", "six-session"}, True),
    "since": ({"since": 6}, {CRANE, OTHER}, {"two-session", "six-session"}, False),
    "until": ({"until": 6}, {SAID}, {"one-session"}, False),
    "span": ({"since": 6, "until": 7}, {CRANE}, {"two-session"}, False),
    "project and span": ({"project": "harbor", "since": 6}, {OTHER}, {"six-session"}, False),
    "source and span": ({"source": "one-session", "until": 9}, {SAID}, {"one-session"}, False),
    "nothing known": ({"source": "elsewhere"}, set(), set(), False),
}


@pytest.mark.parametrize("name", COVERED)
def test_a_request_covers_the_memories_sessions_and_times_that_it_names(two_projects, name):
    workspace, (asked, memories, about, whole) = two_projects, COVERED[name]
    days = {key: workspace.day_bounds(date(2026, 1, day))[0] for key, day in asked.items() if isinstance(day, int)}
    project = {"project": workspace.find_scope(asked["project"])} if "project" in asked else {}
    request = make_erasure_request(workspace, **asked | days | project)
    assert {memory.content for memory in request.memories} == memories
    assert request.words.memories == {memory.id for memory in request.memories}
    assert request.words.about == about
    assert request.words.sessions == (about if whole else set())
    assert {event.partition("-session-")[0] for event in request.words.events} == (
        set() if whole else {each.removesuffix("-session") for each in about}
    )
    assert request.names is ("project" in asked)
    if days and not asked.keys() & {"source", "project"}:
        until = days.get("until")
        assert request.times == ((days.get("since"), until and until - timedelta(microseconds=1)),)
    else:
        assert [start.isoformat()[:10] for start, _ in request.times] == [
            {"one-session": "2026-01-05", "six-session": "2026-01-09"}[session] for session in sorted(about)
        ]


def test_sentences_that_are_given_with_a_source_are_forgotten_with_it(two_projects):
    request = make_erasure_request(two_projects, source="one-session", said=[CRANE])
    assert request.words.is_in_text(CRANE)
    assert request.words.is_in_text(SAID)


def test_a_request_that_covers_nothing_finds_no_place_and_no_backup(two_projects):
    request = make_erasure_request(two_projects, source="elsewhere")
    person.create_memory(two_projects, "The crane is blue.", "decision")
    assert not request.words
    assert find_erasure_places(two_projects, request, quick=True) == ()
    assert preview_out_of_reach(two_projects, request) == ()


@pytest.mark.parametrize(("project", "names"), [("harbor", 1), ("", 0)])
def test_the_name_of_a_project_that_is_forgotten_is_told_to_stay(two_projects, project, names):
    workspace = two_projects
    asked = {"project": workspace.find_scope(project)} if project else {"source": "one-session"}
    done = forget(workspace, make_erasure_request(workspace, **asked))
    start = "the project's name and folder stay in kept's list of erased projects; text about the project elsewhere also stays"
    assert done.out_of_reach.count(start) == names


# where the words stand


def test_every_place_in_the_store_is_named_with_its_words(home, desk_at):
    converse(home, "a", ("user", f"Remember: {SAID}"), ("agent", f"Yes: {SAID}"), ("run", "cat x"), ("out", f"x {SAID}"))
    say(home, "b", f"From now on: {NEAR}", day="2026-01-06")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        memory = next(each for each in workspace.store.log.memories() if each.content == SAID)
        run = workspace.store.log.start_run("run", workspace.clock())
        workspace.store.log.end_run(run, workspace.clock(), {"problems": [SAID]})
        request = make_erasure_request(workspace, [memory])
        for quick in (False, True):
            places = [place for place in find_erasure_places(workspace, request, quick=quick) if place.holder == "the store"]
            exact = Counter(place.where.rpartition(" ")[0] if "proposal" in place.where else place.where for place in places)
            assert exact == Counter(
                {
                    f"memory {memory.id}": 1,
                    "proposal": 2,
                    **{
                        f"a conversation, 2026-01-05, {who}": 1 for who in ("you", "the assistant", *(() if quick else ("a tool",)))
                    },
                    f"the history of memory {memory.id}": 1,
                    f"the report of run {run}": 1,
                    "what was worked on, 2026-01-05": exact["what was worked on, 2026-01-05"],
                    f"what was last written to {home / '.claude' / 'rules' / 'memory.md'}": 1,
                }
            ) + Counter(place.where for place in places if place.near)
            assert [place.near for place in places] == sorted(place.near for place in places)


def test_a_session_is_shown_by_its_first_words_of_a_person(home, desk_at):
    converse(home, "a-session", ("agent", "Welcome."), ("user", "How long is the old quay?"), ("user", "And how deep?"))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        found = find_erasure_places(workspace, make_erasure_request(workspace, source="a-session"))
        assert [place.text for place in found if place.where == "the whole session a-session"] == ["How long is the old quay?"]


@pytest.mark.parametrize(("before", "shown"), [(49, "How long is the old quay?"), (50, "")])
def test_the_first_words_of_a_person_are_looked_for_in_the_first_fifty_turns(home, desk_at, before, shown):
    converse(home, "a-session", *[("agent", "Welcome.")] * before, ("user", "How long is the old quay?"))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        found = find_erasure_places(workspace, make_erasure_request(workspace, source="a-session"))
        assert [place.text for place in found if place.where == "the whole session a-session"] == [shown]


def test_a_quote_of_a_session_that_is_forgotten_is_shown_once_and_cut(home, desk_at):
    long = "the crane is blue and " * 20
    with desk_at(home) as workspace:
        remember(workspace, "0a", OTHER, cite(long), cite(long, event="f"), cite("x", session="t"), cite("[forgotten]"))
        words = ErasureWords(sentences=(), sessions=frozenset({"s"}))
        holder = StoreHolder(store=workspace.store, clock=workspace.clock, profile=("coding", "constraint"))
        texts = [place.text for place in holder.find(words) if place.where == "what memory 0a rests on"]
        assert texts == [long[:200]]


def test_what_was_to_be_written_when_a_run_was_interrupted_is_a_place_too(home, desk_at):
    with desk_at(home) as workspace:
        clean, holding = (
            Output(hash=name, lines=(Line(key="k", text=name), Line(key="l", text=text)))
            for name, text in (("a", "nothing"), ("b", SAID))
        )
        workspace.store.save_output("/x/memory.md", clean)
        workspace.store.save_pending_output("/x/memory.md", holding)
        holder = StoreHolder(store=workspace.store, clock=workspace.clock, profile=("coding", "constraint"))
        assert [place.where for place in holder.find(WORDS)] == ["what was last written to /x/memory.md"]
        forget(workspace, make_erasure_request(workspace, said=[SAID]))
        assert list(holder.find(WORDS)) == []


def test_a_reply_is_named_by_the_first_signs_of_its_key(home, desk_at):
    key = "0123456789abcdef"
    with desk_at(home) as workspace:
        with closing(ReplyCache(workspace.paths.replies)) as replies:
            replies.save_reply(QuestionNote(key=key, purpose="facts", version="1", schema={}), "m", [SAID], workspace.clock())
        (place,) = ReplyFile(path=workspace.paths.replies).find(WORDS)
        assert (place.where, place.text) == ("reply 0123456789ab", "")


def test_a_holder_that_cannot_be_read_is_a_place(home, desk_at, monkeypatch):
    def refuse(*_):
        raise KeptError("no", where="x")

    monkeypatch.setattr("kept.pipeline.erase.holders.find_items", refuse)
    with desk_at(home) as workspace:
        (place,) = find_erasure_places(workspace, make_erasure_request(workspace, said=[SAID]))
        assert (place.holder, place.where, place.text) == ("external sources", "cannot be read: no (x)", "")


# words of memories


def test_evidence_that_is_only_nearly_the_memory_is_forgotten_with_it_and_an_empty_quote_is_none(home, desk_at):
    with desk_at(home) as workspace:
        memory = remember(workspace, "0a", SAID, cite(NEAR, event="n"), cite("", event="o"))
        words = collect_words(workspace.store, [memory])
        assert words.quotes == {"n": (NEAR,)}
        assert words.about == {"s"}


def test_a_former_wording_of_one_short_word_is_forgotten_only_where_the_memory_had_it(two_projects):
    workspace = two_projects
    number = person.create_memory(workspace, "The crane lifts nothing heavier than nine tons.", "constraint").id
    person.edit(workspace, number, "Done")
    undo(workspace)
    request = make_erasure_request(workspace, [workspace.store.log.memory(number)])
    assert [place.where for place in find_erasure_places(workspace, request)] == [
        f"memory {number}",
        f"the history of memory {number}",
    ]
    forget(workspace, request)
    assert "Done" not in "".join(text for _, text in workspace.store.log.stored_texts())
    assert [event.text for event in workspace.store.archive.events_with_words(ErasureWords(sentences=("Done",)))] == ["Done."] * 3


@pytest.mark.parametrize("crate", [True, False], ids=["two memories", "one memory"])
def test_what_took_back_a_memory_is_forgotten_with_it_unless_another_that_stays_is_meant_too(home, desk_at, crate):
    told = ["I am allergic to hazelnuts", "the lighthouse is red since May", *["the hazelnuts are in crate nine"] * crate]
    say(home, "a", *(f"Remember that {each}." for each in told), day="2026-01-05")
    say(home, "b", "Forget what I said about hazelnuts.", day="2026-01-06")
    say(home, "c", "Forget what I said about walnuts.", day="2026-01-07")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        memories = workspace.store.log.memories()
        allergic, red = (next(each for each in memories if word in each.content) for word in ("allergic", "red"))
        for forgotten, meant in (([allergic], True), ([red], False), ([red, allergic], True)):
            quotes = collect_words(workspace.store, forgotten).quotes
            assert ("b-0-user" in quotes) is (meant and not crate), [each.content for each in forgotten]
            assert "c-0-user" not in quotes, "what took back a memory that never was"


def test_the_words_of_a_memory_that_another_was_merged_into_stay(home, desk_at):
    say(home, "a", f"Remember: {SAID}")
    say(home, "b", f"Remember: {CRANE}", day="2026-01-06")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        old, new = (next(each for each in workspace.store.log.memories() if each.content == text) for text in (SAID, CRANE))
        person.merge(workspace, [new.id, old.id])
        assert not collect_words(workspace.store, [workspace.store.log.memory(old.id)]).is_in_text(CRANE)
        forget_ids(workspace, [old.id])
        assert CRANE in contents(workspace)


# the report


def test_a_report_counts_what_was_shown_and_names_what_is_gone_now_alone(home, desk_at):
    say(home, "a", f"Remember: {SAID}", OTHER)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        crane = person.create_memory(workspace, CRANE, "constraint")
        person.create_memory(workspace, NEAR, "constraint")
        forget_ids(workspace, [crane.id])
        memory = next(each for each in workspace.store.log.memories() if each.content == SAID)
        request = make_erasure_request(workspace, [memory])
        places = find_erasure_places(workspace, request)
        near = {place.id for place in places if place.near}
        done = forget(workspace, request)
        assert (done.memories, done.sessions, done.items, done.outside) == ((memory.id,), (), 0, ())
        assert {place.id for place in done.near} == near
        assert near
        assert done.places == Counter(place.holder for place in places if not place.near)
        assert done.asked == request
        again = make_erasure_request(workspace, said=[NEAR])
        count = len([place for place in find_erasure_places(workspace, again) if place.holder == "the store" and not place.near])
        both = forget(workspace, make_erasure_request(workspace, said=[SAID]), also=near)
        assert both.places["the store"] == len(near) <= count
        assert both.asked.words.is_in_text(NEAR)
        assert both.near == ()
        assert NEAR not in contents(workspace)


def test_near_copies_that_are_not_there_are_named_in_order(home, desk_at):
    with desk_at(home) as workspace, pytest.raises(UsageError, match=r"^no near copy 1, 2, 3 → see what"):
        forget(workspace, make_erasure_request(workspace, said=[SAID]), also=["3", "1", "2"])


def test_words_that_never_were_a_memory_leave_an_empty_one_that_keeps_them_out(home, desk_at):
    with desk_at(home) as workspace:
        done = forget(workspace, make_erasure_request(workspace, said=[SAID]))
        (memory,) = workspace.store.log.memories()
        assert done.memories == (memory.id,)
        assert replace(memory, id="", first_seen=None, last_seen=None) == Memory(
            id="",
            profile=workspace.profile.id,
            category=workspace.profile.categories[0].id,
            scope="user",
            status=Status.RETIRED,
            content="",
            confidence=1.0,
            origin=Origin.USER,
            first_seen=None,
            last_seen=None,
            owned=True,
            trigger=memory.trigger,
            ended_at=memory.ended_at,
            reason="forgotten",
        )
        assert len(memory.id) == 10
        heads = [(head.stage, head.subject, head.actor) for head in workspace.store.log.pass_heads()]
        assert Counter(heads) == Counter({("forget", memory.id, Actor.PERSON): 2})
        assert [operation.reason for _, operation in workspace.store.log.operations_on(memory.id)] == ["forgotten by the user"] * 2


def test_the_store_counts_turns_lines_rows_memories_and_proposals(home, desk_at):
    say(home, "a", f"Remember: {SAID}", f"Again: {SAID} So it is.", OTHER)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        memory = next(each for each in workspace.store.log.memories() if each.content == SAID)
        person.retire(workspace, next(each.id for each in workspace.store.log.memories() if "pip" in each.content), f"so: {SAID}")
        turns = len(list(workspace.store.archive.events_with_words(WORDS)))
        proposals = {each.candidate.id for each in workspace.store.log.all_judged_candidates() if SAID in each.candidate.content}
        workspace.store.days.save_passage(
            Passage(
                id="0a0b0c0d0e0f00",
                form=PassageForm.OWN,
                day=date(2026, 1, 5),
                scope="user",
                thread=0,
                ordinal=0,
                at=workspace.clock(),
                kind="decisions",
                text=f"Decided: {SAID}",
                events=(),
            )
        )
        holder = StoreHolder(store=workspace.store, clock=workspace.clock, profile=("coding", "constraint"))
        count = holder.erase(make_erasure_request(workspace, [memory]).words)
        amended = 1  # the reason
        assert (turns, len(proposals | set(memory.candidates))) == (2, 2)
        assert count == turns + 1 + amended + 1 + len(proposals | set(memory.candidates))
        assert holder.erase(WORDS) == 0


def test_what_a_person_has_seen_to_is_still_told_by_the_run_however_often_it_is_closed(home, desk_at):
    say(home, "a", SAID)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        left = forget(workspace, make_erasure_request(workspace, said=[SAID])).out_of_reach
        ((number, _),) = list_left(workspace).items()
        close_left(workspace, number + 1)
        assert list_left(workspace)
        before = next(run for run in workspace.store.log.runs() if run.id == number)
        for _ in range(2):
            close_left(workspace, number)
            run = next(run for run in workspace.store.log.runs() if run.id == number)
            assert (run.report["left"], tuple(run.report["seen to"]), run.ended_at) == ([], left, before.ended_at)


def test_nothing_is_forgotten_while_a_run_is_active_and_that_is_a_failure(home, desk_at):
    with desk_at(home) as workspace, hold_lock(workspace.paths.lock), pytest.raises(BusyError) as refused:
        forget(workspace, make_erasure_request(workspace, said=[SAID]))
    assert str(refused.value).startswith("nothing was forgotten: ")
    assert refused.value.hint == "wait until that run is done, then forget again"
    assert refused.value.exit_code == StoreError.exit_code


def test_a_text_of_an_external_item_is_looked_for_elsewhere_from_twelve_letters_on(home, desk_at):
    item = (
        "<item><title>{}</title><guid>1</guid><description>{}</description><pubDate>Mon, 05 Jan 2026 09:30:00 GMT</pubDate></item>"
    )
    (home / "feed.xml").write_text(f"<rss><channel>{item.format('High water.', 'Low tide now')}</channel></rss>")
    config = home / ".config" / "kept" / "config.toml"
    config.parent.mkdir(parents=True)
    recording = home / "recording.jsonl"
    config.write_text(f'[llm]\nrecording = "{recording}"\n[[feed]]\nkind = "rss"\nname = "quay"\npath = "{home / "feed.xml"}"\n')
    recording.write_text("".join(json.dumps({"key": text, "text": text}) + "\n" for text in ("High water.", "Low tide now")))
    with desk_at(home) as workspace:
        collect_feeds(workspace)
        assert forget(workspace, make_erasure_request(workspace, source="quay")).items == 1
    assert [json.loads(line)["key"] for line in recording.read_text().splitlines()] == ["High water."]


# what others forgot, and what is off the record


def test_of_conversations_that_are_off_the_record_goes_what_rests_on_them_alone_and_may_be_said_again(home, desk_at):
    with desk_at(home) as workspace:
        alone = remember(workspace, "0a", SAID, cite(SAID), cite(SAID, event="f"))
        remember(workspace, "0b", "The crane of pier four is blue.", cite("blue"), cite("blue", session="t"))
        remember(workspace, "0c", "The crane of pier five is red.", cite("red"), owned=True)
        remember(workspace, "0d", "The crane of pier six is green.")
        before = contents(workspace)
        assert forget_opted_out(workspace, {"none"}, erased=0) == ()
        assert contents(workspace) == before
        assert forget_opted_out(workspace, {"s"}, erased=0) == ()
        assert contents(workspace) == before - {alone.content}
        assert workspace.store.log.forgotten_fingerprints() == set()


def test_nothing_is_read_where_another_machine_forgot_nothing_or_nobody_went_off_the_record(home, desk_at, monkeypatch):
    monkeypatch.setattr("kept.pipeline.erase.forget.list_holders", lambda *_: pytest.fail("holders were asked"))
    with desk_at(home) as workspace:
        assert erase_forgotten(workspace, ()) == ()
        assert forget_opted_out(workspace, {"s"}, erased=0) == ()


def test_a_turn_that_another_machine_forgot_goes_whole(home, desk_at):
    say(home, "a", OTHER, "How long is the old quay?")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert erase_forgotten(workspace, (), events=["a-1-user"]) == ()
        archive = workspace.store.archive
        assert [event.text for thread in archive.threads() for event in archive.events(thread.id, 0, 9)][2] == "[forgotten]"


# retention


@pytest.fixture
def aged(home, desk_at):
    """A home with old turns in two projects and a young one; takes settings, yields the workspace."""
    say(home, "old", f"Remember: {SAID}", "How long is the old quay?", f"Remember: {CRANE}", day="2020-01-05")
    say(home, "dam", "How wide is the sluice?", day="2020-01-06", cwd="/x/dam")
    say(home, "young", "How deep is the harbour?", day="2026-01-05")

    def opened(**values):
        path = home / ".config" / "kept" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[archive]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()))
        return desk_at(home)

    with desk_at(home) as workspace:
        run_pipeline(workspace, [home / ".claude"], RunOptions())
    return opened


RETAINED = {
    "all": ({"keep": "2y"}, {"old", "dam"}),
    "a project always": ({"keep": "2y", "projects": ["dam=always"]}, {"old"}),
    "one project": ({"projects": ["dam=90d"]}, {"dam"}),
    "a project longer": ({"keep": "2y", "projects": ["dam=30y"]}, {"old"}),
    "a project shorter": ({"keep": "30y", "projects": ["dam=2y"]}, {"dam"}),
    "two projects": ({"projects": ["dam=2y", "harbor=2y"]}, {"old", "dam"}),
}


@pytest.mark.parametrize("name", RETAINED)
def test_aged_turns_go_project_by_project_and_with_them_the_replies_about_their_sessions(aged, name):
    settings, sessions = RETAINED[name]
    with aged(**settings) as workspace:
        request = make_retention_request(workspace)
        archive = workspace.store.archive
        keys = {
            event.key for thread in archive.threads() if thread.session in sessions for event in archive.events(thread.id, 0, 9)
        }
        cited = {quote.event for memory in workspace.store.log.memories() for quote in memory.evidence}
        assert cited == {"old-0-user", "old-2-user"}
        assert request.words.events == keys - cited
        assert (request.words.about, request.words.sessions, request.words.runs) == (sessions, set(), ())
        assert (request.memories, request.words.lasting) == ((), False)


def test_a_turn_ages_on_which_only_a_memory_rests_that_was_forgotten(aged):
    with aged(keep="2y") as workspace:
        crane = next(memory for memory in workspace.store.log.memories() if memory.content == CRANE)
        forget_ids(workspace, [crane.id])
        events = make_retention_request(workspace).words.events
        assert "old-2-user" in events
        assert "old-0-user" not in events


def test_aging_leaves_no_note_of_what_it_did_not_reach_and_keeps_nothing_out(aged):
    with aged(keep="2y") as workspace:
        forget(workspace, make_retention_request(workspace))
        assert list_left(workspace) == {}
        assert workspace.store.log.forgotten_fingerprints() == set()
