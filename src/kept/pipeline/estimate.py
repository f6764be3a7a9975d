"""Estimate what a run will ask a language model, before the first question is sent, or before any model is chosen.

Questions of extraction are planned as the run plans them; those about days and categories follow from how much there is to read.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice

from kept.core.summary import Point
from kept.curation.advice import PURPOSE as CURATE
from kept.curation.advice import SCHEMA as CHANGES
from kept.extraction.extract_threads import Within
from kept.extraction.llm_extraction import Part, pending, questions
from kept.extraction.questions import summing
from kept.llm.ask import Ask
from kept.llm.budget import Estimate
from kept.llm.client import LlmClient
from kept.llm.found import Found
from kept.llm.models import model
from kept.llm.prices import price_of
from kept.local.settings import Llm
from kept.profiles import prompts
from kept.profiles.profile import Occasion
from kept.workspace import Workspace

_SAMPLED = 120  # sessions of which a rough estimate is made
_TOGETHER = 100  # questions counted at once: bounds memory
_DAY_TOKENS = 8_000  # of a project's day, below which too few points are noted to be put together
_POINT_TOKENS = 2_500  # to read for a point that a model notes
_POINT = "a point of some twelve words, as a model notes what a part came to"
_TABLE_PARTS = 2  # parts of a project, in tokens of a whole question, from which entries of a category resemble each other
_TABLE_CHARS = 1_500


@dataclass(kw_only=True, slots=True)
class _Later:
    """How many tokens are read of each day and project, and of each project: what is asked about later follows from it."""

    days: Counter[tuple[date, str]] = field(default_factory=Counter)
    scopes: Counter[str] = field(default_factory=Counter)

    def count_part(self, workspace: Workspace, part: Part) -> None:
        chunk, scope, weight = part.reading.chunk, part.reading.scope, part.excerpt.weight
        self.scopes[scope] += weight
        for place in range(chunk.start, chunk.stop):
            if at := part.reading.events[place].at:
                self.days[at.astimezone(workspace.zone).date(), scope] += weight // (chunk.stop - chunk.start)


def foresee(
    workspace: Workspace,
    asking: LlmClient,
    *,
    force: bool = False,
    within: Within | None = None,
    occasion: Occasion = Occasion.NIGHTLY,
) -> Estimate:
    """What a run would ask about threads that no model has read, and about the days and memories that come of them. Asks nothing.

    Raises StoreError, and ConfigError where the settings name no whole model.
    """
    waiting = pending(workspace, force=force, within=within, occasion=occasion)
    planned, later = questions(workspace, waiting, asking.room), _Later()
    found = Estimate()
    while some := list(islice(planned, _TOGETHER)):
        for part in (part for each in some for part in each.parts if part.told):
            later.count_part(workspace, part)
        found += asking.estimate([each.ask for each in some if each.ask is not None])
    if occasion is Occasion.NIGHTLY:
        found += asking.estimate([*_days(workspace, later), *_tables(later, asking.room.part)])
    return found


def _days(workspace: Workspace, later: _Later) -> Iterator[Ask]:
    text, version = prompts.outcome()
    today = workspace.clock().astimezone(workspace.zone).date()
    for (day, scope), weight in sorted(later.days.items()):
        if weight >= _DAY_TOKENS and day < today:
            count = min(weight // _POINT_TOKENS, 120)
            points = [Point(kind="decisions", text=f"{_POINT}, {day} {scope} {number}", events=()) for number in range(count)]
            yield summing(points, system=text, version=version)


def _tables(later: _Later, part: int) -> Iterator[Ask]:
    text, version = prompts.curation()
    for scope, weight in sorted(later.scopes.items()):
        if weight >= _TABLE_PARTS * part:
            yield Ask(purpose=CURATE, version=version, system=text, prompt=scope.ljust(_TABLE_CHARS, "."), schema=CHANGES)


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
