"""The vendors' real libraries against a server on this machine: every fault has its outcome, and nothing is lost."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from asks import Time, ask, asker
from kept.api import Memory
from kept.llm import available, bounded_client
from kept.llm.adapter import AdapterFailure, AdapterReply
from kept.llm.adapters import ollama
from kept.llm.adapters.anthropic import Anthropic
from kept.llm.adapters.openai import OpenAI
from kept.llm.ask import CompleteReply, Fault, PendingReply, UnreachableReply, UnreadableReply
from kept.llm.replies import ReplyCache
from kept.llm.retry import RetryPolicy, ask_with_retries
from loopback import Handler, Loopback

OPEN = []


def opened(model):
    OPEN.append(model)
    return model


MADE = {
    "anthropic": lambda url, **more: opened(Anthropic("claude-haiku-5-5", key="k", base_url=url, **more)),
    "openai": lambda url, **more: opened(OpenAI("gpt-6-luna", key="k", base_url=f"{url}/v1", **more)),
}


@pytest.fixture(autouse=True)
def closed():
    yield
    while OPEN:
        OPEN.pop().close()


both = pytest.mark.parametrize("vendor", MADE)


@pytest.mark.parametrize("vendor", [*MADE, "ollama"])
def test_the_name_under_which_replies_are_stored_holds_no_login(vendor: str) -> None:
    made = MADE | {"ollama": lambda url: ollama.Ollama("m", context=4_000, base_url=url)}
    assert "http://me:***@127.0.0.1:9" in made[vendor]("http://me:Pw1@127.0.0.1:9").name


@both
def test_a_question_is_answered_in_the_form_it_asks_for(server: Loopback, vendor: str) -> None:
    asking = asker(MADE[vendor](server.url))
    (reply,) = asking([ask()])
    assert isinstance(reply, CompleteReply)
    assert reply.body == {"facts": ["likes figs"]}
    assert reply.usage.calls == 1
    assert reply.usage.cached_tokens in (4, 5)
    assert reply.usage.cost is not None
    assert reply.usage.cost > 0


def test_what_a_server_on_this_machine_is_asked_passes_no_proxy(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (reply,) = asker(MADE["openai"](server.url))([ask()])
    assert isinstance(reply, CompleteReply)
    assert isinstance(ollama.Ollama("small", context=8192, base_url=server.url, timeout=5).ask(ask()), AdapterReply)
    assert not available.is_on_this_machine("http://models.example:11434")


def test_the_stable_part_goes_first_and_is_marked_for_the_cache(server: Loopback) -> None:
    MADE["anthropic"](server.url).ask(ask())
    (question,) = server.questions
    assert question["system"] == [{"type": "text", "text": "You take notes.", "cache_control": {"type": "ephemeral"}}]
    assert question["messages"] == [{"role": "user", "content": "What was said?"}]
    assert question["output_config"]["format"]["schema"] == ask().schema
    assert "temperature" not in question
    MADE["openai"](server.url).ask(ask())
    assert [each["role"] for each in server.questions[1]["messages"]] == ["system", "user"]


@both
def test_a_busy_server_is_asked_again_after_the_pause_it_names(server: Loopback, vendor: str) -> None:
    time = Time()
    server.faults = [429, 529, 500, None]
    (reply,) = asker(MADE[vendor](server.url), pace=time.pace())([ask()])
    assert isinstance(reply, CompleteReply)
    assert time.slept[0] == 7.0
    assert len(server.questions) == 4


@both
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (429, Fault.RATE_LIMIT),
        (529, Fault.OVERLOADED),
        (503, Fault.OVERLOADED),
        ("cut", Fault.CONNECTION),
        ("no json", Fault.FAILED),
        ("other json", Fault.FAILED),
        (400, Fault.FAILED),
    ],
)
def test_a_server_that_does_not_answer_is_unreachable_and_told(server: Loopback, vendor: str, fault, kind: Fault) -> None:
    server.faults = [fault] * 10
    (reply,) = asker(MADE[vendor](server.url))([ask()])
    assert isinstance(reply, UnreachableReply)
    assert reply.fault is kind


@pytest.mark.parametrize("fault", ["nested", "moved", "no http", "drip", "endless"])
@pytest.mark.parametrize("vendor", [*MADE, "ollama"])
def test_a_hostile_response_is_a_failed_attempt_whose_time_and_size_are_limited_and_goes_to_no_other_place(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, vendor: str, fault: str
) -> None:
    monkeypatch.setattr(bounded_client, "_MOST_BYTES", 2**21)
    server.faults = [fault]
    made = MADE | {"ollama": lambda url, **more: ollama.Ollama("m", context=4_000, base_url=url, **more)}
    assert isinstance(made[vendor](server.url, timeout=1.0 if fault == "drip" else 60.0).ask(ask()), AdapterFailure)
    assert len(server.requests) == 1


@both
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_is_tried_once(server: Loopback, vendor: str, status: int) -> None:
    server.faults = [status] * 10
    replies = asker(MADE[vendor](server.url))([ask(str(number)) for number in range(5)])
    assert {type(each) for each in replies} == {UnreachableReply}
    assert str(status) in replies[4].reason
    assert len(server.questions) == 1


@both
def test_a_slow_server_is_given_up_on(server: Loopback, vendor: str) -> None:
    server.faults = ["slow"]
    model = MADE[vendor](server.url, timeout=0.3)
    said = model.ask(ask())
    assert isinstance(said, AdapterFailure)
    assert said.fault is Fault.TIMEOUT
    server.faults = ["slow"]
    assert ask_with_retries(model, ask(), RetryPolicy(attempts=1)).result == said


@both
def test_a_server_that_is_not_there_is_unreachable(vendor: str) -> None:
    said = MADE[vendor]("http://127.0.0.1:9").ask(ask())
    assert isinstance(said, AdapterFailure)
    assert said.fault is Fault.CONNECTION


@pytest.mark.parametrize(
    ("vendor", "fault", "kind"),
    [
        ("anthropic", {"stop": "max_tokens", "text": '{"facts": ["li'}, Fault.TRUNCATED),
        ("anthropic", {"stop": "max_tokens"}, Fault.TRUNCATED),
        ("anthropic", {"stop": "refusal", "text": ""}, Fault.REFUSAL),
        ("anthropic", {"text": "Well {"}, Fault.MALFORMED),
        ("openai", {"stop": "length"}, Fault.TRUNCATED),
        ("openai", {"refusal": "I won't.", "text": None}, Fault.REFUSAL),
        ("openai", {"stop": "content_filter"}, Fault.REFUSAL),
        ("openai", {"text": ""}, Fault.EMPTY),
        ("openai", {"text": '{"facts": [{}]}'}, Fault.SCHEMA),
    ],
)
def test_a_reply_that_is_not_whole_is_unreadable(server: Loopback, vendor: str, fault: dict[str, str], kind: Fault) -> None:
    server.faults = [fault] * 3
    (reply,) = asker(MADE[vendor](server.url))([ask()])
    assert isinstance(reply, UnreadableReply)
    assert reply.fault is kind


@both
@pytest.mark.parametrize("count", [-(10**12), 10**40, "5", [1]])
def test_what_is_no_number_of_tokens_is_replaced_by_an_estimate(server: Loopback, vendor: str, count: object) -> None:
    server.faults = [{"usage": count}]
    reply = MADE[vendor](server.url).ask(ask())
    assert isinstance(reply, AdapterReply)
    assert 0 < reply.usage.input_tokens < 10_000
    assert 0 < reply.usage.output_tokens < 10_000


def test_a_server_without_schemas_is_asked_more_plainly(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Handler._answer

    def choosy(self, body, made, events, kind):
        form = (body.get("response_format") or {}).get("type")
        if form in ("json_schema", "json_object"):
            self._send({"error": {"message": f"response_format {form} is not supported"}}, 400)
        else:
            plain(self, body, made, events, kind)

    monkeypatch.setattr(Handler, "_answer", choosy)
    server.words = '{"facts": ["likes figs"]}'
    model = MADE["openai"](server.url)
    replies = asker(model)([ask("one"), ask("two")])
    assert all(isinstance(each, CompleteReply) for each in replies)
    forms = [(each.get("response_format") or {}).get("type") for each in server.questions]
    assert forms == ["json_schema", "json_object", None, None]
    assert server.questions[3]["messages"][0]["content"] == ask("two").system


def test_tokens_are_counted_by_the_vendor_where_it_matters(server: Loopback) -> None:
    model = MADE["anthropic"](server.url)
    long = ask("word " * 1_000)
    assert model.count(long) < 1_700


@both
def test_what_can_wait_is_handed_in_as_a_batch_and_collected_by_a_later_run(server: Loopback, vendor: str, tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    asks = [ask(str(number), waits=True) for number in range(3)] + [ask("now")]

    def run():
        asking = asker(MADE[vendor](server.url), replies=ReplyCache(path), batch=True)
        return asking, asking(asks)

    _, replies = run()
    assert [type(each) for each in replies] == [PendingReply] * 3 + [CompleteReply]
    _, replies = run()
    assert [type(each) for each in replies] == [PendingReply] * 3 + [CompleteReply]
    assert len(server.pending_batches) == 1
    server.done = True
    asking, replies = run()
    assert [type(each) for each in replies] == [CompleteReply] * 4
    assert len(server.questions) == 1
    assert asking.tally.usage.calls == 3
    half = asking.tally.usage.cost
    assert half is not None
    _, replies = run()
    assert all(isinstance(each, CompleteReply) and each.cached for each in replies)
    assert len(server.pending_batches) == 1


def test_a_batch_that_never_ends_is_asked_for_again(server: Loopback, tmp_path: Path) -> None:
    path, moment = tmp_path / "replies.db", datetime(2026, 11, 1, tzinfo=UTC)
    asks = [ask(waits=True)]
    (reply,) = asker(MADE["anthropic"](server.url), replies=ReplyCache(path), batch=True, clock=lambda: moment)(asks)
    assert isinstance(reply, PendingReply)
    (reply,) = asker(MADE["anthropic"](server.url), replies=ReplyCache(path), clock=lambda: moment + timedelta(days=2))(asks)
    assert isinstance(reply, CompleteReply)


def test_a_batch_costs_half(server: Loopback, tmp_path: Path) -> None:
    costs = []
    for batch in (False, True):
        path = tmp_path / f"{batch}.db"
        server.done = False
        asker(MADE["anthropic"](server.url), replies=ReplyCache(path), batch=batch)([ask(waits=True)])
        server.done = True
        asker(MADE["anthropic"](server.url), replies=ReplyCache(path), batch=batch)([ask(waits=True)])
        (spent,) = ReplyCache(path).usage_between(datetime(2000, 1, 1, tzinfo=UTC))
        costs.append(spent.usage.cost)
    assert costs[1] == pytest.approx(costs[0] / 2)


@both
def test_a_name_of_a_model_tells_its_server(server: Loopback, vendor: str) -> None:
    assert MADE[vendor](server.url).name != MADE[vendor]("http://127.0.0.1:1").name
    assert isinstance(MADE[vendor](server.url).ask(ask()), AdapterReply)


def test_objects_of_a_vendors_library_are_taken_by_a_memory_as_they_are(tmp_path: Path) -> None:
    types = pytest.importorskip("anthropic.types")
    call = types.ToolUseBlock(id="c1", name="bash", input={"command": "uv sync"}, type="tool_use")
    with Memory.open(tmp_path) as memory:
        memory.observe({"role": "assistant", "content": [types.TextBlock(text="I will.", type="text"), call]})
        assert [entry.text for entry in memory.recent().entries] == ["I will.", "uv sync"]
