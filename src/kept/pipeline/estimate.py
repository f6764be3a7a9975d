"""Estimate what a run will ask a language model, before the first question is sent, or before any model is chosen."""

from dataclasses import replace
from itertools import islice

from kept.extraction.extract_threads import Within
from kept.extraction.llm_extraction import pending, questions
from kept.llm.budget import Estimate
from kept.llm.client import LlmClient
from kept.llm.found import Found
from kept.llm.models import model
from kept.llm.prices import price_of
from kept.local.settings import Llm
from kept.profiles.profile import Occasion
from kept.workspace import Workspace

_SAMPLED = 120  # sessions of which a rough estimate is made
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


def foresee_any(workspace: Workspace) -> Estimate:
    """About what a model would be asked if one were chosen now, by some of the sessions; without its cost. Asks nothing. Raises
    StoreError.
    """
    asking = LlmClient(lambda: model(Llm(adapter="command", command="any"), workspace.env))
    unheard = pending(workspace)
    some = unheard[:: 1 + len(unheard) // _SAMPLED]
    found = asking.estimate([each.ask for each in questions(workspace, some, asking.room) if each.ask is not None])
    whole = sum(thread.events for thread, _ in unheard) / max(1, sum(thread.events for thread, _ in some))
    usage = found.usage
    return Estimate(
        questions=round(whole * found.questions),
        usage=replace(
            usage,
            calls=round(whole * usage.calls),
            input_tokens=round(whole * usage.input_tokens),
            output_tokens=round(whole * usage.output_tokens),
        ),
    )


def cost_with(found: Found, estimate: Estimate) -> float | None:
    """What an estimate costs with a model, in USD; None where the price is not known."""
    price = price_of(found.settings.get("llm.model", ""))
    if found.local or price is None:
        return 0.0 if found.local else None
    usage = estimate.usage  # of many questions, each of which stays below the size from which a price jumps
    return replace(price, tier=0).cost(tokens_in=usage.input_tokens, tokens_out=usage.output_tokens)
