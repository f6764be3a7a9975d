"""A value that only a prompt states: a model puts it into the sentence of the memory that ends, and every word is checked."""

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from cases import each_case
from kept.core.event import CHOICE, Author, EventKind, Origin
from kept.core.memory import CHOSEN, REMEMBER, Status
from kept.core.operation import Retire, Supersede
from kept.curation.advice import NewSentence, SaidPrompt
from kept.curation.successors import add_successors, build_successor
from kept.memories.history import undo
from kept.pipeline.erase.forget import forget, make_erasure_request
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import check_home, rebuild_store
from kept.profiles import load_profile
from obedient import obey
from scripted_client import NOTHING, Obedient, with_model
from store_world import event
from store_world import memory as build_memory
from talking import converse, say

RATES = "Cached rates must live 15 minutes because the carriers change them."
SHORTER = RATES.replace("15", "5")
CHEAP = "5 minutes would still be cheap."
OFFER = f"With 15 minutes operations sees stale rates. {CHEAP}"


class Restating(Obedient):
    """A model that lets the last prompt end each rule of ``sentences`` that is shown, and puts the sentence in its place."""

    def __init__(self, sentences, **options):
        super().__init__(**options)
        self.sentences, self.tables = dict(sentences), []

    def outdated(self, ask):
        self.tables.append(ask.prompt)
        lines = [line.split(" ", 1) for line in ask.prompt.splitlines()]
        last = next((int(number) for number, rest in reversed(lines) if self.is_order(rest)), 0)
        rules = {int(number): self.sentence_for(rest.partition("): ")[2], ask) for number, rest in lines if last}
        changes = [
            {"id": number, "op": "supersede", "with": last, "reason": "new", "now": now} for number, now in rules.items() if now
        ]
        return {"operations": changes}

    def is_order(self, line):
        return ", said) " in line

    def sentence_for(self, rule, _):
        return self.sentences.get(rule)

    def run(self, workspace):
        return run_pipeline(with_model(workspace, self, outdated=self.outdated), [], RunOptions())


def by_status(workspace):
    found = {}
    for memory in sorted(workspace.store.log.memories(), key=lambda each: each.content):
        if memory.content:
            found.setdefault(memory.status, []).append(memory.content)
    return found


def find(workspace, content):
    return next(each for each in workspace.store.log.memories() if each.content == content)


@pytest.fixture
def changed(desk_at, home):
    """A workspace in which a rule was found, and a later prompt changed its value."""
    model = Restating({RATES: SHORTER})
    with desk_at(home) as workspace:
        say(home, "one", RATES)
        model.run(workspace)
        converse(home, "two", ("user", "What else?"), ("agent", OFFER), ("user", "make it 5 then"), day="2026-01-19")
        model.run(workspace)
        yield workspace, model


def test_the_sentence_with_the_new_value_takes_the_place_of_the_old_one_and_stays(changed):
    workspace, model = changed
    assert by_status(workspace) == {Status.ACTIVE: [SHORTER], Status.SUPERSEDED: [RATES]}
    old, new = find(workspace, RATES), find(workspace, SHORTER)
    assert (old.superseded_by, new.supersedes, old.ended_at, new.first_seen) == (new.id, (old.id,), new.first_seen, new.last_seen)
    assert (new.profile, new.category, new.scope, new.origin) == (old.profile, old.category, old.scope, Origin.USER)
    assert {(each.session, each.quote) for each in new.evidence} == {("one", RATES), ("two", "make it 5 then")}
    assert old.reason == "the model says: new (you on 2026-01-19, in session two)"
    assert new.reason == "a model put into it what you changed"
    count, before = len(model.tables), workspace.store.log.memories()
    assert model.run(workspace).run == 0
    rebuild_store(workspace)
    assert (len(model.tables), workspace.store.log.memories()) == (count, before)
    assert check_home(workspace).damage == ()


def test_undo_brings_the_old_sentence_back_and_takes_the_new_one_away_for_good(changed, home):
    workspace, _ = changed
    made = [head for head in workspace.store.log.pass_heads() if head.stage == "advise"][-1]
    undo(workspace, str(made.id))
    say(home, "three", "Something else entirely, about boats.", day="2026-01-29")
    Restating({}).run(workspace)
    assert by_status(workspace) == {Status.ACTIVE: [RATES]}


def test_a_later_prompt_changes_the_new_sentence_in_turn(changed, home):
    workspace, model = changed
    model.sentences[SHORTER] = RATES.replace("15", "3")
    say(home, "three", "3 please", day="2026-02-03")
    model.run(workspace)
    assert by_status(workspace) == {Status.ACTIVE: [RATES.replace("15", "3")], Status.SUPERSEDED: [RATES, SHORTER]}


def test_the_old_sentence_stays_past_when_a_later_prompt_ends_the_new_one(changed, home):
    workspace, model = changed
    model.sentences[SHORTER] = RATES.replace("15", "7")
    say(home, "three", RATES.replace("Cached rates", "Boats"), "take 3", day="2026-02-03")
    model.run(workspace)
    assert find(workspace, SHORTER).status is not Status.ACTIVE
    assert find(workspace, RATES).status is Status.SUPERSEDED


def test_the_old_sentence_said_again_later_takes_the_place_of_the_new_one(changed, home):
    workspace, _ = changed
    say(home, "three", RATES, day="2026-02-03")
    Restating({}).run(workspace)
    assert by_status(workspace) == {Status.ACTIVE: [RATES], Status.SUPERSEDED: [SHORTER]}


def test_the_new_sentence_said_outright_joins_its_memory(changed, home):
    workspace, _ = changed
    number = find(workspace, SHORTER).id
    say(home, "three", f"Remember: {SHORTER}", day="2026-02-03")
    Restating({}).run(workspace)
    assert by_status(workspace) == {Status.ACTIVE: [SHORTER], Status.SUPERSEDED: [RATES]}
    assert (find(workspace, SHORTER).id, find(workspace, SHORTER).last_seen.day) == (number, 3)


def test_forgetting_the_session_of_the_prompt_takes_the_new_sentence_and_leaves_the_old_one(changed):
    workspace, _ = changed
    forget(workspace, make_erasure_request(workspace, source="two"))
    assert all(memory.content in ("", RATES) for memory in workspace.store.log.memories())
    assert [each.quote for each in find(workspace, RATES).evidence] == [RATES]
    assert workspace.store.archive.event(find(workspace, RATES).evidence[0].event).text == RATES
    assert by_status(workspace) == {Status.SUPERSEDED: [RATES]}
    assert not any("says: new" in str(operation) for pass_ in workspace.store.log.passes() for operation in pass_.operations)
    assert check_home(workspace).damage == ()


def test_going_off_the_record_in_the_session_of_the_prompt_takes_the_new_sentence_and_the_old_one_holds_again(changed, home):
    workspace, _ = changed
    say(home, "two", "kept: off the record", day="2026-01-20", start=40)
    say(home, "three", "Something else entirely, about boats.", day="2026-01-29")
    Restating({}).run(workspace)
    assert all(each.content in ("", RATES) for each in workspace.store.log.memories())
    say(home, "four", "Something else entirely, about harbours, must be told.", day="2026-01-30")
    Restating({}).run(workspace)
    assert find(workspace, RATES).status is Status.ACTIVE
    assert check_home(workspace).damage == ()


def test_forgetting_the_session_of_the_old_sentence_takes_both(changed):
    workspace, _ = changed
    forget(workspace, make_erasure_request(workspace, source="one"))
    assert not any(memory.content for memory in workspace.store.log.memories())
    assert check_home(workspace).damage == ()


def test_a_sentence_that_a_memory_says_already_is_not_written_again(changed, home):
    workspace, model = changed
    say(home, "three", "Remember: Rates must never be rounded.", day="2026-02-02")
    model.run(workspace)
    model.sentences[SHORTER] = "Rates must never be rounded."
    say(home, "four", "3 please", day="2026-02-03")
    model.run(workspace)
    assert sum(each.content == "Rates must never be rounded." for each in workspace.store.log.memories()) == 1
    assert find(workspace, SHORTER).status is Status.RETIRED


def test_a_sentence_is_not_written_if_its_memory_does_not_end_by_the_prompt(changed):
    workspace, _ = changed
    old = find(workspace, RATES)
    prompt = SaidPrompt(text="make it 5", reply="", event=old.evidence[0].event, session="two", at=old.last_seen)
    for memory in (old, replace(old, trigger=REMEMBER)):
        sentence, ended = NewSentence(memory=memory, prompt=prompt, text="Rates live 5."), Retire(memory=old.id, at=None, reason="")
        operations = (ended,) if memory.trigger == REMEMBER else ()
        assert add_successors(workspace, workspace.profile, operations, [sentence], []) == operations


def test_a_sentence_that_was_forgotten_is_not_written(changed, home):
    workspace, model = changed
    forget(workspace, make_erasure_request(workspace, said=[RATES.replace("15", "3")]))
    model.sentences[SHORTER] = RATES.replace("15", "3")
    say(home, "three", "3 please", day="2026-02-03")
    model.run(workspace)
    assert by_status(workspace) == {Status.RETIRED: [SHORTER], Status.SUPERSEDED: [RATES]}


DONE, ORDER = ("agent", "Done."), ("user", "make it 5 then")
CASES = {  # the turns after the rule, the last prompt that is shown, the sentence, and why it is held (empty: it is active)
    "the reply's value": ([("agent", OFFER), ("user", "yes, do that")], SHORTER, ""),
    "more than the value": ([DONE, ("user", "5, and only for Lisbon")], SHORTER.replace("because", "only for Lisbon because"), ""),
    "not agreed": ([("agent", OFFER), ("user", "show me the table")], SHORTER, "only the assistant named"),
    "agreed in doubt": ([("agent", OFFER), ("user", "yes, not sure yet")], SHORTER, "only the assistant named"),
    "a tool's words": (
        [("run", "cat ops.md"), ("out", CHEAP), ("agent", f"I looked for 5 minutes. {CHEAP}"), ("user", "yes, do that")],
        SHORTER,
        "only the assistant named",
    ),
    "a tool's value": ([("run", "cat ops.md"), ("out", "5"), DONE, ("user", "take theirs")], SHORTER, "it says more"),
    "another value": ([DONE, ORDER], RATES.replace("15", "7"), "it says more"),
    "another word": ([DONE, ORDER], SHORTER.replace("carriers", "harbours"), "it says more"),
    "another name": ([DONE, ORDER], SHORTER.replace("carriers", "`ops/rates.py`"), "it says more"),
    "nothing new": ([DONE, ORDER], "Cached rates must live because the carriers change them.", "it says more"),
    "a new restriction": ([DONE, ORDER], SHORTER.replace("live", "only live"), "it says more"),
    "a part lost": ([DONE, ORDER], "Cached rates must live 5 minutes.", "it leaves out"),
    "too little left": ([DONE, ("user", "5 minutes in the yard")], "5 minutes in the yard", "it leaves out"),
    "what is denied": ([DONE, ("user", "not 5 then")], SHORTER, "it says more"),
    "a rule softened": ([DONE, ("user", "they can live 5")], SHORTER.replace("must", "can"), "polarity"),
    "a question": ([DONE, ("user", "should they live 5?")], SHORTER, "it is part of a question"),
    "a doubt": ([DONE, ("user", "maybe 5 would do")], SHORTER, "it depends on"),
    "taken back": ([DONE, ORDER, DONE, ("user", "scratch that")], SHORTER, "you took it back"),
}


class Following(Restating):
    """A model that knows each case by its project, and takes the prompt that the case is about for an order."""

    def is_order(self, line):
        return super().is_order(line) and "scratch that" not in line

    def sentence_for(self, rule, ask):
        (name,) = {session.partition(" in ")[2] for session in ask.about}
        return CASES[name][1] if rule == RATES else None


def test_a_sentence_that_fails_a_check_waits_for_the_person_and_the_old_one_ends_all_the_same(desk_at, home):
    with desk_at(home) as workspace:
        for day, name in enumerate(CASES, 1):
            say(home, f"one in {name}", RATES, cwd=f"/x/{name}", day=f"2026-01-{day:02}")
        Following({}).run(workspace)
        for day, (name, (turns, *_)) in enumerate(CASES.items(), 1):
            converse(home, f"two in {name}", ("user", "What else?"), *turns, cwd=f"/x/{name}", day=f"2026-02-{day:02}")
        Following({}).run(workspace)
        found = {}
        for memory in workspace.store.log.memories():
            (name, *_) = {each.session.partition(" in ")[2] for each in memory.evidence}
            found.setdefault(name, []).append(memory)
        assert found.keys() == CASES.keys()
        for name, (_, sentence, held) in CASES.items():
            assert len(found[name]) == 2, name
            old, new = sorted(found[name], key=lambda each: each.content != RATES)
            ended = Status.RETIRED if held else Status.SUPERSEDED
            assert (name, old.content, old.status, new.content) == (name, RATES, ended, sentence)
            assert (name, new.reason.startswith(f"held: {held}" if held else "a model put")) == (name, True), new.reason
            assert (name, new.status) == (name, Status.HELD if held else Status.ACTIVE)
        assert check_home(workspace).damage == ()


def test_what_was_told_outright_stays_and_the_new_sentence_waits(desk_at, home):
    with desk_at(home) as workspace:
        say(home, "one", f"Remember: {RATES}")
        model = Restating({RATES: SHORTER}, answer=lambda ask: NOTHING if ask.purpose == "extract" else obey(ask))
        model.run(workspace)
        say(home, "two", "make it 5 then", day="2026-01-19")
        report = model.run(workspace)
        assert by_status(workspace) == {Status.ACTIVE: [RATES], Status.HELD: [SHORTER]}
        assert find(workspace, SHORTER).reason == "held: it changes what you told kept outright"
        assert report.llm_curation.refused == {"what supersedes it is trusted less": 1}


PRICES = "The plan must cost 29 euros for schools and 49 for shops."
SHOPS, SCHOOLS = PRICES.replace("49", "59"), PRICES.replace("29", "59")


@each_case(
    "reply, prompt, sentence, status",
    [
        ("Done.", "shops pay 59", SHOPS, Status.ACTIVE),
        ("Done.", "shops pay 59", SCHOOLS, Status.HELD),
        ("Done.", "59 instead of 49", SHOPS, Status.ACTIVE),
        ("Done.", "no, 59", SHOPS, Status.HELD),
        ("Are 49 euros enough?", "no, 59", SHOPS, Status.ACTIVE),
        ("Do shops get a discount?", "no, 59", SHOPS, Status.ACTIVE),
        ("Do shops get a discount?", "no, 59", SCHOOLS, Status.HELD),
    ],
)
def test_a_number_among_others_belongs_where_the_prompt_or_the_reply_before_it_says(reply, prompt, sentence, status):
    found = restate(PRICES, prompt, sentence, reply=reply)
    assert found.status is status
    assert found.reason == (
        "held: what you changed may belong to another place in it"
        if status is Status.HELD
        else "a model put into it what you changed"
    )


@each_case(
    "rule, prompt, sentence, status",
    [
        ("Deploys go to Hetzner.", "let's move to Fly", "Deploys go to Fly.", Status.ACTIVE),
        ("Secrets live in the `.env` file.", "put them in the keychain", "Secrets live in the keychain.", Status.ACTIVE),
        ("Orders above 200 euros are checked.", "make it 300", "Orders 300 euros are checked.", Status.HELD),
        ("Sync runs before the backup at 4.", "tape at 5", "Sync runs tape at 5.", Status.HELD),
        ("Tables go to `out/a.csv`.", "force it", "Tables go to `--force`.", Status.HELD),
        ("Sessions end after five minutes.", "ten please", "Sessions end after ten minutes.", Status.ACTIVE),
        ("一覧は1ページに20行を表示する", "50行にして", "一覧は1ページに50行を表示する", Status.ACTIVE),
        ("Always squash before merging.", "never squash again", "Never squash before merging.", Status.ACTIVE),
        ("Never squash before merging.", "squash is fine now", "Squash is fine before merging.", Status.HELD),
        ("Sessions end after five minutes.", "make it ten", "Sessions end after 10 minutes.", Status.ACTIVE),
        ("Reports go out by mail on Mondays.", "tuesdays", "Reports go out by mail Tuesdays.", Status.HELD),
        ('Cells with fewer than 5 show "<5".', "now 10", 'Cells with fewer than 10 show "<10".', Status.ACTIVE),
        ("The cache is Memcached.", "please don't take Redis, take Valkey", "The cache is Valkey.", Status.ACTIVE),
        ("The cache is Memcached.", "please don't take Redis, take Valkey", "The cache is Redis.", Status.HELD),
        ("29 euros a year for choirs.", "yes 39, the apple fee is 99 a year", "39 euros a year for choirs.", Status.ACTIVE),
        ("Retry 3 times within 20 seconds.", "30 seconds", "Retry 3 times within 30 seconds.", Status.ACTIVE),
        ("Retry 3 times within 20 seconds.", "30 seconds", "Retry 30 times within 20 seconds.", Status.HELD),
        ("Retry 3 times or 20.", "times 30", "Retry 30 times or 20.", Status.ACTIVE),
        ("Retry 3 or 20 times.", "or 30", "Retry 30 or 20 times.", Status.HELD),
        ("Use 3 retries 20 apart.", "retries 30", "Use 30 retries 20 apart.", Status.HELD),
    ],
)
def test_a_sentence_is_active_if_only_what_was_said_takes_the_place_of_what_it_changes(rule, prompt, sentence, status):
    assert restate(rule, prompt, sentence).status is status


def test_a_new_sentence_is_trusted_no_more_than_the_old_one_and_the_words_it_rests_on():
    given = ("Exports take 20 rows of `a.csv`.", "30 please", "Exports take 30 rows of `a.csv`.")
    found = restate(*given)
    assert (found.origin, found.observations, found.confidence) == (Origin.USER, 1, 0.8)
    assert restate(*given, origin=Origin.ASSISTANT).origin is Origin.ASSISTANT
    offered = restate(*given[:1], "hmm", *given[2:], reply="30 would be fine.")
    assert (offered.status, offered.origin) == (Status.HELD, Origin.ASSISTANT)
    assert {each.quote for each in offered.evidence} == {"hmm", "30 would be fine."}
    assert [each.quote for each in restate(*given[:2], given[0].replace("20", "40")).evidence] == ["30 please"]
    assert restate("The cache is Memcached.", "yes", "The cache is Valkey.", reply="Shall I take Valkey?").status is Status.ACTIVE
    apart = {"prompt": "yes", "sentence": "Exports take 30 files of `a.csv`."}
    assert restate(given[0], **apart, reply="Shall I take 30 files?").status is Status.ACTIVE
    assert restate(given[0], **apart, reply="Shall I take files? There are 30.").status is Status.HELD
    two = restate(given[0], "Good. Take 30. And for Lisbon. Thanks.", given[2].replace("rows", "rows for Lisbon"))
    assert two.evidence[0].quote == "Take 30. And for Lisbon."
    assert restate(*given, category="known_fix").reason == "held: nothing shows that it helped"
    assert restate(*given, label_reason=CHOICE).reason == f"held: {CHOSEN}"
    assert restate(*given, category="nothing of the profile") is None
    until = restate(given[0], "30 until 2026-12-24", given[2].replace(".csv`", ".csv` until 2026-12-24"))
    assert until.valid_until.year == 2026


def restate(rule, prompt, sentence, *, reply="Done.", label_reason="typed", **changes):
    """The memory that a model's sentence becomes for a rule, after a session of a reply and a prompt; None if there is none."""
    answer = replace(event("r", text=reply), kind=EventKind.RESPONSE, author=Author.ASSISTANT)
    said = [answer, replace(event("p", text=prompt), label_reason=label_reason)]
    shown = SaidPrompt(text=prompt, reply=reply, event="p", session="s", at=said[1].at)
    sentence = NewSentence(memory=replace(build_memory("old", rule), **changes), prompt=shown, text=sentence)
    return build_successor(sentence, said, load_profile("coding"), ZoneInfo("UTC"))


LIMIT = "Refunds over 500 EUR need a second person, and the backend must refuse, since the page can be tricked."
RAISED = "The limit that needs a second person must be 1000 EUR, because the auditors asked for it."


@pytest.mark.parametrize(("now", "states"), [("1000", (RAISED,)), ("900", (LIMIT, RAISED))])
def test_a_later_memory_changes_a_part_of_another_only_if_the_new_sentence_passes_all_checks(desk_at, home, now, states):
    sentence = LIMIT.replace("500", now)
    model = Restating({LIMIT: sentence})
    model.is_order = lambda line: RAISED in line
    with desk_at(home) as workspace:
        say(home, "one", LIMIT)
        model.run(workspace)
        say(home, "two", RAISED, day="2026-01-19")
        model.run(workspace)
        found = by_status(workspace)
    taken = now == "1000"
    assert set(found[Status.ACTIVE]) == {*states, *([sentence] if taken else [])}
    assert found[Status.SUPERSEDED if taken else Status.HELD] == [LIMIT if taken else sentence]


def test_a_memory_of_which_another_changed_a_part_ends_unless_its_new_sentence_is_held(changed):
    workspace, _ = changed
    old, new = find(workspace, RATES), find(workspace, SHORTER)
    prompt = SaidPrompt(text=SHORTER, reply="", event=new.evidence[0].event, session="two", at=new.first_seen)
    held, known = (
        NewSentence(memory=old, prompt=prompt, text=RATES.replace("15", "9"), of_memory=True),
        [replace(old, id="x", status=Status.ACTIVE)],
    )
    for ended in (Supersede(memory=old.id, at=None, reason="", by=new.id), Retire(memory=old.id, at=None, reason="")):
        assert ended not in add_successors(workspace, workspace.profile, [ended], [held], [])
        assert ended in add_successors(workspace, workspace.profile, [ended], [replace(held, text=RATES)], known)
        told = replace(held, memory=replace(old, trigger=REMEMBER))
        assert add_successors(workspace, workspace.profile, [ended], [told], []) == (ended,)
