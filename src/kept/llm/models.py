"""Create the language model and its client from the settings. Sends no question and starts no program."""

import shlex
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from kept.core.digest import digest
from kept.core.errors import ConfigError
from kept.core.fence import GUARD
from kept.llm.adapters.anthropic import Anthropic
from kept.llm.adapters.base import Model
from kept.llm.adapters.command import Command
from kept.llm.adapters.ollama import Ollama, ollama_context, served_context
from kept.llm.adapters.openai import OpenAI
from kept.llm.adapters.recorded import RecordingModel, ReplayModel, load_script
from kept.llm.ask import UNKNOWN_CONTEXT, VENDOR_CONTEXT, known_context, token_limits_for
from kept.llm.budget import Limits, Price, price_of
from kept.llm.client import LlmClient, Redact
from kept.llm.replies import ReplyCache
from kept.llm.retry import RetryPolicy, plan_for
from kept.local.settings import LlmSettings

OLLAMA_MOST = 16_384  # tokens of context requested from an Ollama server, at most: each uses memory of the machine
_VENDOR_PROGRAMS = ("claude", "codex", "gemini")  # programs that use models of large vendors
_WORDS = 4  # words of a command line among which are its program and script


def create_llm_client(
    settings: LlmSettings,
    *,
    replies: Path,
    env: Mapping[str, str],
    clock: Callable[[], datetime],
    day_start: Callable[[], datetime],
    redact: Redact,
) -> LlmClient | None:
    """Create the client for the settings' model; None if no model is set, or this process itself answers for kept."""
    if settings.adapter == "none" or env.get(GUARD):
        return None
    own = settings.price_input or settings.price_output
    price = Price(input=settings.price_input, output=settings.price_output) if own else price_of(settings.model)
    plan = plan_for(_program_name(settings), env, calls=settings.plan_calls, share=settings.plan_share)
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
    """The model's context size in tokens: from the settings, its name or its server; a small default if unknown."""
    if settings.context or settings.adapter in ("scripted", "recorded"):
        return settings.context or VENDOR_CONTEXT
    if settings.adapter == "ollama":
        return min(ollama_context(settings.model, settings.base_url) or UNKNOWN_CONTEXT, OLLAMA_MOST)
    if settings.base_url and settings.adapter == "openai":
        return served_context(settings.model, settings.base_url) or UNKNOWN_CONTEXT
    is_local = _program_name(settings) not in ("", *_VENDOR_PROGRAMS)
    return known_context(settings.model) or (UNKNOWN_CONTEXT if is_local else VENDOR_CONTEXT)


def _command_words(settings: LlmSettings) -> list[str]:
    return shlex.split(settings.command) if settings.adapter == "command" else []


def _program_name(settings: LlmSettings) -> str:
    """The name of the program that answers; empty if no program does."""
    return Path(words[0]).name if (words := _command_words(settings)) else ""


def _identify_program(settings: LlmSettings, env: Mapping[str, str]) -> str:
    """A hash that identifies the program or server that answers and kept's version; a replaced program is another one."""
    from importlib.metadata import version  # noqa: PLC0415 - takes long to load, and few ask a model

    parts = [version("kept"), settings.adapter, settings.command, settings.base_url]
    for word in _command_words(settings)[:_WORDS]:
        found = shutil.which(word, path=env.get("PATH"))
        with suppress(OSError):
            stat = Path(found or word).expanduser().stat()
            parts.append(f"{stat.st_size}:{stat.st_mtime_ns}")
    return digest(*parts)


def create_model(settings: LlmSettings, env: Mapping[str, str]) -> Model:
    """The model of the settings, with a recording if they name one. Raises ConfigError if something is missing."""
    adapter = _create_adapter(settings, env)
    if settings.recording and settings.adapter != "recorded":
        return RecordingModel(adapter, Path(settings.recording).expanduser())
    return adapter


def _create_adapter(settings: LlmSettings, env: Mapping[str, str]) -> Model:
    name, timeout = settings.model, settings.timeout
    match settings.adapter:
        case "command":
            command = _require_setting(settings.command, "llm.command", "kept config set llm.command claude")
            return Command(command, model=name, env=env, timeout=timeout, more=settings.env)
        case "anthropic":
            _require_setting(name, "llm.model", "kept config set llm.model claude-haiku-5-5")
            return Anthropic(
                name, key=_load_api_key(settings, env, "ANTHROPIC_API_KEY"), base_url=settings.base_url, timeout=timeout
            )
        case "openai":
            _require_setting(name, "llm.model", "kept config set llm.model gpt-6-luna")
            return OpenAI(name, key=_load_api_key(settings, env, "OPENAI_API_KEY"), base_url=settings.base_url, timeout=timeout)
        case "ollama":
            _require_setting(name, "llm.model", "kept config set llm.model qwen3:8b")
            return Ollama(name, context=context_of(settings), base_url=settings.base_url, timeout=timeout)
        case "scripted":
            return load_script(_required_path(settings.script, "llm.script"))
        case "recorded":
            return ReplayModel(_required_path(settings.recording, "llm.recording"))
        case other:
            raise ConfigError(f"there is no llm.adapter {other!r}")


def _load_api_key(settings: LlmSettings, env: Mapping[str, str], usual: str) -> str:
    """The API key from the environment; a server of the user's own may need none."""
    name = settings.key_env or usual
    key = env.get(name, "")
    if not key and not (settings.base_url and not settings.key_env):
        raise ConfigError(f"there is no key in {name}", hint=f"export {name}=…, or kept config set llm.key_env NAME")
    return key


def _required_path(value: str, name: str) -> Path:
    return Path(_require_setting(value, name, f"kept config set {name} FILE")).expanduser()


def _require_setting(value: str, name: str, hint: str) -> str:
    if not value:
        raise ConfigError(f"{name} is not set", hint=hint)
    return value
