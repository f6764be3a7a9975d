"""Files that belong to people, read and written so that nothing is lost: atomically, durably, and only if nobody was faster.

A write goes to a new file beside the target, is flushed, read back, and renamed over the target if that still holds what the
caller expects. Paths are walked one component at a time without following links; a link is followed only while it stays under
the root, so one that is swapped meanwhile leads nowhere. Knows bytes and paths, not what they mean.
"""

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from kept.model.errors import BusyError, ChangedError, KeptError, RefusedPathError

READ_AT_MOST = 64 * 2**20
_LINKS = 40
_TEMP, _TEMP_END = ".kept-", ".tmp"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space and run again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and run again"),
    errno.EFBIG: ("the file would be larger than the limit allows", "raise the limit (`ulimit -f`) and run again"),
    errno.EROFS: ("the file system is read-only", "make it writable, or choose another place with --home"),
    errno.EACCES: ("permission denied", "make it readable and writable for you, or choose another place with --home"),
    errno.EPERM: ("the system does not permit it", "look at the owner and the flags of the file"),
    errno.EIO: ("the disk reported an error", "look after the disk, then run again"),
    errno.EMFILE: ("too many open files", "raise the limit (`ulimit -n`) and run again"),
    errno.ENOTDIR: ("a part of the path is no directory", "move the file that is in the way"),
    errno.EISDIR: ("it is a directory", "move it out of the way"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Stamp:
    """What a file was when it was read: the hash of its bytes, and what the system says of it. Only the hash decides a write."""

    digest: str
    inode: int
    size: int
    mtime_ns: int


MISSING = Stamp(digest="", inode=0, size=0, mtime_ns=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """The bytes of a file and its stamp; no bytes and MISSING where there is none."""

    data: bytes
    stamp: Stamp


def read(path: Path, *, at_most: int = READ_AT_MOST) -> Content:
    """Read a whole file; never waits on a pipe or device.

    Raises KeptError where it is no plain file, over ``at_most`` bytes, or cannot be read.
    """
    with _explained(path, "cannot read"):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return Content(data=b"", stamp=MISSING)
        try:
            return _content(handle, path, at_most)
        finally:
            os.close(handle)


def content_of(data: bytes) -> Content:
    """What :func:`read` would give of a file that holds these bytes."""
    return Content(data=data, stamp=Stamp(digest=_digest(data), inode=0, size=len(data), mtime_ns=0))


def write(path: Path, data: bytes, *, expect: Stamp, root: Path) -> Stamp:
    """Make ``data`` the bytes of a file, durably, if it still is what ``expect`` says; directories are made as needed.

    Mode and owner of an existing file stay, a new one is 0600 (directories 0700). Where the path is a link, its target is written.

    Raises:
        ChangedError: the file is not what was expected; nothing was written.
        RefusedPathError: the path, or a link on it, leads outside ``root``.
        KeptError: the system said no; the old file is in place.
    """
    with _explained(path, "cannot write"), _walked(path, root, make=True) as (folder, name):
        _sweep(folder)
        try:
            return _replace(folder, name, data, (expect.digest,), path)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            # After a failed flush the system may have dropped the bytes and call the next flush a success: all is written again.
            return _replace(folder, name, data, (expect.digest, _digest(data)), path)


def remove(path: Path, *, expect: Stamp, root: Path) -> None:
    """Delete a file if it still is what ``expect`` says; one that is missing already is fine. Raises as :func:`write`."""
    with _explained(path, "cannot delete"):
        try:
            with _walked(path, root, make=False) as (folder, name):
                _check(folder, name, (expect.digest, MISSING.digest), path)
                os.unlink(name, dir_fd=folder)
                _flush(folder)
        except FileNotFoundError:
            return


def tidy(path: Path, *, root: Path) -> None:
    """Delete what writers of a file that died, or could not even delete it, left beside it. Raises as :func:`write`."""
    with _explained(path, "cannot tidy up beside"), suppress(FileNotFoundError), _walked(path, root, make=False) as (folder, _):
        _sweep(folder)


def put_aside(path: Path, *, into: Path) -> Path:
    """Copy a file, durably, to the first free ``<name>.<n>`` in ``into`` (made as needed); nothing there is overwritten."""
    with _explained(path, "cannot put aside"):
        content = read(path)
        with _walked(into / path.name, into, make=True) as (folder, name):
            number = 1
            while True:
                try:
                    handle = os.open(f"{name}.{number}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
                    break
                except FileExistsError:
                    number += 1
            try:
                _fill(handle, content.data)
            finally:
                os.close(handle)
            _flush(folder)
            return into / f"{name}.{number}"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file for as long as the block runs. The system releases it when the process ends, however it ends.

    The file itself is made once and never written: holding a lock leaves no trace. Raises BusyError where it is held, naming
    the other process where the system tells.
    """
    with _explained(path, "cannot lock"), _walked(path, path.parent, make=True) as (folder, name):
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(f"already running{_holder(handle)}", where=str(path)) from error
        yield
    finally:
        os.close(handle)


def _holder(handle: int) -> str:
    """Who holds the lock of an open file, as Linux lists it; nothing elsewhere, or where it is a process we do not see."""
    inode = os.fstat(handle).st_ino
    try:
        listed = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    except OSError:
        return ""
    return next(
        (f" as process {each[4]}" for each in listed if each[1] == "FLOCK" and each[5].endswith(f":{inode}") and each[4] > "0"), ""
    )


@contextmanager
def _explained(path: Path, doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason, hint = _REASONS.get(error.errno or 0, (os.strerror(error.errno or 0), ""))
        raise KeptError(f"{doing}: {reason}", where=str(path), hint=hint) from error


@contextmanager
def _walked(path: Path, root: Path, *, make: bool) -> Iterator[tuple[int, str]]:
    """An open directory and the name in it that a path leads to, every link on the way followed by hand and under ``root``."""
    real = os.path.realpath(root)
    if make:
        for missing in [each for each in (Path(real), *Path(real).parents) if not each.exists()][::-1]:
            missing.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as opened:
        folders = [_opened(opened, real, None)]
        rest = _below(path, root, real, path)[::-1]
        links = 0
        while rest:
            part = rest.pop()
            if part == "..":
                if len(folders) == 1:
                    raise _outside(path, root)
                folders.pop()
                continue
            link = _link(part, folders[-1])
            if link is not None:
                links += 1
                if links > _LINKS:
                    raise _outside(path, root)
                if link.startswith("/"):
                    del folders[1:]
                    rest += _below(Path(os.path.realpath(link)), Path(real), real, path)[::-1]
                else:
                    rest += [each for each in reversed(link.split("/")) if each not in ("", ".")]
            elif rest:
                folders.append(_entered(opened, part, folders[-1], make=make, path=path, root=root))
            else:
                yield folders[-1], part
                return
    raise KeptError("a directory where a file should be", where=str(path))


def _below(path: Path, root: Path, real: str, asked: Path) -> list[str]:
    """The components of a path under the root, given as it is called or as it really is."""
    for base in (root, Path(real)):
        if path.is_relative_to(base):
            return list(path.relative_to(base).parts)
    raise _outside(asked, root)


def _outside(path: Path, root: Path) -> RefusedPathError:
    return RefusedPathError(
        f"the path leads outside {root}", where=str(path), hint="replace the link, or choose another place with --home"
    )


def _link(name: str, folder: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _opened(opened: ExitStack, name: str, folder: int | None) -> int:
    handle = os.open(name, _DIRECTORY, dir_fd=folder)
    opened.callback(os.close, handle)
    return handle


def _entered(opened: ExitStack, name: str, folder: int, *, make: bool, path: Path, root: Path) -> int:
    try:
        return _opened(opened, name, folder)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as error:
        if _link(name, folder) is None:
            raise
        raise _outside(path, root) from error  # it became a link after we looked
    with suppress(FileExistsError):
        os.mkdir(name, mode=0o700, dir_fd=folder)
        _flush(folder)
    return _opened(opened, name, folder)


def _content(handle: int, path: Path, at_most: int) -> Content:
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode):
        raise KeptError("not a plain file", where=str(path), hint="move it out of the way")
    if state.st_size > at_most:
        raise KeptError(f"larger than {at_most} bytes", where=str(path), hint="move it out of the way")
    data = _all(handle, at_most)
    return Content(data=data, stamp=Stamp(digest=_digest(data), inode=state.st_ino, size=len(data), mtime_ns=state.st_mtime_ns))


def _all(handle: int, at_most: int) -> bytes:
    parts, room = [], at_most
    while room > 0 and (part := os.read(handle, min(room, 2**20))):
        parts.append(part)
        room -= len(part)
    return b"".join(parts)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _look(folder: int, name: str, path: Path) -> tuple[str, os.stat_result | None]:
    """The hash and state of a file as it is now; an empty hash for none."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return MISSING.digest, None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise ChangedError("a link took the place of the file", where=str(path), hint="run again") from error
    try:
        return _content(handle, path, READ_AT_MOST).stamp.digest, os.fstat(handle)
    finally:
        os.close(handle)


def _check(folder: int, name: str, allowed: tuple[str, ...], path: Path) -> os.stat_result | None:
    now, state = _look(folder, name, path)
    if now not in allowed:
        raise ChangedError("the file changed since it was read; it was left alone", where=str(path), hint="run again")
    return state


def _replace(folder: int, name: str, data: bytes, allowed: tuple[str, ...], path: Path) -> Stamp:
    state = _check(folder, name, allowed, path)
    temp, handle = _temporary(folder)
    try:
        if state is not None:
            if (state.st_uid, state.st_gid) != (os.geteuid(), os.fstat(handle).st_gid):
                os.fchown(handle, state.st_uid, state.st_gid)
            os.fchmod(handle, stat.S_IMODE(state.st_mode))
        _fill(handle, data)
        _check(folder, name, allowed, path)
        os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
        written = os.fstat(handle)
    except BaseException:
        with suppress(OSError):
            os.unlink(temp, dir_fd=folder)
        raise
    finally:
        os.close(handle)
    _flush(folder)
    return Stamp(digest=_digest(data), inode=written.st_ino, size=len(data), mtime_ns=written.st_mtime_ns)


def _temporary(folder: int) -> tuple[str, int]:
    """A new file beside the target, locked for as long as its writer lives, so that others can tell a dead one's."""
    while True:
        name = f"{_TEMP}{secrets.token_hex(8)}{_TEMP_END}"
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return name, handle
        os.close(handle)  # swept between its creation and its lock


def _sweep(folder: int) -> None:
    """Delete the temporary files of writers that died."""
    for name in os.listdir(folder):
        if name.startswith(_TEMP) and name.endswith(_TEMP_END):
            with suppress(OSError):
                handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(name, dir_fd=folder)
                finally:
                    os.close(handle)


def _fill(handle: int, data: bytes) -> None:
    """Write all bytes, flush them to the disk, and read them back."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
    os.fsync(handle)
    os.lseek(handle, 0, os.SEEK_SET)
    if _all(handle, len(data) + 1) != data:
        raise OSError(errno.EIO, "what was written does not read back")


def _flush(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot flush a directory
            raise
