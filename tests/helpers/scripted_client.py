"""A workspace whose model is a function."""

from dataclasses import replace

from kept.llm.adapters.scripted import ScriptedModel
from kept.llm.ask import PART_TOKENS, TokenLimits
from kept.llm.client import LlmClient, RetryPolicy
from kept.llm.replies import ReplyCache
from obedient import obey

NOTHING = {"hints": [], "memories": [], "notes": {"problems": [], "solutions": [], "decisions": [], "questions": []}}


class Obedient:
    """A model that reads the prompt; ``asked`` records its questions."""

    def __init__(self, answer=obey):
        self.asked = []
        self.answer = answer

    def __call__(self, ask):
        self.asked.append(ask)
        return self.answer(ask)


def with_model(
    workspace,
    model,
    *,
    part=PART_TOKENS,
    requests=lambda _: {"memories": []},
    recheck=lambda _: {"sentences": []},
    proofread=lambda _: {"lines": []},
    outdated=lambda _: {"operations": []},
    **options,
):
    """The workspace with a model. A model of a test need not know the questions that have a function of their own: ``requests``
    for requests that bring memories, ``recheck`` and ``proofread`` about claims, and ``outdated`` about a whole project.
    """
    optional = {"requests": requests, "recheck": recheck, "proofread": proofread, "outdated": outdated}
    pace = RetryPolicy(attempts=1, concurrency=1, sleep=lambda _: None)
    asker = LlmClient(
        lambda: ScriptedModel(lambda ask: optional.get(ask.purpose, model)(ask)),
        replies=ReplyCache(workspace.paths.replies),
        clock=workspace.clock,
        pace=pace,
        token_limits=lambda: TokenLimits(part=part),
        **options,
    )
    return replace(workspace, llm=asker)
