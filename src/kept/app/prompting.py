"""Extraction prompts of a home: which one is in force for a profile, beginning one's own, putting it away again. Needs no store."""

from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from kept import profiles
from kept.adapters import files, settings
from kept.app.desk import Home
from kept.model.errors import UsageError
from kept.profiles.prompts import Prompt, default, own_path, prompt


@dataclass(frozen=True, kw_only=True, slots=True)
class InForce:
    """The prompt in force for a profile, and where the user's own lies or would lie."""

    prompt: Prompt
    own: Path


def in_force(home: Home, profile: str = "") -> InForce:
    """The prompt in force for a profile (the default one where none is named). Raises ConfigError."""
    usual = settings.read(home.settings).profile
    made = profiles.profile(profile or usual, home.config / "profiles")
    found = prompt(made, root=home.root, config=home.config, default_profile=usual)
    return InForce(prompt=found, own=own_path(made.id, home.config, default_profile=usual))


def begin(home: Home, profile: str = "") -> Path:
    """The file of the user's own prompt, which begins as a copy of the one in force. Raises ConfigError, ChangedError."""
    own = _own(home, profile)
    if not own.exists():
        files.write(own, in_force(home, profile).prompt.text.encode(), expect=files.MISSING, root=home.root)
    return own


def put_away(home: Home, profile: str = "") -> Path:
    """Take the user's own prompt out of force; where it was copied to. Raises UsageError where there is none, ConfigError, ChangedError."""
    own = _own(home, profile)
    content = files.read(own)
    if content.stamp == files.MISSING:
        raise UsageError("there is no prompt of your own", where=str(own))
    kept = files.put_aside(own, into=home.state / "prompts")
    files.remove(own, expect=content.stamp, root=home.root)
    return kept


def _own(home: Home, profile: str) -> Path:
    usual = settings.read(home.settings).profile
    return own_path(profile or usual, home.config, default_profile=usual)


def difference(found: InForce) -> tuple[str, ...]:
    """The lines of a unified diff from the built-in prompt to the one in force; none where they are the same."""
    before, after = default().splitlines(), found.prompt.text.splitlines()
    return tuple(unified_diff(before, after, "built in", found.prompt.origin, lineterm=""))
