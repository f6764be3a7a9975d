"""``kept llm trial``: how well a language model answers ten fixed questions, and the smallest one that does."""

from typing import Annotated

import typer

from kept.cli import show
from kept.cli.front import check_choice, command_workspace
from kept.cli.show import line
from kept.core.codec import json_fields
from kept.pipeline.trial import PASSES, try_models


def llm(
    context: typer.Context,
    action: Annotated[str, typer.Argument(metavar="trial", help="What to do.")],
    *,
    model: Annotated[
        list[str] | None, typer.Option("--model", metavar="NAME", help="A model to try, the smallest first; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> int:
    """Ask a model ten fixed questions, score its replies, and name the smallest that passes. Nothing of yours is sent.

    Example: kept llm trial --model haiku --model sonnet
    """
    check_choice(action, ("trial",), "the action")
    with command_workspace(context) as workspace:
        scores = try_models(workspace, tuple(model or ()))
    best = next((score for score in scores if score.passes), None)
    if as_json:
        rows = [json_fields(score, "model", "right", "unwanted", "passes", "faults") for score in scores]
        show.write_json({"trial": rows, "suggested": best.model if best else None})
        return int(best is None)
    for score in scores:
        verdict = "passes" if score.passes else "does not pass"
        show.write_line((score.model, "bold"), f" {verdict}: {score.right} of 10 right")
        show.write_lines([line((f"  {fault}", "dim")) for fault in score.faults])
    if best is not None:
        show.write_line(f"The smallest that passes: {best.model}", (f" → kept config set llm.model {best.model}", "dim"))
    else:
        show.write_line(f"None passes ({PASSES} of 10, and no trap fallen for).", (" → kept llm trial --model NAME", "dim"))
    return int(best is None)
