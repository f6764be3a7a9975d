"""Asking: cache, second tries, retries, budgets, redaction, and what is left when something fails."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier

import pytest

from asks import GOOD, Played, Time, ask, asker, paid, silence
from kept.core.errors import ConfigError
from kept.llm.ask import PART_TOKENS, CompleteReply, Fault, UnaffordableReply, UnreachableReply, UnreadableReply, token_limits_for
from kept.llm.budget import Limits
from kept.llm.client import TRIES
from kept.llm.replies import ReplyCache
from kept.llm.retry import Plan


def test_replies_come_in_the_order_of_the_questions() -> None:
    model = Played('{"facts": ["1"]}', '{"facts": ["2"]}')
    replies = asker(model)([ask("one"), ask("two"), ask("one")])
    assert [each.body["facts"] for each in replies if isinstance(each, CompleteReply)] == [["1"], ["2"], ["1"]]
    assert len(model.asked) == 2


def test_a_second_run_over_the_same_questions_asks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    asks = [ask(str(number)) for number in range(20)]
    asker(Played(GOOD), replies=ReplyCache(path))(asks)
    model = Played(GOOD)
    again = asker(model, replies=ReplyCache(path))
    replies = again(asks)
    assert all(isinstance(each, CompleteReply) and each.cached for each in replies)
    assert model.asked == []
    assert (again.tally.usage.calls, again.tally.cached) == (0, 20)
    assert path.stat().st_mode & 0o777 == 0o600


def test_another_model_prompt_version_or_schema_is_another_question() -> None:
    replies = ReplyCache(None)
    asker(Played(GOOD), replies=replies)([ask()])
    for model, one in (
        (Played(GOOD, name="played:other"), ask()),
        (Played(GOOD), ask(version="2")),
        (Played(GOOD), ask(system="You count.")),
    ):
        asker(model, replies=replies)([one])
        assert len(model.asked) == 1


def test_a_run_that_dies_has_kept_every_reply_that_arrived(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    asks = [ask(str(number)) for number in range(10)]

    class Dying(Played):
        def ask(self, ask):
            if len(self.asked) == 6:
                raise KeyboardInterrupt
            return super().ask(ask)

    first = Dying(GOOD)
    with pytest.raises(KeyboardInterrupt):
        asker(first, replies=ReplyCache(path))(asks)
    assert first.closed
    second = Played(GOOD)
    replies = asker(second, replies=ReplyCache(path))(asks)
    assert all(isinstance(each, CompleteReply) for each in replies)
    assert [each.prompt for each in second.asked] == ["6", "7", "8", "9"]


def test_what_fails_for_a_while_is_asked_again_after_growing_pauses() -> None:
    time = Time()
    model = Played(silence(Fault.RATE_LIMIT), silence(Fault.OVERLOADED), silence(Fault.CONNECTION), GOOD)
    (reply,) = asker(model, pace=time.pace())([ask()])
    assert isinstance(reply, CompleteReply)
    assert time.slept == [1.0, 2.0, 4.0]  # half of 2, 4, 8 seconds, for the jitter is 0


def test_the_pause_a_server_asks_for_is_kept() -> None:
    time = Time()
    asker(Played(silence(Fault.RATE_LIMIT, after=17.0), GOOD), pace=time.pace())([ask()])
    assert time.slept == [17.0]


def test_attempts_are_bounded() -> None:
    model = Played(silence(Fault.OVERLOADED))
    (reply,) = asker(model)([ask()])
    assert isinstance(reply, UnreachableReply)
    assert reply.fault is Fault.OVERLOADED
    assert len(model.asked) == 4


def test_an_error_in_the_place_of_a_reply_is_no_reply() -> None:
    body = '{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}'
    model = Played(body, GOOD)
    (reply,) = asker(model)([ask()])
    assert isinstance(reply, CompleteReply)
    assert [each.prompt for each in model.asked] == [ask().prompt] * 2


def test_a_model_that_cannot_be_set_up_is_tried_once_a_run() -> None:
    model = Played(silence(Fault.SETUP))
    replies = asker(model)([ask(str(number)) for number in range(50)])
    assert all(isinstance(each, UnreachableReply) and each.reason == "it is setup" for each in replies)
    assert len(model.asked) == 1


def test_after_three_silences_in_a_row_nobody_is_asked_any_more() -> None:
    model = Played(silence(Fault.FAILED))
    replies = asker(model)([ask(str(number)) for number in range(50)])
    assert all(isinstance(each, UnreachableReply) for each in replies)
    assert len(model.asked) == 3


def test_settings_that_name_no_model_make_every_question_unreachable() -> None:
    def made():
        raise ConfigError("llm.command is not set", hint="kept config set llm.command claude")

    one = asker(None)
    one._create = made
    (reply,) = one([ask()])
    assert isinstance(reply, UnreachableReply)
    assert "llm.command is not set" in reply.reason


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        ('{"facts": ["a", "b', Fault.TRUNCATED),
        ("", Fault.EMPTY),
        (f"{GOOD}\n{GOOD.replace('a', 'b', 2)}", Fault.AMBIGUOUS),
        ('{"facts": {}}', Fault.SCHEMA),
        ("nothing here", Fault.MALFORMED),
        (paid(GOOD, truncated=True), Fault.TRUNCATED),
    ],
)
def test_an_unreadable_reply_is_asked_for_once_more_and_then_left(bad, fault: Fault) -> None:
    model = Played(bad)
    asking = asker(model)
    (reply,) = asking([ask()])
    assert isinstance(reply, UnreadableReply)
    assert reply.fault is fault
    assert len(model.asked) == 2
    assert "could not be used" in model.asked[1].prompt
    assert asking.tally.usage.calls == 2
    assert asking.tally.partly


def test_a_second_try_that_is_whole_counts() -> None:
    (reply,) = asker(Played('{"facts": ["a', GOOD))([ask()])
    assert isinstance(reply, CompleteReply)
    assert reply.usage.calls == 2


def test_a_reply_cut_at_its_limit_gets_more_room_the_second_time() -> None:
    model = Played(paid('{"facts": ["a', truncated=True), GOOD)
    asker(model)([ask()])
    assert model.asked[1].most == 2 * model.asked[0].most


def test_a_refusal_is_told_and_not_argued_with() -> None:
    for refusal in ("I'm sorry, but I can't help with that.", paid("", refused=True)):
        model = Played(refusal)
        (reply,) = asker(model)([ask()])
        assert isinstance(reply, UnreadableReply)
        assert reply.fault is Fault.REFUSAL
        assert len(model.asked) == 1


def test_nothing_found_unreadable_and_unreachable_are_three_outcomes() -> None:
    found, broken, silent = (asker(Played(each))([ask()])[0] for each in ('{"facts": []}', "?", silence()))
    assert isinstance(found, CompleteReply)
    assert isinstance(broken, UnreadableReply)
    assert isinstance(silent, UnreachableReply)


def test_a_question_nobody_answers_readably_is_left_alone_after_three_runs(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    model = Played("?")
    for _ in range(5):
        (reply,) = asker(model, replies=ReplyCache(path))([ask()])
    assert isinstance(reply, UnreadableReply)
    assert "`kept run --force`" in reply.reason
    assert len(model.asked) == 6


def test_a_question_that_was_set_aside_is_asked_again_when_forced_or_by_a_mended_program(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    for _ in range(4):
        asker(Played("?"), replies=ReplyCache(path), program="one")([ask(about=("s1",))])
    assert ReplyCache(path).quarantined_sessions(TRIES) == {"s1": "malformed"}
    forced = asker(Played("?"), replies=ReplyCache(path), program="one")
    forced.retry = True
    assert isinstance(forced([ask(about=("s1",))])[0], UnreadableReply)
    (reply,) = asker(Played(paid(GOOD)), replies=ReplyCache(path), program="two")([ask(about=("s1",))])
    assert isinstance(reply, CompleteReply)
    assert ReplyCache(path).quarantined_sessions(TRIES) == {}


def test_a_file_of_replies_from_before_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    asker(Played(paid(GOOD)), replies=ReplyCache(path))([ask()])
    with closing(sqlite3.connect(path)) as file:
        file.executescript(
            "DROP TABLE unreadable; CREATE TABLE unreadable (key TEXT PRIMARY KEY, tries INTEGER NOT NULL, fault TEXT NOT NULL);"
            "INSERT INTO unreadable VALUES ('k', 3, 'schema'); PRAGMA user_version = 1;"
        )
    (reply,) = asker(Played(), replies=ReplyCache(path))([ask()])
    assert isinstance(reply, CompleteReply)
    assert ReplyCache(path).quarantined_sessions(1) == {}


def test_a_budget_of_money_stops_a_run_before_it_is_exceeded_and_says_so_first() -> None:
    told: list[str] = []
    model = Played(paid(GOOD, cost=0.1))
    asking = asker(model, limits=[Limits(span="a run", calls=3)])
    asking.tell = told.append
    replies = asking([ask(str(number)) for number in range(10)])
    assert [type(each) for each in replies] == [CompleteReply] * 3 + [UnaffordableReply] * 7
    assert len(model.asked) == 3
    assert len(told) == 1
    assert told[0].startswith("10 questions, about ")
    assert "more than the budget of 3 calls a run" in told[0]
    assert "3 calls a run (llm.run_calls)" in replies[-1].reason


def test_what_is_asked_is_told_before_the_first_question_however_little_it_is_and_whatever_was_foreseen() -> None:
    told: list[str] = []
    asking = asker(Played(GOOD))
    asking.tell = told.append
    asking.announce(asking.estimate([ask("one"), ask("two")]))
    asking([ask("one")])
    asking([ask("two")])
    assert [words.split(", about")[0] for words in told] == ["Asking 2 questions"]
    asking([ask("one"), ask("three")])
    assert [words.split(", about")[0] for words in told] == ["Asking 2 questions", "Asking 1 question"]


def test_a_budget_of_a_month_counts_what_was_asked_since_its_first_day(tmp_path: Path) -> None:
    path, month = tmp_path / "replies.db", Limits(span="a month", calls=2)
    early, late, after = (datetime(2026, *day, tzinfo=UTC) for day in ((1, 3), (1, 30), (2, 1)))
    asker(Played(GOOD), replies=ReplyCache(path), limits=[month], clock=lambda: early)([ask("one"), ask("two")])
    for moment, told in ((late, "2 calls a month (llm.month_calls)"), (after, "")):
        asking = asker(Played(GOOD), replies=ReplyCache(path), limits=[month], clock=lambda moment=moment: moment)
        assert asking.find_shortfall(asking.estimate([ask("three")])) == told


def test_a_budget_that_earlier_runs_used_up_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    path, told, day = tmp_path / "replies.db", [], Limits(span="a day", calls=2)
    asker(Played(GOOD), replies=ReplyCache(path), limits=[day])([ask("one"), ask("two")])
    asking = asker(Played(GOOD), replies=ReplyCache(path), limits=[day])
    asking.tell = told.append
    assert "2 calls a day" in asking.find_shortfall(asking.estimate([ask("three")]))
    asking.announce(asking.estimate([ask("three")]))
    assert "more than the budget of 2 calls a day" in told[0]


def test_money_and_tokens_are_bounded_too() -> None:
    asks = [ask(str(number)) for number in range(10)]
    model = Played(paid(GOOD, cost=0.1))
    asker(model, limits=[Limits(span="a run", usd=0.25)])(asks)
    assert len(model.asked) == 2  # a third would cost what those before did
    model = Played(paid(GOOD, tokens=200))
    asker(model, limits=[Limits(span="a run", tokens=700)])(asks)
    assert len(model.asked) == 2  # a third might need more than there is left


def test_the_budget_of_a_day_counts_the_runs_before(tmp_path: Path) -> None:
    path, moment = tmp_path / "replies.db", datetime(2026, 10, 1, 12, tzinfo=UTC)
    day = Limits(span="a day", calls=5)
    for number in range(2):
        asker(Played(GOOD), replies=ReplyCache(path), limits=[day], clock=lambda: moment)(
            [ask(f"{number}-{each}") for each in range(3)]
        )
    model = Played(GOOD)
    asker(model, replies=ReplyCache(path), limits=[day], clock=lambda: moment)([ask("more")])
    assert model.asked == []
    asker(model, replies=ReplyCache(path), limits=[day], clock=lambda: moment + timedelta(days=1))([ask("more")])
    assert len(model.asked) == 1


def test_a_dry_run_asks_nothing_and_tells_what_asking_would_cost() -> None:
    model = Played(GOOD, name="anthropic:claude-haiku-5-5")
    asking = asker(model)
    asking.dry = True
    replies = asking([ask("a" * 3_000), ask("b" * 3_000)])
    assert all(isinstance(each, UnaffordableReply) for each in replies)
    assert model.asked == []
    assert not asking.tally.partly
    would = asking.tally.would
    assert would.questions == 2
    assert 2_000 < would.usage.input_tokens < 2_500
    assert would.usage.cost == pytest.approx((would.usage.input_tokens * 0.1 + 2 * 25 * 0.5) / 1e6)


def test_no_secret_leaves_with_a_question_or_comes_in_with_a_reply(tmp_path: Path) -> None:
    def without(text: str) -> tuple[str, int]:
        return text.replace("hunter2", "[redacted]"), text.count("hunter2")

    path = tmp_path / "replies.db"
    model = Played('{"facts": ["the password is hunter2"]}')
    asking = asker(model, redact=without, replies=ReplyCache(path))
    (reply,) = asking([ask("log in with hunter2")])
    assert model.asked[0].prompt == "log in with [redacted]"
    assert isinstance(reply, CompleteReply)
    assert reply.body["facts"] == ["the password is [redacted]"]
    assert asking.tally.secrets == 2
    assert b"hunter2" not in path.read_bytes()


def test_a_reply_is_asked_to_fit_into_the_models_context() -> None:
    model = Played(GOOD)
    asker(model, token_limits=lambda: token_limits_for(4_096))([ask(most=4_096)])
    assert model.asked[0].most == 1_024


@pytest.mark.parametrize("context", [4_096, 8_192, 32_000, 200_000])
def test_parts_follow_the_context_and_the_longest_question(context: int) -> None:
    room = token_limits_for(context)
    assert 0 < room.part + room.reply + 1_000 <= context
    assert token_limits_for(context, most=4_000).part <= 4_000
    assert token_limits_for(200_000).part == PART_TOKENS


PLAN = Plan(program="claude", calls=2, hours=5)


def test_through_a_plan_no_money_is_spent_and_its_share_is_kept_to(tmp_path: Path) -> None:
    model, told = Played(paid(GOOD, cost=9.0)), []
    with closing(ReplyCache(tmp_path / "replies.db")) as replies:
        asking = asker(model, plan=PLAN, replies=replies, limits=(Limits(span="a run", usd=1.0),))
        asking.tell = told.append
        found = asking([ask(str(number)) for number in range(25)])
        assert [type(each) for each in found] == [CompleteReply] * 2 + [UnaffordableReply] * 23
        assert "plan with claude" in found[-1].reason
        assert asking.tally.usage.cost == 0.0
        assert "min, through your plan with claude; 2 of them may be asked now" in told[0]
        (later,) = asker(model, plan=PLAN, replies=replies)([ask("next run")])
        assert isinstance(later, UnaffordableReply)


def test_a_plan_that_refuses_is_not_asked_again_in_this_run() -> None:
    model = Played(silence(Fault.RATE_LIMIT))
    time = Time()
    found = asker(model, plan=replace(PLAN, calls=20), pace=time.pace(insists=False))([ask("one"), ask("two")])
    assert (len(model.asked), time.slept) == (1, [])
    assert all(isinstance(each, UnreachableReply) for each in found)
    assert "allows no more for now" in found[1].reason


def test_a_budget_in_money_that_cannot_hold_is_told_once() -> None:
    told: list[str] = []
    asking = asker(Played(paid(GOOD, cost=None)), limits=(Limits(span="a run", usd=1.0),))
    asking.tell = told.append
    asking([ask("one")])
    asking([ask("two")])
    assert ["budgets in USD cannot be enforced" in words for words in told] == [True, False, False]


def test_questions_are_spaced_as_the_rate_says() -> None:
    time = Time()
    asker(Played(GOOD), pace=time.pace(rate=30))([ask(str(number)) for number in range(3)])
    assert time.slept == [2.0, 2.0]


def test_several_questions_are_asked_at_once() -> None:
    meeting = Barrier(3)

    class Meeting(Played):
        def ask(self, ask):
            meeting.wait()
            return super().ask(ask)

    replies = asker(Meeting(GOOD), pace=Time().pace(concurrency=3))([ask(str(number)) for number in range(3)])
    assert all(isinstance(each, CompleteReply) for each in replies)


def test_forgetting_a_session_or_words_erases_the_replies_about_them(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    bodies = ('{"facts": ["likes figs"]}', '{"facts": ["likes plums"]}', '{"facts": ["likes pears"]}')
    kept = ReplyCache(path)
    asks = [ask(str(number), about=(f"s{number}",)) for number in range(3)]
    asker(Played(*bodies), replies=kept)(asks)
    assert kept.erase_replies(["s0"], lambda text: "likes plums" in text) == 2
    assert b"figs" not in path.read_bytes()
    assert b"plums" not in path.read_bytes()
    model = Played(GOOD)
    asker(model, replies=ReplyCache(path))(asks)
    assert len(model.asked) == 2


class Batching(Played):
    """A model that takes batches and ends none."""

    def __init__(self) -> None:
        super().__init__(GOOD)
        self.batches: list[int] = []

    def submit(self, asks):
        self.batches.append(len(asks))
        return f"batch-{len(self.batches)}"

    def collect(self, _):
        return None


def test_a_budget_covers_what_batches_may_still_cost_in_this_run_and_the_next(tmp_path: Path) -> None:
    model, path = Batching(), tmp_path / "replies.db"
    for first in range(0, 40, 20):
        asking = asker(model, replies=ReplyCache(path), batch=True, limits=[Limits(span="a run", calls=7)])
        for number in range(first, first + 20, 5):
            replies = asking([ask(f"{each}", waits=True) for each in range(number, number + 5)])
        assert all(isinstance(reply, UnaffordableReply) for reply in replies)
    assert model.batches == [5, 2]
    assert model.asked == []
