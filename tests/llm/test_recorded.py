"""Recording a model and replaying it."""

from pathlib import Path

import pytest

from asks import GOOD, Played, ask, asker, paid
from kept.core.errors import ConfigError
from kept.llm.adapter import AdapterReply
from kept.llm.adapters.recorded import RecordingModel, ReplayModel
from kept.llm.adapters.scripted import load_script
from kept.llm.ask import CompleteReply, UnreachableReply, UnreadableReply


def test_what_a_model_said_is_replayed_word_for_word_without_it(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    said = [paid(GOOD, tokens=3), paid("half a {", truncated=True, cost=None), paid("", refused=True)]
    model = RecordingModel(Played(*said), path)
    asks = [ask(str(number)) for number in range(3)]
    assert [model.ask(each) for each in asks] == said
    replay = ReplayModel(path)
    assert [replay.ask(each) for each in asks] == said
    assert path.stat().st_mode & 0o777 == 0o600
    assert "What" not in path.read_text(encoding="utf-8")


def test_a_recorded_run_can_be_played_without_a_model(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    asks = [ask("one"), ask("two")]
    bad = asker(RecordingModel(Played(GOOD, "?", "?"), path))(asks)
    again = asker(ReplayModel(path))([*asks, ask("three")])
    assert [type(each) for each in bad] == [CompleteReply, UnreadableReply]
    assert [type(each) for each in again] == [CompleteReply, UnreadableReply, UnreachableReply]


def test_a_recording_that_is_none_is_told(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    for text in (None, "?", '{"key": "k"}'):
        if text:
            path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError):
            ReplayModel(path)


def test_a_script_answers_by_purpose_and_words(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    lines = (
        '{"purpose": "summary", "reply": "a day"}',
        '{"contains": "figs", "reply": {"facts": ["figs"]}}',
        '{"reply": {"facts": []}}',
    )
    path.write_text("\n".join(lines), encoding="utf-8")
    model = load_script(path)
    said = [model.ask(each) for each in (ask("figs"), ask("plums"), ask("figs", purpose="summary"))]
    assert [each.text for each in said if isinstance(each, AdapterReply)] == ['{"facts": ["figs"]}', '{"facts": []}', "a day"]
    path.write_text('{"contains": "x"}', encoding="utf-8")
    with pytest.raises(ConfigError, match="the line is not a rule of a script"):
        load_script(path)


def test_files_of_replies_made_before_kept_asked_for_requests_answer_that_they_have_none(tmp_path: Path) -> None:
    recording, script = tmp_path / "recording.jsonl", tmp_path / "script.jsonl"
    asker(RecordingModel(Played(GOOD), recording))([ask("one")])
    script.write_text('{"reply": {"facts": []}}', encoding="utf-8")
    asked = ask("memories", purpose="requests")
    replies = [model.ask(asked) for model in (ReplayModel(recording), load_script(script))]
    assert [reply.text for reply in replies if isinstance(reply, AdapterReply)] == ['{"memories": []}'] * 2
    script.write_text('{"purpose": "requests", "reply": {"memories": [{"id": 1, "requests": ["bake"]}]}}', encoding="utf-8")
    assert "bake" in str(load_script(script).ask(asked))
