"""The trial of a language model: ten fixed questions of the form that extraction asks, and how its replies score."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from kept.core.errors import UsageError
from kept.core.text import one_line
from kept.extraction.questions import TASK, Chunk, Excerpt, Turn, build_question_ask
from kept.llm.ask import Ask, CompleteReply, Reply, UnreadableReply
from kept.llm.client import LlmClient
from kept.llm.models import create_llm_client, is_unproven
from kept.profiles import load_profile
from kept.profiles.prompts import BUILT_IN, compose_prompt, default_prompt_text
from kept.workspace import Workspace

PASSES = 8  # questions of ten that a model must answer right
_PURPOSE = "trial"
# The models of a program that are tried where none is named, the smallest first.
_MODELS = {"claude": ("haiku", "sonnet", "opus")}


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialScore:
    """How a model did: questions answered right, what it took that it must not, and what went wrong, question by question."""

    model: str
    right: int
    unwanted: int
    faults: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether the model may be trusted with extraction: enough is right, and nothing taken that a trap offered."""
        return self.right >= PASSES and self.unwanted == 0


def try_models(workspace: Workspace, models: tuple[str, ...] = ()) -> tuple[TrialScore, ...]:
    """Try models in their order until one passes; without names the program's own, the smallest first, else that of the settings.

    Raises UsageError where no model is set, ConfigError, StoreError.
    """
    if workspace.llm is None:
        raise UsageError("no language model is set", hint="choose llm.adapter first")
    usual = _MODELS.get(workspace.settings.llm.command, ()) if not workspace.settings.llm.model else ()
    trial_scores: list[TrialScore] = []
    for model in models or usual or (workspace.settings.llm.model,):
        trial_scores.append(_score_model(workspace, model))
        if trial_scores[-1].passes:
            break
    return tuple(trial_scores)


def is_trusted(workspace: Workspace) -> bool:
    """Whether what the model of the settings proposes may be active at once: it passed its trial, or was not tried and is known.

    Asks nothing: goes by the replies of a trial that are remembered. Raises ConfigError, StoreError.
    """
    if workspace.llm is None:
        return True
    rows = _load_questions()
    bodies = workspace.llm.stored_replies([build_trial_ask(row["talk"]) for row in rows])
    if not any(body is not None for body in bodies):
        return not is_unproven(workspace.settings.llm)
    # A reply that could not be read is not remembered, and counts as the trial counts it.
    replies = [UnreadableReply(reason="no reply") if body is None else CompleteReply(body=body, cached=True) for body in bodies]
    return _score_replies(workspace.settings.llm.model, rows, replies).passes


def _load_questions() -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = tomllib.loads((files("kept.pipeline") / "trial.toml").read_text(encoding="utf-8"))["question"]
    return found


def _score_model(workspace: Workspace, model: str) -> TrialScore:
    rows, asking = _load_questions(), _client_for_model(workspace, model)
    replies = asking([build_trial_ask(row["talk"]) for row in rows])
    if asking is not workspace.llm:
        asking.close()
    return _score_replies(model or workspace.settings.llm.command or workspace.settings.llm.adapter, rows, replies)


def _score_replies(model: str, rows: Sequence[Mapping[str, Any]], replies: Sequence[Reply]) -> TrialScore:
    judged = [_judge_reply(row, reply) for row, reply in zip(rows, replies, strict=True)]
    return TrialScore(
        model=model,
        right=sum(not fault for fault, _ in judged),
        unwanted=sum(trap for _, trap in judged),
        faults=tuple(f"question {number}: {fault}" for number, (fault, _) in enumerate(judged, 1) if fault),
    )


def _client_for_model(workspace: Workspace, model: str) -> LlmClient:
    assert workspace.llm is not None
    if model == workspace.settings.llm.model:
        return workspace.llm
    chosen = replace(workspace.settings.llm, model=model)
    made = create_llm_client(
        chosen,
        replies=workspace.paths.replies,
        env=workspace.env,
        clock=workspace.clock,
        day_start=workspace.clock,
        redact=lambda text: (text, 0),  # the questions are kept's own
    )
    return made or workspace.llm


def build_trial_ask(talk: list[str]) -> Ask:
    """The question about what was said, as extraction asks it."""
    turns = tuple(Turn(ordinal=number, text=f"[e{number}] {text}") for number, text in enumerate(talk))
    prompt = compose_prompt(load_profile("coding"), default_prompt_text(), BUILT_IN)
    ask = build_question_ask([Excerpt(chunk=Chunk(start=0, stop=len(turns), closed=True, turns=turns))], prompt)
    return replace(ask, purpose=_PURPOSE, waits=False)


def _judge_reply(row: Mapping[str, Any], reply: Reply) -> tuple[str, bool]:
    """What is wrong with a reply (empty: nothing), and whether it took what a trap offered."""
    if not isinstance(reply, CompleteReply):
        return reply.reason, False
    said = _normalize_text(" ".join(row["talk"]))
    kept = [claim for claim in reply.body["memories"] if claim["category"] != TASK]
    passages = [_normalize_text(str(claim["passage"])) for claim in kept]
    traps = [words for words in row["unwanted"] if any(_normalize_text(words) in passage for passage in passages)]
    if traps:
        return f"took {traps[0]!r}", True
    if missed := [words for words in row["wanted"] if not any(_normalize_text(words) in passage for passage in passages)]:
        return f"missed {missed[0]!r}", False
    if any(passage not in said for passage in passages):
        return "a passage that nobody said", False
    return ("more than there is" if len(passages) > len(row["wanted"]) + 1 else ""), False


def _normalize_text(text: str) -> str:
    return one_line(text).casefold().strip(" .!?\"'`")
