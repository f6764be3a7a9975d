"""The desk: everything a use case works with, opened once: places, settings, profile, store, clock.

Every path kept writes to lies below one home; a trial run with ``--home`` touches nothing else.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import tzlocal

from kept import profiles
from kept.adapters import settings as settings_file
from kept.adapters.settings import Settings
from kept.adapters.store import Store
from kept.model.errors import ConfigError, UsageError
from kept.model.lexicon import Lexicon
from kept.model.profile import Profile
from kept.model.project import PROJECT, name_of, root_of, scope_of
from kept.model.times import parse_instant
from kept.profiles.lexicons import lexicon

Clock = Callable[[], datetime]


@dataclass(frozen=True, kw_only=True, slots=True)
class Home:
    """Where kept lives: ``root`` is the home all outputs lie under, ``user`` the user's real home that transcripts are found in."""

    root: Path
    user: Path

    @property
    def state(self) -> Path:
        """The folder of kept's own state."""
        return self.root / ".local" / "share" / "kept"

    @property
    def config(self) -> Path:
        """The folder of the user's settings, profiles and prompts."""
        return self.root / ".config" / "kept"

    @property
    def store(self) -> Path:
        """The store file."""
        return self.state / "kept.db"

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.config / "config.toml"

    @property
    def lock(self) -> Path:
        """The file whose lock means that a run is under way."""
        return self.state / "run.lock"


def find_home(option: str | None, env: Mapping[str, str]) -> Home:
    """The home from ``--home``, else ``KEPT_HOME``, else the user's own.

    Raises ConfigError where there is none or it is no plain directory path.
    """
    user = env.get("HOME") or env.get("USERPROFILE") or ""
    chosen = option or env.get("KEPT_HOME") or user
    if not chosen:
        raise ConfigError("there is no home directory", hint="set HOME, or give --home DIR")
    if any(ord(char) < 32 for char in chosen):
        raise ConfigError("the home directory's name holds control characters", hint="give --home DIR")
    root = Path(chosen).expanduser().absolute()
    if root.exists() and not root.is_dir():
        raise ConfigError("the home is not a directory", where=str(root), hint="give --home DIR")
    return Home(root=root, user=Path(user) if user else root)


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """What a use case works with. ``zone`` decides which day an instant belongs to."""

    home: Home
    settings: Settings
    profile: Profile
    lexicon: Lexicon
    zone: ZoneInfo
    store: Store
    clock: Clock
    env: Mapping[str, str]

    def scope(self, directory: str) -> str:
        """The scope of what is said in a directory."""
        return scope_of(directory, self.settings.projects)

    def names(self) -> dict[str, str]:
        """What each project scope is called, for people; projects of the same name get the parent folder added."""
        roots = {self.scope(each): root_of(each) for each in self.store.archive.projects() if each.strip()}
        plain = {scope: name_of(root) for scope, root in roots.items()}
        taken: dict[str, int] = {}
        for name in plain.values():
            taken[name.casefold()] = taken.get(name.casefold(), 0) + 1
        return {scope: name if taken[name.casefold()] == 1 else f"{name} ({roots[scope]})" for scope, name in plain.items()}

    def name(self, scope: str) -> str:
        """What one scope is called."""
        return self.names().get(scope) or scope.removeprefix(PROJECT)

    def day(self, text: str) -> date:
        """A day a person names: ``today``, ``yesterday`` or YYYY-MM-DD. Raises UsageError."""
        today = self.clock().astimezone(self.zone).date()
        match text.strip().lower():
            case "today":
                return today
            case "yesterday":
                return today - timedelta(days=1)
        try:
            return date.fromisoformat(text.strip())
        except ValueError as error:
            raise UsageError(f"{text!r} is no date", hint="write YYYY-MM-DD, today or yesterday") from error

    def span(self, day: date) -> tuple[datetime, datetime]:
        """The first instant of a local day and of the next one; their distance follows daylight saving."""
        start = datetime.combine(day, time(), self.zone)
        return start.astimezone(UTC), datetime.combine(day + timedelta(days=1), time(), self.zone).astimezone(UTC)

    def moment(self, text: str) -> datetime:
        """The instant a person names: a full timestamp, or a day, meaning its end. Raises UsageError."""
        instant = parse_instant(text)
        return instant if instant is not None else self.span(self.day(text))[1]


def now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


@contextmanager
def opened(
    home: Home, *, profile: str | None = None, zone: str | None = None, clock: Clock = now, env: Mapping[str, str] | None = None
) -> Iterator[Desk]:
    """Open the desk, and close the store at the end.

    Raises ConfigError for settings, profile or zone that cannot be followed, StoreError where the store cannot be opened.
    """
    chosen = settings_file.read(home.settings)
    made = profiles.profile(profile or chosen.profile, home.config / "profiles")
    name = zone or chosen.timezone
    local = settings_file.zone(name) if name else _local_zone()
    with Store(home.store) as store:
        yield Desk(
            home=home, settings=chosen, profile=made, lexicon=lexicon(made.languages), zone=local, store=store, clock=clock,
            env=os.environ if env is None else env,
        )  # fmt: skip


def _local_zone() -> ZoneInfo:
    try:
        return tzlocal.get_localzone()
    except (LookupError, ValueError, OSError):
        return ZoneInfo("UTC")  # a container without a zone
