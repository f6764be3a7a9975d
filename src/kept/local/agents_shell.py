"""Whether an agent runs this process in its shell, as the variables say that agents set for the commands they run.

A person's script without a terminal has none of them. An agent that takes its variable away is not recognised here.
"""

import re
from collections.abc import Mapping

# What each agent sets for the commands it runs, and what several agree on. What an editor's own terminal has as well is no sign.
SIGNS = (
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "CODEX_CI",
    "GEMINI_CLI",
    "CURSOR_AGENT",
    "OPENCODE",
    "CLINE_ACTIVE",
    "AUGMENT_AGENT",
    "ANTIGRAVITY_AGENT",
    "AIDER",
    "AMP_CURRENT_THREAD_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "COPILOT_AGENT_SESSION_ID",
    "COPILOT_CLI",
    "CRUSH",
    "GOOSE_TERMINAL",
    "PI_CODING_AGENT",
    "QWEN_CODE",
    "ROO_ACTIVE",
    "TRAE_AI_SHELL_ID",
    "AI_AGENT",
)
_NAMED = "AGENT"  # other programs use it too: its value has to name an agent, perhaps with a version
_AGENTS = frozenset(
    (
        *("aider", "amazon-q", "amp", "antigravity", "augment", "claude", "claude-code", "cline", "codex", "copilot", "crush"),
        *("cursor", "cursor-cli", "devin", "gemini", "gemini-cli", "github-copilot", "goose", "iflow-cli", "kilo", "kilo-code"),
        *("opencode", "openhands", "pi", "qwen", "qwen-code", "roo", "roo-code", "trae"),
    )
)


def agent_variable(variables: Mapping[str, str]) -> str:
    """The variable that says that an agent runs this; empty where none does."""
    named = re.split(r"[@/\s]", variables.get(_NAMED, "").strip().lower().replace("_", "-"), maxsplit=1)[0]
    found = next((sign for sign in SIGNS if variables.get(sign, "") not in ("", "0", "false")), "")
    return found or (_NAMED if named in _AGENTS else "")
