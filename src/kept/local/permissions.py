"""Permissions: what lets Codex and Gemini CLI call the one tool that hands the person's words over without asking each time.

Pure edits of text. Codex has tables in its settings; Gemini CLI reads every file of a folder of policies, and kept's is its own.
"""

import re
import tomllib
from contextlib import suppress

from kept.core.handover import FORMER, TOOL

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
