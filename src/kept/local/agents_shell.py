"""Whether an agent runs this process in its shell, as the variables say that agents set for the commands they run.

A person's script without a terminal has none of them. An agent that takes its variable away is not recognised here.
"""

from collections.abc import Mapping

# What Claude Code, Codex, Gemini CLI, Cursor, OpenCode, Cline, Augment and Antigravity set, and what several agree on.
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
    "AI_AGENT",
)


def agent_variable(variables: Mapping[str, str]) -> str:
    """The variable that says that an agent runs this; empty where none does."""
    return next((sign for sign in SIGNS if variables.get(sign, "") not in ("", "0", "false")), "")
