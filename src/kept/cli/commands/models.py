"""``kept llm`` and ``kept jobs``: list available language models, try one in kept's trial, and use your own agent as a model."""

import json
import os
from collections.abc import Iterator, Sequence

from kept.cli.command_support import check_choice, command_workspace
from kept.cli.console import Line, format_count, format_path, format_size, line, write_answer, write_json, write_line, write_lines
from kept.cli.model_use import trial_lines
from kept.cli.registry import GlobalOptions
from kept.cli.report import llm_extraction_lines
from kept.core.codec import json_fields, to_json
from kept.core.errors import KeptError, UsageError
from kept.llm.ask import Ask
from kept.llm.available import NOWHERE, PROGRAMS, SERVERS, describe_reach, find_models, format_config_commands
from kept.llm.budget import price_of
from kept.local.agents_shell import agent_variable
from kept.local.settings import LlmSettings
from kept.pipeline import jobs as job_files
from kept.pipeline.estimate import estimate_any_model, estimate_run, find_question
from kept.pipeline.jobs import Job, JobsReport
from kept.pipeline.trial import LEAST_FOUND, MOST_TAKEN, OVERRULE, try_models
from kept.workspace import Workspace

_WITH_KEY = {"llm.adapter": "anthropic", "llm.model": "claude-haiku-5-5"}
_MONTH = 31  # days
_ACTIONS = ("prepare", "list", "show", "commit")


def jobs(call: GlobalOptions, action: str = "list", number: str = "", *, most: int = 10, as_json: bool = False) -> int:
    """Let your own agent be the model: `prepare` writes questions into files, the agent writes a reply to each, and `commit` reads
    and applies the replies.

    This needs no key and no network. kept checks the replies as it checks those of any other model. If an agent runs `commit` in
    its shell, sentences that you typed become active, and all others are held for `kept review`.
    """
    if action not in _ACTIONS or bool(number) != (action == "show"):
        raise UsageError("wrong arguments for `kept jobs`", hint="kept jobs prepare | list | show ID | commit")
    with command_workspace(call) as workspace:
        agent = bool(agent_variable(os.environ)) and not workspace.settings.trust_agents
        match action:
            case "show":
                text = job_files.load_job_text(workspace, number)
                write_answer(lambda: {"id": number, "text": text}, map(line, text.splitlines()), as_json=as_json)
            case "commit":
                return _print_jobs_report(job_files.commit_replies(workspace, agent=agent), as_json=as_json)
            case _:
                listed, more = (
                    job_files.prepare_jobs(workspace, most=most, agent=agent)
                    if action == "prepare"
                    else (job_files.list_jobs(workspace, agent=agent), 0)
                )
                write_answer(lambda: {"jobs": to_json(listed), "more": more}, _format_jobs(listed, more), as_json=as_json)
    return 0


def _format_jobs(jobs: Sequence[Job], more: int) -> Iterator[Line]:
    for item in jobs:
        style = {"waiting": "", "answered": "green"}.get(item.state, "yellow")
        yield line(
            (f"{item.id}  ", "cyan"), (item.state, style), (f"  about {item.tokens:,} tokens  {format_path(item.path)}", "dim")
        )
    if more:
        yield line((f"{format_count(more, 'further question')} left", "yellow"), " → kept jobs prepare --most N")
    waiting = sum(job.state == "waiting" for job in jobs)
    if waiting:
        yield line(
            (f"Write a reply to each of {format_count(waiting, 'job')} beside it (ID.reply.json), then: kept jobs commit", "dim")
        )
    elif jobs:
        yield line(("All are answered", "green"), " → kept jobs commit")
    else:
        yield line("There are no jobs.", " → kept run reads new transcripts, kept jobs prepare asks about them")


def _print_jobs_report(done: JobsReport, *, as_json: bool) -> int:
    if as_json:
        names = {"operations": "curated.operations", "stopped": "curated.stopped", "problems": "written.problems"}
        rest = json_fields(done, **names) | json_fields(done, "refused", "wrong", "waiting")
        write_json({"run": done.run, "llm_extraction": done.llm_extraction.body()} | rest)
        return int(done.partly)
    lines = list(llm_extraction_lines(done.llm_extraction))
    operations = ", ".join(f"{count} {kind}" for kind, count in sorted(done.curated.operations.items()))
    lines += [line(("Memories: ", "green"), operations)] if operations else []
    lines += [line(("Not applied: ", "yellow"), f"{count} {reason}") for reason, count in done.refused.most_common()]
    lines += [line((f"{number}: ", "red"), f"{reason}; the reply was not used") for number, reason in done.wrong.items()]
    lines += [line(("Stopped by a guard: ", "red"), item) for item in done.curated.stopped]
    lines += [line(("Not done: ", "red"), problem) for problem in done.written.problems]
    lines += [line(("Wrote ", "green"), format_path(path), (f" ({format_size(size)})", "dim")) for path, size in done.written.files]
    lines += [line((f"{format_count(done.waiting, 'job')} without a reply", "dim"))] if done.waiting else []
    write_lines(lines)
    return int(done.partly)


def llm(
    call: GlobalOptions,
    action: str = "",
    number: int = 1,
    *,
    model: list[str] | None = None,
    again: bool = False,
    as_json: bool = False,
) -> int:
    """List the available language models, and how much text one would read, without asking any.

    With trial: ask a model ten fixed questions, score its replies, and name the smallest model that passes. The questions contain
    nothing of yours. With question: print the first question of the next run, or the N-th, exactly as it would be sent.

    Example: kept llm trial --model haiku --model sonnet
    """
    check_choice(action or "trial", ("trial", "question"), "the action")
    with command_workspace(call) as workspace:
        if action == "question":
            ask = find_question(workspace, number)
            write_answer(
                lambda: json_fields(ask, "purpose", "version", "system", "prompt", "schema"), _format_question(ask), as_json=as_json
            )
            return 0
        if not action:
            _print_available_models(workspace, as_json=as_json)
            return 0
        scores = try_models(workspace, tuple(model or ()), again=again)
    best = next((score for score in scores if score.suits), None)
    if as_json:
        names = ("model", "found", "missed", "obeyed", "unread", "passes", "failed")
        rows = [json_fields(score, *names, took="unwanted") for score in scores]
        write_json({"trial": rows, "suggested": best.model if best else None})
        return int(best is None)
    for score in scores:
        if score.silent:
            raise KeptError(f"{score.model} replied to no question: {score.silent}")
        write_line((score.model, "bold"), f" {score.verdict}: {score.text}")
        faults = (("missed", score.missed), ("took", score.unwanted), ("obeyed", score.obeyed), ("no reply to", score.unread))
        write_lines([line((f"  {kind} {words}", "dim")) for kind, some in faults for words in some])
    if best is not None:
        write_line(f"The smallest model that passes: {best.model}", f" → kept config set llm.model {best.model}")
    else:
        bounds = f"find at least {LEAST_FOUND}, take at most {MOST_TAKEN} that concern only their task, follow nothing planted"
        write_line(f"No model passes (it has to {bounds}).", (f" {OVERRULE}", "dim"))
    return int(best is None)


def _format_question(ask: Ask) -> Iterator[Line]:
    """A complete question: the part that all questions of its kind share, its own text, and the form of the reply."""
    for title, text in (
        ("Part that all questions share", ask.system),
        ("This question", ask.prompt),
        ("Form of a reply (JSON Schema)", json.dumps(ask.schema, indent=1, ensure_ascii=False)),
    ):
        yield line((title, "bold"))
        yield from map(line, text.splitlines())
        yield line()


def _print_available_models(workspace: Workspace, *, as_json: bool) -> None:
    """Print the configured model, the available ones, and an estimate of the next run."""
    asked, models = workspace.settings.llm, find_models(workspace.env)
    estimate = estimate_run(workspace, workspace.llm) if workspace.llm is not None else estimate_any_model(workspace)
    usage = estimate.usage
    if as_json:
        rows = [json_fields(model, "title", "local", "settings") for model in models]
        body = {"asked": asked.adapter, "model": asked.model, "found": rows, "questions": estimate.questions}
        write_json(body | json_fields(usage, "input_tokens", "output_tokens"))
        return
    name = f"Runs ask {asked.adapter}{f', {asked.model}' if asked.model else ''}; {describe_reach(asked)}."
    write_line(name if workspace.llm is not None else "No language model is asked.")
    if workspace.llm is not None and workspace.llm.missing:
        write_line(("The model cannot be asked yet: ", "yellow"), workspace.llm.missing)
    write_lines(list(trial_lines(workspace)))
    text = f"about {usage.input_tokens:,} tokens in and {usage.output_tokens:,} out"
    write_line(f"The next run {'asks' if workspace.llm else 'would ask a model'} {estimate.questions:,} questions: {text}.")
    write_line(("Files that no run has read yet are not counted", "dim"), " → kept sources")
    if estimate.questions:
        write_line(("To see the first question exactly as it would be sent", "dim"), " → kept llm question")
    if workspace.llm is not None:
        if estimate.questions and (short := workspace.llm.find_shortfall(estimate)):
            write_line((f"The budget of {short} is too small for all of these questions.", "yellow"))
        write_lines(_format_bounds(asked, workspace.llm.measure_pace(), estimate.questions))
    for model in models:
        write_line((model.title, "bold"), f"  {model.reach}", f" → {format_config_commands(model.settings)}")
    if not models and (workspace.llm is None or workspace.llm.missing):
        reason = f"no known program ({', '.join(PROGRAMS)}) is on the PATH, and no local server ({', '.join(SERVERS)}) answers"
        write_line(f"No model is available: {reason}.", (f" With a key of yours → {format_config_commands(_WITH_KEY)}", "dim"))


def _format_bounds(asked: LlmSettings, pace: float | None, questions: int) -> Iterator[Line]:
    """Lines with the duration of the next run and the maximum cost of a month."""
    if pace is None:
        yield line("The duration is unknown until the model has replied once.", " → kept llm trial")
    elif questions:
        yield line(f"This takes about {max(1, round(questions * pace / 60)):,} minutes, at the speed of the model's last replies.")
    if describe_reach(asked) == NOWHERE:
        return
    if price_of(asked.model) is None and not asked.price_input:
        bound = min(filter(None, (asked.month_tokens, asked.day_tokens * _MONTH)), default=0)
        tokens = f"the limit is {bound:,} tokens" if bound else "the only limit is the number of calls a day"
        fix = " → kept config set llm.month_tokens NUMBER, or llm.price_input and llm.price_output"
        yield line(f"The model's price is unknown, so its monthly cost is not limited; {tokens}.", (fix, "dim"))
    elif most := min(filter(None, (asked.month_usd, asked.day_usd * _MONTH)), default=0):
        daily = f" ({asked.day_usd:.2f} a day)" if asked.day_usd else ""
        yield line(f"The limit is {most:.2f} USD a month{daily}.", " → kept config set llm.month_usd USD")
