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
from pathlib import Path
from typing import Any

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

_VENDOR_PROGRAMS = ("claude", "codex", "gemini")  # programs that use models of large vendors
_PASSED = (
    *("HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE"),
    *("SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy"),
    *("no_proxy", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"),
)


def _read_plain_reply(output: str, ask: Ask) -> AdapterResult:
    return AdapterReply(text=output, usage=estimate_usage(ask, output))


@dataclass(frozen=True, kw_only=True, slots=True)
class _ProgramCall:
    """A call of a program: its arguments, its input, and a function that reads the reply from its output (default: all of it)."""

    argv: Sequence[str]
    text: str
    read: Callable[[str, Ask], AdapterResult] = _read_plain_reply


@dataclass(frozen=True, kw_only=True, slots=True)
class _ProgramAsk:
    """A question to a program, the user's options for it, and a folder for files of the call."""

    program: str
    model: str
    options: Sequence[str]
    ask: Ask
    folder: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class _ProgramAdapter:
    """How to call a known program.

    ``call`` makes the call for a question. ``passed`` are prefixes of the environment variables that are passed on. ``given`` are
    variables to set. ``own`` are words that are dropped from the user's options, because ``call`` adds them.
    """

    call: Callable[[_ProgramAsk], _ProgramCall]
    own: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)


class Command(EstimatingModel):
    """A program as a model.

    ``command`` is the name or path of a known program, optionally with more options. Any other command line gets the question on
    standard input and prints the reply. ``model`` is passed only to a known program. ``more`` names further variables of ``env``
    to pass on. ``timeout`` is in seconds.
    """

    def __init__(
        self, command: str, *, model: str = "", env: Mapping[str, str], timeout: float = 120.0, more: Sequence[str] = ()
    ) -> None:
        words = shlex.split(command)
        self._program = words[0] if words else ""
        known = _ADAPTERS.get(Path(self._program).name)
        self._adapter = known or _ProgramAdapter(
            call=lambda asked: _ProgramCall(argv=words, text=format_full_prompt(asked.ask)),
        )
        self._model = model
        self._options = tuple(word for word in words[1:] if known and word not in known.own)
        self._timeout = timeout
        self._env = _select_variables(env, self._adapter.passed, more) | dict(self._adapter.given)
        self._programs = RunningPrograms()
        shown = " ".join((Path(self._program).name, *self._options)) if known else command
        self.name = f"command:{shown}:{model}"

    def ask(self, ask: Ask) -> AdapterResult:
        """Run the program once."""
        program = shutil.which(self._program, path=self._env.get("PATH", os.defpath))
        if program is None:
            return AdapterFailure(fault=Fault.SETUP, reason=f"there is no program {self._program!r}")
        with tempfile.TemporaryDirectory(prefix="kept-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            empty = folder / "empty"
            empty.mkdir()
            call = self._adapter.call(
                _ProgramAsk(program=program, model=self._model, options=self._options, ask=ask, folder=folder)
            )
            try:
                ended = self._programs.run(
                    call.argv,
                    text=call.text.encode("utf-8", "replace"),
                    folder=empty,
                    env=self._env,
                    timeout=self._timeout,
                    most=MOST_BYTES,
                )
            except OSError as error:
                return AdapterFailure(fault=Fault.SETUP, reason=f"{self._program!r} cannot be run: {error.strerror}")
            return self._read_result(ended, call, ask)

    def _read_result(self, ended: ProcessResult, call: _ProgramCall, ask: Ask) -> AdapterResult:
        name = Path(self._program).name
        match ended.stop_reason:
            case "timeout":
                return AdapterFailure(fault=Fault.TIMEOUT, reason=f"{name} gave no reply within {self._timeout:g} seconds")
            case "flood":
                return AdapterFailure(fault=Fault.FAILED, reason=f"{name} wrote more than {MOST_BYTES // 2**20} MB")
        result = call.read(_decode_output(ended.output), ask)
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


def _claude_call(asked: _ProgramAsk) -> _ProgramCall:
    ask, system = asked.ask, asked.folder / "system.md"
    system.write_text(ask.system, encoding="utf-8")
    argv = [
        asked.program,
        "--safe-mode",
        "-p",
        "--no-session-persistence",
        "--tools",
        "",
        "--strict-mcp-config",
        "--output-format",
        "json",
        *_option_args("--model", asked.model),
        *asked.options,
        "--system-prompt-file",
        str(system),
        "--json-schema",
        json.dumps(ask.schema),
    ]
    return _ProgramCall(argv=argv, text=ask.prompt, read=_parse_claude_result)


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


def _codex_call(asked: _ProgramAsk) -> _ProgramCall:
    ask = asked.ask
    system, schema, out = (asked.folder / name for name in ("system.md", "schema.json", "out.json"))
    system.write_text(ask.system, encoding="utf-8")
    schema.write_text(json.dumps(ask.schema), encoding="utf-8")
    settings = (f"model_instructions_file={json.dumps(str(system))}", *_CODEX_SETTINGS)
    argv = [
        asked.program,
        "exec",
        "--ephemeral",
        "--ignore-user-config",
        "--skip-git-repo-check",
        "-s",
        "read-only",
        *(word for setting in settings for word in ("-c", setting)),
        *_option_args("-m", asked.model),
        *asked.options,
        "--output-schema",
        str(schema),
        "-o",
        str(out),
        "-",
    ]

    def read_reply(_: str, ask: Ask) -> AdapterResult:
        return _read_plain_reply(_decode_output(out.read_bytes() if out.exists() else b""), ask)

    return _ProgramCall(argv=argv, text=ask.prompt, read=read_reply)


def _llm_call(asked: _ProgramAsk) -> _ProgramCall:
    ask = asked.ask
    argv = [
        asked.program,
        "prompt",
        "--no-log",
        "--no-stream",
        *_option_args("--model", asked.model),
        *asked.options,
        "--system",
        ask.system,
        "--schema",
        json.dumps(ask.schema),
    ]
    return _ProgramCall(argv=argv, text=ask.prompt)


def _ollama_call(asked: _ProgramAsk) -> _ProgramCall:
    argv = [
        asked.program,
        "run",
        *filter(None, (asked.model,)),
        *asked.options,
        "--format",
        "json",
        "--nowordwrap",
        "--hidethinking",
    ]
    return _ProgramCall(argv=argv, text=format_full_prompt(asked.ask))


def _gemini_call(asked: _ProgramAsk) -> _ProgramCall:
    """Call Gemini CLI. It keeps a transcript of its input, so the question itself opts out of being remembered."""
    argv = [
        asked.program,
        "--extensions",
        "none",
        "--approval-mode",
        "default",
        "--output-format",
        "json",
        *_option_args("--model", asked.model),
        *asked.options,
    ]
    return _ProgramCall(argv=argv, text=f"{OFF_THE_RECORD}\n\n{format_full_prompt(asked.ask)}", read=_parse_gemini_result)


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


def _option_args(option: str, value: str) -> tuple[str, ...]:
    return (option, value) if value else ()


# Codex features that are switched off. Codex ignores names that its version does not know.
_CODEX_OFF = (
    *("shell_tool", "unified_exec", "view_image", "apps", "plugins", "hooks", "multi_agent", "multi_agent_v2"),
    *("browser_use", "computer_use", "image_generation", "web_search_request", "code_mode", "shell_snapshot", "goals"),
    *("skill_search", "sleep_tool", "collaboration_modes", "steer", "memories"),
)
# Also off: agents, skills, patches, the web, and the instructions and documents that Codex adds to a question.
_CODEX_SETTINGS = (
    *(f"features.{item}=false" for item in _CODEX_OFF),
    "agents.enabled=false",
    "skills.include_instructions=false",
    "skills.bundled.enabled=false",
    "include_apply_patch_tool=false",
    "include_apps_instructions=false",
    "include_permissions_instructions=false",
    "include_environment_context=false",
    "include_collaboration_mode_instructions=false",
    "project_doc_max_bytes=0",
    'web_search="disabled"',
)

_ADAPTERS = {
    "claude": _ProgramAdapter(
        call=_claude_call,
        own=("-p", "--print"),
        passed=(
            "ANTHROPIC_",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_",
            "AWS_",
            "CLOUD_ML_REGION",
            "GOOGLE_",
        ),
        given={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "1", "DISABLE_AUTOUPDATER": "1"},
    ),
    "codex": _ProgramAdapter(call=_codex_call, own=("exec", "e", "-"), passed=("CODEX_HOME", "CODEX_API_KEY", "OPENAI_")),
    "gemini": _ProgramAdapter(call=_gemini_call, own=("-p", "--prompt"), passed=("GEMINI_", "GOOGLE_")),
    "llm": _ProgramAdapter(call=_llm_call, own=("prompt",), passed=("LLM_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "OLLAMA_")),
    "ollama": _ProgramAdapter(call=_ollama_call, own=("run",), passed=("OLLAMA_",)),
}


def create_model(settings: LlmSettings, env: Mapping[str, str]) -> Command:
    """Create the model that runs the program of the settings. Raises ConfigError if they do not name one."""
    command = require_setting(settings, "command", "claude")
    return Command(command, model=settings.model, env=env, timeout=settings.timeout, more=settings.env)


def find_context(settings: LlmSettings) -> int:
    """Look up the model's context size in tokens by the names of the model and the program."""
    return known_context(settings.model) or (VENDOR_CONTEXT if program_name(settings) in _VENDOR_PROGRAMS else UNKNOWN_CONTEXT)
