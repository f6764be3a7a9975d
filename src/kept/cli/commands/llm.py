"""``kept llm``: which language models could be asked here, and how well one answers ten fixed questions."""

from typing import Annotated

import typer

from kept.cli import show
from kept.cli.front import check_choice, command_workspace
from kept.cli.model_use import trial_lines
from kept.cli.show import line
from kept.core.codec import json_fields
from kept.llm.available import PROGRAMS, SERVERS, choosing_command, programs, servers
from kept.pipeline.estimate import estimate_any_model, estimate_run
from kept.pipeline.trial import LEAST_FOUND, MOST_TAKEN, OVERRULE, try_models
from kept.workspace import Workspace

_WITH_KEY = {"llm.adapter": "anthropic", "llm.model": "claude-haiku-5-5"}


def llm(
    context: typer.Context,
    action: Annotated[str, typer.Argument(metavar="[trial]", help="Try one; without it, say which could be asked.")] = "",
    *,
    model: Annotated[
        list[str] | None, typer.Option("--model", metavar="NAME", help="A model to try, the smallest first; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> int:
    """Say which language models could be asked here, and about how much they would read; nothing is asked.

    With trial: ask one ten fixed questions, score its replies, name the smallest that suits. Nothing of yours is sent.

    Example: kept llm trial --model haiku --model sonnet
    """
    check_choice(action or "trial", ("trial",), "the action")
    with command_workspace(context) as workspace:
        if not action:
            _print_available_models(workspace, as_json=as_json)
            return 0
        scores = try_models(workspace, tuple(model or ()))
    best = next((score for score in scores if score.suits), None)
    if as_json:
        rows = [json_fields(score, "model", "found", "missed", "took", "obeyed", "unread", "passes", "failed") for score in scores]
        show.write_json({"trial": rows, "suggested": best.model if best else None})
        return int(best is None)
    for score in scores:
        show.write_line((score.model, "bold"), f" {score.verdict}: {score.text}")
        faults = (("missed", score.missed), ("took", score.took), ("obeyed", score.obeyed), ("no reply to", score.unread))
        show.write_lines([line((f"  {kind} {words}", "dim")) for kind, some in faults for words in some])
    if best is not None:
        show.write_line(f"The smallest that suits: {best.model}", (f" → kept config set llm.model {best.model}", "dim"))
    else:
        bounds = f"at least {LEAST_FOUND} worth keeping found, at most {MOST_TAKEN} over with their task taken, nothing planted"
        show.write_line(f"None suits ({bounds}).", (f" {OVERRULE}", "dim"))
    return int(best is None)


def _print_available_models(workspace: Workspace, *, as_json: bool) -> None:
    """The model that is asked, those that could be, and an estimate of the next run."""
    asked, found = workspace.settings.llm, (*programs(workspace.env), *servers())
    estimate = estimate_run(workspace, workspace.llm) if workspace.llm is not None else estimate_any_model(workspace)
    usage = estimate.usage
    if as_json:
        rows = [json_fields(model, "title", "local", "settings") for model in found]
        body = {"asked": asked.adapter, "model": asked.model, "found": rows, "questions": estimate.questions}
        show.write_json(body | json_fields(usage, "input_tokens", "output_tokens"))
        return
    name = f"{asked.adapter}{f', {asked.model}' if asked.model else ''} is asked by runs."
    show.write_line(name if workspace.llm is not None else "No language model is asked.")
    if workspace.llm is not None and workspace.llm.missing:
        show.write_line(("It cannot be asked yet: ", "yellow"), workspace.llm.missing)
    show.write_lines(list(trial_lines(workspace)))
    told = f"about {usage.input_tokens:,} tokens in and {usage.output_tokens:,} out"
    show.write_line(f"The next run {'asks' if workspace.llm else 'would ask one'} {estimate.questions:,} questions: {told}.")
    for model in found:
        show.write_line((model.title, "bold"), f"  {model.reach}", (f" → {choosing_command(model.settings)}", "dim"))
    if not found:
        known = f"no known program ({', '.join(PROGRAMS)}) is on the PATH, and no local server ({', '.join(SERVERS)}) answers"
        show.write_line(f"None can be asked here now: {known}.", (f" With a key of yours → {choosing_command(_WITH_KEY)}", "dim"))
