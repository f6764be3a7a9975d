"""Where kept lives and writes: every path below one home."""

import os
from collections.abc import Mapping
from pathlib import Path

from kept.core.errors import ConfigError, RefusedPathError
from kept.core.value import dataclass
from kept.local.clients import CLIENTS, GEMINI, Client


@dataclass(frozen=True, kw_only=True, slots=True)
class Paths:
    """Where kept lives: ``root`` is the home all outputs lie under, ``user`` the user's real home that transcripts are found in.

    ``variables`` are what the environment says of the folders of coding agents, by variable. ``settings_folder`` holds the settings
    where they are those of another home.
    """

    root: Path
    user: Path
    variables: tuple[tuple[str, str], ...] = ()
    settings_folder: Path | None = None

    def of(self, client: Client) -> Path:
        """The folder of a coding agent. Only in the user's own home may it lie elsewhere: a trial changes nothing outside."""
        return client.resolve_folder(self.root, dict(self.variables), outside=self.root == self.user)

    def boundary(self, path: Path) -> Path:
        """The folder that writing a path must not leave: the home, or an agent's folder that the environment puts elsewhere."""
        folders = (self.of(client) for client in (*CLIENTS, GEMINI))
        return next(
            (folder for folder in folders if not folder.is_relative_to(self.root) and path.is_relative_to(folder)), self.root
        )

    def output_path(self, path: str) -> Path:
        """A file that kept writes, given below the home; one below an agent's folder lies where the environment says that folder
        is.
        """
        parts = Path(path).parts
        client = next((known_client for known_client in (*CLIENTS, GEMINI) if parts[:1] == (known_client.folder,)), None)
        return self.of(client).joinpath(*parts[1:]) if client else self.root / path

    def place_now(self, name: str | Path) -> Path:
        """Where a file lies now that was noted in a home which was moved or copied here: below this home, under the same names."""
        path = Path(name)
        if path.is_relative_to(self.root) or path.is_relative_to(self.user):
            return path
        here = (self.root.joinpath(*path.parts[start:]) for start in range(1, len(path.parts) - 1))
        return next((place for place in here if place.is_file()), path)

    @property
    def state(self) -> Path:
        """The folder of kept's own state."""
        return self.root / ".local" / "share" / "kept"

    @property
    def config(self) -> Path:
        """The folder of the user's settings, profiles and prompts."""
        return self.settings_folder or self.root / ".config" / "kept"

    @property
    def store(self) -> Path:
        """The store file."""
        return self.state / "kept.db"

    @property
    def replies(self) -> Path:
        """The file with what language models replied."""
        return self.state / "replies.db"

    @property
    def vectors(self) -> Path:
        """The file of vectors, derived from the store."""
        return self.state / "vectors.bin"

    @property
    def written(self) -> Path:
        """The note of what the files looked like when they were written."""
        return self.state / "written.json"

    @property
    def used(self) -> Path:
        """Where a hook notes which memories it used, until the next run counts them."""
        return self.state / "used.log"

    @property
    def agents(self) -> Path:
        """Where what agents observe through :class:`kept.Memory` is written, a transcript a session."""
        return self.state / "agents"

    @property
    def backups(self) -> Path:
        """Where backups made by themselves lie."""
        return self.state / "backups"

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.config / "config.toml"

    @property
    def lock(self) -> Path:
        """The file whose lock means that a run is under way."""
        return self.state / "run.lock"


def sample_home(home: Paths) -> Paths:
    """The home that the sample is remembered in; its environment's ``HOME`` is its root."""
    root = home.state / "sample-home"
    return Paths(root=root, user=root)


def refuse_state_elsewhere(home: Paths) -> None:
    """Raise RefusedPathError where a link leads kept's own folder out of the home: what is remembered would be written there."""
    root, state = os.path.realpath(home.root), os.path.realpath(home.state)
    if not Path(state).is_relative_to(root):
        hint = "put the folder it leads to in its place, or choose another home with --home"
        raise RefusedPathError(f"kept's own folder is a link that leads outside {home.root}", where=str(home.state), hint=hint)


def find_paths(option: str | None, env: Mapping[str, str]) -> Paths:
    """The home from ``--home``, else ``KEPT_HOME``, else the user's own.

    Raises ConfigError where there is none or it is no plain directory path, RefusedPathError where kept's own folder lies outside.
    """
    user = env.get("HOME") or env.get("USERPROFILE") or ""
    chosen = option or env.get("KEPT_HOME") or user
    if not chosen:
        raise ConfigError("there is no home directory", hint="set HOME, or give --home DIR")
    root = Path(chosen).expanduser().absolute()
    if any(ord(char) < 32 or "\ud800" <= char <= "\udfff" for char in str(root)):
        raise ConfigError("the home directory's name holds control characters or is no UTF-8", hint="give --home DIR")
    if root.exists() and not root.is_dir():
        raise ConfigError("the home is not a directory", where=str(root), hint="give --home DIR")
    variables = tuple((client.variable, env[client.variable]) for client in (*CLIENTS, GEMINI) if env.get(client.variable))
    paths = Paths(root=root, user=Path(user) if user else root, variables=variables)
    refuse_state_elsewhere(paths)
    return paths
