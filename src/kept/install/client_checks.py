"""Checks of ``kept doctor``: coding agents. Each of kept's hooks is called as its client calls it, and its output is checked.

Settings are parsed as the client parses them, so values that the client ignores do not count. The files that the calls write are
removed.
"""

import json
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path
from typing import Any

from kept import __version__
from kept.install.checks import CheckFinding, ProgramResult, make_fault, make_note, make_pass, run_limited
from kept.install.setup import hooked_clients, plugin_clients, section_clients, used_clients
from kept.local import files
from kept.local.clients import (
    AGENTS,
    CLAUDE,
    CODEX,
    GEMINI,
    IGNORE_FAILURE,
    TRANSCRIPTS,
    Client,
    explain_dead_hook,
    hook_entries,
    hook_groups,
    is_own_hook,
)
from kept.local.queue import load_hook_log, queue_path, session_file_name
from kept.local.settings import load_settings
from kept.paths import Paths

_SESSION = "kept-doctor"
_MANAGED = (Path("/etc/claude-code/managed-settings.json"), Path("/Library/Application Support/ClaudeCode/managed-settings.json"))
_SECONDS = 15.0
# The value that an event's matcher must match, for events whose hook kept installs without a matcher.
_AT_START = {"SessionStart": "startup"}
_LONGEST_TIMEOUT = 600  # seconds; a longer timeout is a fault, because a hook that hangs blocks its session for that long
_MEMORY_FILE = "/home/.claude/rules/memory.md"  # an example path of kept's file, for tests of Claude Code's exclude patterns
# Settings that stop a client from calling or reading kept: the key, a test for such a value, and its effect.
_SWITCHES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("disableAllHooks", lambda value: value is True, "no hook is called"),
    ("allowManagedHooksOnly", lambda value: value is True, "hooks of yours and of plugins are not called"),
    ("cleanupPeriodDays", lambda value: value == 0, "no transcripts are written, so nothing is learnt"),
    ("features.hooks", lambda value: value is False, "hooks are off"),
    ("features.codex_hooks", lambda value: value is False, "hooks are off"),
    ("hooksConfig.enabled", lambda value: value is False, "hooks are off"),
    ("claudeMdExcludes", lambda value: any(fnmatch(_MEMORY_FILE, str(item)) for item in value or ()), "memory.md is not read"),
    ("permissions.deny", lambda value: "mcp__kept" in str(value), "agents may not call kept's tools"),
)
_GREETING = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "kept", "version": __version__}},
    }
).encode()
_REINSTALL = "kept setup"  # the command that replaces kept's hooks
_TRUST = "codex, and say there that you trust kept's hooks (/hooks lists them)"


def check_clients(home: Paths) -> Iterator[CheckFinding]:
    """Check each coding agent in use: that it calls kept, and that kept's hooks answer correctly."""
    calling, with_plugin, using = hooked_clients(home), plugin_clients(home), used_clients(home)
    for client in AGENTS:
        elsewhere = tuple(find_misplaced_settings(home, client))
        yield from elsewhere
        if client in using or client is GEMINI:
            yield from _check_settings(home, client)
            yield from _check_server(home, client)
        if home.of(client).is_dir():
            yield from _check_version(client)
        if client in calling and client in with_plugin:
            detail = "called by the settings and by the plugin; the plugin's hooks stay silent, so nothing is added twice"
            yield make_note(client.name, detail, f"keep one: {client.remove_plugin}")
        elif client in with_plugin:
            yield from _check_plugin(home, client)
        elif client in calling:
            yield from _check_hooks(home, client)
        elif client in using and not elsewhere:
            yield make_note(client.name, "has no hooks of kept", "kept setup")
    sections = load_settings(home.settings).sections
    for client in section_clients(home):
        if client.name in sections:
            yield from _check_section(home, client)
        if client in with_plugin or client in calling or client.name in sections:
            continue
        detail = f"no memories are written to {home.of(client) / client.instructions}"
        yield make_note(f"{client.name} section", detail, "kept setup")


def _check_section(home: Paths, client: Client) -> Iterator[CheckFinding]:
    """Yield a fault if the client does not read the file with kept's section."""
    own = home.of(client) / client.instructions
    name, other, settings = f"{client.name} section", own.with_suffix(".override.md"), own.with_name("settings.json")
    if client is CODEX and files.read_text(other).strip():
        detail = f"codex reads {other}, and not {own} with kept's section"
        yield make_fault(name, detail, f"cat {other} >> {own} && rm {other}")
    named = _value_at(_parse_settings(settings)[0], "context.fileName")
    if client is GEMINI and named and own.name not in ([named] if isinstance(named, str) else named):
        detail = f"context.fileName in {settings} has gemini read other files than {own} with kept's section"
        yield make_fault(name, detail, f"add {own.name} to context.fileName")


def find_misplaced_settings(home: Paths, client: Client) -> Iterator[CheckFinding]:
    """Yield a fault if an environment variable makes the client read settings that do not call kept."""
    named = dict(home.variables).get(client.variable, "")
    if not named:
        return
    folder, usual = home.of(client), home.root / client.folder
    wanted = Path(named).expanduser() / (client.folder if client.below else "")
    if home.root == home.user and folder != wanted:
        detail = f"{client.variable} names {named}, which is not a folder; {client.name} creates it and finds no kept hooks there"
        yield make_fault(f"{client.name} folder", detail, f"unset {client.variable}")
    elif client.file and folder != usual and _has_kept_hook(usual / client.file) and not _has_kept_hook(folder / client.file):
        detail = f"{client.variable} names {folder}, whose settings do not call kept; those in {usual} do"
        yield make_fault(f"{client.name} folder", detail, "kept setup", repair="hooks")


def _has_kept_hook(path: Path) -> bool:
    return any(is_own_hook(entry["command"]) for _, entry in hook_entries(_parse_settings(path)[0]))


def _parse_settings(path: Path) -> tuple[dict[str, Any], str]:
    """Parse settings as the client does. Returns the settings, and the reason if the client ignores the file, else ""."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return {}, f"{path} is a broken link" if path.is_symlink() else ""
    except OSError as error:
        return {}, f"{path} cannot be read: {error.strerror}"
    try:
        body = tomllib.loads(raw.decode()) if path.suffix == ".toml" else json.loads(raw.decode()) if raw.strip() else {}
    except (ValueError, RecursionError) as error:
        return {}, f"{path} is not valid {path.suffix[1:].upper()}, so all of it is ignored: {error}"
    return (body, "") if isinstance(body, dict) else ({}, f"{path} holds no settings, so all of it is ignored")


def _check_settings(home: Paths, client: Client) -> Iterator[CheckFinding]:
    """Yield a fault for each setting that stops a client from reading its settings or from calling hooks."""
    folder = home.of(client)
    here = Path.cwd() / client.folder
    for path in (folder / transcript for transcript in TRANSCRIPTS):
        if path.is_symlink() and not path.exists():
            detail = f"{path} is a broken link, so no transcript is written or read"
            yield make_fault(f"{client.name} transcripts", detail, f"mount {path.readlink()}, or rm {path}")
    places = dict.fromkeys((folder / (client.file or "settings.json"), folder / client.plugins))
    if client is CLAUDE:
        extra = (folder / "settings.local.json", here / "settings.json", here / "settings.local.json")
        parts = (part for path in _MANAGED for part in sorted(path.with_suffix(".d").glob("*.json")))
        places |= dict.fromkeys((*extra, *_MANAGED, *parts))
    for path in places:
        body, fault = _parse_settings(path)
        name = f"{client.name} settings"
        if fault:
            fix = f"rm {path}; kept setup" if path.is_symlink() and not path.exists() else f"fix {path}, then kept setup"
            yield make_fault(name, fault, fix)
        for switch, prevents, follows in _SWITCHES:
            if prevents(_value_at(body, switch)):
                own = path.parent in (folder, here)
                fix = f"change {switch} in {path}" if own else "ask who manages this machine"
                yield make_fault(name, f"{switch} in {path}: {follows}", fix)


def _value_at(body: object, place: str) -> Any:
    """Return the value at a dotted key in settings. None if there is none."""
    for key in place.split("."):
        body = body.get(key) if isinstance(body, Mapping) else None
    return body


def _check_server(home: Paths, client: Client) -> Iterator[CheckFinding]:
    """Start kept's MCP server from the client's settings, send it ``initialize`` as the client does, and yield a fault if that
    fails.
    """
    folder = home.of(client)
    above = folder if dict(home.variables).get(client.variable) else home.root
    path = {"claude": above / ".claude.json", "codex": folder / client.plugins}.get(client.name, folder / "settings.json")
    server = _value_at(_parse_settings(path)[0], "mcp_servers.kept" if path.suffix == ".toml" else "mcpServers.kept")
    command = [_value_at(server, "command"), *(_value_at(server, "args") or ())]
    if not all(isinstance(word, str) for word in command):
        return
    answer = run_limited(command, seconds=_SECONDS, env=_client_environment(home), given=_GREETING, where=home.root)
    if "serverInfo" not in answer.out:
        why = (answer.err.strip() or "it does not answer").splitlines()[-1]
        detail = f"kept's MCP server in {path}, `{shlex.join(command)}`, cannot be used: {why[:200]}"
        yield make_fault(f"{client.name} server", detail, client.add_server)


def _check_version(client: Client) -> Iterator[CheckFinding]:
    """Report a client version newer than the newest that kept was tested with. This is not a fault."""
    if (program := shutil.which(client.name)) is None:
        return
    output = run_limited([program, "--version"], seconds=_SECONDS, env=os.environ).out
    version = re.search(r"\b\d+(?:\.\d+)+", output)
    if version and _version(version[0]) > _version(client.tried):
        detail = f"version {version[0]} is newer than {client.tried}, the newest that kept was tested with"
        fix = "kept sources (it says whether all records are understood)"
        yield make_note(f"{client.name} version", detail, fix)


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _check_hooks(home: Paths, client: Client) -> Iterator[CheckFinding]:
    """Check that each hook of kept's setup is in the settings, unchanged, and that it answers."""
    path = home.of(client) / client.file
    body, _ = _parse_settings(path)
    entries_by_event: dict[str, list[dict[str, Any]]] = {}
    for event, entry in hook_entries(body):
        if is_own_hook(entry["command"]):
            entries_by_event.setdefault(event, []).append(entry)
    missing = [event for event in _expected_commands(client) if event not in entries_by_event]
    if missing:
        detail = f"{path} does not call kept for {', '.join(missing)}"
        yield make_fault(client.name, detail, "kept setup", repair="hooks")
    faults: dict[tuple[str, str], list[str]] = {}  # maps (fault, fix) to the events with this fault
    for event, entries in entries_by_event.items():
        for met in dict.fromkeys(item for entry in entries for item in _find_hook_faults(home, client, event, entry, body)):
            faults.setdefault(met, []).append(event)
        if len(entries) > 1:
            faults.setdefault((f"{path} calls kept twice", _REINSTALL), []).append(event)
    for (fault, fix), events in faults.items():
        detail = f"at {', '.join(events)} {fault}"
        yield make_fault(client.name, detail, fix, repair="hooks" if fix == _REINSTALL else "")
    if missing or faults:
        return
    if client is CODEX and (untrusted := _find_untrusted(home, str(path), body)):
        yield _untrusted_finding(untrusted)
    else:
        yield make_pass(client.name, f"calls kept before each prompt; its {len(entries_by_event)} hooks answer")


def _find_untrusted(home: Paths, name: str, body: Mapping[str, Any]) -> list[str]:
    """Return the events of kept's hooks that Codex does not call, because the user has not trusted these hooks. Codex stores a hash
    of each trusted hook.
    """
    states = _value_at(_parse_settings(home.of(CODEX) / CODEX.plugins)[0], "hooks.state")
    return [
        event
        for event, entry in hook_entries(body)
        if is_own_hook(entry["command"])
        for state in [states.get(f"{name}:{snake_case(event)}:{entry['place']}") if isinstance(states, dict) else None]
        if _value_at(state, "trusted_hash") != hash_for_codex(event, entry) or _value_at(state, "enabled") is False
    ]


def _untrusted_finding(events: list[str]) -> CheckFinding:
    detail = f"you have not told codex to trust kept's present hooks, so it does not call those at {', '.join(events)}"
    return make_fault("codex", detail, _TRUST)


def hash_for_codex(event: str, entry: Mapping[str, Any]) -> str:
    """The hash by which Codex identifies a trusted hook."""
    hook = {"type": "command", "command": entry["command"], "timeout": entry.get("timeout", 600), "async": bool(entry.get("async"))}
    body = {"event_name": snake_case(event), "hooks": [hook]} | ({"matcher": entry["matcher"]} if entry["matcher"] else {})
    return f"sha256:{sha256(json.dumps(body, sort_keys=True, separators=(',', ':'), ensure_ascii=False).encode()).hexdigest()}"


def snake_case(event: str) -> str:
    """An event's name as Codex stores it: PreCompact becomes pre_compact."""
    return re.sub(r"\B(?=[A-Z])", "_", event).lower()


def _expected_commands(client: Client) -> dict[str, str]:
    """The command of kept's hook for each event."""
    return {event: str(group["hooks"][0]["command"]) for event, group in hook_groups(client).items()}


def _find_hook_faults(
    home: Paths, client: Client, event: str, entry: Mapping[str, Any], body: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield the faults of a hook, each with its fix."""
    command = str(entry["command"])
    expected = _expected_commands(client).get(event)
    if expected is None or f" {expected}" not in command:
        yield f"it calls `{command[:120]}`, which is not kept's hook for it", _REINSTALL
        return
    if fault := explain_dead_hook(command):
        yield fault, _REINSTALL
        return
    usual = hook_groups(client)[event].get("matcher") or _AT_START.get(event, "")
    if usual and not _is_matcher_usual(str(entry["matcher"]), usual):
        yield f"kept is called for {entry['matcher']!r} only, not for {usual!r}", _REINSTALL
    given = entry.get("timeout")
    if isinstance(given, int | float) and given > _LONGEST_TIMEOUT:
        yield f"{client.name} would wait for {given:g} s (a timeout is in seconds)", _REINSTALL
    patience = float(given) if isinstance(given, int | float) and not isinstance(given, bool) else 60.0
    named = body.get("env")
    env = {str(name): str(value) for name, value in named.items()} if isinstance(named, dict) else {}
    yield from _check_hook_reply(home, client, event, command.removesuffix(IGNORE_FAILURE), patience=patience, env=env)


def _is_matcher_usual(matcher: str, usual: str) -> bool:
    """True if a client calls a hook that has this matcher (a pattern of the client) with the usual value."""
    try:
        return matcher in ("", "*") or re.fullmatch(matcher, usual) is not None
    except re.error:
        return False


def _check_hook_reply(
    home: Paths, client: Client, event: str, command: str, *, patience: float, env: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Call a hook and yield the faults of its reply, each with its fix."""
    before, log = _note_sizes(home), len(load_hook_log(str(home.state)))
    answer = _call_hook(home, client, event, command, patience=patience, env=env)
    after = _note_sizes(home)
    complained = load_hook_log(str(home.state))[log:]
    _remove_test_notes(home, before)
    if answer.code is None and answer.err:
        yield f"kept cannot be started: {answer.err[:200]}", _REINSTALL
    elif answer.code is None and patience <= _SECONDS:
        yield f"kept does not answer within the {patience:g} s that {client.name} waits", _REINSTALL
    elif answer.code is None:
        yield f"kept does not answer within {_SECONDS:g} s; {client.name} waits {patience:g} s", _REINSTALL
    elif answer.code:
        message = (answer.err.strip() or answer.out.strip() or "nothing").splitlines()[-1]
        yield f"kept ends with code {answer.code} and says: {message[:200]}", _REINSTALL
    elif answer.out.strip() and not _is_answer(answer.out, event):
        yield f"the answer is not one that {client.name} understands: {answer.out.strip()[:80]!r}", _REINSTALL
    elif complained:  # the message follows the time and the event
        yield f"kept logged a problem: {complained[-1].partition(': ')[2][:200]}", "fix the named problem; the hook itself works"
    elif event == "UserPromptSubmit" and home.store.exists() and f"{session_file_name(_SESSION)}.told" not in after:
        yield f"kept answers, but not from the store in {home.state}: the hook uses another home", _REINSTALL


def _is_answer(out: str, event: str) -> bool:
    try:
        body = json.loads(out)
        specific = body.get("hookSpecificOutput")
        return specific is None or specific.get("hookEventName") == event
    except (ValueError, AttributeError):
        return False


def _call_hook(home: Paths, client: Client, event: str, command: str, *, patience: float, env: Mapping[str, str]) -> ProgramResult:
    """Run a hook's command line in a shell, with the payload of its event on stdin and the environment a client would pass."""
    payload = {"hook_event_name": event, "session_id": _SESSION, "cwd": str(home.root), "transcript_path": "", "prompt": "Hello."}
    payload |= {"source": "startup", "trigger": "manual", "reason": "other"} | ({"turn_id": "1"} if client is CODEX else {})
    seconds = min(patience, _SECONDS)
    env = {**_client_environment(home), **env}
    return run_limited(command, seconds=seconds, env=env, given=json.dumps(payload).encode(), where=home.root)


def _client_environment(home: Paths) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if name in _PASSED}
    return {**own, "HOME": str(home.user), **dict(home.variables)}


_PASSED = frozenset({"PATH", "KEPT_HOME", "KEPT_EMBEDDINGS", "LANG", "LC_ALL", "TZ", "TMPDIR"})


def _note_sizes(home: Paths) -> dict[str, int]:
    try:
        return {path.name: path.stat().st_size for path in Path(queue_path(str(home.state), "")).iterdir()}
    except OSError:
        return {}


def _remove_test_notes(home: Paths, before: Mapping[str, int]) -> None:
    """Remove what the test calls wrote, and the markers of reported failures, because no session has seen these reports."""
    for name, size in _note_sizes(home).items():
        path = Path(queue_path(str(home.state), name))
        if name.startswith(("failure.", session_file_name(_SESSION))) and name not in before:
            path.unlink(missing_ok=True)
        # If the hook trimmed the file, it is smaller than before, and the lines of the test calls cannot be identified.
        elif name in ("handover", "put") and size > before.get(name, 0):
            os.truncate(path, before.get(name, 0)) if name in before else path.unlink(missing_ok=True)


def _check_plugin(home: Paths, client: Client) -> Iterator[CheckFinding]:
    """Check that an enabled plugin's files exist, that its launcher finds this kept, and that its hook answers."""
    folder = _plugin_folder(home, client)
    if folder is None:
        yield make_pass(client.name, "calls kept before each prompt (plugin)")
        return
    launcher = folder / "bin" / "kept"
    if not launcher.is_file():
        detail = f"the plugin is on, but {launcher} is not there"
        yield make_fault(client.name, detail, client.add_plugin)
        return
    env = {"HOME": str(home.user), "PATH": os.environ.get("PATH", "")}
    done = run_limited(["/bin/sh", str(launcher), "--version"], seconds=_SECONDS, env=env).out
    overrides = _value_at(_parse_settings(folder.parent / "extension-enablement.json")[0], "kept.overrides")
    if off := [rule for rule in map(str, overrides or ()) if rule.startswith("!")]:
        detail = f"the extension is off for {', '.join(rule[1:] for rule in off)}"
        yield make_fault(client.name, detail, "gemini extensions enable kept")
    if __version__ not in done:
        detail = f"the plugin finds {done.strip()[:80] or 'no kept'}; this is kept {__version__}"
        yield make_fault(client.name, detail, "kept setup", repair="program")
        return
    if (own := _plugin_version(folder)) and own != __version__:
        detail = f"the plugin in {folder} is of version {own}; this is kept {__version__}"
        yield make_fault(client.name, detail, client.update_plugin)
    options = " --client gemini" if client is GEMINI else ""
    event = "BeforeAgent" if client is GEMINI else "UserPromptSubmit"
    command = f"sh {shlex.quote(str(launcher))} hook user-prompt --plugin{options}"
    faults = tuple(_check_hook_reply(home, client, event, command, patience=10.0, env={}))
    for fault, fix in faults:
        repair = "program" if fix == _REINSTALL else ""
        yield make_fault(client.name, f"at {event} {fault}", fix, repair=repair)
    name = f"kept@{folder.parent.parent.name}:hooks/codex.json"  # Codex's name for the file: plugin, marketplace, path
    hooks = _parse_settings(folder / "hooks" / "codex.json")[0]
    if not faults and client is CODEX and (untrusted := _find_untrusted(home, name, hooks)):
        yield _untrusted_finding(untrusted)
    elif not faults:
        yield make_pass(client.name, "calls kept before each prompt (plugin); it answers")


def _plugin_version(folder: Path) -> str:
    """Return the version in the plugin's manifest. Empty if there is none."""
    for name in (".claude-plugin/plugin.json", "gemini-extension.json"):
        body, _ = _parse_settings(folder / name)
        if body.get("version"):
            return str(body["version"])
    return ""


def _plugin_folder(home: Paths, client: Client) -> Path | None:
    """Find the folder in which the client installed kept's plugin. None if it is unknown."""
    folder = home.of(client)
    if client is GEMINI:
        return (folder / client.plugins).parent
    if client is CODEX:
        return next((folder / "plugins" / "cache").glob("*/kept/*"), None)
    try:
        listed = json.loads(files.read_text(folder / "plugins" / "installed_plugins.json") or "{}").get("plugins", {})
        installed = next(plugin for name, plugin in listed.items() if name.startswith("kept@"))
        entry = installed[0] if isinstance(installed, list) else installed
        return Path(str(entry["installPath"]))
    except (ValueError, AttributeError, StopIteration, LookupError, TypeError):
        return None
