"""From settings to a language model: which one is asked, with which limits. Opens no connection and starts no program."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from kept.adapters.llm import Command, Model, script
from kept.adapters.llm.prices import Price
from kept.adapters.replies import Replies
from kept.adapters.settings import Llm
from kept.app.asking import Asker, Pace, Redact
from kept.app.spending import Limits
from kept.model.ask import GUARD
from kept.model.errors import ConfigError


def asker(
    settings: Llm,
    *,
    replies: Path,
    env: Mapping[str, str],
    clock: Callable[[], datetime],
    day_start: Callable[[], datetime],
    redact: Redact,
) -> Asker | None:
    """What asks the model of the settings; None where none is set, and in a process that itself answers for kept."""
    if settings.adapter == "none" or env.get(GUARD):
        return None
    price = (
        Price(input=settings.price_input, output=settings.price_output) if settings.price_input or settings.price_output else None
    )
    return Asker(
        lambda: model(settings, env), replies=Replies(replies), clock=clock, day_start=day_start,
        limits=(Limits(span="a run", usd=settings.run_usd, calls=settings.run_calls, tokens=settings.run_tokens),),
        day=Limits(span="a day", usd=settings.day_usd, calls=settings.day_calls, tokens=settings.day_tokens),
        pace=Pace(
            attempts=settings.attempts, concurrency=settings.concurrency, rate=settings.rate, prompt_tokens=settings.prompt_tokens
        ),
        price=price, redact=redact, batch=settings.batch,
    )  # fmt: skip


def model(settings: Llm, env: Mapping[str, str]) -> Model:
    """The model of the settings. Raises ConfigError where something is missing."""
    match settings.adapter:
        case "command":
            command = _needed(settings.command, "llm.command", "kept config set llm.command claude")
            return Command(command, model=settings.model, env=env, timeout=settings.timeout, more=settings.env)
        case "scripted":
            return script(Path(_needed(settings.script, "llm.script", "kept config set llm.script FILE")).expanduser())
        case other:
            raise ConfigError(f"there is no llm.adapter {other!r}")


def _needed(value: str, name: str, hint: str) -> str:
    if not value:
        raise ConfigError(f"{name} is not set", hint=hint)
    return value
