"""Models with little context, over the wire forms of Ollama and of servers with OpenAI's interface, from transcript to reply."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kept.llm.adapter import estimate_tokens
from kept.llm.models import context_of, create_llm_client
from kept.local.settings import LlmSettings
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.workspace import open_workspace, utc_now
from loopback import Loopback
from talking import say

CONTEXT = 4_096
WAYS = {
    "ollama": lambda url: LlmSettings(adapter="ollama", model="small", base_url=url),
    "openai": lambda url: LlmSettings(adapter="openai", model="small", base_url=f"{url}/v1"),
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
def test_every_question_and_its_reply_fit_into_the_context_of_a_small_model_the_trials_too(
    server: Loopback, tmp_path: Path, way: str
) -> None:
    server.context = CONTEXT
    for number in range(3):
        words = (
            f"Look at part {number}.{part} of the importer: {'some plain words about rates and rows ' * 9}" for part in range(16)
        )
        say(
            tmp_path,
            f"s{number}",
            *words,
            "Never use pip in this repo, always use `uv sync` instead.",
            day=f"2026-01-0{number + 1}",
        )
    home = find_paths(str(tmp_path), {"HOME": str(tmp_path)})
    with open_workspace(home, zone="UTC", env={"HOME": str(tmp_path), "KEPT_EMBEDDINGS": "hashing"}) as workspace:
        asking = create_llm_client(
            WAYS[way](server.url), replies=home.replies, env={}, clock=utc_now, day_start=utc_now, redact=lambda text: (text, 0)
        )
        assert asking is not None
        told: list[str] = []
        asking.tell = told.append
        chosen = replace(workspace.settings, llm=WAYS[way](server.url))
        report = run_pipeline(replace(workspace, llm=asking, settings=chosen), [], RunOptions())
        asking.close()
    assert len(server.questions) > 13  # ten of them of the trial
    assert report.llm_extraction.left == 0
    assert not any("price" in words for words in told)  # a model on this machine costs nothing
    assert not report.asked.partly
    for body in server.questions:
        reply = body["options"]["num_predict"] if way == "ollama" else body["max_tokens"]
        assert estimate_tokens("".join(message["content"] for message in body["messages"])) + reply <= CONTEXT
        schema = body["format"] if way == "ollama" else body["response_format"]["json_schema"]["schema"]
        assert schema["required"]
        assert way != "ollama" or body["options"]["num_ctx"] == CONTEXT
    assert any("uv sync" in json.dumps(body["messages"]) for body in server.questions)
