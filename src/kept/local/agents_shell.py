"""Detect that an agent runs this process in its shell, by environment variables that agents set for the commands they run.

These variables are not set for a person's own script, even if it has no terminal. An agent that removes its variable is not
detected.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from kept.core.codec import load_table

_SHELL: Mapping[str, list[str]] = load_table(Path(__file__).with_name("clients.toml"))["shell"]
VARIABLES = tuple(_SHELL["variables"])
_NAMED = "AGENT"  # other programs set this variable too, so its value must be the name of an agent


def agent_variable(variables: Mapping[str, str]) -> str:
    """The name of the variable which shows that an agent runs this process. Empty if there is none."""
    agent = re.split(r"[@/\s]", variables.get(_NAMED, "").strip().lower().replace("_", "-"), maxsplit=1)[0]
    own = next((name for name in VARIABLES if variables.get(name, "") not in ("", "0", "false")), "")
    return own or (_NAMED if agent in _SHELL["agents"] else "")
