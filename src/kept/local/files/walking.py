"""Walk paths one component at a time, and resolve permitted links here and not by the system. Reads no content of files."""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Literal

from kept.core.errors import KeptError, RefusedPathError

# The links that a path may contain. "below root" permits every link that stays under the root. A tuple of folders permits links
# into these folders, and links within their own folder. If such a link is the last component, its target must have the same suffix.
Links = tuple[Path, ...] | Literal["below root"]

MACHINERY = frozenset({".git", "node_modules", "__pycache__", ".venv", ".trash"})  # folders of programs' files and deleted files
_LINKS = 40
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space and run again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and run again"),
    errno.EFBIG: ("the file would be larger than the limit allows", "raise the limit (`ulimit -f`) and run again"),
    errno.EROFS: ("the file system is read-only", "make it writable, or choose another place with --home"),
    errno.EACCES: ("permission denied", "make it readable and writable for you, or choose another place with --home"),
    errno.EPERM: ("the system does not permit it", "look at the owner and the flags of the file"),
    errno.EIO: ("the disk reported an error", "check the disk, then run again"),
    errno.EMFILE: ("too many open files", "raise the limit (`ulimit -n`) and run again"),
    errno.ENOTDIR: ("a part of the path is not a directory", "move the file that is in the way"),
    errno.EISDIR: ("it is a directory", "move it out of the way"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one"),
}


def describe_os_error(error: OSError) -> tuple[str, str]:
    """Return the reason of a system error and a remedy. The remedy is empty if none is known."""
    return _REASONS.get(error.errno or 0, (os.strerror(error.errno or 0), ""))


@contextmanager
def explain_os_errors(path: Path, doing: str) -> Iterator[None]:
    """Convert an OSError to a KeptError with the action, the path, the reason and the remedy."""
    try:
        yield
    except OSError as error:
        reason, hint = describe_os_error(error)
        if error.errno == errno.EACCES and (denied := _find_denied(path)) != path:
            hint = f"make the folder {denied} readable and writable for you, or choose another place with --home"
        raise KeptError(f"{doing}: {reason}", where=str(path), hint=hint) from error


def _find_denied(path: Path) -> Path:
    """The path whose permissions prevent access to a file: the file itself, or the nearest existing folder above it."""
    if os.path.lexists(path) and not os.access(path, os.R_OK | os.W_OK):
        return path
    return next((folder for folder in path.parents if os.path.lexists(folder)), path)


@contextmanager
def open_parent(path: Path, root: Path, *, make: bool, links: Links = "below root") -> Iterator[tuple[int, str]]:
    """Open the directory of a path's file during a ``with`` block, and yield its descriptor and the file's name in it.

    Links are resolved here, and followed only under ``root``. ``make`` creates missing directories. Raises RefusedPathError if the
    path leads outside ``root`` or contains a link that ``links`` does not permit, KeptError if the path ends in a directory, and
    OSError.
    """
    real = os.path.realpath(root)
    if make:
        _make_folder(Path(real))
    with ExitStack() as opened:
        folders, names = [_open_folder(opened, real, None)], [real]
        rest, followed = _path_parts(path, root, real, path), 0
        while rest:
            part, *rest = rest
            if part == "..":
                if len(folders) == 1:
                    raise _outside_error(path, root)
                folders.pop()
                names.pop()
            elif (link := _read_link(part, folders[-1])) is not None:
                followed += 1
                if followed > _LINKS:
                    raise _outside_error(path, root)
                if isinstance(links, tuple):
                    _refuse_link("/".join([*names, part]), link, links, last=not rest, path=path)
                if link.startswith("/"):
                    del folders[1:], names[1:]
                    rest = [*_path_parts(Path(os.path.realpath(link)), Path(real), real, path), *rest]
                else:
                    rest = [*(item for item in link.split("/") if item not in ("", ".")), *rest]
            elif rest:
                folders.append(_enter_folder(opened, part, folders[-1], make=make, path=path, root=root))
                names.append(part)
            else:
                yield folders[-1], part
                return
    raise KeptError("a directory instead of a file", where=str(path))


def _make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, all with mode 0700."""
    if not folder.exists():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _refuse_link(place: str, link: str, allowed: tuple[Path, ...], *, last: bool, path: Path) -> None:
    """Raise RefusedPathError if a link leads out of its folder (except into an allowed one), or to a file with another suffix."""
    folder, name = os.path.split(place)
    target = Path(os.path.realpath(os.path.join(folder, link)))  # noqa: PTH118 - links are texts
    if any(target.is_relative_to(os.path.realpath(item)) for item in allowed):
        return
    if not target.is_relative_to(folder) or (last and target.suffix != Path(name).suffix):
        hint = f"replace the link, or allow it: kept config set linked_folders {target.parent if last else target}"
        raise RefusedPathError(f"a link leads to {target}", where=str(path), hint=hint)


def _path_parts(path: Path, root: Path, real: str, asked: Path) -> list[str]:
    """Return the components of a path below the root. The path may begin with the root's name or with its real path."""
    for base in (root, Path(real)):
        if path.is_relative_to(base):
            return list(path.relative_to(base).parts)
    raise _outside_error(asked, root)


def _outside_error(path: Path, root: Path) -> RefusedPathError:
    return RefusedPathError(
        f"the path leads outside {root}", where=str(path), hint="replace the link, or choose another place with --home"
    )


def _read_link(name: str, folder: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _open_folder(opened: ExitStack, name: str, folder: int | None) -> int:
    handle = os.open(name, DIRECTORY, dir_fd=folder)
    opened.callback(os.close, handle)
    return handle


def _enter_folder(opened: ExitStack, name: str, folder: int, *, make: bool, path: Path, root: Path) -> int:
    try:
        return _open_folder(opened, name, folder)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as error:
        if _read_link(name, folder) is None:
            raise
        raise _outside_error(path, root) from error  # the folder became a link during the walk
    with suppress(FileExistsError):
        os.mkdir(name, mode=0o700, dir_fd=folder)
        flush_folder(folder)
    return _open_folder(opened, name, folder)


def refuse_links(path: Path, *, root: Path, links: Links) -> None:
    """Raise RefusedPathError if a path contains a link that may not be followed. The file itself need not exist."""
    with explain_os_errors(path, "cannot look at"), suppress(FileNotFoundError), open_parent(path, root, make=False, links=links):
        pass


def find_links(folder: Path) -> Iterator[Path]:
    """Yield the links in a folder and its subfolders without following any. Yields none if the folder is missing."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                yield from find_links(Path(entry.path))


def flush_folder(folder: int) -> None:
    """Flush the entries of an open folder to disk (fsync). Raises OSError."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot flush a directory
            raise


def find_files(root: Path) -> Iterator[Path]:
    """Yield the results of :func:`find_file_names` as Path objects."""
    return map(Path, find_file_names(root))


def find_file_names(root: Path) -> Iterator[str]:
    """Yield every path at or below ``root`` that is not a folder, sorted by name within each folder. Opens only folders.

    The root may be a link. Links below it are yielded but never followed, so that the walk stays inside and cannot loop. A folder
    that cannot be listed or is in :data:`MACHINERY` is yielded itself and not entered. A missing root yields nothing.
    :func:`kept.sources.registry.identify_file` determines what a path is.
    """
    waiting = [str(root.resolve())]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as listing:
                entries = sorted(((entry.name, entry.path, entry.is_dir(follow_symlinks=False)) for entry in listing), reverse=True)
        except FileNotFoundError:
            continue
        except OSError:
            yield path
            continue
        # The files of a folder come before its subfolders. The stack is in reverse order.
        yield from (place for name, place, is_folder in reversed(entries) if not is_folder or name in MACHINERY)
        waiting += [place for name, place, is_folder in entries if is_folder and name not in MACHINERY]
