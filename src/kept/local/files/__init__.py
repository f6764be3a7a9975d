"""Read and write people's files without losing data: atomically, durably, and only if the file has not changed since it was read.

A write goes to a new file beside the target. That file is flushed, read back, and renamed to the target if the target still has the
expected content. Paths are opened one component at a time, and links are resolved here and not by the system. They are followed
only within the root, so a link that is swapped during the walk cannot lead elsewhere.
"""

import errno
import fcntl
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from kept.core.errors import BusyError, ChangedError, KeptError
from kept.core.value import dataclass
from kept.local.files.walking import DIRECTORY, Links, explain_os_errors, flush_folder, open_parent

READ_AT_MOST = 64 * 2**20
_TEMP, _TEMP_END = ".kept-", ".tmp"


@dataclass(frozen=True, kw_only=True, slots=True)
class FileStamp:
    """The state of a file when it was read: the hash of its bytes, and system data. Writes compare only the hash."""

    digest: str
    inode: int
    size: int
    changed_ns: int  # st_ctime_ns, because programs cannot set it


MISSING = FileStamp(digest="", inode=0, size=0, changed_ns=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class FileContent:
    """The bytes of a file and its stamp. If there is no file, empty bytes and MISSING."""

    data: bytes
    stamp: FileStamp


def read_text(path: Path) -> str:
    """Read the text of a whole file. Invalid UTF-8 is replaced. Raises KeptError as :func:`read_file`."""
    return read_file(path).data.decode("utf-8", "replace")


def read_file(path: Path, *, at_most: int = READ_AT_MOST) -> FileContent:
    """Read a whole file. Never blocks, even on a pipe or device.

    Raises KeptError if it is not a regular file, larger than ``at_most`` bytes, or unreadable.
    """
    with explain_os_errors(path, "cannot read"):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return FileContent(data=b"", stamp=MISSING)
        try:
            return _read_content(handle, path, at_most)
        finally:
            os.close(handle)


def read_object(path: Path) -> dict[str, Any]:
    """Read the JSON object in a file. Empty if there is no file or no object in it. Raises KeptError as :func:`read_file`."""
    try:
        body = json.loads(read_file(path).data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def write_object(path: Path, body: Mapping[str, Any], *, root: Path) -> None:
    """Replace a file by a JSON object. Raises KeptError as :func:`write_if_unchanged`."""
    data = json.dumps(body, ensure_ascii=False, indent=1).encode()
    write_if_unchanged(path, data, expect=read_file(path).stamp, root=root)


def to_content(data: bytes) -> FileContent:
    """The result of :func:`read_file` for a file with these bytes."""
    return FileContent(data=data, stamp=FileStamp(digest=_digest(data), inode=0, size=len(data), changed_ns=0))


def write_if_unchanged(path: Path, data: bytes, *, expect: FileStamp, root: Path, links: Links = "below root") -> FileStamp:
    """Write ``data`` to a file durably if its content still matches ``expect``. Creates missing directories.

    An existing file keeps its mode and owner. A new file gets mode 0600, a new directory 0700. If the path is a link that may be
    followed, its target is written.

    Raises:
        ChangedError: the file does not match ``expect``. Nothing was written.
        RefusedPathError: the path, or a link on it, leads outside ``root``, or the link may not be followed.
        KeptError: the system reported an error. The old file is unchanged.
    """
    with explain_os_errors(path, "cannot write"), open_parent(path, root, make=True, links=links) as (folder, name):
        _delete_temp_files(folder)
        try:
            return _replace_file(folder, name, data, (expect.digest,), path)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            # After a failed flush the system may drop the bytes and report the next flush as successful, so write everything again.
            return _replace_file(folder, name, data, (expect.digest, _digest(data)), path)


def delete_if_unchanged(path: Path, *, expect: FileStamp, root: Path, links: Links = "below root") -> None:
    """Delete a file if its content still matches ``expect``. A missing file is not an error. Raises as
    :func:`write_if_unchanged`.
    """
    with explain_os_errors(path, "cannot delete"):
        try:
            with open_parent(path, root, make=False, links=links) as (folder, name):
                _check_unchanged(folder, name, (expect.digest, MISSING.digest), path)
                os.unlink(name, dir_fd=folder)
                flush_folder(folder)
        except FileNotFoundError:
            return


def delete_temp_files_beside(path: Path, *, root: Path, links: Links = "below root") -> None:
    """Delete the temporary files that crashed writers of a file left beside it. Raises as :func:`write_if_unchanged`."""
    with (
        explain_os_errors(path, "cannot delete temporary files beside"),
        suppress(FileNotFoundError),
        open_parent(path, root, make=False, links=links) as (folder, _),
    ):
        _delete_temp_files(folder)


def delete_temp_files(folder: Path) -> None:
    """Delete the temporary files that crashed writers left in a folder. Files that cannot be deleted stay."""
    with suppress(OSError):
        handle = os.open(folder, DIRECTORY)
        try:
            _delete_temp_files(handle)
        finally:
            os.close(handle)


def copy_to_quarantine(path: Path, *, into: Path) -> Path:
    """Copy a file durably to the first free ``<name>.<n>`` in the folder ``into``, which is created if missing. Returns
    that path.
    """
    with explain_os_errors(path, "cannot make a copy of"):
        content = read_file(path)
        with open_parent(into / path.name, into, make=True) as (folder, name):
            number = 1
            while True:
                try:
                    handle = os.open(f"{name}.{number}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
                    break
                except FileExistsError:
                    number += 1
            try:
                _write_and_verify(handle, content.data)
            finally:
                os.close(handle)
            flush_folder(folder)
            return into / f"{name}.{number}"


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold a lock on a file during a ``with`` block. The system releases the lock when the process ends, even by a crash.

    The file is created once and never written. Raises BusyError if another process holds the lock. The error names that process if
    the system reports it.
    """
    with explain_os_errors(path, "cannot lock"), open_parent(path, path.parent, make=True) as (folder, name):
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(f"already running{_describe_lock_holder(handle)}", where=str(path)) from error
        yield
    finally:
        os.close(handle)


def _describe_lock_holder(handle: int) -> str:
    """Describe the process that holds the lock of an open file. Empty if the system does not report it (only Linux does)."""
    inode = os.fstat(handle).st_ino
    try:
        locks = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    except OSError:
        return ""
    holders = (lock[4] for lock in locks if lock[1] == "FLOCK" and lock[5].endswith(f":{inode}") and lock[4] > "0")
    return next((f" as process {process}" for process in holders), "")


def _read_content(handle: int, path: Path, at_most: int) -> FileContent:
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode):
        raise KeptError("not a regular file", where=str(path), hint="move it out of the way")
    if state.st_size > at_most:
        raise KeptError(f"larger than {at_most} bytes", where=str(path), hint="move it out of the way")
    data = _read_all(handle, at_most)
    return FileContent(
        data=data, stamp=FileStamp(digest=_digest(data), inode=state.st_ino, size=len(data), changed_ns=state.st_ctime_ns)
    )


def _read_all(handle: int, at_most: int) -> bytes:
    parts, left = [], at_most
    while left > 0 and (part := os.read(handle, min(left, 2**20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _read_state(folder: int, name: str, path: Path) -> tuple[str, os.stat_result | None]:
    """Return a file's present hash and state, or an empty hash and None if there is no file."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return MISSING.digest, None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise ChangedError("a link took the place of the file", where=str(path), hint="run again") from error
    try:
        return _read_content(handle, path, READ_AT_MOST).stamp.digest, os.fstat(handle)
    finally:
        os.close(handle)


def _check_unchanged(folder: int, name: str, allowed: tuple[str, ...], path: Path) -> os.stat_result | None:
    now, state = _read_state(folder, name, path)
    if now not in allowed:
        raise ChangedError("the file changed after it was read, so it was not written", where=str(path), hint="run again")
    return state


def _replace_file(folder: int, name: str, data: bytes, allowed: tuple[str, ...], path: Path) -> FileStamp:
    state = _check_unchanged(folder, name, allowed, path)
    temp, handle = _create_temp_file(folder)
    try:
        if state is not None:
            if (state.st_uid, state.st_gid) != (os.geteuid(), os.fstat(handle).st_gid):
                os.fchown(handle, state.st_uid, state.st_gid)
            os.fchmod(handle, stat.S_IMODE(state.st_mode))
        _write_and_verify(handle, data)
        _check_unchanged(folder, name, allowed, path)
        os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
        written = os.fstat(handle)
    except BaseException:
        with suppress(OSError):
            os.unlink(temp, dir_fd=folder)
        raise
    finally:
        os.close(handle)
    flush_folder(folder)
    return FileStamp(digest=_digest(data), inode=written.st_ino, size=len(data), changed_ns=written.st_ctime_ns)


def _create_temp_file(folder: int) -> tuple[str, int]:
    """Create a file beside the target. It is locked while its writer lives, so that files of crashed writers can be recognised."""
    while True:
        name = f"{_TEMP}{os.urandom(8).hex()}{_TEMP_END}"
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return name, handle
        os.close(handle)  # another process deleted it before it was locked


def _delete_temp_files(folder: int) -> None:
    for name in os.listdir(folder):
        if name.startswith(_TEMP) and name.endswith(_TEMP_END):
            with suppress(OSError):
                handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(name, dir_fd=folder)
                finally:
                    os.close(handle)


def _write_and_verify(handle: int, data: bytes) -> None:
    """Write all bytes, flush them to disk, and compare them with what is read back."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
    os.fsync(handle)
    os.lseek(handle, 0, os.SEEK_SET)
    if _read_all(handle, len(data) + 1) != data:
        raise OSError(errno.EIO, "the written data cannot be read back")
