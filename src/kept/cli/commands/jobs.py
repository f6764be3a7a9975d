"""``kept jobs``: questions for the user's own agent, and its replies."""

import os
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from kept.cli import show
from kept.cli.front import command_workspace
from kept.cli.report import llm_extraction_lines
from kept.cli.show import Line, format_count, line
from kept.core.codec import json_fields, to_json
from kept.core.errors import UsageError
from kept.local.agents_shell import agent_variable
from kept.pipeline import jobs as use
from kept.pipeline.jobs import Job, JobsReport

_ACTIONS = ("prepare", "list", "show", "commit")


def jobs(
    context: typer.Context,
    action: Annotated[str, typer.Argument(metavar="prepare|list|show|commit", help="What to do.")] = "list",
    number: Annotated[str, typer.Argument(metavar="ID", help="The job to show.")] = "",
    *,
    most: Annotated[int, typer.Option("--most", min=1, help="At most so many jobs at a time.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> int:
    """Let your own agent be the model: prepare writes questions into files, the agent writes each reply, commit reads and applies
    them.

    No key and no network are needed. Everything a reply says is checked as with any other model. In an agent's own shell,
    sentences that you typed become active, and everything else is held for `kept review`.
    """
    if action not in _ACTIONS or bool(number) != (action == "show"):
        raise UsageError("wrong arguments for `kept jobs`", hint="kept jobs prepare | list | show ID | commit")
    with command_workspace(context) as workspace:
        agent = bool(agent_variable(os.environ)) and not workspace.settings.trust_agents
        match action:
            case "show":
                text = use.load_job_text(workspace, number)
                if as_json:
                    show.write_json({"id": number, "text": text})
                else:
                    show.write_lines(line(item) for item in text.splitlines())
            case "commit":
                return _print_jobs_report(use.commit_replies(workspace, agent=agent), as_json=as_json)
            case _:
                found, more = (
                    use.prepare_jobs(workspace, most=most, agent=agent)
                    if action == "prepare"
                    else (use.list_jobs(workspace, agent=agent), 0)
                )
                if as_json:
                    show.write_json({"jobs": to_json(found), "more": more})
                else:
                    show.write_lines(_format_jobs(found, more))
    return 0


def _format_jobs(found: Sequence[Job], more: int) -> Iterator[Line]:
    for item in found:
        style = {"waiting": "", "answered": "green"}.get(item.state, "yellow")
        yield line(
            (f"{item.id}  ", "cyan"), (item.state, style), (f"  about {item.tokens:,} tokens  {show.format_path(item.path)}", "dim")
        )
    if more:
        yield line((f"{format_count(more, 'question')} more wait", "yellow"), (" → kept jobs prepare --most N", "dim"))
    waiting = sum(job.state == "waiting" for job in found)
    if waiting:
        yield line(
            (f"Write a reply to each of {format_count(waiting, 'job')} beside it (ID.reply.json), then: kept jobs commit", "dim")
        )
    elif found:
        yield line(("All are answered", "green"), (" → kept jobs commit", "dim"))
    else:
        yield line("No job is without a reply.", (" → kept run reads what is new, kept jobs prepare asks about it", "dim"))


def _print_jobs_report(done: JobsReport, *, as_json: bool) -> int:
    if as_json:
        names = {"operations": "curated.operations", "stopped": "curated.stopped", "problems": "written.problems"}
        rest = json_fields(done, **names) | json_fields(done, "refused", "wrong", "waiting")
        show.write_json({"run": done.run, "llm_extraction": done.llm_extraction.body()} | rest)
        return int(done.partly)
    lines = list(llm_extraction_lines(done.llm_extraction))
    operations = ", ".join(f"{count} {kind}" for kind, count in sorted(done.curated.operations.items()))
    lines += [line(("Memories: ", "green"), operations)] if operations else []
    lines += [line(("Not applied: ", "yellow"), f"{count} {reason}") for reason, count in done.refused.most_common()]
    lines += [line((f"{number}: ", "red"), f"{reason}; the reply was not used") for number, reason in done.wrong.items()]
    lines += [line(("Stopped by a guard: ", "red"), item) for item in done.curated.stopped]
    lines += [line(("Not done: ", "red"), problem) for problem in done.written.problems]
    lines += [
        line(("Wrote ", "green"), show.format_path(path), (f" ({show.format_size(size)})", "dim"))
        for path, size in done.written.files
    ]
    lines += [line((f"{format_count(done.waiting, 'job')} without a reply", "dim"))] if done.waiting else []
    show.write_lines(lines)
    return int(done.partly)
