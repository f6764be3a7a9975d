"""Coding agents on this machine: their folders, kept's hooks in their settings, and the permission to call one of kept's tools.

The functions that edit settings are pure. They take a client's settings as text, and return the text with or without kept's
entries.
"""

import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kept.core.codec import load_table
from kept.core.errors import ConfigError
from kept.core.fence import FORMER, TOOL
from kept.core.pattern import compile_late
from kept.core.value import dataclass

_TABLES = load_table(Path(__file__).with_name("clients.toml"))
EVENTS: Mapping[str, tuple[str, int]] = {event: (name, seconds) for event, (name, seconds) in _TABLES["events"].items()}
FAILURE = ("tool-failure", 10)
TRANSCRIPTS = ("projects", "sessions")  # folders with a client's transcripts
SHELL = "Bash"  # the tool that runs commands, in both clients with hooks; kept looks up only failures of this tool
# The tool that may be called without asking, as the MCP server and as the plugin name it.
SUGGEST, PLUGIN_SUGGEST = f"mcp__kept__{TOOL}", f"mcp__plugin_kept_kept__{TOOL}"
_PERMITTED = (SUGGEST, PLUGIN_SUGGEST, f"mcp__kept__{FORMER}", f"mcp__plugin_kept_kept__{FORMER}")
IGNORE_FAILURE = " 2>/dev/null || true"  # a broken kept then prints nothing, and its exit code 2 cannot block the client
_WORD_ENDS = compile_late(rb"[\s'\"!]+")
_OURS = compile_late(
    r"(?:^|[/\\ '\"])kept['\"]?(?: --home (?:'[^']*'|\S+))? hook (?:session-start|user-prompt|stop|pre-compact"
    r"|session-end|subagent-start|tool-failure)\b|-m kept (?:--home (?:'[^']*'|\S+) )?hook "
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """A coding agent. It is used on this machine if its ``folder`` exists. The other files are below that folder.

    ``file`` holds its hooks, and ``plugins`` lists its active plugins. ``instructions`` is the file that it reads in every session.
    If that is empty, it reads kept's memory file. The environment variable ``variable`` overrides the folder, or with ``below`` the
    folder's parent. ``failure`` is the event after a failed command (for Codex, after any command). ``tried`` is the newest version
    whose sessions kept's tests have read. ``add_plugin``, ``update_plugin``, ``remove_plugin`` and ``add_server`` are the commands
    with which a person does that.
    """

    name: str
    folder: str
    file: str = ""
    plugins: str
    instructions: str = ""
    variable: str = ""
    below: bool = False
    failure: str = ""
    tried: str
    add_plugin: str
    update_plugin: str
    remove_plugin: str
    add_server: str

    def resolve_folder(self, home: Path, variables: Mapping[str, str], *, outside: bool = False) -> Path:
        """The agent's folder. The variable is ignored unless it names a folder below the home or, with ``outside``, any
        existing one.
        """
        usual, named = home / self.folder, variables.get(self.variable, "")
        if not named:
            return usual
        given = Path(named).expanduser() / (self.folder if self.below else "")
        if not given.is_absolute() or ".." in given.parts:
            return usual
        return given if given.is_relative_to(home) or (outside and given.is_dir()) else usual


AGENTS = tuple(Client(**table) for table in _TABLES["clients"])
CLAUDE, CODEX, GEMINI = AGENTS
CLIENTS = (CLAUDE, CODEX)  # these have hooks that kept installs; Gemini's come only with its extension
READERS = tuple(client for client in AGENTS if client.instructions)  # agents with their own file of instructions


def has_plugin(text: str) -> bool:
    """True if a client's settings (JSON or TOML) enable kept's plugin, or the text is the manifest of kept's extension."""
    try:
        body = json.loads(text)
        plugins = body.get("enabledPlugins", {}) if "enabledPlugins" in body else {"kept@": body.get("name") == "kept"}
    except ValueError:
        try:
            plugins = tomllib.loads(text).get("plugins", {})
        except tomllib.TOMLDecodeError:
            return False
    except (AttributeError, TypeError):
        return False
    return isinstance(plugins, dict) and any(
        name.startswith("kept@") and (plugin.get("enabled", True) if isinstance(plugin, dict) else plugin) is True
        for name, plugin in plugins.items()
    )


def is_own_hook(command: str) -> bool:
    """True if a command line is one of kept's hooks."""
    return _OURS.search(command) is not None


def hook_entries(body: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the command hooks in a client's settings as pairs (event, entry). Each entry includes its matcher and its ``place``.

    Entries that the client would ignore because of their form are skipped.
    """
    hooks = body.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            entries = group.get("hooks") if isinstance(group, dict) else None
            for rank, entry in enumerate(entries if isinstance(entries, list) else ()):
                if isinstance(entry, dict) and entry.get("type") == "command" and isinstance(entry.get("command"), str):
                    yield event, entry | {"matcher": group.get("matcher", ""), "place": f"{number}:{rank}"}


def explain_dead_hook(command: str) -> str:
    """Return the reason why a hook's command line cannot start kept, judged by the files it names. Empty if it can."""
    try:
        program = Path(shlex.split(command.removesuffix(IGNORE_FAILURE))[0])
    except (ValueError, IndexError):
        return f"`{command[:120]}` is not a valid command line"
    if not program.is_absolute() or can_start(program):
        return ""
    return f"it cannot run {program}" if program.exists() else f"it calls {program}, which does not exist"


def can_start(script: Path) -> bool:
    """True if a script is executable and its Python exists. The Python is missing if the virtual environment was moved."""
    if not os.access(script, os.X_OK):
        return False
    with script.open("rb") as file:
        head = file.read(512)  # for long paths, the first line names a shell and the second line Python
    words = _WORD_ENDS.split(head) if head.startswith(b"#!") else []
    return all(os.access(word, os.X_OK) for word in words if word.startswith(b"/") and b"/python" in word)


def hook_groups(client: Client) -> dict[str, dict[str, Any]]:
    """The groups of hooks that kept installs in a client, by event. Each group has one command, ``kept hook NAME``."""
    groups: dict[str, dict[str, Any]] = {event: _make_hook_group(*called) for event, called in EVENTS.items()}
    return groups | ({client.failure: {"matcher": SHELL, **_make_hook_group(*FAILURE)}} if client.failure else {})


def _make_hook_group(name: str, seconds: int) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": f"hook {name}", "timeout": seconds}]}


def with_hooks(text: str, program: str, where: str, client: Client = CLIENTS[0]) -> str:
    """Add kept's hooks, which call ``program``, to settings. Replaces the hooks of an earlier kept and changes nothing else.

    ``text`` is empty if there is no file. Raises ConfigError if it is not a JSON object of the known form.
    """
    body = _parse_settings(text, where) if text.strip() else {}
    _drop_hooks(body, where)
    hooks = body.setdefault("hooks", {})
    for event, group in hook_groups(client).items():
        (entry,) = group["hooks"]
        entry["command"] = f"{program} {entry['command']}{IGNORE_FAILURE}"
        hooks.setdefault(event, []).append(group)
    return text if text.strip() and body == _parse_settings(text, where) else _format_settings(body, text)


def with_permission(text: str, tool: str, where: str) -> str:
    """Add the permission to call ``tool`` without asking to settings, in place of any other tool of kept's. Raises ConfigError."""
    body = _parse_settings(text, where) if text.strip() else {}
    if tool in body.get("permissions", {}).get("allow", ()):
        return text
    _drop_permission(body)
    body.setdefault("permissions", {}).setdefault("allow", []).append(tool)
    return _format_settings(body, text)


def without_hooks(text: str, where: str) -> str:
    """Remove kept's hooks and permission from settings, and objects and lists that become empty. Raises ConfigError."""
    body = _parse_settings(text, where)
    if not _drop_hooks(body, where) + _drop_permission(body):
        return text
    return _format_settings(body, text)


def has_permission(text: str) -> bool:
    """True if the settings allow an agent to call kept's tool without asking."""
    return _has_entries(text, _drop_permission)


def has_hooks(text: str) -> bool:
    """True if the settings contain any of kept's hooks."""
    return _has_entries(text, _drop_hooks)


def _has_entries(text: str, drop: Callable[[dict[str, Any]], int]) -> bool:
    """True if ``drop`` finds entries to remove. False if it finds none or the text is not a client's settings."""
    try:
        return bool(text.strip()) and drop(_parse_settings(text, "")) > 0
    except ConfigError:
        return False


def _parse_settings(text: str, where: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = "repair it, or add the hooks by hand: kept setup --show"
        raise ConfigError(f"the file is not JSON: {error}", where=where, hint=hint) from error
    permissions = body.get("permissions", {}) if isinstance(body, dict) else None
    known = isinstance(permissions, dict) and isinstance(permissions.get("allow", []), list)
    if not isinstance(body, dict) or not isinstance(body.get("hooks", {}), dict) or not known:
        raise ConfigError("the file has an unknown form", where=where, hint="add the hooks by hand: kept setup --show")
    return body


def _drop_permission(body: dict[str, Any]) -> int:
    """Remove the permission to call kept's tool from the settings. Returns the number of removed entries."""
    permissions = body.get("permissions", {})
    allowed = permissions.get("allow", [])
    rest = [tool for tool in allowed if tool not in _PERMITTED]
    dropped = len(allowed) - len(rest)
    if dropped:
        permissions["allow"] = rest
        if not rest:
            del permissions["allow"]
        if not permissions:
            del body["permissions"]
    return dropped


def _drop_hooks(body: dict[str, Any], where: str = "") -> int:
    """Remove kept's hooks from the settings. Returns the number of removed entries."""
    hooks, dropped = body.get("hooks", {}), 0
    for event in list(hooks):
        groups = hooks[event]
        if not isinstance(groups, list):
            raise ConfigError(f"hooks.{event} is not a list", where=where, hint="add the hooks by hand: kept setup --show")
        for group in list(groups):
            entries = group.get("hooks") if isinstance(group, dict) else None
            if not isinstance(entries, list) or not any(map(_is_own_entry, entries)):
                continue
            group["hooks"] = [entry for entry in entries if not _is_own_entry(entry)]
            dropped += len(entries) - len(group["hooks"])
            if not group["hooks"]:
                groups.remove(group)
        if dropped and not groups:
            del hooks[event]
    if dropped and not hooks:
        del body["hooks"]
    return dropped


def _is_own_entry(entry: object) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(command, str) and is_own_hook(command)


def _format_settings(body: Mapping[str, Any], before: str) -> str:
    if not body:
        return "{}\n"
    indent = re.search(r"^([ \t]+)\S", before, re.MULTILINE)
    line_end = "\n" if not before or before.endswith("\n") else ""
    return json.dumps(body, indent=indent.group(1) if indent else 2, ensure_ascii=False) + line_end


CODEX_SETTINGS = "config.toml"
GEMINI_POLICY = "policies/kept.toml"
POLICY: str = _TABLES["policy"].replace("TOOL", TOOL)  # a file for Gemini CLI
_NOTE = "# kept setup: Codex may call this one tool of kept's without asking."
_BLOCK = compile_late(rf'\n{re.escape(_NOTE)}\n\[[^\n]+\.tools\.(?:{TOOL}|{FORMER})\]\napproval_mode = "approve"\n')


def with_codex_permission(text: str) -> str:
    """Add the permission to call kept's tool without asking to Codex's settings.

    Returns the text unchanged if it has no MCP server or plugin of kept's, if it mentions the tool already, or if it cannot be
    parsed.
    """
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return text
    servers, plugins = body.get("mcp_servers"), body.get("plugins")
    tables = ["mcp_servers.kept"] if isinstance(servers, dict) and "kept" in servers else []
    tables += [
        f'plugins."{name}".mcp_servers.kept'
        for name, plugin in (plugins.items() if isinstance(plugins, dict) else ())
        if name.startswith("kept@") and name.isprintable() and isinstance(plugin, dict) and plugin.get("enabled", True) is True
    ]
    for table in tables:
        line_end = "" if text.endswith("\n") else "\n"
        after = f'{text}{line_end}\n{_NOTE}\n[{table}.tools.{TOOL}]\napproval_mode = "approve"\n'
        with suppress(tomllib.TOMLDecodeError):  # the table exists already, so a person has decided
            tomllib.loads(after)
            text = after
    return text


def without_codex_permission(text: str) -> str:
    """Remove kept's additions from Codex's settings."""
    return _BLOCK.sub("", text)
