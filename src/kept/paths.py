"""The paths of all files and folders that ``kept`` uses, below one home."""

from collections.abc import Mapping
from pathlib import Path

from kept.core.errors import ConfigError, RefusedPathError
from kept.core.value import dataclass
from kept.local.clients import AGENTS, Client
from kept.local.queue import is_state_outside_home, state_folder


@dataclass(frozen=True, kw_only=True, slots=True)
class Paths:
    """The paths of one home. ``root`` is the home with all outputs, ``user`` the user's real home with the transcripts.

    ``variables`` are the environment variables that override the folders of coding agents, with their values. ``settings_folder``
    is set if the settings of another home apply.
    """

    root: Path
    user: Path
    variables: tuple[tuple[str, str], ...] = ()
    settings_folder: Path | None = None

    def of(self, client: Client) -> Path:
        """The folder of a coding agent. A variable may set it to a folder outside of this home only if this is the user's
        own home.
        """
        return client.resolve_folder(self.root, dict(self.variables), outside=self.root == self.user)

    def boundary(self, path: Path) -> Path:
        """The folder that a write to ``path`` must not leave: the home, or an agent's folder that a variable puts elsewhere."""
        folders = (self.of(client) for client in AGENTS)
        return next(
            (folder for folder in folders if not folder.is_relative_to(self.root) and path.is_relative_to(folder)), self.root
        )

    def output_path(self, path: str) -> Path:
        """The absolute path of an output, given relative to the home or to an agent's folder that a variable puts elsewhere."""
        parts = Path(path).parts
        client = next((client for client in AGENTS if parts[:1] == (client.folder,)), None)
        return self.of(client).joinpath(*parts[1:]) if client else self.root / path

    def place_now(self, name: str | Path) -> Path:
        """Return the present path of a file whose path was recorded in another home, for example before the home was moved.

        The ends of the recorded path are tried below this home, the longest first. If none exists, returns the recorded path.
        """
        path = Path(name)
        if path.is_relative_to(self.root) or path.is_relative_to(self.user):
            return path
        here = (self.root.joinpath(*path.parts[start:]) for start in range(1, len(path.parts) - 1))
        return next((place for place in here if place.is_file()), path)

    @property
    def state(self) -> Path:
        """The state folder: the store and the files that belong to it."""
        return Path(state_folder(str(self.root)))

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
        """The file with the stored replies of language models."""
        return self.state / "replies.db"

    @property
    def vectors(self) -> Path:
        """The file with the embedding vectors, which are derived from the store."""
        return self.state / "vectors.bin"

    @property
    def written(self) -> Path:
        """The file that records the state of the output files when they were last written."""
        return self.state / "written.json"

    @property
    def used(self) -> Path:
        """The file in which hooks record the memories that they showed, until the next run counts them."""
        return self.state / "used.log"

    @property
    def agents(self) -> Path:
        """The folder with one transcript for each session that a program observes through :class:`kept.Memory`."""
        return self.state / "agents"

    @property
    def backups(self) -> Path:
        """The folder of automatic backups."""
        return self.state / "backups"

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.config / "config.toml"

    @property
    def lock(self) -> Path:
        """The file whose lock means that a run is active."""
        return self.state / "run.lock"


def sample_home(home: Paths) -> Paths:
    """The home in which the bundled sample is run. It is also the ``HOME`` of that run."""
    root = home.state / "sample-home"
    return Paths(root=root, user=root)


def sample_env(sample: Paths, env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a run of the bundled sample. It names no folder of the user, but has the embeddings that ``env``
    chooses.
    """
    return {"HOME": str(sample.root)} | {name: value for name, value in env.items() if name.startswith("KEPT_EMBEDDINGS")}


def refuse_state_elsewhere(home: Paths) -> None:
    """Raise RefusedPathError if a link leads from the state folder out of the home, because memories would be written there."""
    if is_state_outside_home(str(home.root)):
        hint = "replace the link by that folder, or choose another home with --home"
        raise RefusedPathError(f"kept's own folder is a link to a place outside {home.root}", where=str(home.state), hint=hint)


def find_paths(option: str | None, env: Mapping[str, str]) -> Paths:
    """Return the paths of the home that ``--home`` names, or else ``KEPT_HOME``, or else of the user's own home.

    Raises ConfigError if there is none or it is not a plain directory path, RefusedPathError if a link leads from the state folder
    out of the home.
    """
    user = env.get("HOME") or env.get("USERPROFILE") or ""
    chosen = option or env.get("KEPT_HOME") or user
    if not chosen:
        raise ConfigError("there is no home directory", hint="set HOME, or give --home DIR")
    root = Path(chosen).expanduser().absolute()
    if any(ord(char) < 32 or "\ud800" <= char <= "\udfff" for char in str(root)):
        raise ConfigError("the home directory's name contains control characters or is not UTF-8", hint="give --home DIR")
    if root.exists() and not root.is_dir():
        raise ConfigError("the home is not a directory", where=str(root), hint="give --home DIR")
    variables = tuple((client.variable, env[client.variable]) for client in AGENTS if env.get(client.variable))
    paths = Paths(root=root, user=Path(user) if user else root, variables=variables)
    refuse_state_elsewhere(paths)
    return paths
