"""Run a program as a model: it gets the question on standard input and prints the reply.

``claude`` and ``codex`` are called without tools, hooks and the user's settings, and leave no transcript. ``llm`` is called without
its log. ``llm`` and ``ollama`` use tools only if the user's options ask for them. ``gemini`` is called without extensions and in
its default approval mode. Its tools, its hooks and the user's settings stay on. It leaves a transcript, which is marked as off the
record. Any other command line is run unchanged.

Every program runs in an empty folder, with only the environment variables that it needs to run and log in, and with a variable
(:data:`kept.core.fence.GUARD`) that tells the hooks of ``kept`` to do nothing.
"""

import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kept.core.codec import load_table
from kept.core.fence import GUARD, OFF_THE_RECORD
from kept.core.invisible import strip_invisible
from kept.core.text import one_line
from kept.core.value import dataclass, field
from kept.llm.adapter import (
    MESSAGE_CHARS,
    MOST_BYTES,
    AdapterFailure,
    AdapterReply,
    AdapterResult,
    EstimatingModel,
    estimate_usage,
    format_full_prompt,
    program_name,
    require_setting,
)
from kept.llm.ask import UNKNOWN_CONTEXT, VENDOR_CONTEXT, Ask, Fault, Usage, known_context
from kept.llm.process import ProcessResult, RunningPrograms
from kept.local.settings import LlmSettings

_REPLY_FILE = "out.json"
_VENDOR_PROGRAMS = ("claude", "codex", "gemini")  # programs that use models of large vendors
_PASSED = (
    *("HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE"),
    *("SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy"),
    *("no_proxy", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"),
)


class Command(EstimatingModel):
    """A program as a model.

    ``command`` is the name or path of a known program, optionally with more options. Any other command line gets the question on
    standard input and prints the reply. ``model`` is passed only to a known program. ``more`` names further variables of ``env``
    to pass on. ``timeout`` is in seconds.
    """

    def __init__(
        self, command: str, *, model: str = "", env: Mapping[str, str], timeout: float = 120.0, more: Sequence[str] = ()
    ) -> None:
        self._words = shlex.split(command)
        name = Path(self._words[0]).name if self._words else ""
        self._is_known = name in _load_programs()
        self._program = _load_programs().get(name, _Program(arguments="", takes_system=False))
        self._options = [word for word in self._words[1:] if word not in self._program.own]
        self._model = model
        self._timeout = timeout
        self._env = _select_variables(env, self._program.passed, more) | dict(self._program.given)
        self._programs = RunningPrograms()
        self.name = f"command:{' '.join((name, *self._options)) if self._is_known else command}:{model}"

    def ask(self, ask: Ask) -> AdapterResult:
        """Run the program once."""
        name = self._words[0] if self._words else ""
        program = shutil.which(name, path=self._env.get("PATH", os.defpath))
        if program is None:
            return AdapterFailure(fault=Fault.SETUP, reason=f"there is no program {name!r}")
        with tempfile.TemporaryDirectory(prefix="kept-", ignore_cleanup_errors=True) as place:
            folder = Path(place)
            (folder / "empty").mkdir()
            filled = _fill_arguments(self._program, ask, self._model, self._options, folder) if self._is_known else ()
            text = self._program.before + (ask.prompt if self._program.takes_system else format_full_prompt(ask))
            try:
                ended = self._programs.run(
                    [program, *filled] if self._is_known else self._words,
                    text=text.encode("utf-8", "replace"),
                    folder=folder / "empty",
                    env=self._env,
                    timeout=self._timeout,
                    most=MOST_BYTES,
                )
            except OSError as error:
                return AdapterFailure(fault=Fault.SETUP, reason=f"{name!r} cannot be run: {error.strerror}")
            return self._read_result(ended, ask, folder / _REPLY_FILE)

    def _read_result(self, ended: ProcessResult, ask: Ask, reply: Path) -> AdapterResult:
        name = Path(self._words[0]).name
        match ended.stop_reason:
            case "timeout":
                return AdapterFailure(fault=Fault.TIMEOUT, reason=f"{name} gave no reply within {self._timeout:g} seconds")
            case "flood":
                return AdapterFailure(fault=Fault.FAILED, reason=f"{name} wrote more than {MOST_BYTES // 2**20} MB")
        output = ended.output
        if "REPLY_FILE" in self._program.arguments:
            output = reply.read_bytes() if reply.exists() else b""
        result = self._program.read(_decode_output(output), ask)
        if ended.code == 0 or isinstance(result, AdapterFailure):  # the output of a failed program may say what is wrong
            return result
        return AdapterFailure(fault=Fault.FAILED, reason=f"{name} ended with code {ended.code}{_format_error_line(ended.errors)}")

    def close(self) -> None:
        """Kill the running programs."""
        self._programs.close()


def _select_variables(env: Mapping[str, str], prefixes: Sequence[str], more: Sequence[str]) -> dict[str, str]:
    """Return the environment for a program: variables that it needs or the user requested, the guard, and two for plain output."""
    passed = {name: value for name, value in env.items() if name in _PASSED or name in more or name.startswith(tuple(prefixes))}
    return passed | {GUARD: "1", "TERM": "dumb", "NO_COLOR": "1"}


def _decode_output(output: bytes) -> str:
    """Decode a program's output and remove invisible characters. Escapes in JSON strings stay unchanged."""
    return strip_invisible(output.decode("utf-8", "replace"))[0]


def _format_error_line(errors: bytes) -> str:
    lines = [one_line(line) for line in _decode_output(errors).splitlines() if line.strip()]
    return f": {lines[-1][:MESSAGE_CHARS]}" if lines else ""


def _read_plain_reply(output: str, ask: Ask) -> AdapterResult:
    return AdapterReply(text=output, usage=estimate_usage(ask, output))


def _parse_claude_result(text: str, ask: Ask) -> AdapterResult:
    try:
        body: Any = json.loads(text)
        failed, result, structured = bool(body["is_error"]), str(body.get("result") or ""), body.get("structured_output")
        usage = _claude_usage(body)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return AdapterFailure(
            fault=Fault.FAILED, reason=f"claude printed a result of an unknown form{_format_error_line(text.encode())}"
        )
    if failed:  # the subtype is ignored, because it is "success" even if the server cannot be reached
        return AdapterFailure(
            fault=_claude_fault(result, body.get("api_error_status")),
            reason=f"claude says: {one_line(result)[:MESSAGE_CHARS]}",
            usage=usage,
        )
    reply_text = result if structured is None else json.dumps(structured, ensure_ascii=False)
    return AdapterReply(
        text=reply_text,
        usage=usage if usage.input_tokens else estimate_usage(ask, reply_text),
        refused=body.get("stop_reason") == "refusal",
    )


def _claude_usage(body: Mapping[str, Any]) -> Usage:
    used = body.get("usage") or {}
    fresh, read, written = (
        int(used.get(item) or 0) for item in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    cost = body.get("total_cost_usd")
    return Usage(
        calls=1,
        input_tokens=fresh + read + written,
        output_tokens=int(used.get("output_tokens") or 0),
        cached_tokens=read,
        cost=float(cost) if isinstance(cost, int | float) else None,
    )


def _claude_fault(result: str, status: object) -> Fault:
    message = result.lower()
    if status in (401, 403, 404) or "/login" in message or "api key" in message or "not logged in" in message:
        return Fault.SETUP
    if status == 429 or "rate limit" in message or "usage limit" in message or "limit reached" in message:
        return Fault.RATE_LIMIT
    if status == 529 or "overloaded" in message:
        return Fault.OVERLOADED
    if "connect" in message:
        return Fault.CONNECTION
    return Fault.FAILED


def _parse_gemini_result(text: str, ask: Ask) -> AdapterResult:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return _read_plain_reply(text, ask)
    reply = body.get("response") if isinstance(body, dict) else None
    if not isinstance(reply, str):
        error = body.get("error") if isinstance(body, dict) else None
        reason = error.get("message") if isinstance(error, dict) else error
        return AdapterFailure(fault=Fault.FAILED, reason=f"gemini says: {one_line(str(reason))[:MESSAGE_CHARS]}")
    return _read_plain_reply(reply, ask)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Program:
    """How to call a known program, as ``programs.toml`` says (:func:`_fill_arguments`). It gets the question on its standard input,
    after ``before``. ``read`` reads the reply from the output.
    """

    arguments: str
    takes_system: bool = True
    before: str = ""
    own: Sequence[str] = ()
    passed: Sequence[str] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    read: Callable[[str, Ask], AdapterResult] = _read_plain_reply


def _fill_arguments(program: _Program, ask: Ask, model: str, options: Sequence[str], folder: Path) -> list[str]:
    """The arguments of a call, with values in place of the words in capitals.

    ``MODEL`` is dropped together with its option if no model is set. ``OPTIONS`` are the user's own. Names that end in ``_FILE``
    are files in ``folder``. A program writes its reply to ``REPLY_FILE``.
    """
    system, schema = folder / "system.md", folder / "schema.json"
    values = {
        "MODEL": model,
        "SYSTEM": ask.system,
        "SCHEMA": json.dumps(ask.schema),
        "SYSTEM_FILE": str(system),
        "INSTRUCTIONS_SETTING": f"model_instructions_file={json.dumps(str(system))}",
        "SCHEMA_FILE": str(schema),
        "REPLY_FILE": str(folder / _REPLY_FILE),
    }
    system.write_text(ask.system, encoding="utf-8", errors="replace")
    schema.write_text(values["SCHEMA"], encoding="utf-8")
    words = shlex.split(program.arguments)
    if not model:
        place = words.index("MODEL")
        del words[place - words[place - 1].startswith("-") : place + 1]
    return [item for word in words for item in (options if word == "OPTIONS" else (values.get(word, word),))]


# Gemini keeps a transcript of its input, so the question itself opts out of being remembered.
_MORE: dict[str, dict[str, Any]] = {
    "claude": {"read": _parse_claude_result},
    "gemini": {"read": _parse_gemini_result, "before": f"{OFF_THE_RECORD}\n\n"},
}


@cache
def _load_programs() -> dict[str, _Program]:
    rows = load_table(Path(__file__).with_name("programs.toml"))
    return {name: _Program(**row, **_MORE.get(name, {})) for name, row in rows.items()}


def create_model(settings: LlmSettings, env: Mapping[str, str]) -> Command:
    """Create the model that runs the program of the settings. Raises ConfigError if they do not name one."""
    command = require_setting(settings, "command", "claude")
    return Command(command, model=settings.model, env=env, timeout=settings.timeout, more=settings.env)


def find_context(settings: LlmSettings) -> int:
    """Look up the model's context size in tokens by the names of the model and the program."""
    return known_context(settings.model) or (VENDOR_CONTEXT if program_name(settings) in _VENDOR_PROGRAMS else UNKNOWN_CONTEXT)
