"""The user's settings, which are one TOML file. Unknown settings are errors. Changes preserve the user's comments."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from kept.core.codec import load_table
from kept.core.errors import ConfigError
from kept.core.pattern import compile_late
from kept.core.value import dataclass, field, fields, replace
from kept.local.recall_settings import RecallSettings
from kept.local.settings.tables import FeedSettings, ShareSettings, SourceRoot
from kept.profiles.profile import ProfileRule

REMEMBERING = frozenset({"claude", "codex", "gemini", "blocks"})
SECTIONED = frozenset({"codex", "gemini"})
_MEMBERS = {"client_memory": REMEMBERING, "sections": SECTIONED}
LISTS = frozenset({"use", "feed", "root", "share"})  # settings that are lists of tables
TABLES = LISTS | {"projects"}  # settings that `kept config` does not change
_ADAPTERS = Path(__file__).parents[2] / "llm" / "adapters"  # has one module for each adapter
CHOICES: Mapping[str, tuple[str, ...]] = {
    "llm.adapter": ("none", *sorted(path.stem for path in _ADAPTERS.iterdir() if path.suffix == ".py" and path.stem[0] != "_")),
    "at_session_end": ("queue", "run"),
    "handover": ("remind", "ask", "off"),
    "recall.model": ("multilingual", "small"),
}
#: Settings that name programs, servers, variables or paths, or say whose words are trusted. A change of them can make this machine
#: run, send, read or trust something else, so neither the page nor agents may change them. A list of tables counts as a whole.
TERMINAL_ONLY = frozenset(
    {
        *("llm.adapter", "llm.command", "llm.base_url", "llm.key_env", "llm.env", "llm.script", "llm.recording"),
        *("feed", "root", "share", "projects", "journal.folder", "linked_folders", "exclude", "sections", "client_memory"),
        *("recall.embeddings", "recall.embeddings_model", "trust_agents", "handover", "store.url", "sync.folder", "backup.folder"),
    }
)
#: The name of each kind of value, for messages.
KINDS = {bool: "switch (true or false)", int: "whole number", float: "number", str: "text", tuple: "list of texts"}
_MOST_TOKENS = 3_000  # clients truncate the output of a hook at 10,000 characters
_PASSWORD = compile_late(r"^\w+://[^/?@]*:[^/?@]+@|[?&]password=", re.IGNORECASE)
_SERVER = compile_late(r"^https?://(?:[^/?#@]*@)?(?:\[[\da-f:.]+\](?::\d+)?|[^/?#@\[\]\s]+)(?:[/?#]|$)", re.IGNORECASE)
_SPAN = compile_late(r"([1-9]\d{0,3}) ?([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 31, "y": 366}  # maximum lengths in days, so that no event is deleted too early
_MOST_BYTES = 1_000_000  # a larger settings file is a mistake
_MOST_NUMBER = 2**63


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmSettings:
    """The table ``[llm]``: the language model, how it is called, and what it may cost. A limit of 0 means no limit.

    ``command`` is a known program (such as claude or ollama) or a command line. ``base_url`` replaces the vendor's server.
    ``key_env`` is the environment variable with the key, ``env`` names further variables that a command gets. ``script`` and
    ``recording`` are files. ``context`` is the model's context in tokens (0: according to its name or server). ``prompt_tokens``
    limits a request (many prices rise at 100,000). Larger input is split. ``plan_calls`` is the number of requests that a
    subscription allows in its period (0: that of the smallest subscription). ``plan_share`` is the share of them that kept uses.

    ``rate`` is in requests per minute, ``timeout`` in seconds. Budgets are in USD, calls and tokens (input and output).
    ``price_input`` and ``price_output`` (USD per million tokens) are for models whose price kept does not know. ``batch`` sends
    requests that can wait to the provider's batch API, at half the price. With ``trial`` False, the claims of a model become active
    even if it failed kept's trial.
    """

    adapter: str = "none"
    model: str = ""
    command: str = ""
    base_url: str = ""
    key_env: str = ""
    env: tuple[str, ...] = ()
    script: str = ""
    recording: str = ""
    timeout: float = 180.0
    attempts: int = 4
    concurrency: int = 4
    rate: float = 0.0
    context: int = 0
    prompt_tokens: int = 80_000
    plan_calls: int = 0
    plan_share: float = 0.5
    run_usd: float = 1.0
    run_calls: int = 1_000
    run_tokens: int = 0
    day_usd: float = 2.0
    day_calls: int = 3_000
    day_tokens: int = 0
    month_usd: float = 0.0
    month_calls: int = 0
    month_tokens: int = 0
    price_input: float = 0.0
    price_output: float = 0.0
    batch: bool = False
    trial: bool = True

    @property
    def name(self) -> str:
        """The display name of the model: its name, or else the command, or else the adapter."""
        return self.model or self.command or self.adapter

    def check(self) -> None:
        """Raise ConfigError if a value is invalid."""
        if self.model.startswith("-"):  # the name is passed to a program, which would take it for an option
            raise ConfigError(f"llm.model {self.model!r} is not the name of a model", hint='model = "haiku"')
        if self.base_url and not _SERVER.match(self.base_url):
            raise ConfigError("llm.base_url is not the address of a server", hint='base_url = "http://127.0.0.1:8000/v1"')


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalSettings:
    """The table ``[journal]``: the folder of entries, below the home, and their composition.

    ``tokens`` limits the whole context of an entry, ``memory_tokens`` the memories in it (never more than the sessions' part).
    ``outside`` is the share of the context for all external sources together. If recent entries talk about memory itself in more
    than ``self_reference`` of their sentences, that share is raised, up to ``outside_most``.
    """

    folder: str = "journal"
    template: str = "journal"
    tokens: int = 6_000
    memory_tokens: int = 1_500
    outside: float = 0.3
    outside_most: float = 0.6
    self_reference: float = 0.2

    def check(self) -> None:
        """Raise ConfigError if a value is invalid."""
        folder = Path(self.folder)
        if not self.folder or folder.is_absolute() or ".." in folder.parts:
            raise ConfigError("journal.folder must be a folder below the home", hint='folder = "journal"')
        if not 0 <= self.outside <= self.outside_most < 1:
            raise ConfigError("journal.outside must be from 0 to journal.outside_most, and that below 1")


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreSettings:
    """The table ``[store]``: ``url`` is the PostgreSQL database of the store. If it is empty, no server is used.

    It names the role that owns the rows (``postgresql://ROLE@HOST/DATABASE``). It must not contain a password, which libpq finds
    elsewhere.
    """

    url: str = ""

    def check(self) -> None:
        """Raise ConfigError if a value is invalid."""
        if self.url and not self.url.startswith(("postgresql://", "postgres://")):
            raise ConfigError("store.url is not an address of PostgreSQL", hint='url = "postgresql://ROLE@HOST/DATABASE"')
        if _PASSWORD.search(self.url):
            hint = "leave it out; ~/.pgpass, a certificate or PGPASSWORD gives it"
            raise ConfigError("store.url contains a password, and kept stores no passwords", hint=hint)


def _check_folder(table: str, folder: str) -> None:
    if folder and not Path(folder).expanduser().is_absolute():
        raise ConfigError(f"{table}.folder must be an absolute path", hint=f'folder = "~/{table}/kept"')


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncSettings:
    """The table ``[sync]``: the ``folder`` that another program syncs between the person's machines (empty: none)."""

    folder: str = ""

    def check(self) -> None:
        """Raise ConfigError if a value is invalid."""
        _check_folder("sync", self.folder)


@dataclass(frozen=True, kw_only=True, slots=True)
class BackupSettings:
    """The table ``[backup]``: the ``folder``, perhaps on another disk, that gets a copy of the store each night (empty: none)."""

    folder: str = ""

    def check(self) -> None:
        """Raise ConfigError if a value is invalid."""
        _check_folder("backup", self.folder)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchiveSettings:
    """The table ``[archive]``: how long events are kept (``2y``, ``6m``, ``90d``). If that is empty, they are kept forever.

    ``projects`` are exceptions for single projects (``harbor=6m``, ``harbor=always``). Nothing is deleted before a person asks for
    it.
    """

    keep: str = ""
    projects: tuple[str, ...] = ()

    @property
    def project_days(self) -> Mapping[str, int | None]:
        """Map the projects with an exception to the number of days that their events are kept (None: forever). Raises
        ConfigError.
        """
        return {name.strip(): count_days(span) for name, _, span in (item.rpartition("=") for item in self.projects)}

    def check(self) -> None:
        """Raise ConfigError if a value is invalid."""
        count_days(self.keep)
        if "" in self.project_days:
            raise ConfigError("archive.projects names no project", hint='projects = ["harbor=6m"]')


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """All settings with their defaults.

    Sources: ``timezone`` is an IANA name (empty: that of the machine). ``sources_off`` names formats that are not read, ``exclude``
    holds glob patterns of transcript paths and project directories that are not read. ``root`` are further folders that every run
    reads. ``client_memory`` names tools (claude, codex, gemini, blocks) whose own memory every run imports as held memories.
    ``projects`` maps a directory to another one of the same project.

    Profiles: ``profile`` is the default profile, for everything that no rule matches. ``profiles`` are further active ones. ``use``
    are rules, each a table of ``profile``, ``sources`` and ``projects``. The first matching rule counts.

    Hooks and agents: ``context_tokens`` is the budget of the context that a hook inserts before a session or prompt.
    ``context_meaning`` lets the prompt hook search by meaning even without an embedding server. It then loads the model each time.
    ``at_session_end`` is the action of the hook at the end of a session: ``queue`` leaves the session to the next run, ``run``
    starts one. ``handover`` is how hooks ask agents to hand over the person's words: ``remind``, ``ask`` (also once at the end of a
    turn), or ``off`` (nothing, and words that agents hand over are held). ``trust_agents`` makes memories that agents add active at
    once.

    Runs and files: ``night_minutes`` limits the time that the nightly job may read, extract and ask (0: no limit). The rest is left
    to the next one. ``sections`` names agents (codex, gemini) whose own file of instructions gets a section with memories.
    ``linked_folders`` are folders below the home into which links at the outputs' paths may lead. Other links must stay within
    their own folder.

    ``llm``, ``recall``, ``journal``, ``store``, ``sync``, ``archive`` and ``backup`` are tables. ``use``, ``root``, ``feed``
    (external sources of the journal) and ``share`` (what is shared with teams) are lists of tables.
    """

    timezone: str = ""
    profile: str = "coding"
    profiles: tuple[str, ...] = ()
    sources_off: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    projects: Mapping[str, str] = field(default_factory=dict)
    use: tuple[ProfileRule, ...] = ()
    llm: LlmSettings = field(default_factory=LlmSettings)
    context_tokens: int = 1_200
    at_session_end: str = "queue"
    handover: str = "remind"
    night_minutes: int = 240
    sections: tuple[str, ...] = ()
    client_memory: tuple[str, ...] = ()
    linked_folders: tuple[str, ...] = ()
    trust_agents: bool = False
    context_meaning: bool = False
    recall: RecallSettings = field(default_factory=RecallSettings)
    journal: JournalSettings = field(default_factory=JournalSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    sync: SyncSettings = field(default_factory=SyncSettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    backup: BackupSettings = field(default_factory=BackupSettings)
    feed: tuple[FeedSettings, ...] = ()
    root: tuple[SourceRoot, ...] = ()
    share: tuple[ShareSettings, ...] = ()

    def check(self) -> None:
        """Raise ConfigError if values are invalid or exclude each other."""
        if self.timezone:
            load_zone(self.timezone)
        if self.store.url and self.sync.folder:
            raise ConfigError("store.url and sync.folder exclude each other", hint="machines meet on a server or in a folder")
        if self.context_tokens > _MOST_TOKENS:
            raise ConfigError(f"context_tokens is at most {_MOST_TOKENS}")


_SECTIONS = (LlmSettings, RecallSettings, JournalSettings, StoreSettings, SyncSettings, ArchiveSettings, BackupSettings)


def load_settings(path: Path) -> Settings:
    """Load the settings file. Returns the defaults if there is none.

    Raises ConfigError with file and reason if it is unreadable, not TOML, or contains an unknown setting or an invalid value.
    """
    if path.is_fifo():  # reading it would wait
        raise ConfigError("the settings cannot be read: the file is a pipe", where=str(path), hint="move it away")
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise ConfigError(
            f"the settings cannot be read: {error.strerror}", where=str(path), hint="make the file readable for you"
        ) from error
    if len(raw) > _MOST_BYTES:
        raise ConfigError(
            "the settings file is larger than 1 MB", where=str(path), hint="move it away and set again with `kept config`"
        )
    return parse_settings(raw, str(path))


def parse_settings(raw: bytes, where: str) -> Settings:
    """Parse the bytes of a settings file. Raises ConfigError, as :func:`load_settings` does."""
    text = ""
    try:
        text = raw.decode("utf-8-sig")
        settings: Settings = _parse_table(Settings(), tomllib.loads(text), where)
    except UnicodeDecodeError as error:
        raise ConfigError("the settings are not UTF-8 text", where=where, hint="save them as UTF-8 in an editor") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"the settings are not valid TOML: {error}", where=where, hint="correct it in an editor, or move it away"
        ) from error
    except ConfigError as error:
        table = error.where.removeprefix(where)
        raise ConfigError(error.what, where=f"{where}:{_find_line(text, error.what, table)}{table}", hint=error.hint) from error
    return settings


def _find_line(text: str, what: str, table: str) -> int:
    """The line of the setting that an error names, in a table such as ``, [[root]] number 2``; else the line of the table."""
    wanted, _, number = table.removeprefix(", ").partition(" number ")
    names = {word.rpartition(".")[2] for word in what.replace("'", " ").split()}
    values, header, count, best = [value for value in what.split("'")[1::2] if value], "", 0, 1
    for place, line in enumerate(map(str.strip, text.splitlines()), 1):
        name, _, value = line.partition("=")
        if line.startswith("["):
            header = line.partition("#")[0].strip()
            count += header == wanted
            best = place if (header == wanted and count == int(number or 1)) or header.strip("[]") in names else best
        elif (header, count) == (wanted, int(number or header != "")) and (
            name.strip(" \t\"'").rpartition(".")[2] in names or any(each in value for each in values)
        ):
            return place
    return best


def unknown_setting_error(name: str, known: Iterable[str]) -> ConfigError:
    """Create the error for an unknown setting, with similar names as a hint."""
    from difflib import get_close_matches  # noqa: PLC0415 - hooks read the settings and do without

    names = {item.rpartition(".")[2]: item for item in known} | {item: item for item in known}
    near = dict.fromkeys(names[match] for match in get_close_matches(name, names, n=3))
    hint = f"did you mean {' or '.join(near)}?" if near else "see `kept config list`"
    return ConfigError(f"unknown setting {name!r}", hint=hint)


def _parse_table(usual: Any, body: Mapping[str, Any], where: str, prefix: str = "") -> Any:
    """Return a table's defaults overridden by the given values, which must have the same types. Raises ConfigError."""
    known = {item.name: getattr(usual, item.name) for item in fields(usual)}
    with locate_errors(where):
        for name in body:
            if name not in known:
                raise unknown_setting_error(name, known)
        made = replace(usual, **{name: _parse_value(f"{prefix}{name}", known[name], value, where) for name, value in body.items()})
        if hasattr(made, "check"):
            made.check()
    return made


@contextmanager
def locate_errors(where: str) -> Iterator[None]:
    """Add ``where`` to an error that does not say where the setting is."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(error.what, where=error.where or where, hint=error.hint) from error


def _parse_value(name: str, usual: object, value: object, where: str) -> Any:
    """Return a value after checking that it has the type of its default. Tables and lists of tables are parsed recursively."""
    match usual, value:
        case _ if name in CHOICES and value not in CHOICES[name]:
            raise ConfigError(f"{name} cannot be {value!r:.80}", hint=f"one of: {', '.join(CHOICES[name])}")
        case (bool(), bool()) | (str(), str()):
            return value
        case int() | float(), int() | float() if not isinstance(value, bool) and not isinstance(usual, bool):
            if not 0 <= value < _MOST_NUMBER or (isinstance(usual, int) and not isinstance(value, int)):
                raise ConfigError(f"{name} must be a {KINDS[type(usual)]} from 0 on")
            return type(usual)(value)
        case tuple(), list() if name in _ROWS and all(isinstance(item, dict) for item in value):
            places = (f"{where}, [[{name}]] number {number}" for number in range(1, len(value) + 1))
            return tuple(_parse_table(_ROWS[name], row, place, f"{name}.") for row, place in zip(value, places, strict=True))
        case tuple(), list() if all(isinstance(item, str) and item in _MEMBERS.get(name, {item}) for item in value):
            return tuple(value)
        case Mapping(), dict() if all(isinstance(item, str) for item in value.values()):
            return dict(value)
        case section, dict() if isinstance(section, _SECTIONS):
            return _parse_table(section, value, f"{where}, [{name}]", f"{name}.")
    hint = f"possible: {', '.join(sorted(_MEMBERS[name]))}" if name in _MEMBERS else "see `kept config --help`"
    raise ConfigError(f"{name} must be a {KINDS.get(type(usual), 'table')}", hint=hint)


def count_days(span: str) -> int | None:
    """Return the maximum number of days in a span (``2y``, ``6m``, ``3w``, ``90d``). None if it is empty or ``always``.

    Raises ConfigError.
    """
    if span.strip() in ("", "always"):
        return None
    match = _SPAN.fullmatch(span.strip())
    if not match:
        raise ConfigError(f"{span!r} is not a span of time", hint="write 2y, 6m, 3w, 90d or always")
    return int(match[1]) * _DAYS[match[2]]


_ROWS: Mapping[str, Any] = {"use": ProfileRule(profile=""), "feed": FeedSettings(), "root": SourceRoot(), "share": ShareSettings()}


def load_zone(name: str) -> ZoneInfo:
    """Load the time zone with an IANA name. Raises ConfigError if it is unknown."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ConfigError(f"there is no time zone {name!r}", hint="use a name such as Europe/Berlin") from error


def load_local_zone() -> ZoneInfo:
    """Load the time zone of the machine, or UTC if it has none, for example in a container."""
    import tzlocal  # noqa: PLC0415 - only where no setting names the zone

    with suppress(LookupError, ValueError, OSError):
        return tzlocal.get_localzone()
    return ZoneInfo("UTC")


def flatten_settings(settings: Settings) -> dict[str, Any]:
    """Map the name of every setting in `kept config` to its value. Settings in tables are named like ``llm.model``."""
    flat: dict[str, Any] = {}
    for entry in fields(settings):
        value = getattr(settings, entry.name)
        if isinstance(value, _SECTIONS):
            flat |= {f"{entry.name}.{item.name}": getattr(value, item.name) for item in fields(value)}
        else:
            flat[entry.name] = value
    return flat


def configured_names(path: Path) -> frozenset[str]:
    """Return the names of the settings that a file sets, including unknown ones. Empty if the file is missing or unreadable."""
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return frozenset()
    tables = {name for name, value in body.items() if isinstance(value, dict) and name not in TABLES}
    return frozenset(body) - tables | {f"{name}.{own}" for name in tables for own in body[name]}


@cache
def load_meanings() -> tuple[tuple[str, str, Mapping[str, tuple[str, str]]], ...]:
    """Return the groups of settings as (id, title, settings). The last maps each setting's name to its title and meaning."""
    body = load_table(Path(__file__).with_name("meanings.toml"))
    return tuple((item["id"], item["title"], item["settings"]) for item in body["groups"])
