"""Real sessions are cleaned without loss of account, and cleaning them again changes nothing."""

from functools import partial
from pathlib import Path

import pytest

from kept.core.event import Cursor, Event
from kept.core.redact import redact
from kept.intake.clean import Limits, clean
from kept.sources.formats.claude_code import ClaudeCode


def size(one: Event) -> int:
    tool = (one.tool.name, one.tool.target, one.tool.detail) if one.tool else ()
    return sum(len(part.encode("utf-8", "surrogatepass")) for part in (one.text, one.project, one.branch, *tool))


@pytest.mark.shared
def test_real_sessions_shrink_to_less_than_half_and_stay_clean(shared: Path) -> None:
    conceal = partial(redact, key=b"key")
    before = after = 0
    for path in sorted((shared / "transcripts" / "inputs" / "claude-code-jsonl" / "entireio-cli").rglob("*.jsonl")):
        for piece in ClaudeCode().read(path, Cursor()):
            for one in piece.events:
                done = clean(one, redact=conceal, limits=Limits())
                assert size(one) - size(done.event) == sum(done.removed.values())
                assert clean(done.event, redact=conceal, limits=Limits()).event == done.event
                before, after = before + size(one), after + size(done.event)
    assert after * 2 < before
