"""The settings pages: all settings with their names and meanings, sources, rules, the nightly job, and the settings file as text.

Another page shows the extraction prompt of each profile: the person's own text, its difference from the default, and the categories
that it declares.
"""

import os
import shlex
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from markupsafe import escape
from starlette.responses import Response

from kept import profiles
from kept.core.errors import ConfigError
from kept.core.value import replace
from kept.extraction import prompt_override
from kept.extraction.question_plan import list_pending_threads
from kept.extraction.questions.turns import estimate_tokens_high
from kept.install import schedule
from kept.intake.survey import survey
from kept.llm.available import SERVERS, AvailableModel, describe_reach, find_models, format_config_commands, local_settings
from kept.llm.budget import Estimate
from kept.local import settings
from kept.local.settings import LlmSettings
from kept.memories import configure
from kept.memories.configure import Setting
from kept.paths import Paths
from kept.pipeline.estimate import estimate_cost, estimate_run
from kept.pipeline.nightly import load_last_night
from kept.pipeline.trial import load_score, needs_trial
from kept.profiles.prompts import with_declared_categories
from kept.web.context import request_home, request_workspace
from kept.web.pages.runs import format_run_cost
from kept.web.render import NavigationPage, render_bare_page, render_page, render_part
from kept.workspace import Workspace, create_client

router = APIRouter()


def override_mark(workspace: Workspace) -> str:
    """The word that the navigation shows if a profile uses a prompt of the person's own; else empty."""
    return "override" if any(workspace.extraction_prompt(profile).overridden for profile in workspace.profiles) else ""


PAGE = NavigationPage(id="settings", title="Settings", path="/settings", key="s", router=router, mark=override_mark)


@router.get("/settings")
def settings_page(request: Request) -> Response:
    """Show the settings. If the settings file is invalid, show only its text and the error."""
    home = request_home(request)
    try:
        found = configure.describe_settings(home)
        with request_workspace(request) as workspace:
            return render_page(
                request,
                workspace,
                "settings.html",
                here=PAGE.id,
                groups=_group_settings(found),
                **_surrounding_values(workspace),
                **_file_values(home),
                **_row_values(home),
            )
    except ConfigError as error:
        problem = {"error": error.what, "where": error.where, "hint": error.hint}
        return render_bare_page(request, "settings_broken.html", here=PAGE.id, problem=problem, **_file_values(home))


@router.get("/settings/row/{name}")
def setting_row(request: Request, name: Annotated[str, Path(max_length=100)]) -> Response:
    """Show a setting as a row."""
    home = request_home(request)
    with request_workspace(request) as workspace:
        return render_part(workspace, "settings_row.html", each=configure.describe_setting(home, name), **_row_values(home))


@router.get("/settings/sources")
def sources_part(request: Request) -> Response:
    """Show the tools on this machine with their transcripts. The page requests this separately, because it looks at every file."""
    with request_workspace(request) as workspace:
        return render_part(
            workspace, "settings_sources.html", tools=[tool for tool in survey(workspace).tools if tool.known or not tool.enabled]
        )


@router.get("/settings/file")
def file_part(request: Request) -> Response:
    """Show the text of the settings file."""
    with request_workspace(request) as workspace:
        return render_part(workspace, "settings_file.html", **_file_values(request_home(request)))


@router.get("/settings/model")
def model_part(request: Request) -> Response:
    """Show the chosen model, and the other models found on this machine with the commands that choose them. No model is called."""
    with request_workspace(request) as workspace:
        asking, llm = workspace.llm is not None, workspace.settings.llm
        found = find_models(workspace.env)
        return render_part(
            workspace,
            "settings_model.html",
            model=asking,
            chosen=next((name_model(item) for item in found if asking and _make_settings(llm, item) == llm), "")
            or ", ".join(filter(None, (llm.command or llm.adapter, llm.model))),
            llm=llm,
            reach=describe_reach(llm),
            score=load_score(workspace) if asking and needs_trial(llm) else None,
            found=[(item, name_model(item)) for item in found if not asking or _make_settings(llm, item) != llm],
            silent=[title for title in SERVERS if not any(item.title.startswith(title) for item in found)],
            choose_local=format_config_commands(local_settings(next(iter(SERVERS.values())), "MODEL")),
        )


@router.get("/settings/model/estimate")
def model_estimate_part(request: Request) -> Response:
    """Show the estimate for the next run: the number of questions and sessions, and the cost. No model is called.

    If no model is chosen, the cost is shown for each model that was found.
    """
    with request_workspace(request) as workspace:
        found, llm = find_models(workspace.env), workspace.settings.llm
        asking, asked = workspace.llm, workspace.settings
        if asking is None:  # no model is chosen: estimate as for the first one that was found
            assumed = _make_settings(llm, found[0]) if found else replace(llm, adapter="command", command="any")
            asked = replace(asked, llm=assumed)
            asking = create_client(
                workspace.paths, asked, workspace.store, env=workspace.env, clock=workspace.clock, zone=workspace.zone
            )
        estimate = estimate_run(replace(workspace, settings=asked, llm=asking), asking) if asking is not None else Estimate()
        prices = [(name_model(item), estimate_cost(item, estimate)) for item in found] if workspace.llm is None else []
        return render_part(
            workspace,
            "settings_model_estimate.html",
            model=workspace.llm is not None,
            llm=llm,
            estimate=estimate,
            sessions=len(list_pending_threads(workspace)),
            prices=[(name, price) for name, price in prices if price is not None],
            cost=format_run_cost,
        )


def name_model(found: AvailableModel) -> str:
    """The display name of a model. It does not depend on whether the model is chosen."""
    model = "" if found.local else found.settings.get("llm.model", "")
    return f"{found.title}, {model}" if model and model not in found.title else found.title


def _make_settings(llm: LlmSettings, found: AvailableModel) -> LlmSettings:
    """The settings with which kept asks a model that was found."""
    said = {name: found.settings.get(f"llm.{name}", "") for name in ("adapter", "command", "base_url", "model")}
    return replace(llm, adapter=said["adapter"], command=said["command"], base_url=said["base_url"], model=said["model"])


@router.get("/settings/night")
def night_part(request: Request) -> Response:
    """Show the state of the nightly job."""
    with request_workspace(request) as workspace:
        return render_part(workspace, "settings_night.html", **describe_nightly_job(workspace.paths))


def _group_settings(found: tuple[Setting, ...]) -> list[tuple[str, str, list[Setting]]]:
    by_title: dict[str, list[Setting]] = {}
    for setting in found:
        by_title.setdefault(setting.group, []).append(setting)
    return [(number, title, by_title[title]) for number, title in configure.setting_groups() if title in by_title]


def _row_values(home: Paths) -> dict[str, Any]:
    known = sorted(profiles.list_profiles(home.config / "profiles"))
    return {"known_profiles": known, "plain": _format_value, "command": _terminal_command}


def _terminal_command(setting: Setting) -> str:
    """The command that sets a setting. Its value is a list of the choices, else the current value, else a placeholder."""
    value = _format_value(setting.value)
    return f"kept config set {setting.name} {'|'.join(setting.choices) or (shlex.quote(value) if value else 'VALUE')}"


def _surrounding_values(workspace: Workspace) -> dict[str, Any]:
    """The template values for the other parts of the page: model, output files and nightly job."""
    return {
        "model": workspace.llm is not None,
        "outputs": tuple(workspace.store.outputs()),
        **describe_nightly_job(workspace.paths),
    }


def describe_nightly_job(home: Paths) -> dict[str, Any]:
    """The template values for the nightly job: its entries in the scheduler, and the result of the last night."""
    return {
        "entries": schedule.list_installed_jobs(home, os.environ),
        "last": load_last_night(home),
        "trial_home": home.root != home.user,
    }


def _file_values(home: Paths) -> dict[str, Any]:
    text, revision = configure.load_settings_text(home)
    return {"file": str(home.settings), "text": text, "file_revision": revision}


def _format_value(value: Any) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case list():
            return ", ".join(map(_format_value, value))
        case dict():
            return ", ".join(f"{left}: {_format_value(right)}" for left, right in value.items() if right)
        case _:
            return f"{value:g}" if isinstance(value, float) else str(value)


@router.get("/prompt")
def prompt_page(request: Request, profile: Annotated[str, Query(max_length=80)] = "") -> Response:
    """Show the prompt of an active profile. By default, show the first prompt with a problem, else that of the first profile."""
    home = request_home(request)
    try:
        with request_workspace(request) as workspace:
            values = _prompt_values(home, [profile.id for profile in workspace.profiles], profile)
            return render_page(request, workspace, "prompt.html", here=PAGE.id, **values)
    except ConfigError:
        values = _prompt_values(home, prompt_override.active_profile_ids(home), profile)
        if not any(item.problem for item in values["drafts"]):
            raise  # the error is not in a prompt
        return render_bare_page(request, "prompt.html", here=PAGE.id, **values)


def _prompt_values(home: Paths, known: Sequence[str], profile: str) -> dict[str, Any]:
    drafts = [prompt_override.load_prompt_state(home, item) for item in known]
    draft = next(
        (prompt_draft for prompt_draft in drafts if prompt_draft.profile.id == profile),
        next((prompt_draft for prompt_draft in drafts if prompt_draft.problem), drafts[0]),
    )
    prompt = draft.prompt
    declared = prompt.declared if prompt else ()
    return {
        "drafts": drafts,
        "draft": draft,
        "text": escape(draft.text),
        "diff": prompt_override.diff_prompt(draft),
        "system": prompt.system if prompt else "",
        "tokens": estimate_tokens_high(prompt.system) if prompt else 0,
        "declared": declared,
        "made": with_declared_categories(draft.profile, declared),
        "asked": settings.load_settings(home.settings).llm.adapter != "none",
    }
