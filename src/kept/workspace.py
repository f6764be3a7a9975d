"""The workspace: the paths, settings, profiles, store and clock of one home. Every use case gets it as an argument.

kept writes only below that home, and into folders that its settings or an agent's variables name. So a trial run with ``--home``
changes nothing else.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from kept import profiles
from kept.core.codec import to_canonical_json
from kept.core.errors import ConfigError, DamagedError, RefusedPathError, StoreError, UsageError
from kept.core.markup import holds_mark
from kept.core.memory import USER_SCOPE, Actor, Memory
from kept.core.operation import Operation, Pass
from kept.core.project import (
    FOLDER,
    PROJECT,
    REMOTE,
    correct_directory,
    fallback_project_folder,
    project_root,
    project_scope,
    short_names,
)
from kept.core.redact import load_scanner, redact
from kept.core.text import project_label
from kept.core.times import parse_instant
from kept.core.value import dataclass, replace
from kept.local import files
from kept.local import settings as settings_file
from kept.local.files.walking import find_links, refuse_links
from kept.local.git import Checkout, find_checkout
from kept.local.settings import Settings
from kept.local.settings.tables import expand_home, find_root_above, is_vault
from kept.paths import Paths, refuse_state_elsewhere
from kept.profiles.profile import Category, Outputs, Profile, ProfileRule, choose_profile, find_kind, parse_kind
from kept.profiles.prompts import Prompt, load_prompt, with_declared_categories
from kept.sources.base import ENTRY
from kept.sources.entries import find_entries
from kept.store.postgres import connect_server
from kept.store.sqlite import SqliteStore
from kept.store.values import Draft, Span

if TYPE_CHECKING:
    from kept.llm.client import LlmClient


VAULT, VAULT_MARKER = "vault", ".memory-loop.json"
JOURNAL = "journal"  # the profile that extracts memories from kept's own journal entries

_NAMES = "projects elsewhere"  # key of the store's note with the names of project scopes on other machines
_CLONES = 3  # a chain of clones is followed for at most this many steps to a project's origin

Clock = Callable[[], datetime]


@dataclass(frozen=True, kw_only=True, slots=True)
class Workspace:
    """The context of a use case: paths, settings, profiles, store and clock of one home.

    ``zone`` decides which day an instant belongs to. ``profiles`` are the active profiles, the default first. ``writing`` are the
    profiles whose memories the files show: the active ones, and others that already have lines in a memory file. ``llm`` is the
    client of the configured language model, or None if none is configured.
    """

    paths: Paths
    settings: Settings
    profiles: tuple[Profile, ...]
    writing: tuple[Profile, ...]
    zone: ZoneInfo
    store: SqliteStore
    clock: Clock
    env: Mapping[str, str]
    llm: "LlmClient | None" = None

    @property
    def profile(self) -> Profile:
        """The default profile. It takes sessions that no rule matches, and memories a person adds without naming a profile."""
        return self.profiles[0]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the active profiles, the default profile's first."""
        return tuple(dict.fromkeys(language for profile in self.profiles for language in profile.languages))

    def profile_for(self, source: str, directory: str, path: str = "") -> Profile:
        """The profile that applies to a session, by its working directory, its source and its transcript's ``path``."""
        place = project_directory(directory, path)
        root = find_root_above(self.settings.root, Path(path), self.paths.user) if path else None
        vault = root is not None and is_vault(root, self.paths.user)
        usual = VAULT if vault or (source == VAULT and (Path(project_root(place)) / VAULT_MARKER).is_file()) else ""
        usual = JOURNAL if source == ENTRY else usual
        uses = [
            replace(rule, projects=tuple(expand_home(project, self.paths.user) for project in rule.projects))
            for rule in self.settings.use
        ]
        return choose_profile(uses, self.profiles, source, place, usual=usual)

    def profile_of(self, memory: Memory) -> Profile | None:
        """The profile of a memory. None if that profile is not active."""
        return next((item for item in self.profiles if item.id == memory.profile), None)

    def extraction_prompt(self, profile: Profile) -> Prompt:
        """The extraction prompt that a profile uses. Raises ConfigError."""
        return load_prompt(profile, root=self.paths.root, config=self.paths.config, default_profile=self.settings.profile)

    def category(self, memory: Memory) -> Category | None:
        """The category of a memory. None if its profile is not active or no longer has that category."""
        profile = self.profile_of(memory)
        return profile.category(memory.category) if profile else None

    @property
    def linked_folders(self) -> tuple[Path, ...]:
        """The folders into which a symbolic link at an output's path may lead."""
        return tuple(self.paths.root / expand_home(folder, self.paths.root) for folder in self.settings.linked_folders)

    def refuse_links(self, output: Path) -> None:
        """Raise RefusedPathError if an output's path contains a link that may not be followed. Call it before any access."""
        refuse_links(output, root=self.paths.boundary(output), links=self.linked_folders)

    def write_output(self, path: Path, data: bytes | None, expect: files.FileStamp) -> None:
        """Write ``data`` to an output, or delete the output if ``data`` is None. ``expect`` is its stamp when it was read.

        Raises ChangedError if the file has changed since, RefusedPathError for a link that may not be followed.
        """
        root, links = self.paths.boundary(path), self.linked_folders
        if data is None:
            files.delete_if_unchanged(path, expect=expect, root=root, links=links)
        else:
            files.write_if_unchanged(path, data, expect=expect, root=root, links=links)

    def kind(self, name: str) -> tuple[Profile, Category]:
        """Find the profile and category that a person names as ``preference`` or ``coding.preference``.

        The default profile is tried first. Raises UsageError if no active profile has the category.
        """
        wanted, category = find_kind(self.profiles, name)
        for profile in self.profiles:
            if wanted in ("", profile.id) and (match := profile.category(category)):
                return profile, match
        known = [category.id for category in self.profile.categories]
        known += [f"{profile.id}.{category.id}" for profile in self.profiles[1:] for category in profile.categories]
        raise UsageError(
            f"no category {name!r} in profile {', '.join(profile.id for profile in self.profiles)}",
            hint=f"categories: {', '.join(known)}",
        )

    def scope(self, directory: str, path: str = "") -> str:
        """The scope of sessions in a directory. If the directory is unknown, the folder of the transcript at ``path`` counts."""
        place = project_directory(directory, path)
        return project_scope(self.project_identity(place)) if place else USER_SCOPE

    def project_identity(self, place: str) -> str:
        """The identity of a directory's project. All directories of a project have the same identity.

        A person's correction takes precedence, then the identity that was recorded when the directory was first seen, then the one
        that is detected now.
        """
        other = correct_directory(place, self.settings.projects)
        if other is not None and self.settings.projects.get(other) == other:
            return FOLDER + other
        known = self.store.archive.project(other or place)
        return known.identity if known else self.detect_identity(other or place)

    def detect_identity(self, place: str) -> str:
        """Detect the present identity of a directory: the origin or the root of its repository, or the directory itself."""
        checkout = self.find_checkout(place)
        for _ in range(_CLONES):
            original = self.find_checkout(checkout.local) if checkout and checkout.local else None
            if original is None:
                break
            checkout = original  # the origin is itself a repository on this machine
        if checkout is None:
            return FOLDER + project_root(place)
        return REMOTE + checkout.remote if checkout.remote else FOLDER + str(checkout.root)

    def find_checkout(self, place: str) -> Checkout | None:
        """Find the repository that contains a directory. A repository at or above the user's home folder does not count."""
        above = (self.paths.user, *self.paths.user.parents)
        checkouts = map(find_checkout, (place, project_root(place)))
        return next((checkout for checkout in checkouts if checkout is not None and checkout.root not in above), None)

    def scope_names(self) -> dict[str, str]:
        """The display name of each project scope. Equal names are extended by parent folders until they differ."""
        known = self.store.archive.projects()
        identities = [project.identity for project in known]
        moved = [self.project_identity(project.directory) for project in known] if self.settings.projects else []
        used = {project.scope for project in known} | {project_scope(item) for item in moved or identities}
        here = short_names({scope: item for item in (*identities, *moved) if (scope := project_scope(item)) in used})
        return self._names_elsewhere() | here

    def record_project_names(self, names: Mapping[str, str]) -> None:
        """Store the names of projects on the person's other machines by scope, because this machine may not know these projects."""
        known = self._names_elsewhere()
        if names.items() - known.items():
            self.store.save_note(_NAMES, to_canonical_json({**known, **names}))

    def _names_elsewhere(self) -> dict[str, str]:
        return {scope: project_label(name) for scope, name in json.loads(self.store.note(_NAMES) or "{}").items()}

    def name(self, scope: str) -> str:
        """The display name of a scope."""
        return self.scope_names().get(scope) or project_label(scope.removeprefix(PROJECT))

    def find_scope(self, name: str) -> str:
        """Find the scope of a project by its display name, its scope or its folder. Raises UsageError if there is none."""
        names = self.scope_names()
        scopes = [scope for scope, title in names.items() if title in (name, project_label(name)) or name == scope]
        folder = str(Path(name).expanduser().absolute())
        scopes = scopes or [scope for scope in (self.scope(folder),) if scope in names]
        if len(scopes) != 1:
            from difflib import get_close_matches  # noqa: PLC0415 - hooks open a workspace and do not need it

            near = get_close_matches(name, sorted(names.values()), cutoff=0.5)
            raise UsageError(
                f"there is no project {name!r}" if not scopes else f"{name!r} is the name of several projects",
                hint=f"did you mean {' or '.join(near)}?" if near and not scopes else "kept projects lists them with their folders",
            )
        return scopes[0]

    def day(self, text: str, *, last: bool = False) -> date:
        """Parse a day that a person writes: YYYY-MM-DD, ``yesterday``, ``monday``, ``3 days ago``.

        For a range (``last week``) returns the first day, or with ``last`` the last day. Raises UsageError.
        """
        from kept.core.dates import parse_day_range  # noqa: PLC0415 - reads the words of ten languages, for those who type a date

        days = parse_day_range(text, self.clock().astimezone(self.zone).date())
        if days is None:
            raise UsageError(f"{text!r} is not a date", hint="write YYYY-MM-DD, yesterday, monday, last week or 3 days ago")
        return days[last]

    def day_bounds(self, day: date) -> tuple[datetime, datetime]:
        """The first instants of a local day and of the next day, in UTC. A day has 23 to 25 hours when daylight saving changes."""
        start = datetime.combine(day, time(), self.zone)
        return start.astimezone(UTC), datetime.combine(day + timedelta(days=1), time(), self.zone).astimezone(UTC)

    def parse_moment(self, text: str) -> datetime:
        """Parse an instant that a person writes: a full timestamp, or a day, which means the end of that day. Raises UsageError."""
        instant = parse_instant(text)
        return instant if instant is not None else self.day_bounds(self.day(text, last=True))[1]


Opener = Callable[[Path], AbstractContextManager[Workspace]]  # opens the workspace of a home


class RunNumber:
    """A run that starts when its number is asked for or something is committed. One that changes nothing leaves no trace."""

    def __init__(self, workspace: Workspace, command: str = "run") -> None:
        self._workspace, self._command, self._number = workspace, command, 0

    @property
    def started(self) -> bool:
        """True if the run was started."""
        return self._number > 0

    def __call__(self) -> int:
        """The number of the run."""
        self._number = self._number or self._workspace.store.log.start_run(self._command, self._workspace.clock())
        return self._number

    def commit(
        self,
        stage: str,
        operations: Sequence[Operation] = (),
        *,
        subject: str,
        actor: Actor = Actor.MACHINE,
        note: str = "",
        span: Span | None = None,
    ) -> Pass:
        """Commit operations, or the proposals for a span, as a pass of the run. Raises StoreError."""
        draft = Draft(
            run=self(),
            stage=stage,
            subject=subject,
            actor=actor,
            recorded_at=self._workspace.clock(),
            operations=tuple(operations),
            note=note,
            span=span,
        )
        return self._workspace.store.log.commit(draft)

    def end(self, report: Mapping[str, Any] | None = None) -> None:
        """End the run with a report as JSON, if it was started. Raises StoreError."""
        if self.started:
            self._workspace.store.log.end_run(self._number, self._workspace.clock(), report or {})


def project_directory(directory: str, path: str) -> str:
    """The directory that identifies a project: the working directory or, if empty, a folder derived from the transcript's path."""
    return directory if directory.strip() else fallback_project_folder(path) if path else ""


def utc_now() -> datetime:
    """The present time in UTC."""
    return datetime.now(UTC)


@contextmanager
def open_workspace(
    home: Paths,
    *,
    profile: str | None = None,
    zone: str | None = None,
    clock: Clock = utc_now,
    env: Mapping[str, str] | None = None,
    new_store: bool = False,
    dry: bool = False,
    also: Sequence[str] = (),
) -> Iterator[Workspace]:
    """Open the workspace of a home during a ``with`` block, and close the store and the model client at its end.

    ``new_store`` allows an empty store even if backups or outputs show that a store was lost. ``dry`` creates no store if there is
    none. ``also`` names profiles to activate in addition to the settings. The journal profile is active if kept wrote an entry.

    Raises ConfigError if settings, profile or zone are invalid, RefusedPathError if kept's own folder contains a link, StoreError
    if the store cannot be opened.
    """
    chosen = settings_file.load_settings(home.settings)
    if profile:  # for this call the given profile applies to every session, whatever the rules say
        chosen = replace(chosen, use=(ProfileRule(profile=profile),))
    named = dict.fromkeys((profile or chosen.profile, chosen.profile, *chosen.profiles, *(rule.profile for rule in chosen.use)))
    entered = (JOURNAL,) if any(find_entries(home.root / chosen.journal.folder)) else ()
    vaults = (VAULT,) if any(is_vault(root, home.user) for root in chosen.root) else ()
    wanted = dict.fromkeys((*named, *also, *vaults, *entered))
    # No memory file is written for a profile that only reads kept's own entries, because the sessions have the same facts.
    made = tuple(
        active if active.id in named or active.id in vaults else replace(active, outputs=replace(active.outputs, memory_file=""))
        for active in (_load_profile(home, item, chosen.profile) for item in wanted)
    )
    name = zone or chosen.timezone
    local = settings_file.load_zone(name) if name else settings_file.load_local_zone()
    given = os.environ if env is None else env
    refuse_state_elsewhere(home)
    for link in find_links(home.state):
        raise RefusedPathError("there is a link in kept's own folder", where=str(link), hint="replace it by the file it leads to")
    if not new_store:
        refuse_lost_store(home, _memory_files(home, made))
    with _open_store(home, "" if home.settings_folder else chosen.store.url, dry=dry) as store:
        if not dry:
            store.move_outputs(home.root, [profile.outputs.memory_file for profile in made])
        llm = create_client(home, chosen, store, env=given, clock=clock, zone=local)
        try:
            yield Workspace(
                paths=home,
                settings=chosen,
                profiles=made,
                writing=_profiles_in_files(home, store, made, frozenset(named), chosen.profile),
                zone=local,
                store=store,
                clock=clock,
                env=given,
                llm=llm,
            )
        finally:
            if llm is not None:
                llm.close()


def create_client(
    home: Paths, settings: Settings, store: SqliteStore, *, env: Mapping[str, str], clock: Clock, zone: ZoneInfo
) -> "LlmClient | None":
    """Create the client of the configured language model. None if the settings name none."""
    if settings.llm.adapter == "none":
        return None
    from kept.llm.models import create_llm_client  # noqa: PLC0415 - slow to load, and many commands ask no model

    return create_llm_client(
        settings.llm,
        replies=home.replies,
        env=env,
        clock=clock,
        redact=_create_counting_redactor(store),
        day_start=lambda: datetime.combine(clock().astimezone(zone).date(), time(), zone),
    )


def _profiles_in_files(
    home: Paths, store: SqliteStore, made: Sequence[Profile], named: Collection[str], default: str
) -> tuple[Profile, ...]:
    """The active profiles, and others with lines in a memory file or in a section of a CLAUDE.md. A profile given for one call must
    not remove these lines, and a section stays kept's where its folder is no longer read.
    """
    sections = [path for path in store.outputs() if path.endswith("/CLAUDE.md")]
    try:
        paths = dict.fromkeys((*_memory_files(home, made), *sections))
        lines = [line for path in paths for output in store.output_states(path) for line in output.lines]
    except DamagedError:  # the code that reads the file for its own purpose reports this
        lines = []
    wrote = dict.fromkeys(parse_kind(line.key.rpartition(":")[2])[0] for line in lines if line.key.startswith(("ids:", "heading:")))
    others = []
    for name in (item for item in wrote if item and item not in named):
        with suppress(ConfigError):  # the profile no longer exists
            others.append(_load_profile(home, name, default))
    return (*(item for item in made if item.id not in {profile.id for profile in others}), *others)


def _memory_files(home: Paths, made: Sequence[Profile]) -> tuple[str, ...]:
    names = dict.fromkeys(profile.outputs.memory_file for profile in made)
    return tuple(str(home.output_path(name)) for name in names if name)


def refuse_lost_store(home: Paths, memory_files: Collection[str] = ()) -> None:
    """Raise StoreError if the store is missing while backups of it, or files made from it, exist.

    If an empty store replaced it, every memory would seem lost, and forgotten words would be extracted again.
    """
    if home.store.exists():
        return
    copies = sorted(home.backups.glob("*.db"), key=lambda copy: (copy.name.startswith("kept-"), copy.name))
    shown = [Path(name) for name in memory_files or (home.output_path(Outputs().memory_file),)]
    marked = (path for path in shown if path.is_file() and holds_mark(files.read_file(path).data))
    made = [*filter(Path.exists, (home.written, home.vectors)), *marked]
    if copies or made:
        left = "there are backups of it" if copies else f"{made[0]} was made from it"
        back = copies[-1] if copies else "FILE, with a backup of yours"
        hint = f"restore it: kept restore {back} (or start with an empty one: --new-store)"
        raise StoreError(f"the store is gone, but {left}", where=str(home.store), hint=hint)


@contextmanager
def _open_store(home: Paths, url: str, *, dry: bool) -> Iterator[SqliteStore]:
    """Open the store. If it is missing, a ``dry`` call uses an empty one in a temporary folder.

    ``url`` is empty for a user's store of :mod:`kept.api`, because it shares another home's settings, but not its server.
    """
    with TemporaryDirectory(prefix="kept-") if dry and not home.store.exists() else nullcontext() as folder:
        path = Path(folder) / home.store.name if folder else home.store
        if not url or folder:
            opened = SqliteStore(path, redact=_create_redactor())
        else:
            from kept.store.replica.store import ReplicaStore  # noqa: PLC0415 - few stores have a server

            opened = ReplicaStore(path, lambda: connect_server(url), redact=_create_redactor(), alone=True)
        with opened as store:
            yield store


def _create_redactor() -> Callable[[str, bytes], str]:
    """Create the function that redacts secrets in every text before it is written to the store."""
    more = cache(load_scanner)
    return lambda text, key: redact(text, key=key, more=more()).text


def _create_counting_redactor(store: SqliteStore) -> Callable[[str], tuple[str, int]]:
    """Create a function that redacts a text with the store's key, and returns the text and the number of secrets."""
    more = cache(load_scanner)

    def redact_and_count(text: str) -> tuple[str, int]:
        result = redact(text, key=store.key("redaction"), more=more())
        return result.text, len(result.found)

    return redact_and_count


def _load_profile(home: Paths, name: str, default: str) -> Profile:
    """Load the profile with this id, including the categories that its prompt declares."""
    own = profiles.load_profile(name, home.config / "profiles")
    return with_declared_categories(own, load_prompt(own, root=home.root, config=home.config, default_profile=default).declared)
