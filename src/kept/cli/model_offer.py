"""Say what a language model would add and roughly what it would cost, and ask once whether one may be asked."""

import sys
from collections.abc import Iterator

from kept.cli import show
from kept.cli.front import is_interactive, read_key
from kept.cli.show import Line, format_count, line
from kept.llm.budget import Estimate, price_table_date
from kept.llm.models import AvailableModel, programs, servers
from kept.local import settings
from kept.memories.configure import change_setting
from kept.pipeline.estimate import estimate_any_model, estimate_cost
from kept.recall.example import find_search_example
from kept.workspace import Workspace

_DECIDED = "llm.adapter"  # a person who set it, to "none" as well, has answered


def searchable_line(workspace: Workspace) -> Line:
    """What can be searched now, with a query that finds something of it."""
    sessions = sum(1 for _ in workspace.store.archive.threads())
    words = find_search_example(workspace)
    return line(
        f"All that was said in {format_count(sessions, 'session')} can be searched",
        (f" → kept search {words}" if words else " → kept search WORDS", "dim"),
    )


def without_model_line(workspace: Workspace, *, first: bool = False) -> Line | None:
    """What is not tried without a model, and which could be asked; None where the person has decided about that.

    After the ``first`` run also how much one would read, which takes a second to tell of many sessions.
    """
    unheard = len(workspace.store.archive.list_threads_pending_llm())
    if _is_decided(workspace) or not unheard:
        return None
    found = ", ".join(program.title for program in programs(workspace.env))
    told = f"Without a language model, what you only implied in {format_count(unheard, 'session')} is not extracted"
    foreseen = estimate_any_model(workspace) if first else None
    told += f"; with one, that takes {_format_amount(foreseen)}" if foreseen and foreseen.questions else ""
    return line((told, "dim"), (f" → kept setup offers {found}" if found else " → docs/models.md", "dim"))


def offer_model(workspace: Workspace) -> bool:
    """Ask, where a person sits at the terminal, a model is here and the question is open; whether one may be asked from now on."""
    if _is_decided(workspace) or not is_interactive():
        return False
    available_models = (*programs(workspace.env), *servers())
    if not available_models:
        return False
    foreseen = estimate_any_model(workspace)
    if not foreseen.questions:
        return False
    show.write_lines(_offer_lines(available_models, foreseen))
    sys.stdout.flush()
    digits = "".join(str(number) for number in range(1, len(available_models) + 1))
    answer = read_key(f"{digits}n")
    if answer == "n":
        change_setting(workspace.paths, _DECIDED, "none")
        show.write_line("No model will be asked.", (" → kept config set llm.adapter, should you want one later", "dim"))
        return False
    for name, value in available_models[int(answer) - 1].settings.items():
        if value:
            change_setting(workspace.paths, name, value)
    show.write_line(f"{available_models[int(answer) - 1].title} is asked from now on.", (" → kept run --no-llm asks none", "dim"))
    return True


def _is_decided(workspace: Workspace) -> bool:
    return workspace.llm is not None or _DECIDED in settings.configured_names(workspace.paths.settings)


def _format_amount(foreseen: Estimate) -> str:
    tokens = foreseen.usage.input_tokens
    told = f"{tokens / 1e6:.1f} million" if tokens >= 1e5 else f"{max(1, round(tokens / 1e3))},000"
    return f"{format_count(foreseen.questions, 'question')} with about {told} tokens in all"


def _offer_lines(found: tuple[AvailableModel, ...], foreseen: Estimate) -> Iterator[Line]:
    yield line(
        "A language model can also read what you only implied: corrections, decisions, reasons. It would get the archived turns, "
        f"without secrets: {_format_amount(foreseen)}."
    )
    for number, model in enumerate(found, 1):
        cost = estimate_cost(model, foreseen)
        price = (
            f"about {cost:.2f} USD at the prices of {price_table_date()}, or part of your plan"
            if cost is not None
            else "on your plan"
        )
        yield line(
            (f"  {number}  ", "bold green"), model.title, (f"  {'nothing leaves this machine' if model.local else price}", "dim")
        )
    yield line(
        "Which one may read them, now and after later sessions? ", ("n", "bold red"), " none; nothing is sent without your yes"
    )
