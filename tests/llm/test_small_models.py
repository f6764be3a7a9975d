"""Models with little context, over the wire forms of Ollama and of servers with OpenAI's interface, from transcript to reply."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from loopback import Loopback

from kept.llm.adapters.base import estimate
from kept.llm.models import asker, context_of
from kept.local.settings import Llm
from kept.paths import find_paths
from kept.pipeline.run import Options, run
from kept.workspace import now, opened
from talking import say

CONTEXT = 4_096
WAYS = {
    "ollama": lambda url: Llm(adapter="ollama", model="small", base_url=url),
    "openai": lambda url: Llm(adapter="openai", model="small", base_url=f"{url}/v1"),
}
ways = pytest.mark.parametrize("way", WAYS)


@ways
def test_a_servers_own_word_on_its_context_is_taken_and_without_one_little_is_assumed(server: Loopback, way: str) -> None:
    server.context = CONTEXT
    assert context_of(WAYS[way](server.url)) == CONTEXT
    server.context = 0
    assert context_of(WAYS[way](server.url)) == 4_000
    assert context_of(replace(WAYS[way](server.url), context=9_000)) == 9_000


@ways
def test_every_question_and_its_reply_fit_into_the_context_of_a_small_model(server: Loopback, tmp_path: Path, way: str) -> None:
    server.context = CONTEXT
    for number in range(3):
        words = (
            f"Look at part {number}.{part} of the importer: {'some plain words about rates and rows ' * 9}" for part in range(12)
        )
        say(
            tmp_path,
            f"s{number}",
            *words,
            "Never use pip in this repo, always use `uv sync` instead.",
            day=f"2026-01-0{number + 1}",
        )
    home = find_paths(str(tmp_path), {"HOME": str(tmp_path)})
    with opened(home, zone="UTC", env={"HOME": str(tmp_path)}) as workspace:
        asking = asker(WAYS[way](server.url), replies=home.replies, env={}, clock=now, day_start=now, redact=lambda text: (text, 0))
        assert asking is not None
        report = run(replace(workspace, llm=asking), [], Options())
        asking.close()
    assert len(server.questions) > 3
    assert report.heard.left == 0
    assert not report.asked.partly
    for body in server.questions:
        reply = body["options"]["num_predict"] if way == "ollama" else body["max_tokens"]
        assert estimate("".join(message["content"] for message in body["messages"])) + reply <= CONTEXT
        schema = body["format"] if way == "ollama" else body["response_format"]["json_schema"]["schema"]
        assert schema["required"]
        assert way != "ollama" or body["options"]["num_ctx"] == CONTEXT
    assert any("uv sync" in json.dumps(body["messages"]) for body in server.questions)
