"""The extraction prompts of a home: the active prompt of each profile, the user's own version, and the categories it declares.

Opens no workspace, so it works even if the prompt is invalid.
"""

from difflib import unified_diff
from pathlib import Path

from kept import profiles
from kept.core.errors import ConfigError, StaleError, UsageError
from kept.core.redact import refuse_secrets
from kept.core.value import dataclass
from kept.local import files, settings
from kept.paths import Paths
from kept.profiles.profile import Profile
from kept.profiles.prompts import BUILT_IN, Prompt, compose_prompt, default_prompt_text, load_prompt, prompt_path, user_prompt_path


@dataclass(frozen=True, kw_only=True, slots=True)
class ActivePrompt:
    """The active prompt of a profile, and the path for the user's own version. The file need not exist."""

    prompt: Prompt
    own: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptState:
    """The prompt of a profile, even if it is invalid. Then ``problem`` says why, and ``prompt`` is None.

    ``text`` is its text, ``origin`` its file (or ``"built in"``), ``revision`` a hash of its content.
    """

    profile: Profile
    own: Path
    text: str
    origin: str
    revision: str
    prompt: Prompt | None
    problem: str = ""

    @property
    def overridden(self) -> bool:
        """True if the user's own text replaces the built-in prompt."""
        return self.origin != BUILT_IN


def load_active_prompt(home: Paths, profile: str = "") -> ActivePrompt:
    """Load the active prompt of ``profile``, or of the default profile if that is empty. Raises ConfigError."""
    usual, loaded, own = _load_profile(home, profile)
    return ActivePrompt(prompt=load_prompt(loaded, root=home.root, config=home.config, default_profile=usual), own=own)


def _load_profile(home: Paths, profile: str) -> tuple[str, Profile, Path]:
    """The id of the default profile, the named profile (if none is named, the default one), and the path for its own prompt."""
    usual = settings.load_settings(home.settings).profile
    loaded = profiles.load_profile(profile or usual, home.config / "profiles")
    return usual, loaded, user_prompt_path(loaded.id, home.config, default_profile=usual)


def active_profile_ids(home: Paths) -> tuple[str, ...]:
    """The ids of the profiles that the settings use, the default one first. Raises ConfigError."""
    chosen = settings.load_settings(home.settings)
    return tuple(dict.fromkeys((chosen.profile, *chosen.profiles, *(rule.profile for rule in chosen.use))))


def load_prompt_state(home: Paths, profile: str = "") -> PromptState:
    """Load the prompt of a profile, even if it is invalid. Raises ConfigError if the settings or the profile cannot be read."""
    usual, loaded, own = _load_profile(home, profile)
    path = prompt_path(loaded.id, root=home.root, config=home.config, default_profile=usual)
    prompt, problem = None, ""
    try:
        prompt = load_prompt(loaded, root=home.root, config=home.config, default_profile=usual)
    except ConfigError as error:
        problem = str(error)
    text = prompt.text if prompt else files.read_text(path) if path else default_prompt_text()
    origin, revision = str(path or BUILT_IN), _revision(path, text)
    return PromptState(profile=loaded, own=own, text=text, origin=origin, revision=revision, prompt=prompt, problem=problem)


def _revision(path: Path | None, text: str) -> str:
    content = files.read_file(path) if path else files.to_content(text.encode("utf-8", "replace"))
    return content.stamp.digest


def create_own_prompt(home: Paths, profile: str = "") -> Path:
    """Return the file of the user's own prompt, and create it from the active one if missing. Raises ConfigError, ChangedError."""
    own = _own_prompt_path(home, profile)
    if not own.exists():
        files.write_if_unchanged(own, load_active_prompt(home, profile).prompt.text.encode(), expect=files.MISSING, root=home.root)
    return own


def save_own_prompt(home: Paths, profile: str, text: str, *, if_match: str) -> PromptState:
    """Save a text as the user's own prompt, if the prompt still has the revision ``if_match``. The old text is saved as a copy.

    Raises StaleError if the revision is different, ConfigError if the text is invalid, UsageError if it contains a new secret,
    ChangedError. After an error nothing has changed.
    """
    draft = load_prompt_state(home, profile)
    if draft.revision != if_match:
        raise StaleError(
            "the prompt was changed meanwhile", where=draft.origin, hint="nothing was saved; load it and change it again"
        )
    if not text.strip():
        raise ConfigError("the prompt is empty", where=str(draft.own), hint="reset it to go back to the built-in one")
    compose_prompt(draft.profile, text, str(draft.own))  # raises ConfigError if the text is invalid
    before = files.read_file(draft.own)
    old = before.data.decode("utf-8", "replace")
    refuse_secrets(text, before=old, where=str(draft.own))
    if before.stamp != files.MISSING and old != text:
        files.copy_to_quarantine(draft.own, into=home.state / "prompts")
    files.write_if_unchanged(draft.own, text.encode("utf-8", "replace"), expect=before.stamp, root=home.root)
    return load_prompt_state(home, profile)


def remove_own_prompt(home: Paths, profile: str = "", *, if_match: str = "") -> Path:
    """Delete the user's own prompt, and return the path of its saved copy.

    Raises UsageError if there is none, StaleError if its revision is not ``if_match`` (empty: any), ConfigError, ChangedError.
    """
    own = _own_prompt_path(home, profile)
    content = files.read_file(own)
    if content.stamp == files.MISSING:
        raise UsageError("there is no prompt of your own", where=str(own))
    if if_match not in ("", content.stamp.digest):
        raise StaleError("the prompt was changed meanwhile", where=str(own), hint="nothing was changed; load it and try again")
    saved_copy = files.copy_to_quarantine(own, into=home.state / "prompts")
    files.delete_if_unchanged(own, expect=content.stamp, root=home.root)
    return saved_copy


def _own_prompt_path(home: Paths, profile: str) -> Path:
    usual = settings.load_settings(home.settings).profile
    return user_prompt_path(profile or usual, home.config, default_profile=usual)


def diff_prompt(active: ActivePrompt | PromptState) -> tuple[str, ...]:
    """The lines of a unified diff from the built-in prompt to the active one; empty if they are equal."""
    text, origin = (active.text, active.origin) if isinstance(active, PromptState) else (active.prompt.text, active.prompt.origin)
    return tuple(unified_diff(default_prompt_text().splitlines(), text.splitlines(), "built in", origin, lineterm=""))
