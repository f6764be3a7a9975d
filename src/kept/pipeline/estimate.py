"""Estimate what a run will ask a language model, before the first question is sent or even before a model is chosen.

Questions for extraction are planned exactly as the run plans them. Questions about days are estimated from the amount of text to
read. Questions about categories are estimated from the candidates of the rules: if a candidate resembles another candidate or an
active memory of its scope, a model will probably find two memories to compare. Questions for requests are those about the present
memories, and about the memories that the sessions will probably add.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice
from math import ceil

from kept.core.errors import MissingError
from kept.core.event import is_prompt
from kept.core.memory import SAID_ONCE, Refused, Status
from kept.core.summary import SummaryPoint
from kept.curation.advice import FRESH, OUTDATED, OUTDATED_SCHEMA, PROJECT_FRESH, RELATED, SAID_CHARS, find_matter, measure_likeness
from kept.curation.advice import PURPOSE as CURATE
from kept.curation.advice import SCHEMA as CHANGES
from kept.curation.llm_curation import MEMORIES, REQUESTS, build_requests_ask, list_batches
from kept.curation.llm_curation import SCHEMA as NEEDED_FOR
from kept.days.llm_summaries import Place
from kept.extraction.extract_threads import Within
from kept.extraction.question_plan import ThreadPart, list_pending_threads, plan_questions
from kept.extraction.questions import proofread, recheck
from kept.extraction.questions.claims import build_condense_ask
from kept.llm.ask import Ask, build_ask
from kept.llm.available import AvailableModel
from kept.llm.budget import Estimate, price_of
from kept.llm.client import LlmClient
from kept.llm.models import create_model
from kept.local.settings import LlmSettings
from kept.pipeline.trial import load_score, trial_asks
from kept.profiles.profile import Occasion
from kept.profiles.prompts import question_text
from kept.store.values import Thread
from kept.workspace import Workspace

_SAMPLED = 20_000  # a rough estimate samples sessions with about this many events
_TOGETHER = 100  # questions estimated at once, to bound memory
_DAY_TOKENS = 8_000  # a day of a project with fewer tokens has too few points to condense
_POINT_TOKENS = 2_500  # tokens of input from which a model notes one point
_POINT = "a point of some twelve words, as a model notes what a part came to"
_TABLE_CHARS = 1_500
_PROMPT_CHARS = 200  # characters of a prompt in a question about a project, with the end of the reply before it
_COMPARED = 200  # candidates of a scope that are compared with each other
_ACTIVE = 1.3  # memories that become active for each question about sessions; 76 from 57 recorded replies
_MEMORY_CHARS = 120
_SENT_BACK = 0.85  # share of replies with a claim that is sent back; 46 of 54 recorded replies
_SENT_CHARS = 2_700  # characters of a question that sends claims back
_PROOFREAD, _LINES_CHARS = 8, 350  # replies whose claims are proofread in one question, and the characters of the claims of one


def estimate_run(
    workspace: Workspace,
    asking: LlmClient,
    *,
    from_start: Collection[int] = (),
    within: Within | None = None,
    occasion: Occasion = Occasion.NIGHTLY,
    dry: bool = False,
) -> Estimate:
    """Estimate what a run would ask about threads that no model has read, and about the days and memories that follow. Asks
    nothing.

    Threads in ``from_start`` (by number) count as unread. ``within`` limits the estimate to threads with events in a span of time.
    Questions about memories are estimated from the rules' candidates and the present memories. If ``dry``, they are left out,
    because a dry run has the memories and counts these questions itself. Raises StoreError.
    """
    score = load_score(workspace)
    waiting = list_pending_threads(workspace, from_start=from_start, within=within, occasion=occasion)
    nightly = occasion is Occasion.NIGHTLY and not score.failed
    found = _estimate_sessions(workspace, asking, waiting, nightly=nightly, trusted=not score.failed, dry=dry)
    if nightly and not dry:
        found += _estimate_requests(workspace, asking)
    if not (score.passes or score.failed) and found.questions + found.cached:
        found += replace(asking.estimate(trial_asks()), cached=0)
    return found


def find_question(workspace: Workspace, number: int) -> Ask:
    """The ``number``-th question (from 1) that the next run asks about sessions, exactly as it is sent. Asks nothing.

    Raises MissingError if the run asks fewer questions, StoreError, ConfigError.
    """
    asking = workspace.llm or _any_client(workspace)
    planned = plan_questions(workspace, list_pending_threads(workspace), asking.token_limits)
    asks = (question.ask for question in planned if question.ask is not None)
    ask = next(islice(asks, number - 1, None), None)
    if ask is None:
        fault = (
            "the next run asks no question about sessions" if number == 1 else f"the next run asks fewer than {number} questions"
        )
        raise MissingError(fault, hint="kept sources shows what is not read yet; kept run reads it")
    return asking.redact_ask(ask)


def _any_client(workspace: Workspace) -> LlmClient:
    """A client with the limits of an unknown model, for estimates only."""
    return LlmClient(lambda: create_model(LlmSettings(adapter="command", command="any"), workspace.env))


def _estimate_sessions(
    workspace: Workspace,
    asking: LlmClient,
    waiting: Sequence[tuple[Thread, int]],
    *,
    nightly: bool = True,
    trusted: bool = True,
    dry: bool = False,
) -> Estimate:
    """Estimate the questions about threads. If the model is ``trusted``, add questions that send claims back. If ``nightly``, add
    questions about days and memories.
    """
    planned, days, said = plan_questions(workspace, waiting, asking.token_limits), Counter[Place](), Counter[str]()
    found = Estimate()
    while some := list(islice(planned, _TOGETHER)):
        for part in (part for question in some for part in question.parts if part.worth_asking):
            _add_day_tokens(workspace, part, days)
            events = (part.reading.events[place] for place in range(part.reading.chunk.start, part.reading.chunk.stop))
            said[part.reading.scope] += sum(map(is_prompt, events))
        found += asking.estimate([question.ask for question in some if question.ask is not None])
    found += asking.estimate(list(_claims_asks(round(_SENT_BACK * found.questions) if trusted else 0)))
    if nightly:
        about_memories = () if dry else _curation_asks(workspace, [thread for thread, _ in waiting], said)
        batches = range(round(_ACTIVE * found.questions / MEMORIES))
        requests = (build_ask(REQUESTS, f"{number}".ljust(MEMORIES * _MEMORY_CHARS, "."), NEEDED_FOR) for number in batches)
        found += asking.estimate([*requests, *_day_summary_asks(workspace, days), *about_memories])
    return found


def _estimate_requests(workspace: Workspace, asking: LlmClient) -> Estimate:
    """Estimate the questions that ask for the requests before which the present memories are shown."""
    return asking.estimate([*map(build_requests_ask, list_batches(workspace, asking.token_limits))])


def _claims_asks(count: int) -> Iterator[Ask]:
    """``count`` questions that send claims back with their context, and those that send them back without, of typical size."""
    for number in range(count):
        yield build_ask(recheck.PURPOSE, f"{number}".ljust(_SENT_CHARS, "."), recheck.SCHEMA, most=recheck.MOST_TOKENS)
    for number in range(count // _PROOFREAD):
        lines = f"{number}".ljust(_PROOFREAD * _LINES_CHARS, ".")
        yield build_ask(proofread.PURPOSE, lines, proofread.SCHEMA, most=recheck.MOST_TOKENS)


def _add_day_tokens(workspace: Workspace, part: ThreadPart, days: Counter[Place]) -> None:
    """Add the tokens of a part to those of each day and scope with its events."""
    chunk, weight = part.reading.chunk, part.excerpt.weight
    for place in range(chunk.start, chunk.stop):
        if at := part.reading.events[place].at:
            days[at.astimezone(workspace.zone).date(), part.reading.scope] += weight // (chunk.stop - chunk.start)


def _day_summary_asks(workspace: Workspace, days: Counter[Place]) -> Iterator[Ask]:
    today = workspace.clock().astimezone(workspace.zone).date()
    for (day, scope), weight in sorted(days.items()):
        if weight >= _DAY_TOKENS and day < today:
            count = min(weight // _POINT_TOKENS, 120)
            points = [
                SummaryPoint(kind="decisions", text=f"{_POINT}, {day} {scope} {number}", events=()) for number in range(count)
            ]
            yield build_condense_ask(points)


def _curation_asks(workspace: Workspace, waiting: Iterable[Thread], said: Mapping[str, int]) -> Iterator[Ask]:
    """Yield approximate questions, one for each category of a scope with a candidate that resembles another candidate or memory.

    Questions about a whole scope also show its prompts, of which ``said`` has the number.
    """
    text, version = question_text("curation")
    finds: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)  # {(profile, scope): {content: category}}
    for thread in waiting:
        for proposal in workspace.store.log.thread_proposals(thread.id, 0):
            candidate, verdict = proposal.judged.candidate, proposal.judged.verdict
            if not isinstance(verdict, Refused) or verdict.reason == SAID_ONCE:
                finds[candidate.profile, candidate.scope].setdefault(candidate.content, candidate.category)
    for (profile, scope), found in sorted(finds.items()):
        size = said.get(scope, 0) * _PROMPT_CHARS
        count = max(ceil(len(found) / PROJECT_FRESH), ceil(size / SAID_CHARS))
        for number in range(count):
            shown = f"{scope} {number}".ljust(_TABLE_CHARS + size // count, ".")
            yield Ask(purpose=OUTDATED, version=version, system=text, prompt=shown, schema=OUTDATED_SCHEMA)
        known = workspace.store.log.memories(group=(profile, scope))
        present = dict.fromkeys(memory.content for memory in known if memory.status is Status.ACTIVE)
        matter = {content: find_matter(content) for content in list(found | present)[:_COMPARED]}
        related = {
            content: found[content]
            for pair in combinations(matter, 2)
            if measure_likeness(matter[pair[0]], matter[pair[1]]) >= RELATED
            for content in pair
            if content in found
        }
        for category, count in sorted(Counter(related.values()).items()):
            for number in range(ceil(count / FRESH)):
                named = f"{scope} {category} {number}".ljust(_TABLE_CHARS, ".")
                yield Ask(purpose=CURATE, version=version, system=text, prompt=named, schema=CHANGES)


def estimate_any_model(workspace: Workspace) -> Estimate:
    """Estimate the questions to a model that is chosen now, from a sample of the sessions. Asks nothing.

    The cost is not estimated (see :func:`estimate_cost`). Raises StoreError.
    """
    asking = _any_client(workspace)
    not_asked = list_pending_threads(workspace)
    events = sum(thread.events for thread, _ in not_asked)
    some = not_asked[:: 1 + events // _SAMPLED]
    found = _estimate_sessions(workspace, asking, some)
    whole = events / max(1, sum(thread.events for thread, _ in some))
    usage = replace(
        found.usage,
        calls=round(whole * found.usage.calls),
        input_tokens=round(whole * found.usage.input_tokens),
        output_tokens=round(whole * found.usage.output_tokens),
    )
    estimate = Estimate(questions=round(whole * found.questions), usage=usage) + _estimate_requests(workspace, asking)
    return estimate + asking.estimate(trial_asks()) if estimate.questions and workspace.settings.llm.trial else estimate


def estimate_cost(found: AvailableModel, estimate: Estimate) -> float | None:
    """The cost of an estimate with a model, in USD; None if the price is unknown."""
    price = price_of(found.settings.get("llm.model", ""))
    if found.local or price is None:
        return 0.0 if found.local else None
    usage = estimate.usage  # the sum of many questions, each too small for the higher price of long ones
    return replace(price, tier=0).cost(tokens_in=usage.input_tokens, tokens_out=usage.output_tokens)
