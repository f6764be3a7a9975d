"""The workspace: everything a use case works with, opened once: places, settings, profile, store, clock.

Every path kept writes to lies below one home; a trial run with ``--home`` touches nothing else.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import tzlocal

from kept import profiles
from kept.core.codec import to_canonical_json
from kept.core.errors import ConfigError, DamagedError, RefusedPathError, StoreError, UsageError
from kept.core.markup import holds_mark
from kept.core.memory import USER_SCOPE, Memory
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
from kept.core.redact import redact
from kept.core.redact.scanner import load_scanner
from kept.core.text import project_label
from kept.core.times import parse_instant
from kept.core.value import dataclass, replace
from kept.local import files
from kept.local import settings as settings_file
from kept.local.git import Checkout, find_checkout
from kept.local.settings import Settings
from kept.local.settings.tables import find_root_above, is_vault
from kept.paths import Paths, refuse_state_elsewhere
from kept.profiles.profile import Category, Outputs, Profile, ProfileRule, choose_profile, parse_kind
from kept.profiles.prompts import Prompt, load_prompt, with_declared_categories
from kept.sources.base import ENTRY
from kept.store.moved_home import move_outputs
from kept.store.opening import open_store

if TYPE_CHECKING:
    from kept.llm.client import LlmClient
    from kept.store.protocol import Store

VAULT, VAULT_MARKER = "vault", ".memory-loop.json"
JOURNAL = "journal"  # the profile that remembers what kept's own entries tell

_NAMES = "projects elsewhere"  # the note of the store with what projects are called on other machines
_CLONES = 3  # clones of clones that are followed

Clock = Callable[[], datetime]


@dataclass(frozen=True, kw_only=True, slots=True)
class Workspace:
    """What a use case works with. ``zone`` decides which day an instant belongs to. ``profiles`` are the active ones, the default
    first; ``writing`` are those whose memories the files show: others wrote there before.

    ``asking`` asks the language model of the settings; None where none is set.
    """

    paths: Paths
    settings: Settings
    profiles: tuple[Profile, ...]
    writing: tuple[Profile, ...]
    zone: ZoneInfo
    store: "Store"
    clock: Clock
    env: Mapping[str, str]
    llm: "LlmClient | None" = None

    @property
    def profile(self) -> Profile:
        """The default profile: that of what no rule speaks of, and of what a person adds without naming another."""
        return self.profiles[0]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the active profiles, the default profile's first."""
        return tuple(dict.fromkeys(language for profile in self.profiles for language in profile.languages))

    def profile_for(self, source: str, directory: str, path: str = "") -> Profile:
        """The profile that remembers what is said in a directory and told by a source; ``path`` is the transcript's."""
        place = project_directory(directory, path)
        root = find_root_above(self.settings.root, Path(path), self.paths.user) if path else None
        vault = root is not None and is_vault(root, self.paths.user)
        usual = VAULT if vault or (source == VAULT and (Path(project_root(place)) / VAULT_MARKER).is_file()) else ""
        usual = JOURNAL if source == ENTRY else usual
        uses = [
            replace(profile_rule, projects=tuple(_expand_home(project, self.paths.user) for project in profile_rule.projects))
            for profile_rule in self.settings.use
        ]
        return choose_profile(uses, self.profiles, source, place, usual=usual)

    def profile_of(self, memory: Memory) -> Profile | None:
        """The profile a memory is of; None where it is not active."""
        return next((item for item in self.profiles if item.id == memory.profile), None)

    def extraction_prompt(self, profile: Profile) -> Prompt:
        """The extraction prompt in force for a profile. Raises ConfigError."""
        return load_prompt(profile, root=self.paths.root, config=self.paths.config, default_profile=self.settings.profile)

    def category(self, memory: Memory) -> Category | None:
        """The category of a memory; None where its profile is not active, or has it no more."""
        profile = self.profile_of(memory)
        return profile.category(memory.category) if profile else None

    @property
    def linked_folders(self) -> tuple[Path, ...]:
        """The folders that a link in the place of an output may lead into."""
        return tuple(
            self.paths.root / _expand_home(linked_folder, self.paths.root) for linked_folder in self.settings.linked_folders
        )

    def refuse_links(self, output: Path) -> None:
        """Raise RefusedPathError where an output leads over a link that may not be followed: neither read nor written, then."""
        files.refuse_links(output, root=self.paths.boundary(output), links=self.linked_folders)

    def write_output(self, path: Path, data: bytes | None, expect: files.FileStamp) -> None:
        """Make these the bytes of an output (None: it goes) if it is as it was read. Raises ChangedError, RefusedPathError."""
        root, links = self.paths.boundary(path), self.linked_folders
        if data is None:
            files.delete_if_unchanged(path, expect=expect, root=root, links=links)
        else:
            files.write_if_unchanged(path, data, expect=expect, root=root, links=links)

    def kind(self, name: str) -> tuple[Profile, Category]:
        """The category a person names, as ``preference`` or ``coding.preference``, and its profile; the default's first.

        Raises UsageError for one that no active profile has.
        """
        wanted, category = parse_kind(name)
        for item in self.profiles:
            found = item.category(category) if wanted in ("", item.id) else None
            if found is not None:
                return item, found
        known = [category.id for category in self.profile.categories]
        known += [f"{profile.id}.{category.id}" for profile in self.profiles[1:] for category in profile.categories]
        raise UsageError(
            f"no category {name!r} in profile {', '.join(profile.id for profile in self.profiles)}",
            hint=f"categories: {', '.join(known)}",
        )

    def scope(self, directory: str, path: str = "") -> str:
        """The scope of what is said in a directory; where that is unknown, of the folder the transcript at ``path`` lies in."""
        place = project_directory(directory, path)
        return project_scope(self.project_identity(place)) if place else USER_SCOPE

    def project_identity(self, place: str) -> str:
        """What all directories of the project have in common that a directory (or a transcript's folder) belongs to.

        A person's correction first, then what was recorded when the directory was first seen, then what it is now.
        """
        other = correct_directory(place, self.settings.projects)
        if other is not None and self.settings.projects.get(other) == other:
            return FOLDER + other
        known = self.store.archive.project(other or place)
        return known.identity if known else self.detect_identity(other or place)

    def detect_identity(self, place: str) -> str:
        """What a directory is now: its repository's origin, else the repository, else itself."""
        checkout = self.find_checkout(place)
        for _ in range(_CLONES):
            original = self.find_checkout(checkout.local) if checkout and checkout.local else None
            if original is None:
                break
            checkout = original  # a clone of a folder of this machine
        if checkout is None:
            return FOLDER + project_root(place)
        return REMOTE + checkout.remote if checkout.remote else FOLDER + str(checkout.root)

    def find_checkout(self, place: str) -> Checkout | None:
        """The repository a directory lies in; a home under version control is no project of all below it."""
        above = (self.paths.user, *self.paths.user.parents)
        found = (find_checkout(item) for item in (place, project_root(place)))
        return next((checkout for checkout in found if checkout is not None and checkout.root not in above), None)

    def scope_names(self) -> dict[str, str]:
        """What each project scope is called, for people; those of the same name get as much of a parent as tells them apart."""
        known = self.store.archive.projects()
        identities = [project.identity for project in known]
        moved = [self.project_identity(project.directory) for project in known] if self.settings.projects else []
        used = {project.scope for project in known} | {project_scope(item) for item in moved or identities}
        here = short_names({scope: item for item in (*identities, *moved) if (scope := project_scope(item)) in used})
        return self._names_elsewhere() | here

    def note_names(self, names: Mapping[str, str]) -> None:
        """Note what projects, by scope, are called on the person's other machines: they may be known there alone."""
        known = self._names_elsewhere()
        if names.items() - known.items():
            self.store.save_note(_NAMES, to_canonical_json({**known, **names}))

    def _names_elsewhere(self) -> dict[str, str]:
        return {scope: project_label(name) for scope, name in json.loads(self.store.note(_NAMES) or "{}").items()}

    def name(self, scope: str) -> str:
        """What one scope is called."""
        return self.scope_names().get(scope) or project_label(scope.removeprefix(PROJECT))

    def find_scope(self, name: str) -> str:
        """The scope of a project that a person names, as it is called or by its folder. Raises UsageError."""
        found = [scope for scope, title in self.scope_names().items() if title in (name, project_label(name)) or name == scope]
        folder = str(Path(name).expanduser().absolute())
        found = found or [scope for scope in (self.scope(folder),) if scope in self.scope_names()]
        if len(found) != 1:
            from difflib import get_close_matches  # noqa: PLC0415 - hooks open a workspace and do without

            near = get_close_matches(name, sorted(self.scope_names().values()), cutoff=0.5)
            raise UsageError(
                f"there is no project {name!r}" if not found else f"{name!r} is the name of several projects",
                hint=f"did you mean {' or '.join(near)}?" if near and not found else "kept projects lists them with their folders",
            )
        return found[0]

    def day(self, text: str, *, last: bool = False) -> date:
        """The day a person names: YYYY-MM-DD, ``yesterday``, ``monday``, ``3 days ago``. Of several days (``last week``) the first,
        or the ``last``. Raises UsageError.
        """
        from kept.core.dates.when import parse_day_range  # noqa: PLC0415 - reads the words of ten languages, for those who type a date

        found = parse_day_range(text, self.clock().astimezone(self.zone).date())
        if found is None:
            raise UsageError(f"{text!r} is no date", hint="write YYYY-MM-DD, yesterday, monday, last week or 3 days ago")
        return found[last]

    def day_bounds(self, day: date) -> tuple[datetime, datetime]:
        """The first instant of a local day and of the next one; their distance follows daylight saving."""
        start = datetime.combine(day, time(), self.zone)
        return start.astimezone(UTC), datetime.combine(day + timedelta(days=1), time(), self.zone).astimezone(UTC)

    def parse_moment(self, text: str) -> datetime:
        """The instant a person names: a full timestamp, or a day, meaning its end. Raises UsageError."""
        instant = parse_instant(text)
        return instant if instant is not None else self.day_bounds(self.day(text, last=True))[1]


# Opens the workspace of a home.
Opener = Callable[[Path], AbstractContextManager[Workspace]]


def project_directory(directory: str, path: str) -> str:
    """The directory that stands for a project: the working directory, else the folder that a transcript lies in."""
    return directory if directory.strip() else fallback_project_folder(path) if path else ""


def _expand_home(pattern: str, user: Path) -> str:
    return f"{user}{pattern[1:]}" if pattern == "~" or pattern.startswith("~/") else pattern


def utc_now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


@contextmanager
def open_workspace(
    home: Paths,
    *,
    profile: str | None = None,
    zone: str | None = None,
    clock: Clock = utc_now,
    env: Mapping[str, str] | None = None,
    anew: bool = False,
    dry: bool = False,
    also: Sequence[str] = (),
) -> Iterator[Workspace]:
    """Open the workspace, and close the store at the end. ``anew`` lets an empty store begin where one is gone whose backups are
    there.

    ``dry`` is for looking: where there is no store yet, none is made.

    ``also`` are profiles that are active whatever the settings say; that of the journal is where kept has written an entry.

    Raises ConfigError for settings, profile or zone that cannot be followed, StoreError where the store cannot be opened.
    """
    chosen = settings_file.load_settings(home.settings)
    if profile:  # for this call one profile remembers everything, whatever the rules say
        chosen = replace(chosen, use=(ProfileRule(profile=profile),))
    named = dict.fromkeys(
        (profile or chosen.profile, chosen.profile, *chosen.profiles, *(profile_rule.profile for profile_rule in chosen.use))
    )
    entered = (JOURNAL,) if _has_entries(home.root / chosen.journal.folder) else ()
    vaults = (VAULT,) if any(is_vault(root, home.user) for root in chosen.root) else ()
    wanted = dict.fromkeys((*named, *also, *vaults, *entered))
    made = tuple(
        entry if entry.id in named or entry.id in vaults else _without_memory_file(entry)
        for entry in (_load_profile(home, item, chosen.profile) for item in wanted)
    )
    name = zone or chosen.timezone
    local = settings_file.load_zone(name) if name else _local_zone()
    given = os.environ if env is None else env
    refuse_state_elsewhere(home)
    for link in files.find_links(home.state):
        raise RefusedPathError("a link lies in kept's own folder", where=str(link), hint="put what it leads to in its place")
    if not anew:
        refuse_lost_store(home, _memory_files(home, made))
    with _open_store(home, "" if home.settings_folder else chosen.store.url, dry=dry) as store:
        if not dry:
            move_outputs(store, home.root, [profile.outputs.memory_file for profile in made])
        asking = create_client(home, chosen, store, env=given, clock=clock, zone=local)
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
                llm=asking,
            )
        finally:
            if asking is not None:
                asking.close()


def create_client(
    home: Paths, settings: Settings, store: "Store", *, env: Mapping[str, str], clock: Clock, zone: ZoneInfo
) -> "LlmClient | None":
    """What asks the model of some settings; None where they name none."""
    if settings.llm.adapter == "none":
        return None
    from kept.llm.models import create_llm_client  # noqa: PLC0415 - clients of models are heavy, and many a workspace asks none

    return create_llm_client(
        settings.llm,
        replies=home.replies,
        env=env,
        clock=clock,
        redact=_create_counting_redactor(store),
        day_start=lambda: datetime.combine(clock().astimezone(zone).date(), time(), zone).astimezone(UTC),
    )


def _profiles_in_files(
    home: Paths, store: "Store", made: Sequence[Profile], named: Collection[str], default: str
) -> tuple[Profile, ...]:
    """The active profiles and those whose lines stand in a memory file of theirs: one call's profile takes nobody's lines out."""
    try:
        lines = [line for path in _memory_files(home, made) for output in store.output_states(path) for line in output.lines]
    except DamagedError:  # told by whoever reads the file
        lines = []
    wrote = dict.fromkeys(parse_kind(line.key.rpartition(":")[2])[0] for line in lines if line.key.startswith("ids:"))
    others = []
    for name in (item for item in wrote if item and item not in named):
        with suppress(ConfigError):  # one that is there no more
            others.append(_load_profile(home, name, default))
    return (*(item for item in made if item.id not in {profile.id for profile in others}), *others)


def _memory_files(home: Paths, made: Sequence[Profile]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(str(home.output_path(profile.outputs.memory_file)) for profile in made if profile.outputs.memory_file)
    )


def refuse_lost_store(home: Paths, memory_files: Collection[str] = ()) -> None:
    """Raise StoreError where the store is gone but its backups are there, or what was made from it: an empty one in its place would
    look like forgetting all, and what was forgotten would come back.
    """
    if home.store.exists():
        return
    copies = sorted(home.backups.glob("*.db"), key=lambda each: (each.name.startswith("kept-"), each.name))
    shown = [Path(name) for name in memory_files or (home.output_path(Outputs().memory_file),)]
    made = [path for path in (home.written, home.vectors) if path.exists()]
    made += [path for path in shown if path.is_file() and holds_mark(files.read_file(path).data)]
    if copies or made:
        left = "backups of it are there" if copies else f"{made[0]} was made from it"
        back = f"kept restore {copies[-1]}" if copies else "kept restore FILE, with a backup of yours"
        hint = f"bring it back: {back} (or begin with an empty one: --new-store)"
        raise StoreError(f"the store is gone, but {left}", where=str(home.store), hint=hint)


@contextmanager
def _open_store(home: Paths, url: str, *, dry: bool) -> Iterator["Store"]:
    """Open the store; a dry call that finds none works on an empty one in a temporary folder. A user's store of :mod:`kept.api` has
    the settings of another home, and no part in its server.
    """
    with TemporaryDirectory(prefix="kept-") if dry and not home.store.exists() else nullcontext() as folder:
        path = Path(folder) / home.store.name if folder else home.store
        with open_store(path, "" if folder else url, redact=_create_redactor()) as store:
            yield store


def _create_redactor() -> Callable[[str, bytes], str]:
    """What takes the secrets out of every text on its way into the store."""
    more = cache(load_scanner)
    return lambda text, key: redact(text, key=key, more=more()).text


def _create_counting_redactor(store: "Store") -> Callable[[str], tuple[str, int]]:
    """What takes secrets out of a text, with the store's key, and counts them."""
    more = cache(load_scanner)

    def without_secrets(text: str) -> tuple[str, int]:
        redaction_result = redact(text, key=store.key("redaction"), more=more())
        return redaction_result.text, len(redaction_result.found)

    return without_secrets


def _without_memory_file(profile: Profile) -> Profile:
    """A profile that is active for kept's own entries alone: the memory file has what they say from the sessions already."""
    return replace(profile, outputs=replace(profile.outputs, memory_file=""))


def _has_entries(folder: Path) -> bool:
    """Whether kept wrote an entry of its journal there that it reads again."""
    if not folder.is_dir():
        return False
    from kept.sources.entries import find_entries  # noqa: PLC0415 - a journal of kept's own is rare, and reading one takes much

    return next(find_entries(folder), None) is not None


def _load_profile(home: Paths, name: str, default: str) -> Profile:
    """The profile of that id, with the categories its prompt declares."""
    own = profiles.load_profile(name, home.config / "profiles")
    return with_declared_categories(own, load_prompt(own, root=home.root, config=home.config, default_profile=default).declared)


def _local_zone() -> ZoneInfo:
    try:
        return tzlocal.get_localzone()
    except (LookupError, ValueError, OSError):
        return ZoneInfo("UTC")  # a container without a zone
