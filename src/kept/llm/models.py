"""Create the language model and its client from the settings. Sends no question and starts no program."""

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from pathlib import Path

from kept.core.digest import digest
from kept.core.fence import GUARD
from kept.llm.adapter import AdapterModule, Model, command_words, program_name
from kept.llm.adapters.recorded import RecordingModel
from kept.llm.ask import token_limits_for
from kept.llm.available import NOWHERE, describe_reach
from kept.llm.budget import Limits, Price, price_of
from kept.llm.client import LlmClient, Redact
from kept.llm.replies import ReplyCache
from kept.llm.retry import RetryPolicy, plan_for
from kept.local.settings import LlmSettings

_WORDS = 4  # the program and script are among this many first words of a command line


def create_llm_client(
    settings: LlmSettings,
    *,
    replies: Path,
    env: Mapping[str, str],
    clock: Callable[[], datetime],
    day_start: Callable[[], datetime],
    redact: Redact,
) -> LlmClient | None:
    """Create the client for the settings' model. None if no model is set, or if kept's own model call started this process."""
    if settings.adapter == "none" or env.get(GUARD):
        return None
    own = settings.price_input or settings.price_output or describe_reach(settings) == NOWHERE  # a model on this machine is free
    price = Price(input=settings.price_input, output=settings.price_output) if own else price_of(settings.model)
    plan = plan_for(program_name(settings), env, calls=settings.plan_calls, share=settings.plan_share)
    return LlmClient(
        lambda: create_model(settings, env),
        replies=ReplyCache(replies),
        clock=clock,
        day_start=day_start,
        limits=(
            Limits(span="a run", usd=settings.run_usd, calls=settings.run_calls, tokens=settings.run_tokens),
            Limits(span="a day", usd=settings.day_usd, calls=settings.day_calls, tokens=settings.day_tokens),
            Limits(span="a month", usd=settings.month_usd, calls=settings.month_calls, tokens=settings.month_tokens),
        ),
        pace=RetryPolicy(attempts=settings.attempts, concurrency=settings.concurrency, rate=settings.rate, insists=plan is None),
        price=price,
        redact=redact,
        batch=settings.batch,
        program=_identify_program(settings, env),
        token_limits=lambda: token_limits_for(context_of(settings), most=settings.prompt_tokens),
        plan=plan,
    )


def context_of(settings: LlmSettings) -> int:
    """The model's context size in tokens, from the settings, its name or its server. A small default if it is unknown."""
    return settings.context or _load_adapter(settings).find_context(settings)


def _identify_program(settings: LlmSettings, env: Mapping[str, str]) -> str:
    """A hash of kept's version and of the program or server that runs the model. It changes if the program file is replaced."""
    from importlib.metadata import version  # noqa: PLC0415 - slow to load, and few commands ask a model

    parts = [version("kept"), settings.adapter, settings.command, settings.base_url]
    for word in command_words(settings)[:_WORDS]:
        found = shutil.which(word, path=env.get("PATH"))
        with suppress(OSError):
            stat = Path(found or word).expanduser().stat()
            parts.append(f"{stat.st_size}:{stat.st_mtime_ns}")
    return digest(*parts)


def create_model(settings: LlmSettings, env: Mapping[str, str]) -> Model:
    """Create the settings' model. It records its replies if they name a recording. Raises ConfigError if a setting is missing."""
    model = _load_adapter(settings).create_model(settings, env)
    if settings.recording and settings.adapter != "recorded":
        return RecordingModel(model, Path(settings.recording).expanduser())
    return model


def _load_adapter(settings: LlmSettings) -> AdapterModule:
    """Import the adapter module that the settings name. The settings were checked, so it exists."""
    return import_module(f"kept.llm.adapters.{settings.adapter}")
