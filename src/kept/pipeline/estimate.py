"""Estimate what a run will ask a language model, before the first question is sent."""

from itertools import islice

from kept.extraction.extract_threads import Within
from kept.extraction.llm_extraction import pending, questions
from kept.llm.budget import Estimate
from kept.llm.client import LlmClient
from kept.profiles.profile import Occasion
from kept.workspace import Workspace

_TOGETHER = 100  # questions counted at once: bounds memory


def foresee(
    workspace: Workspace,
    asking: LlmClient,
    *,
    force: bool = False,
    within: Within | None = None,
    occasion: Occasion = Occasion.NIGHTLY,
) -> Estimate:
    """What a run would ask about threads that no model has read, by the plan that it follows. Asks nothing.

    Raises StoreError, and ConfigError where the settings name no whole model.
    """
    waiting = pending(workspace, force=force, within=within, occasion=occasion)
    asks = (each.ask for each in questions(workspace, waiting, asking.room) if each.ask is not None)
    found = Estimate()
    while some := list(islice(asks, _TOGETHER)):
        found += asking.estimate(some)
    return found
