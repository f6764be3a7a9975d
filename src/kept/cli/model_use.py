"""Format the cost of language models, estimate how much text one would read, and ask the person whether kept may use one."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kept.cli.command_support import is_interactive, read_choice
from kept.cli.console import Line, format_count, line, write_line, write_lines
from kept.core.errors import DamagedError
from kept.llm.ask import Usage
from kept.llm.available import NOWHERE, AvailableModel, find_models, find_programs
from kept.llm.budget import Estimate, Tally, price_table_date
from kept.local import settings
from kept.local.settings import LlmSettings
from kept.memories.configure import change_setting
from kept.pipeline.usage import Costs
from kept.profiles.lexicons import is_unknown_language
from kept.store.values import Run
from kept.workspace import Workspace

_LATEST_PROMPTS, _TYPED_CHARS = 40, 500  # prompts whose language is detected; longer ones are mostly pasted
_AGAIN = "nothing is lost; the next run asks these questions again"


def format_cost(cost: float | None) -> str:
    """Format an amount of USD, with four decimal places if it is below 1 USD and not zero."""
    if cost is None:
        return "cost unknown"
    return f"{cost:.2f} USD" if cost >= 1 or cost == 0 else f"{cost:.4f} USD"


def usage_text(usage: Usage) -> str:
    """A usage in words: calls, tokens and cost."""
    cached = f" ({usage.cached_tokens:,} from the provider's cache)" if usage.cached_tokens else ""
    calls = format_count(usage.calls, "call")
    return f"{calls}, {usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out, {format_cost(usage.cost)}"


def question_lines(tally: Tally) -> Iterator[Line]:
    """The number of questions that a run asked a model or, in a dry run, would ask."""
    if tally.would.questions or tally.would.cached:
        would = tally.would
        cached = f"; {would.cached:,} are already answered" if would.cached else ""
        yield line(
            ("Would ask ", "green"), f"{format_count(would.questions, 'question')}: about {_format_estimate(would.usage)}{cached}"
        )
        return
    if not (tally.usage.calls or tally.cached or tally.awaited):
        return
    cached = f", {tally.cached:,} from earlier replies" if tally.cached else ""
    yield line(("Asked ", "green"), f"{format_count(tally.questions, 'question')}{cached}", (f": {usage_text(tally.usage)}", "dim"))
    if tally.secrets:
        yield line((f"{format_count(tally.secrets, 'secret')} removed from questions and replies", "dim"))
    if tally.awaited:
        yield line(
            f"{format_count(tally.awaited, 'question waits', 'questions wait')} in a batch of the provider", " → kept run, later"
        )


def _format_estimate(usage: Usage) -> str:
    known = f", {format_cost(usage.cost)} at the prices of {price_table_date()}" if usage.cost else ""
    cost = ", cost unknown" if usage.cost is None else known
    return f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{cost}"


def unanswered_lines(tally: Tally, *, verbose: bool) -> Iterator[Line]:
    """The number of questions without a usable reply, by cause: unreadable reply, unreachable model, budget used up."""
    for title, count, kinds, what in (
        ("Unreadable replies: ", sum(tally.unreadable.values()), tally.unreadable, "unreadable"),
        ("No reply: ", sum(tally.unreachable.values()), tally.unreachable, "unreachable"),
        ("Not asked: ", tally.unaffordable, {}, "unaffordable"),
    ):
        if not count:
            continue
        reasons = tally.reasons.get(what, [])
        counts = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in sorted(kinds.items()))
        first = "" if not reasons or verbose else f": {reasons[0]}"
        more = f" (and {format_count(len(reasons) - 1, 'more reason')} → --verbose)" if len(reasons) > 1 and not verbose else ""
        yield line((title, "yellow"), format_count(count, "question"), f" ({counts})" if counts else "", first, (more, "dim"))
        if verbose:
            yield from (line(f"  {reason}") for reason in reasons)
        hint = _AGAIN if what != "unaffordable" else "a later run asks them; to raise the budget: kept config set NAME NUMBER"
        yield line((f"  {hint}", "dim"))


def model_lines(settings: LlmSettings, costs: Costs) -> Iterator[Line]:
    """The configured model, and how much of its limits was used today."""
    if settings.adapter == "none" and not costs.ever:
        return
    name = " ".join(filter(None, (settings.adapter, settings.command, settings.model)))
    limits = [
        text
        for limit, text in (
            (settings.day_usd, f"{settings.day_usd:g} USD"),
            (settings.day_calls, f"{settings.day_calls:,} calls"),
            (settings.day_tokens, f"{settings.day_tokens:,} tokens"),
        )
        if limit
    ]
    of = f" of at most {', '.join(limits)} a day" if limits else ""
    yield line(
        f"Asks {name}: today {usage_text(costs.today)}{of}" if settings.adapter != "none" else "Asks no language model now",
        " → kept log --cost",
    )
    if costs.awaited:
        yield line(f"{format_count(costs.awaited, 'question waits', 'questions wait')} in a batch of the provider", " → kept run")


def trial_lines(workspace: Workspace) -> Iterator[Line]:
    """The score of the configured model in kept's trial, and what follows from it."""
    if workspace.llm is None:
        return
    if not workspace.settings.llm.trial:
        yield line("The model's proposals become active without kept's trial", " → kept config set llm.trial true")
        return
    from kept.pipeline.trial import FAILED, OVERRULE, load_score, needs_trial  # noqa: PLC0415 - imports everything that extracts

    score = load_score(workspace)
    if score.failed:
        yield line((f"{FAILED} ({score.text})", "yellow"), (f" {OVERRULE}", "dim"))
    elif needs_trial(workspace.settings.llm):
        left = (
            f"{len(score.unread)} of the short questions of kept's trial have no reply yet. The next run begins with them, and the "
            "model's proposals are held until all are answered"
        )
        yield line(left if score.unread else f"The model passed kept's trial: {score.text}")


def cost_lines(runs: Sequence[tuple[Run, str]], costs: Costs) -> Iterator[Line]:
    """The cost of each run, and the total by purpose and model. Each run comes with its time as text."""
    for run, when in runs:
        body: Mapping[str, Any] = run.report.get("llm", {})
        if not body.get("questions"):
            continue
        cached = f"{body['from_cache']:,} of {body['questions']:,} questions from earlier replies; " if body["from_cache"] else ""
        yield line((f"run {run.id}", "bold"), f"  {when}  {usage_text(_parse_usage(body))}", (f"  {cached.rstrip('; ')}", "dim"))
        if len(body["purposes"]) > 1:
            yield from (
                line((f"  {name:<9} {usage_text(_parse_usage(usage))}", "dim")) for name, usage in sorted(body["purposes"].items())
            )
    for usage in costs.ever:
        yield line(("in all   ", "bold"), f"{usage.purpose:<9} {usage_text(usage.usage)}", (f"  {usage.model}", "dim"))
    if not costs.ever:
        yield line("No language model was ever asked.", " → kept config set llm.adapter command")


def _parse_usage(body: Mapping[str, Any]) -> Usage:
    return Usage(**{name: body[name] for name in ("calls", "input_tokens", "output_tokens", "cached_tokens", "cost")})


_DECIDED = "llm.adapter"  # if this is set, even to "none", the person has decided


def searchable_line(workspace: Workspace) -> Line | None:
    """The number of sessions that can be searched now, as a line; None if there are none."""
    sessions = workspace.store.archive.count().threads
    text = f"All that was said in {format_count(sessions, 'session')} can be searched"
    return line(text, (" → kept search WORDS", "dim")) if sessions else None


def without_model_line(workspace: Workspace, *, first: bool = False) -> Line | None:
    """Say what kept does not extract without a model, and which models are available. None if the person has decided about a model.

    After the ``first`` run, it includes an estimate of the amount of text, which takes a second for many sessions.
    """
    if _is_decided(workspace) or not (not_asked := workspace.store.archive.count().pending_llm):
        return None
    programs = ", ".join(program.title for program in find_programs(workspace.env))
    text = f"Without a language model, what you only implied in {format_count(not_asked, 'session')} is not extracted"
    estimate = _foresee_questions(workspace) if first else None
    text += f"; with one, that takes {_format_amount(estimate)}" if estimate and estimate.questions else ""
    return line((text, "dim"), (f" → kept setup offers {programs}" if programs else " → kept llm", "dim"))


def unknown_language_line(workspace: Workspace) -> Line | None:
    """Say that the latest prompts are mostly in a language without a lexicon. None if they are not, or if a model reads them."""
    texts = []
    with suppress(DamagedError):  # `kept check` reports it
        texts = [event.text for event in workspace.store.archive.latest_prompts(_LATEST_PROMPTS)]
    if workspace.llm is not None or not is_unknown_language("\n".join(text for text in texts if len(text) <= _TYPED_CHARS)):
        return None
    text = "kept has no word lists for the language you type in: what you asked it to remember was not found"
    return line(
        (text, "yellow"), (" → kept setup offers language models; docs/how-to/languages.md says how to add a language", "dim")
    )


def offer_model(workspace: Workspace) -> bool:
    """Ask whether kept may use a model, and return the answer. Returns False without asking if there is no terminal, no available
    model or no question, or if the person has already decided.
    """
    if _is_decided(workspace) or not is_interactive():
        return False
    available_models = find_models(workspace.env)
    if not available_models:
        return False
    estimate = _foresee_questions(workspace)
    if not estimate.questions:
        return False
    write_lines(_offer_lines(available_models, estimate))
    sys.stdout.flush()
    digits = "".join(str(number) for number in range(1, len(available_models) + 1))
    answer = read_choice(f"{digits}n")
    if answer == "n":
        change_setting(workspace.paths, _DECIDED, "none")
        write_line("No model will be asked.", " → to change that later: kept config set llm.adapter")
        return False
    for name, value in available_models[int(answer) - 1].settings.items():
        if value:
            change_setting(workspace.paths, name, value)
    write_line(f"kept asks {available_models[int(answer) - 1].title} from now on.", " → kept run --no-llm asks none")
    return True


def _foresee_questions(workspace: Workspace) -> Estimate:
    from kept.pipeline.estimate import estimate_any_model  # noqa: PLC0415 - `kept status` estimates nothing

    return estimate_any_model(workspace)


def _is_decided(workspace: Workspace) -> bool:
    return workspace.llm is not None or _DECIDED in settings.configured_names(workspace.paths.settings)


def _format_amount(estimate: Estimate) -> str:
    tokens = estimate.usage.input_tokens
    amount = f"{tokens / 1e6:.1f} million" if tokens >= 1e5 else f"{max(1, round(tokens / 1e3))},000"
    return f"{format_count(estimate.questions, 'question')} with about {amount} tokens in all"


def _offer_lines(models: tuple["AvailableModel", ...], estimate: Estimate) -> Iterator[Line]:
    yield line(
        "A language model can also read what you only implied: corrections, decisions, reasons. It would get the archived turns, "
        f"without secrets: {_format_amount(estimate)}."
    )
    for number, model in enumerate(models, 1):
        from kept.pipeline.estimate import estimate_cost  # noqa: PLC0415 - as above

        cost = estimate_cost(model, estimate)
        price = (
            f"about {cost:.2f} USD at the prices of {price_table_date()}, or part of your plan"
            if cost is not None
            else "on your plan"
        )
        yield line((f"  {number}  ", "bold green"), model.title, (f"  {NOWHERE if model.local else price}", "dim"))
    yield line(
        "Which one may read them, now and after later sessions? ", ("n", "bold red"), " none; nothing is sent without your yes"
    )
