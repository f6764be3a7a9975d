"""A home to hurt: commands as processes of their own, faults injected at system calls, file systems that can be cut off.

What a machine cannot do is skipped with the reason, never passed over.
"""

import fcntl
import os
import re
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pytest

from kept.paths import Paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import check_home
from kept.workspace import Workspace, open_workspace

SAMPLE = Path(str(files("kept.sample") / "projects"))
WRITES = (
    "write,writev,pwrite64,pwritev,pwritev2,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,"
    "truncate,ftruncate,mkdir,mkdirat,link,linkat,fchmod,fchown"
)
OPENS = "open,openat,openat2,creat"  # may make a file
TEMPORARY = ".kept-"
_SHUTDOWN = 0x8004587D  # FS_IOC_SHUTDOWN: the file system forgets everything that is not on the disk
_NO_FLUSH = 2


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a command ended: its exit code (negative: killed by that signal) and what it said."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, kw_only=True)
class Point:
    """The ``number``-th (from 1) of the calls of a name: strace counts each name for itself."""

    call: str
    number: int


Doing = Callable[..., Result]  # runs a command: `kept`, or `cold`
FORKING: list[Doing] = []  # what forks commands from a process that has started, for as long as there is one (conftest.py)


def kept(home: Path, *arguments: object, prefix: Sequence[str] = (), limits: Mapping[int, int] | None = None) -> Result:
    """Run a command in a process of its own, under a prefix (strace, faketime, …) and resource limits. Where none but strace is
    asked for, Python has started already.
    """
    if FORKING and (not prefix or Path(prefix[0]).name == "strace"):
        return FORKING[-1](home, *arguments, prefix=prefix, limits=limits)
    return cold(home, *arguments, prefix=prefix, limits=limits)


def cold(home: Path, *arguments: object, prefix: Sequence[str] = (), limits: Mapping[int, int] | None = None) -> Result:
    """As `kept`, from the start of Python on."""

    def limit() -> None:
        for which, value in (limits or {}).items():
            resource.setrlimit(which, (value, value))

    process = subprocess.run(
        [*prefix, sys.executable, "-m", "kept", *map(str, arguments), "--home", str(home)],
        capture_output=True,
        check=False,
        env=environment(home),
        preexec_fn=limit if limits else None,
    )
    return Result(
        code=process.returncode, out=process.stdout.decode("utf-8", "replace"), err=process.stderr.decode("utf-8", "replace")
    )


def environment(home: Path) -> dict[str, str]:
    """The environment of a command: this one, with the home in place of the user's and no byte code written."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("KEPT_", "COV_"))}
    return plain | {"HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1", "TZ": "UTC", "KEPT_EMBEDDINGS": "hashing"}


def injected(fault: str, point: Point, *paths: Path) -> list[str]:
    """The prefix that injects a fault (``signal=KILL``, ``error=EIO``, ``retval=100``) at a call. With paths, only calls on those
    count.
    """
    return _strace([(point.call, f"{fault}:when={point.number}")], paths)


def injected_from(fault: str, points: Sequence[Point], place: int) -> list[str]:
    """The prefix that injects a fault at a call and at all after it, of whatever name."""
    before = Counter(each.call for each in points[:place])
    return _strace([(each, f"{fault}:when={before[each] + 1}+") for each in sorted({point.call for point in points})], ())


def _strace(faults: Sequence[tuple[str, str]], paths: Sequence[Path]) -> list[str]:
    only = [word for each in paths for word in ("-P", str(each))]
    made = [word for call, fault in faults for word in ("-e", f"inject={call}:{fault}")]
    return [need("strace"), "-f", "-qq", "-o", "/dev/null", *only, "-e", f"trace={','.join(call for call, _ in faults)}", *made]


def traced(calls: str, into: Path) -> list[str]:
    """The prefix that lists the calls, one a line, in a file."""
    return [need("strace"), "-f", "-qq", "-o", str(into), "-e", "trace=" + ",".join(f"?{each}" for each in calls.split(","))]


def points_of(home: Path, *arguments: object, by: Doing = kept) -> tuple[Point, ...]:
    """The writing calls a command makes, undisturbed, in order; the home is changed by it."""
    listed = home.parent / f"{home.name}.calls"
    assert by(home, *arguments, prefix=traced(WRITES, listed)).code == 0
    names = [found[1] for line in listed.read_text().splitlines() if (found := re.match(r"\d+ +(\w+)\(", line))]
    return tuple(Point(call=name, number=names[: place + 1].count(name)) for place, name in enumerate(names))


def need(tool: str) -> str:
    """The place of a tool; the test is skipped where there is none."""
    found = shutil.which(tool, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{tool} is not installed here")
    if tool == "strace" and subprocess.run([found, "-qq", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    return found


def need_root() -> None:
    """Skip where file systems cannot be mounted and users not changed."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount file systems and change users")


@contextmanager
def tmpfs(place: Path, options: str) -> Iterator[Path]:
    """A file system in memory, mounted with the options for as long as the block runs."""
    need_root()
    place.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], capture_output=True, check=False).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def stuffed(folder: Path, *, spare: int = 0) -> Path:
    """Fill a file system to its last byte but ``spare`` ones; the file that does."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as handle:
        try:
            while True:
                handle.write(bytes(4096))
        except OSError:
            handle.truncate(handle.tell() - spare)
    return ballast


class Disk:
    """A file system of its own in an image file, whose power can be cut."""

    def __init__(self, folder: Path, kind: str, *, megabytes: int = 320) -> None:
        need_root()
        self.place = folder / "mount"
        self._image = folder / "image"
        self.place.mkdir(parents=True)
        with self._image.open("wb") as image:
            image.truncate(megabytes * 2**20)
        make = [need(f"mkfs.{kind}"), "-q", *(["-F"] if kind == "ext4" else ["-f"]), str(self._image)]
        subprocess.run(make, check=True, capture_output=True)
        if self._mount():
            pytest.skip(f"{kind} in an image cannot be mounted here")

    def _mount(self) -> int:
        return subprocess.run(
            ["mount", "-o", "loop", str(self._image), str(self.place)], capture_output=True, check=False
        ).returncode

    def cut(self) -> None:
        """Cut the power: what is not on the disk is gone, and nothing more gets there."""
        handle = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, _SHUTDOWN, struct.pack("I", _NO_FLUSH))
        finally:
            os.close(handle)

    def again(self) -> None:
        """Switch the power on: the journal of the file system is replayed."""
        self.close()
        assert self._mount() == 0, "the file system does not come back"

    def close(self) -> None:
        """Unmount it."""
        subprocess.run(["umount", str(self.place)], check=False, capture_output=True)


Tree = frozenset[tuple[str, bytes]]  # the files below a folder and their bytes, the folders without any


def tree(folder: Path, shared: dict[bytes, bytes] | None = None) -> Tree:
    """What lies below a folder; ``shared`` holds bytes that were seen before, so that many trees cost little more than one."""
    every = {} if shared is None else shared
    found = set()
    for each in folder.rglob("*"):
        if each.is_file():
            data = each.read_bytes()
            found.add((str(each.relative_to(folder)), every.setdefault(data, data)))
        elif not any(each.iterdir()):
            found.add((f"{each.relative_to(folder)}/", b""))
    return frozenset(found)


def fill(folder: Path, files: Tree) -> Path:
    """Make a folder hold these files and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files:
        place = folder / name
        (place if name.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            place.write_bytes(data)
            place.chmod(0o600)
    return folder


@contextmanager
def desk_at(home: Path) -> Iterator[Workspace]:
    """A workspace inside this process."""
    with open_workspace(
        Paths(root=home, user=home), zone="UTC", env={"HOME": str(home), "KEPT_EMBEDDINGS": "hashing"}
    ) as workspace:
        yield workspace


def store_of(home: Path) -> Path:
    return Paths(root=home, user=home).store


def memory_file(home: Path) -> Path:
    return home / ".claude/rules/memory.md"


def written(home: Path) -> bytes | None:
    """The bytes of the memory file, ids taken out (they depend on the clock); None where there is none."""
    return re.sub(rb"\b[0-9a-f]{10}\b", b"id", memory_file(home).read_bytes()) if memory_file(home).exists() else None


def remembered(workspace: Workspace) -> list[tuple[str, str, str, bool]]:
    """What is remembered, without the ids and dates that depend on when it was."""
    return sorted((each.category, each.content, each.status.value, each.pinned) for each in workspace.store.log.memories())


def state(home: Path) -> list[tuple[str, str, str, bool]]:
    """What is remembered in a home that is whole; fails where ``kept check`` would find damage."""
    with desk_at(home) as workspace:
        assert check_home(workspace).damage == ()
        return remembered(workspace)


def ran(home: Path, *paths: Path) -> list[tuple[str, str, str, bool]]:
    """Run over transcripts (the sample where none is named) in this process, and return what is remembered then."""
    with desk_at(home) as workspace:
        run_pipeline(workspace, list(paths) or [SAMPLE], RunOptions())
        return remembered(workspace)


def leftovers(home: Path) -> list[Path]:
    """Temporary files, and journals of commits that are not finished. Others mean nothing to SQLite; the next write takes their
    place.
    """
    return [
        each
        for each in home.rglob("*")
        if each.name.startswith(TEMPORARY)
        or (each.name.endswith(("-journal", "-wal", "-shm")) and each.read_bytes()[:8].strip(b"\0"))
    ]


def copy(source: Path, target: Path) -> Path:
    """A home like another, in the place of an older copy."""
    shutil.rmtree(target, ignore_errors=True)
    if source.exists():
        shutil.copytree(source, target, symlinks=True)
    else:
        target.mkdir(parents=True)
    return target


def changed(home: Path, sql: str, *values: object) -> None:
    """Change the store file behind kept's back."""
    connection = sqlite3.connect(store_of(home), isolation_level=None)
    connection.execute(sql, values)
    connection.close()
