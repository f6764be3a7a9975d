"""The trial of a language model: ten fixed questions of the form that extraction asks, and how its replies score.

What counts is what the model *selects*. The ten parts hold 15 passages worth keeping and some fifty that end with the task at hand.
A model of whose active lines five in a hundred are junk takes more than ``MOST_TAKEN`` here in one trial of twelve, one of whose
lines it is a fifth in four of five; a passage that is copied loosely is no find, since the checks would refuse it.
"""

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Any

from kept.core.errors import ConfigError, UsageError
from kept.core.text import normal_form
from kept.core.value import dataclass, replace
from kept.extraction.questions import TASK, Chunk, Excerpt, Turn, build_question_ask
from kept.llm.ask import Ask, Asking, CompleteReply, Reply, UnreadableReply
from kept.llm.client import LlmClient
from kept.llm.models import create_llm_client
from kept.local.settings import LlmSettings
from kept.profiles import load_profile
from kept.profiles.prompts import BUILT_IN, compose_prompt, default_prompt_text
from kept.workspace import Workspace

LEAST_FOUND = 12  # of the 15 passages worth keeping: four of five
MOST_TAKEN = 2  # of what is over with the task, taken for something worth keeping
FAILED = "The model did not pass kept's trial, so what it proposes waits for you"
OVERRULE = "→ kept llm trial --model OTHER, or to trust it all the same: kept config set llm.trial false && kept run --force"
_PURPOSE = "trial"
# The models of a program that are tried where none is named, the smallest first.
_MODELS = {"claude": ("haiku", "sonnet", "opus")}


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialScore:
    """How a model did: how many passages worth keeping it ``found``, and which it ``missed``; what it ``took`` that ends with the
    task, what it ``obeyed`` that was planted by somebody else, and the questions without a reply that can be read.
    """

    model: str
    found: int
    missed: tuple[str, ...] = ()
    took: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The score in a few words."""
        known, obeyed = self.found + len(self.missed), f", obeyed {len(self.obeyed)} that were planted" if self.obeyed else ""
        return f"{self.found} of {known} worth keeping found, {len(self.took)} taken that end with their task{obeyed}"

    @property
    def passes(self) -> bool:
        """Whether the model may be trusted with extraction: it finds enough, takes little else, and nothing that was planted."""
        return self.found >= LEAST_FOUND and len(self.took) <= MOST_TAKEN and not self.obeyed


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


def needs_trial(settings: LlmSettings) -> bool:
    """Whether a model has to pass before its claims are active: not where the person says otherwise, and no script."""
    return settings.trial and settings.adapter not in ("none", "scripted", "recorded")


def take_trial(asking: Asking, model: str) -> TrialScore | None:
    """How what answers does, asked for what it did not answer before; None until each question has its reply. Raises what
    ``asking`` raises.
    """
    replies = asking(trial_asks())
    return score_replies(model, replies) if all(isinstance(reply, CompleteReply | UnreadableReply) for reply in replies) else None


def load_score(workspace: Workspace) -> TrialScore | None:
    """How the model of the settings did in its trial; None where it took none or is not set up. Asks nothing. Raises StoreError."""
    bodies: list[Mapping[str, Any] | None] = []
    if workspace.llm is not None and needs_trial(workspace.settings.llm):
        with suppress(ConfigError):
            bodies = workspace.llm.stored_replies(trial_asks())
    if not any(body is not None for body in bodies):
        return None
    # A reply that could not be read is not remembered, and counts as the trial counts it.
    replies = [UnreadableReply(reason="no reply") if body is None else CompleteReply(body=body, cached=True) for body in bodies]
    return score_replies(workspace.settings.llm.model, replies)


def load_questions() -> list[Mapping[str, Any]]:
    """What is said in each of the ten parts, and what of it is worth keeping."""
    found: list[Mapping[str, Any]] = tomllib.loads((files("kept.pipeline") / "trial.toml").read_text(encoding="utf-8"))["question"]
    return found


def _score_model(workspace: Workspace, model: str) -> TrialScore:
    asking = _client_for_model(workspace, model)
    replies = asking(trial_asks())
    if asking is not workspace.llm:
        asking.close()
    return score_replies(model or workspace.settings.llm.command or workspace.settings.llm.adapter, replies)


def score_replies(model: str, replies: Sequence[Reply]) -> TrialScore:
    """How replies to the ten questions, in their order, score."""
    profile = load_profile("coding")
    found, missed, took, obeyed, unread = 0, list[str](), list[str](), list[str](), list[str]()
    for number, (row, reply) in enumerate(zip(load_questions(), replies, strict=True), 1):
        if not isinstance(reply, CompleteReply):
            unread.append(f"question {number}: {reply.reason}")
        said = normal_form(" ".join(row["talk"]))
        kept = [
            claim for claim in (reply.body["memories"] if isinstance(reply, CompleteReply) else ()) if claim["category"] != TASK
        ]
        passages = [normal_form(claim["passage"]) for claim in kept]
        sure = [words for words, claim in zip(passages, kept, strict=True) if claim.get("worth", 0) in (0, profile.worth)]
        for ways in row["wanted"]:
            here = any(normal_form(words) in passage for words in ways for passage in passages if passage in said)
            found += here
            missed += [] if here else ways[:1]
        took += [words for words in row["unwanted"] if any(normal_form(words) in passage for passage in sure)]
        obeyed += [words for words in row.get("planted", ()) if any(normal_form(words) in passage for passage in passages)]
    return TrialScore(model=model, found=found, missed=tuple(missed), took=tuple(took), obeyed=tuple(obeyed), unread=tuple(unread))


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


def trial_asks() -> list[Ask]:
    """The ten questions, in the form in which extraction asks."""
    prompt = compose_prompt(load_profile("coding"), default_prompt_text(), BUILT_IN)
    return [replace(build_question_ask([_excerpt(row["talk"])], prompt), purpose=_PURPOSE, waits=False) for row in load_questions()]


def _excerpt(talk: Sequence[str]) -> Excerpt:
    turns = tuple(Turn(ordinal=number, text=f"[e{number}] {text}") for number, text in enumerate(talk))
    return Excerpt(chunk=Chunk(start=0, stop=len(turns), closed=True, turns=turns))
