"""Replies made to deceive: what of them becomes memory, and whether anything is paid for twice.

A folder ``adversarial`` holds ``session.jsonl`` (one conversation) and ``cases.jsonl`` (``name``, ``reply``: an object or a text).
Each case is a store of its own in which a scripted model answers every question with that reply, run after run. A memory is
believed where the person did not type it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kept.core.memory import UNDERSTOOD, Status
from kept.core.spans import typed_text
from kept.core.text import one_line
from kept.extraction.questions import PURPOSE
from kept.llm.adapters.scripted import ScriptedModel
from kept.llm.ask import Ask
from kept.llm.client import TRIES, LlmClient
from kept.llm.replies import ReplyCache
from kept.pipeline.run import RunOptions, run_pipeline
from kept.workspace import Opener

FOLDER = "adversarial"
_NOTHING: Mapping[str, Any] = {"operations": [], "problems": [], "solutions": [], "decisions": [], "questions": []}


@dataclass(frozen=True, kw_only=True, slots=True)
class AdversarialResult:
    """What a reply came to: the words that were ``believed``, those that were ``taken`` as the person typed them, and how often
    more than it needs the same question was ``paid``.
    """

    name: str
    believed: tuple[str, ...]
    taken: tuple[str, ...]
    paid: int


def run_adversarial_cases(open_desk: Opener, folder: Path) -> tuple[AdversarialResult, ...]:
    """What each case of a folder comes to; none where there is no such folder."""
    cases = folder / FOLDER / "cases.jsonl"
    if not cases.is_file():
        return ()
    rows = [json.loads(line) for line in cases.read_text(encoding="utf-8").splitlines() if line.strip()]
    return tuple(_run_adversarial_case(open_desk, row, cases.with_name("session.jsonl")) for row in rows)


def _run_adversarial_case(open_desk: Opener, row: Mapping[str, Any], session: Path) -> AdversarialResult:
    asked: list[str] = []

    def reply(ask: Ask) -> Mapping[str, Any] | str:
        if ask.purpose != PURPOSE:
            return _NOTHING
        asked.append(ask.prompt)
        said: Mapping[str, Any] | str = row["reply"]
        return said

    with TemporaryDirectory(prefix="kept-eval-") as made, open_desk(Path(made)) as opened:
        asker = LlmClient(lambda: ScriptedModel(reply), replies=ReplyCache(opened.paths.replies), clock=opened.clock)
        workspace = replace(opened, llm=asker)
        run_pipeline(workspace, [session], RunOptions())
        due = TRIES if asker.tally.unreadable else 1
        for _ in range(due):
            run_pipeline(workspace, [session], RunOptions())
        log, archive = workspace.store.log, workspace.store.archive
        events = (event for thread in archive.threads() for event in archive.events(thread.id, 0, thread.events))
        typed = one_line("\n".join(map(typed_text, events)))
        words = [
            one_line(memory.content) for memory in log.memories() if memory.trigger == UNDERSTOOD and memory.status is Status.ACTIVE
        ]
    return AdversarialResult(
        name=row["name"],
        believed=tuple(word for word in words if word not in typed),
        taken=tuple(word for word in words if word in typed),
        paid=max(0, len(asked) - due * len(set(asked))),
    )
