"""Coding agents on this machine: where their files are, kept's hooks in their settings, and the permission to call its one tool.

Edits of text are pure: a client's settings in, its settings with or without kept's entries out.
"""

import json
import os
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kept.core.errors import ConfigError
from kept.core.handover import FORMER, TOOL
from kept.core.value import dataclass

_TABLES = tomllib.loads(Path(__file__).with_name("clients.toml").read_text(encoding="utf-8"))
EVENTS: Mapping[str, tuple[str, int]] = {event: (name, seconds) for event, (name, seconds) in _TABLES["events"].items()}
FAILURE = ("tool-failure", 10)
TRANSCRIPTS = ("projects", "sessions")  # folders of a client's
SHELL = "Bash"  # what both clients call the tool that runs commands; other tools' failures are not looked up
# The one tool that may be called without asking, by the names it has where a server or the plugin brings it.
SUGGEST, PLUGIN_SUGGEST = f"mcp__kept__{TOOL}", f"mcp__plugin_kept_kept__{TOOL}"
_LEAVES = (SUGGEST, PLUGIN_SUGGEST, f"mcp__kept__{FORMER}", f"mcp__plugin_kept_kept__{FORMER}")
SPARED = " 2>/dev/null || true"  # a kept that is gone or broken says nothing and stops nothing (exit code 2 would)
_WORD_ENDS = re.compile(rb"[\s'\"!]+")
_OURS = re.compile(
    r"(?:^|[/\\ '\"])kept['\"]?(?: --home (?:'[^']*'|\S+))? hook (?:session-start|user-prompt|stop|pre-compact"
    r"|session-end|subagent-start|tool-failure)\b|-m kept (?:--home (?:'[^']*'|\S+) )?hook "
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """A coding agent: its name, the folder whose presence shows that it is used, the file its hooks stand in and the one that tells
    which plugins are on, and the file of instructions that it reads in every session (empty: kept's memory file is one). All below
    the folder.

    ``variable`` is the environment variable that names another place: for the folder itself, or where ``below`` says so for the
    home that the folder lies in. ``failure`` is the event after a command that failed (of Codex: after any command). ``tried`` is
    the newest version whose sessions kept's own tests have read.
    """

    name: str
    folder: str
    file: str = ""
    plugins: str
    instructions: str = ""
    variable: str = ""
    below: bool = False
    failure: str = ""
    tried: str = ""

    def resolve_folder(self, home: Path, variables: Mapping[str, str], *, outside: bool = False) -> Path:
        """The folder: where its variable says, as far as that lies below the home or is, ``outside``, a folder that is there."""
        usual, named = home / self.folder, variables.get(self.variable, "")
        if not named:
            return usual
        given = Path(named).expanduser() / (self.folder if self.below else "")
        if not given.is_absolute() or ".." in given.parts:
            return usual
        return given if given.is_relative_to(home) or (outside and given.is_dir()) else usual


*CLIENTS, GEMINI = (Client(**table) for table in _TABLES["clients"])  # Gemini's hooks come with its extension alone
READERS = tuple(client for client in (*CLIENTS, GEMINI) if client.instructions)  # agents that read instructions of their own


def has_plugin(text: str) -> bool:
    """Whether a client's settings (JSON or TOML) say that kept's plugin is on; its extension's manifest says so by being there."""
    try:
        body = json.loads(text)
        found = body.get("enabledPlugins", {}) if "enabledPlugins" in body else {"kept@": body.get("name") == "kept"}
    except ValueError:
        try:
            found = tomllib.loads(text).get("plugins", {})
        except tomllib.TOMLDecodeError:
            return False
    except (AttributeError, TypeError):
        return False
    return isinstance(found, dict) and any(
        name.startswith("kept@") and (each.get("enabled", True) if isinstance(each, dict) else each) is True
        for name, each in found.items()
    )


def is_own_hook(command: str) -> bool:
    """True if a command line is a hook of kept's."""
    return _OURS.search(command) is not None


def hook_entries(body: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The commands of the hooks in settings, each with its event and its place there, as far as they have the form that clients
    read.
    """
    hooks = body.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            entries = group.get("hooks") if isinstance(group, dict) else None
            for rank, entry in enumerate(entries if isinstance(entries, list) else ()):
                if isinstance(entry, dict) and entry.get("type") == "command" and isinstance(entry.get("command"), str):
                    yield event, entry | {"matcher": group.get("matcher", ""), "place": f"{number}:{rank}"}


def explain_dead_hook(command: str) -> str:
    """Why the command line of a hook cannot start kept, as far as files show it; empty where nothing speaks against it."""
    try:
        program = Path(shlex.split(command.removesuffix(SPARED))[0])
    except (ValueError, IndexError):
        return f"`{command[:120]}` is not a valid command line"
    if not program.is_absolute() or can_start(program):
        return ""
    return f"it may not run {program}" if program.exists() else f"it calls {program}, which is not there"


def can_start(script: Path) -> bool:
    """Whether a program can be run, and the Python that it names is there: that is not where the environment was moved."""
    if not os.access(script, os.X_OK):
        return False
    with script.open("rb") as file:
        head = file.read(512)  # long paths stand on the second line, behind a shell's
    words = _WORD_ENDS.split(head) if head.startswith(b"#!") else []
    return all(os.access(word, os.X_OK) for word in words if word.startswith(b"/") and b"/python" in word)


def hook_groups(client: Client) -> dict[str, dict[str, Any]]:
    """The groups of hooks that kept asks a client for, by the client's event; each has one command, ``hook NAME`` of kept."""
    groups: dict[str, dict[str, Any]] = {event: _make_hook_group(*called) for event, called in EVENTS.items()}
    return groups | ({client.failure: {"matcher": SHELL, **_make_hook_group(*FAILURE)}} if client.failure else {})


def _make_hook_group(name: str, seconds: int) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": f"hook {name}", "timeout": seconds}]}


def with_hooks(text: str, program: str, where: str, client: Client = CLIENTS[0]) -> str:
    """The settings with kept's hooks called as ``program``, those of an earlier kept replaced; everything else as it was.

    ``text`` is empty where there is no file. Raises ConfigError where it is no JSON object of the known form: nothing is guessed.
    """
    body = _parse_settings(text, where) if text.strip() else {}
    _drop_hooks(body, where)
    hooks = body.setdefault("hooks", {})
    for event, group in hook_groups(client).items():
        (entry,) = group["hooks"]
        entry["command"] = f"{program} {entry['command']}{SPARED}"
        hooks.setdefault(event, []).append(group)
    return text if text.strip() and body == _parse_settings(text, where) else _format_settings(body, text)


def with_permission(text: str, tool: str, where: str) -> str:
    """The settings in which an agent may call one tool of kept's, and no other one of its, without asking. Raises ConfigError."""
    body = _parse_settings(text, where) if text.strip() else {}
    if tool in body.get("permissions", {}).get("allow", ()):
        return text
    _drop_permission(body)
    body.setdefault("permissions", {}).setdefault("allow", []).append(tool)
    return _format_settings(body, text)


def without_hooks(text: str, where: str) -> str:
    """The settings without kept's hooks and permission, nor containers that this leaves empty. Raises ConfigError."""
    body = _parse_settings(text, where)
    if not _drop_hooks(body, where) + _drop_permission(body):
        return text
    return _format_settings(body, text)


def has_permission(text: str) -> bool:
    """True if the settings let an agent call kept's tool without asking."""
    try:
        return bool(text.strip()) and _drop_permission(_parse_settings(text, "")) > 0
    except ConfigError:
        return False


def has_hooks(text: str) -> bool:
    """Whether any hook of kept's stands in the settings."""
    try:
        return bool(text.strip()) and _drop_hooks(_parse_settings(text, ""), "") > 0
    except ConfigError:
        return False


def _parse_settings(text: str, where: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"the file is no JSON: {error}", where=where, hint="mend it, or add the hooks by hand: kept setup --show"
        ) from error
    permissions = body.get("permissions", {}) if isinstance(body, dict) else None
    known = isinstance(permissions, dict) and isinstance(permissions.get("allow", []), list)
    if not isinstance(body, dict) or not isinstance(body.get("hooks", {}), dict) or not known:
        raise ConfigError("the file is not of the form that is known", where=where, hint="add the hooks by hand: kept setup --show")
    return body


def _drop_permission(body: dict[str, Any]) -> int:
    """Take the permission to call kept's tool out of the body; how many there were."""
    permissions = body.get("permissions", {})
    allowed = permissions.get("allow", [])
    rest = [tool for tool in allowed if tool not in _LEAVES]
    dropped = len(allowed) - len(rest)
    if dropped:
        permissions["allow"] = rest
        if not rest:
            del permissions["allow"]
        if not permissions:
            del body["permissions"]
    return dropped


def _drop_hooks(body: dict[str, Any], where: str) -> int:
    """Take kept's entries out of the body; how many there were."""
    hooks, dropped = body.get("hooks", {}), 0
    for event in list(hooks):
        groups = hooks[event]
        if not isinstance(groups, list):
            raise ConfigError(f"hooks.{event} is no list", where=where, hint="add the hooks by hand: kept setup --show")
        for group in list(groups):
            entries = group.get("hooks") if isinstance(group, dict) else None
            kept = [entry for entry in entries if not _is_own_entry(entry)] if isinstance(entries, list) else None
            if kept is None or entries is None or len(kept) == len(entries):
                continue
            dropped += len(entries) - len(kept)
            group["hooks"] = kept
            if not kept:
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
    return json.dumps(body, indent=indent.group(1) if indent else 2, ensure_ascii=False) + (
        "\n" if not before or before.endswith("\n") else ""
    )


CODEX_SETTINGS = "config.toml"
GEMINI_POLICY = "policies/kept.toml"
POLICY = f"""\
# Written by kept setup: Gemini CLI may call this one tool of kept's without asking.
[[rule]]
mcpName = "kept"
toolName = "{TOOL}"
decision = "allow"
priority = 100
"""
_NOTE = "# kept setup: Codex may call this one tool of kept's without asking."
_BLOCK = re.compile(rf'\n{re.escape(_NOTE)}\n\[[^\n]+\.tools\.(?:{TOOL}|{FORMER})\]\napproval_mode = "approve"\n')


def with_codex_permission(text: str) -> str:
    """Codex's settings in which kept's server, or that of its plugin, may be called for the tool; unchanged where there is no such
    server, where they say something of the tool already, and where they cannot be read.
    """
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return text
    servers, plugins = body.get("mcp_servers"), body.get("plugins")
    tables = ["mcp_servers.kept"] if isinstance(servers, dict) and "kept" in servers else []
    tables += [
        f'plugins."{name}".mcp_servers.kept'
        for name, each in (plugins.items() if isinstance(plugins, dict) else ())
        if name.startswith("kept@") and name.isprintable() and isinstance(each, dict) and each.get("enabled", True) is True
    ]
    for table in tables:
        line_end = "" if text.endswith("\n") else "\n"
        after = f'{text}{line_end}\n{_NOTE}\n[{table}.tools.{TOOL}]\napproval_mode = "approve"\n'
        with suppress(tomllib.TOMLDecodeError):  # a table that is there already is no mistake: a person decided
            tomllib.loads(after)
            text = after
    return text


def without_codex_permission(text: str) -> str:
    """Codex's settings without what kept added."""
    return _BLOCK.sub("", text)
