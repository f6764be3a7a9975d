"""Read and clean a transcript file, and mark the prompts that other people may have written.

The functions depend only on the file, the folders above it and their arguments, so any process can run them. Fixtures, chats and
histories in a repository may be other people's. They are read, but memories from their prompts are held.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path

from kept.core.errors import KeptError, SourceError
from kept.core.event import (
    UNCONFIRMED_MARK,
    Author,
    Cursor,
    Event,
    EventKind,
    RecordAccount,
    Slice,
    is_note,
    is_prompt,
    is_unconfirmed,
)
from kept.core.fence import OPT_OUT
from kept.core.pattern import Pattern, compile_late
from kept.core.project import matches_path
from kept.core.redact import RedactionResult, load_scanner, redact
from kept.core.spans import event_spans
from kept.core.value import dataclass, field, replace
from kept.intake.clean import CleanedEvent, Limits, clean_all
from kept.local.files import read_file
from kept.local.progress import isolate_errors
from kept.local.settings.tables import SourceRoot
from kept.sources.base import Source
from kept.sources.json_lines import REWRITTEN

# Files at the root of a repository. A downloaded copy has no .git, but it has a manifest.
_REPOSITORIES = (
    *(".git", ".hg", ".jj", ".svn", "package.json", "pyproject.toml", "setup.py", "Cargo.toml", "go.mod", "pom.xml"),
    *("build.gradle", "Gemfile", "composer.json", "CMakeLists.txt", "Makefile", "deno.json", "mix.exs", "pubspec.yaml"),
)
_PROJECTS_OWN = ".specstory"  # this client's folder is in each project; other clients' folders are in the home
_INDEX_BYTES = 64 * 2**20
_SHORTENED = (4).to_bytes(4)  # the index version from which names are compressed


def list_own_places(roots: Sequence[SourceRoot], places: Sequence[tuple[Source, Path]], user: Path) -> tuple[Path, ...]:
    """The places whose transcripts are the person's own: the roots of the settings, the places of clients, and the bundled sample.
    A client's place that a repository may have brought does not count.
    """
    named = (root.resolve(user) for root in roots)
    kept = (place for _, place in places if not _may_be_shipped(place, user))
    return tuple(Path(os.path.realpath(place)) for place in (*kept, *named, Path(__file__).parents[1] / "sample"))


def _may_be_shipped(place: Path, home: Path) -> bool:
    """True if a folder, or the target of its link, may have come with a repository or a copy of one.

    In a git checkout, a folder that git's index does not name is the person's. Outside of one, a project's ``.specstory`` may have
    been downloaded with the project, unless it is in a hidden folder of the home.
    """
    for at in dict.fromkeys((place, Path(os.path.realpath(place)))):
        above = takewhile(lambda folder: folder != home, at.parents)
        if checkout := next((folder for folder in above if (folder / ".git").exists()), None):
            if _is_tracked(at.relative_to(checkout), _read_index(checkout / ".git")):
                return True
        elif _PROJECTS_OWN in at.parts:
            hidden = at.is_relative_to(home) and at.relative_to(home).parts[0].startswith(".")
            if not hidden:
                return True
    return False


def _is_tracked(name: Path, index: bytes) -> bool:
    """True if git's index names the folder or a link in its path. Also true if the index is empty, because it cannot be read."""
    links = (f"{part.as_posix()}\0".encode() for part in (name, *name.parents) if part.name)
    return not index or f"{name.as_posix()}/".encode() in index or any(link in index for link in links)


def _read_index(git: Path) -> bytes:
    """Read the index of a checkout, worktree or submodule (where ``.git`` is a file). Empty if the index is unreadable or
    compresses names.
    """
    try:
        if git.is_file():
            git = git.parent / read_file(git).data.decode(errors="replace").removeprefix("gitdir:").strip()
        index = read_file(git / "index", at_most=_INDEX_BYTES).data
    except (KeptError, OSError):
        return b""
    return index if index[4:8] < _SHORTENED else b""


def is_own(path: Path, own: Sequence[Path]) -> bool:
    """True if a file is in one of the person's ``own`` places."""
    return any(Path(os.path.realpath(path)).is_relative_to(place) for place in own)


def is_in_repository(path: Path, own: Sequence[Path], home: Path, named: Sequence[Path] = ()) -> bool:
    """True if a file is in a repository and in none of the person's ``own`` places.

    A repository does not count if it is the home, or if it contains a path that the person ``named``.
    """
    if is_own(path, own):
        return False
    path, home = Path(os.path.realpath(path)), Path(os.path.realpath(home))
    chosen = [place for name in named if path.is_relative_to(place := Path(os.path.realpath(name)))]
    above = takewhile(lambda folder: folder != home and all(map(folder.is_relative_to, chosen)), path.parents)
    # Strings, because fifteen paths for each folder above each file took longer than looking whether they exist.
    return any(os.path.exists(f"{folder}/{mark}") for folder in map(str, above) for mark in _REPOSITORIES)  # noqa: PTH110


def label_shared(piece: Slice, *, shared: bool) -> Slice:
    """Mark the prompts of a ``shared`` file as unconfirmed."""
    if not shared:
        return piece
    noted = Counter(piece.account.noted)
    events = []
    for event in piece.events:
        if is_prompt(event) and not is_note(event) and not is_unconfirmed(event):
            noted["unconfirmed-prompt:repository"] += 1
            events.append(replace(event, label_reason=f"{UNCONFIRMED_MARK}{event.label_reason}"))
        else:
            events.append(event)
    return replace(piece, events=tuple(events), account=replace(piece.account, noted=dict(noted)))


Redact = Callable[[str], RedactionResult]
SourcePlaces = tuple[tuple[Source, Path], ...]
LIMITS = Limits()
_LEAST_BYTES = 4096  # the minimum weight of a file, so that a batch has at most two thousand files
_PROSE = 4  # weight of a byte of prose; a byte of records weighs 1, because most of it is names and tool output that is dropped
_LINE = compile_late(r"\S[^\n]*")
_OFF_COMMAND = Pattern(r"<command-name>\s*/?kept:off\s*</command-name>")  # as Claude Code writes a command without arguments


@dataclass(frozen=True, kw_only=True, slots=True)
class InputFile:
    """A file to read, and its format."""

    path: Path
    source: Source


@dataclass(frozen=True, kw_only=True, slots=True)
class FilesToRead:
    """The files to read with their formats, and the paths that are not read, each with the reason.

    ``files`` maps paths to formats. The paths are strings, because these use a fifth of the memory of Path objects.
    ``unchanged`` counts, by format, the files that are not opened, because they are unchanged since they were read to the
    end. ``skipped`` are paths that should have been read: a person named them or a folder above them, or they are in a tool's
    folder and cannot be opened. ``left`` are other files in a tool's folder, files that a person excluded, and files whose source
    is switched off. ``named`` are the paths that a person gave, ``hooked`` the files that hooks named. ``places`` are the existing
    places of all sources. ``read`` has the size of each file when it was last read to the end. ``before`` and ``after`` are the
    weights of the files that the same run reads earlier and later.
    """

    files: Mapping[str, Source]
    unchanged: Counter[str]
    skipped: tuple[tuple[str, str], ...]
    left: tuple[tuple[str, str], ...]
    named: tuple[Path, ...] = ()
    hooked: frozenset[str] = frozenset()
    places: SourcePlaces = ()
    read: Mapping[str, int] = field(default_factory=dict)
    before: int = 0
    after: int = 0

    def as_hooked(self) -> "FilesToRead":
        """The same files, named by hooks instead of a person."""
        return replace(self, named=(), hooked=frozenset(self.files))

    @property
    def inputs(self) -> Iterator[InputFile]:
        """The files to open, one at a time."""
        return (InputFile(path=Path(path), source=source) for path, source in self.files.items())

    @property
    def new(self) -> int:
        """The total weight of the parts of files that were not read yet."""
        return sum(weigh_file(path, self.read.get(path, 0)) for path in self.files)

    def split_newest(self, most: int) -> "tuple[FilesToRead, FilesToRead]":
        """Split the files in two: the most recently changed ones with a total weight of at most ``most``, and the rest. Files
        heavier than ``most`` are in the rest.
        """
        first: dict[str, Source] = {}
        size = 0
        files = sorted((_stat_file(path) for path in self.files), reverse=True) if most else []
        for _, path, each in files:
            if each <= most:
                if size + each > most:
                    break
                size += each
                first[path] = self.files[path]
        rest = {path: source for path, source in self.files.items() if path not in first}
        return (
            replace(self, files=first, after=sum(each for *_, each in files) - size),
            replace(self, files=rest, before=size, skipped=() if first else self.skipped),
        )

    @property
    def sources(self) -> Counter[str]:
        """The number of transcripts by format."""
        return Counter(source.name for source in self.files.values()) + self.unchanged


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadFile:
    """A file to read from a cursor on, with everything that reading and cleaning it depends on.

    ``shared`` means that other people may have written it. ``project`` is the directory for all its events. If that is empty, the
    events have their own. Events in ``exclude`` directories are left out. ``key`` is the key for redaction marks. ``stamp`` is the
    file's stat entry before reading. ``said`` has the assistant's last text before the cursor, by session.
    """

    path: Path
    source: Source
    cursor: Cursor
    shared: bool
    project: str
    exclude: tuple[str, ...]
    key: bytes
    stamp: str
    said: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanedSlice:
    """A slice of a file: its events, the account of its records, and the cursor after it.

    ``events`` are pairs of the session's name in the file and the event. ``opted_out`` are (session, path) pairs of sessions that
    opt out in this slice. ``restarted`` means that the slice begins at the start of the file. ``size`` is the number of bytes read.
    """

    events: tuple[tuple[str, CleanedEvent], ...]
    opted_out: tuple[tuple[str, str], ...]
    account: RecordAccount
    cursor: Cursor
    restarted: bool
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanedFile:
    """The new slices of a file, and the error that stopped reading (empty: none)."""

    slices: tuple[CleanedSlice, ...]
    failed: str


def weigh_file(path: str, read: int = 0) -> int:
    """The weight of a file from byte ``read`` on. It is the number of bytes, times a factor for prose, because prose takes longer
    to process than records. It is never 0.
    """
    return _stat_file(path, read)[2]


def _stat_file(path: str, read: int = 0) -> tuple[float, str, int]:
    """A file's modification time, its path, and its weight."""
    try:
        info = os.stat(path)  # noqa: PTH116 - there may be hundreds of thousands
    except OSError:
        return 0, path, _LEAST_BYTES
    each = 1 if path.endswith((".jsonl", ".json")) else _PROSE
    return info.st_mtime, path, max((info.st_size - read) * each, _LEAST_BYTES)


def read_whole(files: Sequence[UnreadFile]) -> tuple[CleanedFile, ...]:
    """Read files that share one redaction key. Each result includes the error that stopped reading, if any."""
    without_secrets = create_redaction(files[0].key)
    return tuple(_read_to_end(file, without_secrets) for file in files)


def _read_to_end(file: UnreadFile, without_secrets: Redact) -> CleanedFile:
    slices: list[CleanedSlice] = []
    try:
        slices.extend(read_slices(file, without_secrets))
    except SourceError as error:
        return CleanedFile(slices=tuple(slices), failed=error.what)
    return CleanedFile(slices=tuple(slices), failed="")


def read_slices(file: UnreadFile, without_secrets: Redact) -> Iterator[CleanedSlice]:
    """Yield the new slices of a file. Raises SourceError."""
    cursor, said = file.cursor, dict(file.said)
    for piece in _read_pieces(file):
        if piece.cursor == cursor:
            continue  # the file has only an incomplete last record, so there is nothing to store
        restarted = cursor == Cursor() or REWRITTEN in piece.account.noted
        prompts = [event for event in piece.events if event.kind is EventKind.PROMPT and event.session]
        opted_out = tuple((event.session, event.pointer.path) for event in prompts if is_opt_out(event))
        labelled = label_shared(_set_project(piece, file.project), shared=file.shared)
        out = {name for name in {event.project for event in labelled.events} if name and matches_path(f"{name}/", file.exclude)}
        usable = [event for event in labelled.events if event.project not in out]
        with isolate_errors("it cannot be cleaned", str(file.path)):
            clean_events = clean_all(usable, redact=without_secrets, limits=LIMITS, said=said)
            cleaned = tuple((event.session, clean) for event, clean in zip(usable, clean_events, strict=True))
        yield CleanedSlice(
            events=cleaned,
            opted_out=opted_out,
            account=count_left_out(labelled.account, "events-of-excluded-projects", len(labelled.events) - len(usable)),
            cursor=replace(piece.cursor, carry=_redact_carry(piece.cursor.carry, without_secrets)),
            restarted=restarted,
            size=piece.cursor.offset - (0 if restarted else cursor.offset),
        )
        cursor = piece.cursor


def _set_project(piece: Slice, project: str) -> Slice:
    """Set the project of all events in a slice, if one is given."""
    return replace(piece, events=tuple(replace(event, project=project) for event in piece.events)) if project else piece


def count_left_out(account: RecordAccount, reason: str, count: int) -> RecordAccount:
    """Return the account with ``count`` more events left out for this reason."""
    return replace(account, noted=dict(Counter(account.noted) + Counter({reason: count}))) if count else account


def is_opt_out(event: Event) -> bool:
    """True if a prompt opts the conversation out, by the command or by a line with only the phrase outside code. In pasted text,
    the line counts only if it is the first or last one of the prompt.
    """
    if event.kind is not EventKind.PROMPT or "kept:" not in event.text.lower():
        return False
    if event.author is Author.INJECTED and event.label_reason.startswith("wrapper:command-"):
        return bool(_OFF_COMMAND.search(event.text))
    if event.author not in (Author.HUMAN, Author.ABANDONED):
        return False
    text = event.text.rstrip()
    for line in _LINE.finditer(text):
        start, end = line.span()
        if line[0].strip().rstrip(".!").lower() not in OPT_OUT or text.count("```", 0, start) % 2:
            continue
        at_edge = not text[:start].strip() or end == len(text)
        foreign = [span for span in event_spans(event) if not span.is_typed and span.start != start]
        if at_edge or not any(span.start <= start < span.end or line[0].startswith("<") for span in foreign):
            return True
    return False


def _read_pieces(file: UnreadFile) -> Iterator[Slice]:
    """Yield the slices of a file. Any error of the reader becomes a SourceError."""
    with isolate_errors("its reader failed", str(file.path)):
        slices = iter(file.source.read(file.path, file.cursor))
    while True:
        with isolate_errors("its reader failed", str(file.path)):
            piece = next(slices, None)
        if piece is None:
            return
        yield piece


def create_redaction(key: bytes) -> Redact:
    """Create a redaction with a key, including the additional scanner if one is installed."""
    return partial(redact, key=key, more=load_scanner())


def _redact_carry(carry: str, without_secrets: Redact) -> str:
    """Redact the folder and branch names in a reader's saved state."""
    state = json.loads(carry or "{}")
    if not isinstance(state, dict):
        return carry
    names = {name: without_secrets(state[name]).text for name in ("branch", "cwd") if isinstance(state.get(name), str)}
    return json.dumps(state | names, ensure_ascii=False) if any(state[name] != value for name, value in names.items()) else carry
