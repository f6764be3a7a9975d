"""Reads git's own files: the repository that contains a folder, its origin, and its first commit. Runs no program."""

import mmap
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kept.core.pattern import compile_late
from kept.core.value import dataclass

_FILE_BYTES = 256 * 1024
_PARENT_FOLDERS = 12  # search at most this many parent folders
_URL = compile_late(r"^(?:[a-z+]+://)?(?:[^@/\s]+@)?(?P<host>[^:/\s]+)(?::\d+/|[:/])(?P<path>[^\s]+?)(?:\.git)?/?$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkout:
    """A repository: its main worktree (``root``), its ``.git`` folder, and its ``origin``.

    ``remote`` is the origin's host and path, without user or scheme. ``local`` is the origin's folder if it is on this machine.
    """

    root: Path
    git: Path
    remote: str
    local: str = ""


def find_checkout(directory: str) -> Checkout | None:
    """The repository that contains a directory; None if there is none or it is unreadable."""
    if not directory.startswith("/") or "\0" in directory:
        return None
    place = Path(directory)
    for folder in (place, *place.parents[:_PARENT_FOLDERS]):
        git = folder / ".git"
        try:
            if git.is_dir():
                return _make_checkout(folder, git)
            if git.is_file():
                return _find_worktree_checkout(folder, git)
        except OSError:
            return None
    return None


def _find_worktree_checkout(folder: Path, git: Path) -> Checkout | None:
    """The checkout of a worktree: its ``.git`` file names its own folder in the repository, which names the common folder."""
    words = _read_start(git)
    if not words.startswith("gitdir:"):
        return None
    own = folder / words.removeprefix("gitdir:").strip()
    common = own / (_read_start(own / "commondir").strip() or ".")
    resolved = common.resolve()
    return _make_checkout(resolved.parent if resolved.name == ".git" else folder, resolved)


def _make_checkout(root: Path, git: Path) -> Checkout:
    url = _read_origin_url(git)
    local = url.removeprefix("file://")
    return Checkout(root=root, git=git, remote=remote_name(url), local=local if local.startswith("/") else "")


def remote_name(url: str) -> str:
    """Host and path of a repository's URL, in lower case; empty for a folder or anything that is no URL."""
    match = _URL.match(url[:1000])
    return f"{match['host']}/{match['path']}".lower() if match else ""


def _read_origin_url(git: Path) -> str:
    section = ""
    for line in _read_start(git / "config").splitlines():
        words = line.strip()
        if words.startswith("["):
            section = words
        elif section == '[remote "origin"]' and words.partition("=")[0].strip() == "url":
            return words.partition("=")[2].strip()
    return ""


def _read_start(path: Path) -> str:
    """The first bytes of a file as text; empty if there is no file or it cannot be read."""
    try:
        if not path.is_file():
            return ""  # reading a pipe would block forever
        with path.open("rb") as file:
            return file.read(_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


_COMMITS = 20_000  # give up on a longer history
_OBJECT_BYTES = 2**20
_DELTA_DEPTH = 60  # give up on a longer chain of deltas
_SHA = compile_late(r"^[0-9a-f]{40}$")
_PARENT = compile_late(rb"^parent ([0-9a-f]{40})$", re.MULTILINE)
_INDEX_MAGIC = b"\xfftOc\0\0\0\2"
_FANOUT, _NAMES = 8, 8 + 256 * 4
_COMMIT, _OFFSET_DELTA, _REF_DELTA = 1, 6, 7


def first_commit(git: Path) -> str:
    """The root commit that a repository's HEAD reaches by first parents; empty if it cannot be determined.

    ``git`` is the ``.git`` folder of the main worktree. A shallow clone gives nothing, because its history is truncated.
    """
    if (git / "shallow").exists():
        return ""
    sha = _read_head(git)
    try:
        with _open_objects(git) as objects:
            for _ in range(_COMMITS):
                body = objects.read_commit(sha) if sha else b""
                if not body:
                    return ""
                parent = _PARENT.search(body.partition(b"\n\n")[0])
                if parent is None:
                    return sha
                sha = parent.group(1).decode()
    except (OSError, ValueError, struct.error, zlib.error, IndexError):
        pass
    return ""


def _read_head(git: Path) -> str:
    words = _read_start(git / "HEAD").strip()
    name = words.removeprefix("ref: ")
    if words == name:
        return words if _SHA.match(words) else ""
    if not name.startswith("refs/") or ".." in name:
        return ""
    sha = _read_start(git / name).strip()
    if not sha:
        packed = (line.split(" ", 1) for line in _read_start(git / "packed-refs").splitlines() if " " in line)
        sha = next((commit for commit, ref in packed if ref == name), "")
    return sha if _SHA.match(sha) else ""


class _ObjectStore:
    """The objects of a repository: its packs (mapped index and pack files) and the folder of loose objects."""

    def __init__(self, folder: Path, packs: list[tuple[mmap.mmap, mmap.mmap]]) -> None:
        self._folder = folder
        self._packs = packs

    def read_commit(self, sha: str) -> bytes:
        """The text of a commit; empty if there is none. Raises ValueError, IndexError, struct.error or zlib.error if damaged."""
        kind, body = self._read_object(sha, 0)
        return body if kind == _COMMIT else b""

    def _read_object(self, sha: str, depth: int) -> tuple[int, bytes]:
        for index, pack in self._packs:
            offset = _find_offset(index, bytes.fromhex(sha))
            if offset is not None:
                return self._unpack_object(pack, offset, depth)
        path = self._folder / sha[:2] / sha[2:]
        if not path.is_file():
            return 0, b""
        with path.open("rb") as file:
            header, _, body = _inflate(file.read(_OBJECT_BYTES)).partition(b"\0")
        return (_COMMIT if header.startswith(b"commit ") else 0), body

    def _unpack_object(self, pack: mmap.mmap, offset: int, depth: int) -> tuple[int, bytes]:
        if depth > _DELTA_DEPTH:
            raise ValueError("too long a chain of deltas")
        byte, position = pack[offset], offset + 1
        kind = byte >> 4 & 7
        while byte & 0x80:
            byte, position = pack[position], position + 1
        if kind == _OFFSET_DELTA:
            back, position = _read_delta_distance(pack, position)
            base_kind, base = self._unpack_object(pack, offset - back, depth + 1)
        elif kind == _REF_DELTA:
            base_kind, base = self._read_object(pack[position : position + 20].hex(), depth + 1)
            position += 20
        else:
            return (kind, _inflate(pack[position : position + _OBJECT_BYTES])) if kind == _COMMIT else (kind, b"")
        return (base_kind, _apply_delta(base, _inflate(pack[position : position + _OBJECT_BYTES]))) if base else (base_kind, b"")


@contextmanager
def _open_objects(git: Path) -> Iterator[_ObjectStore]:
    folder = git / "objects"
    with ExitStack() as stack:
        packs = []
        for path in sorted((folder / "pack").glob("*.idx")):
            maps = [stack.enter_context(_map_file(item)) for item in (path, path.with_suffix(".pack"))]
            if maps[0][: len(_INDEX_MAGIC)] == _INDEX_MAGIC:
                packs.append((maps[0], maps[1]))
        yield _ObjectStore(folder, packs)


@contextmanager
def _map_file(path: Path) -> Iterator[mmap.mmap]:
    if not path.is_file():
        raise ValueError("no regular file")  # opening a pipe would block forever
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield data


def _find_offset(index: mmap.mmap, name: bytes) -> int | None:
    """The offset of an object in a pack; None if the pack does not have it."""
    total = int.from_bytes(index[_NAMES - 4 : _NAMES])
    low = int.from_bytes(index[_FANOUT + 4 * (name[0] - 1) : _FANOUT + 4 * name[0]]) if name[0] else 0
    high = int.from_bytes(index[_FANOUT + 4 * name[0] : _FANOUT + 4 * name[0] + 4])
    while low < high:
        middle = (low + high) // 2
        listed = index[_NAMES + 20 * middle : _NAMES + 20 * middle + 20]
        if listed == name:
            offsets = _NAMES + 24 * total
            offset = int.from_bytes(index[offsets + 4 * middle : offsets + 4 * middle + 4])
            if offset & 0x80000000:
                large = offsets + 4 * total + 8 * (offset & 0x7FFFFFFF)
                offset = int.from_bytes(index[large : large + 8])
            return offset
        low, high = (middle + 1, high) if listed < name else (low, middle)
    return None


def _read_delta_distance(pack: mmap.mmap, position: int) -> tuple[int, int]:
    """The distance back to the base of a delta, and the position after that number."""
    byte, position = pack[position], position + 1
    value = byte & 0x7F
    while byte & 0x80:
        byte, position = pack[position], position + 1
        value = (value + 1) << 7 | byte & 0x7F
    return value, position


def _inflate(data: bytes) -> bytes:
    return zlib.decompressobj().decompress(data, _OBJECT_BYTES)


def _apply_delta(base: bytes, delta: bytes) -> bytes:
    """The object that a delta makes from its base: a sequence of bytes to insert and of ranges to copy (gitformat-pack)."""
    position = _skip_delta_size(delta, _skip_delta_size(delta, 0))
    parts: list[bytes] = []
    size = 0
    while position < len(delta) and size <= _OBJECT_BYTES:
        code, position = delta[position], position + 1
        if not code & 0x80:
            part, position = delta[position : position + code], position + code
        else:
            start = length = 0
            for bit in range(4):
                if code >> bit & 1:
                    start, position = start | delta[position] << 8 * bit, position + 1
            for bit in range(3):
                if code >> (4 + bit) & 1:
                    length, position = length | delta[position] << 8 * bit, position + 1
            part = base[start : start + (length or 0x10000)]
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _skip_delta_size(delta: bytes, position: int) -> int:
    while delta[position] & 0x80:
        position += 1
    return position + 1
