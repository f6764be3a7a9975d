"""What Codex records when a person trusts hooks."""

import json
from pathlib import Path

from kept.install.client_checks import hash_for_codex, snake_case
from kept.local.clients import hook_entries

PLUGIN = "kept@kept:hooks/codex.json"  # Codex's name for the hooks of kept's plugin


def trust_hooks(folder: Path, hooks: Path, name: str = "") -> None:
    """Record the hooks in a file as trusted in Codex's folder; existing records remain."""
    settings = folder / "config.toml"
    text = settings.read_text(encoding="utf-8") if settings.exists() else ""
    for event, entry in hook_entries(json.loads(hooks.read_text(encoding="utf-8"))):
        place = f"{name or hooks}:{snake_case(event)}:{entry['place']}"
        noted = f'\n[hooks.state."{place}"]\ntrusted_hash = "{hash_for_codex(event, entry)}"\n'
        text += "" if noted in text else noted
    settings.write_text(text, encoding="utf-8")
