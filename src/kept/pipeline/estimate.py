"""Estimate what a run will ask a language model, before the first question is sent."""

from itertools import islice

from kept.extraction.extract_threads import Within, overlaps
from kept.extraction.llm_extraction import parts
from kept.llm.budget import Estimate
from kept.llm.client import LlmClient
from kept.workspace import Workspace

_TOGETHER = 100  # questions counted at once: bounds memory


def foresee(workspace: Workspace, asking: LlmClient, *, force: bool = False, within: Within | None = None) -> Estimate:
    """What hearing the threads that no model has read would cost; questions about what it missed come on top. Asks nothing.

    Raises StoreError, and ConfigError where the settings name no whole model.
    """
    waiting = ((each, 0) for each in workspace.store.archive.threads()) if force else workspace.store.archive.unheard()
    asks = (
        part.ask
        for thread, closed in waiting
        if within is None or overlaps(thread, within)
        for part in parts(workspace, thread, closed)
    )
    found = Estimate()
    while some := list(islice(asks, _TOGETHER)):
        found += asking.estimate(some)
    return found
