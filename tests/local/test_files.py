"""Files are old or new, never torn; nobody's edit is overwritten; no path leads outside."""

import errno
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core.errors import BusyError, ChangedError, KeptError, RefusedPathError
from kept.intake.survey import find_outages
from kept.local import files
from kept.local.files import MISSING, copy_to_quarantine, delete_if_unchanged, hold_lock, read_file, write_if_unchanged
from kept.local.files.walking import refuse_links
from kept.paths import Paths


def temps(folder):
    return [each.name for each in folder.rglob(".kept-*")]


def mode(path):
    return path.stat().st_mode & 0o7777


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "rules" / "memory.md"
    path.parent.mkdir()
    path.write_bytes(b"old")
    return path


@pytest.fixture
def powerless():
    """A folder of a user whom permissions bind, and that user's rights while the test runs."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # below no folder that only the tests' own user may enter
        folder = Path(name)
        if os.geteuid() == 0:
            folder.chmod(0o755)
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if os.getuid() == 0:
                os.seteuid(0)
            for each in (folder, *folder.rglob("*")):
                each.chmod(0o700)


def failing(monkeypatch, name, code, times=1, when=lambda *_: True):
    """Make a system call fail the first ``times`` times; gives the list of its failures."""
    real, failed = getattr(os, name), []

    def call(*args, **more):
        if len(failed) < times and when(*args):
            failed.append(args)
            raise OSError(code, os.strerror(code))
        return real(*args, **more)

    monkeypatch.setattr(os, name, call)
    return failed


def test_what_is_written_is_read_and_the_stamps_agree(tmp_path):
    path = tmp_path / "a" / "b" / "memory.md"
    stamp = write_if_unchanged(path, b"new", expect=MISSING, root=tmp_path)
    assert read_file(path) == files.FileContent(data=b"new", stamp=stamp)
    assert write_if_unchanged(path, b"newer", expect=stamp, root=tmp_path) != stamp
    assert path.read_bytes() == b"newer"
    assert temps(tmp_path) == []


def test_a_missing_file_reads_as_missing(tmp_path):
    assert read_file(tmp_path / "no" / "such").stamp == MISSING


def test_new_files_and_directories_are_the_users_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        write_if_unchanged(tmp_path / "home" / "x" / "a" / "memory.md", b"new", expect=MISSING, root=tmp_path / "home" / "x")
    finally:
        os.umask(before)
    made = [tmp_path / "home", tmp_path / "home" / "x", tmp_path / "home" / "x" / "a"]
    assert [mode(each) for each in made] == [0o700] * 3
    assert mode(made[-1] / "memory.md") == 0o600


@pytest.mark.parametrize("bits", [0o640, 0o600, 0o444, 0o664])
def test_the_mode_of_a_file_stays(target, bits):
    target.chmod(bits)
    write_if_unchanged(target, b"new", expect=read_file(target).stamp, root=target.parent)
    assert mode(target) == bits


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_the_owner_of_a_file_stays(target):
    os.chown(target, 65534, 65534)
    write_if_unchanged(target, b"new", expect=read_file(target).stamp, root=target.parent)
    assert (target.stat().st_uid, target.stat().st_gid) == (65534, 65534)


def test_a_link_inside_the_root_stays_a_link_and_its_target_is_written(tmp_path, target):
    real = tmp_path / "dotfiles" / "memory.md"
    real.parent.mkdir()
    real.write_bytes(b"old")
    for link in ("../dotfiles/memory.md", real):
        target.unlink()
        target.symlink_to(link)
        write_if_unchanged(target, b"new " + str(link).encode(), expect=read_file(target).stamp, root=tmp_path)
        assert target.is_symlink()
        assert real.read_bytes() == b"new " + str(link).encode()


@pytest.mark.parametrize("link", ["../.ssh/authorized_keys", "../CLAUDE.md", "hooks/pre-commit", "sub/../../CLAUDE.md"])
def test_where_links_are_bounded_one_that_leaves_its_folder_or_leads_to_another_kind_of_file_is_refused(tmp_path, target, link):
    target.unlink()
    target.symlink_to(link)
    (target.parent / "sub").mkdir()
    with pytest.raises(RefusedPathError, match="a link leads to"):
        write_if_unchanged(target, b"new", expect=MISSING, root=tmp_path, links=())
    with pytest.raises(RefusedPathError):
        refuse_links(target, root=tmp_path, links=())
    assert not (tmp_path / "CLAUDE.md").exists()
    assert not (target.parent / "hooks").exists()


def test_where_links_are_bounded_one_within_its_folder_or_into_an_allowed_folder_is_followed(tmp_path, target):
    (tmp_path / "dotfiles").mkdir()
    for link, links in (
        ("other.md", ()),
        (str(target.with_name("other.md")), ()),
        ("../dotfiles/own.md", (tmp_path / "dotfiles",)),
    ):
        target.unlink()
        target.symlink_to(link)
        write_if_unchanged(target, b"new", expect=read_file(target).stamp, root=tmp_path, links=links)
        assert target.is_symlink()
        assert target.read_bytes() == b"new"


def test_a_linked_directory_inside_the_root_is_followed(tmp_path):
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / ".claude").symlink_to("dotfiles")
    write_if_unchanged(tmp_path / ".claude" / "rules" / "memory.md", b"new", expect=MISSING, root=tmp_path)
    assert (tmp_path / "dotfiles" / "rules" / "memory.md").read_bytes() == b"new"


def test_a_root_that_is_itself_reached_through_a_link_is_no_way_out(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to("real")
    (tmp_path / "real" / "memory.md").symlink_to(tmp_path / "home" / "other.md")
    write_if_unchanged(tmp_path / "home" / "memory.md", b"new", expect=MISSING, root=tmp_path / "home")
    assert (tmp_path / "real" / "other.md").read_bytes() == b"new"


@pytest.mark.parametrize("link", ["../../outside.md", "/etc/kept-outside.md", "deep/../../../outside.md"])
def test_a_link_that_leads_outside_the_root_is_refused(tmp_path, link):
    root = tmp_path / "home"
    root.mkdir()
    (root / "deep").mkdir()
    (tmp_path / "outside.md").write_bytes(b"theirs")
    path = root / "memory.md"
    path.symlink_to(link)
    with pytest.raises(RefusedPathError):
        write_if_unchanged(path, b"new", expect=MISSING, root=root)
    assert (tmp_path / "outside.md").read_bytes() == b"theirs"
    assert path.is_symlink()


@pytest.mark.parametrize("path", ["../memory.md", "a/../../memory.md", "/etc/kept-memory.md"])
def test_a_path_that_leads_outside_the_root_is_refused(tmp_path, path):
    root = tmp_path / "home"
    with pytest.raises(RefusedPathError):
        write_if_unchanged(root / path, b"new", expect=MISSING, root=root)
    assert not (tmp_path / "memory.md").exists()


def test_links_in_a_circle_are_refused(tmp_path):
    path = tmp_path / "memory.md"
    path.symlink_to("other.md")
    (tmp_path / "other.md").symlink_to("memory.md")
    with pytest.raises(RefusedPathError):
        write_if_unchanged(path, b"new", expect=MISSING, root=tmp_path)


def test_a_directory_swapped_for_a_link_while_the_path_is_walked_leads_nowhere(tmp_path, monkeypatch):
    root, outside = tmp_path / "home", tmp_path / "outside"
    (root / "rules").mkdir(parents=True)
    outside.mkdir()
    real = os.open

    def swapping(name, flags, *args, **more):
        if name == "rules":
            (root / "rules").rmdir()
            (root / "rules").symlink_to(outside)
        return real(name, flags, *args, **more)

    monkeypatch.setattr(os, "open", swapping)
    with pytest.raises(RefusedPathError):
        write_if_unchanged(root / "rules" / "memory.md", b"new", expect=MISSING, root=root)
    assert list(outside.iterdir()) == []


def test_a_file_swapped_for_a_link_before_the_rename_is_left_alone(target, tmp_path, monkeypatch):
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"theirs")

    def swap():
        target.unlink()
        target.symlink_to(theirs)

    meanwhile(monkeypatch, swap)
    with pytest.raises(ChangedError):
        write_if_unchanged(target, b"new", expect=read_file(target).stamp, root=tmp_path)
    assert theirs.read_bytes() == b"theirs"
    assert temps(tmp_path) == []


def meanwhile(monkeypatch, act):
    """Do something between the first look at the target and the rename."""
    real = files._write_and_verify

    def fill(handle, data):
        real(handle, data)
        act()

    monkeypatch.setattr(files, "_write_and_verify", fill)


def test_an_edit_since_the_read_wins(target, tmp_path):
    stamp = read_file(target).stamp
    target.write_bytes(b"edited")
    with pytest.raises(ChangedError):
        write_if_unchanged(target, b"new", expect=stamp, root=tmp_path)
    assert target.read_bytes() == b"edited"


@pytest.mark.parametrize("edit", [lambda path: path.write_bytes(b"edited"), lambda path: path.unlink()])
def test_an_edit_during_the_write_wins(target, tmp_path, monkeypatch, edit):
    meanwhile(monkeypatch, lambda: edit(target))
    with pytest.raises(ChangedError):
        write_if_unchanged(target, b"new", expect=read_file(target).stamp, root=tmp_path)
    assert not target.exists() or target.read_bytes() == b"edited"
    assert temps(tmp_path) == []


def test_a_file_that_appeared_since_it_was_missing_wins(target, tmp_path):
    with pytest.raises(ChangedError):
        write_if_unchanged(target, b"new", expect=MISSING, root=tmp_path)
    assert target.read_bytes() == b"old"


def test_a_file_that_was_touched_but_holds_the_same_bytes_is_written(target, tmp_path):
    stamp = read_file(target).stamp
    other = target.with_name("copy")
    other.write_bytes(b"old")
    other.replace(target)
    write_if_unchanged(target, b"new", expect=stamp, root=tmp_path)
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("call", ["write", "fsync", "rename", "open", "fchmod", "read"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_a_system_call_that_fails_is_one_clear_error_and_leaves_the_old_file(target, tmp_path, monkeypatch, call, code):
    stamp = read_file(target).stamp
    failing(monkeypatch, call, code)
    with pytest.raises(KeptError) as raised:
        write_if_unchanged(target, b"new", expect=stamp, root=tmp_path)
    assert str(target) in str(raised.value)
    assert raised.value.hint
    assert raised.value.exit_code != 0
    monkeypatch.undo()
    assert target.read_bytes() == b"old"
    assert temps(tmp_path) == []


def test_a_failed_flush_is_answered_by_writing_all_of_it_again(target, tmp_path, monkeypatch):
    written = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: written.append(bytes(data)) or real(handle, data))
    failed = failing(monkeypatch, "fsync", errno.EIO)
    write_if_unchanged(target, b"new", expect=read_file(target).stamp, root=tmp_path)
    assert len(failed) == 1
    assert written == [b"new", b"new"]
    assert target.read_bytes() == b"new"


def test_a_flush_that_keeps_failing_fails_the_write(target, tmp_path, monkeypatch):
    failing(monkeypatch, "fsync", errno.EIO, times=99)
    with pytest.raises(KeptError):
        write_if_unchanged(target, b"new", expect=read_file(target).stamp, root=tmp_path)
    assert target.read_bytes() == b"old"
    assert temps(tmp_path) == []


def test_a_directory_that_could_not_be_flushed_is_written_again(target, tmp_path, monkeypatch):
    failed = failing(monkeypatch, "fsync", errno.EIO, when=lambda handle: Path(f"/proc/self/fd/{handle}").is_dir())
    write_if_unchanged(target, b"new", expect=read_file(target).stamp, root=tmp_path)
    assert len(failed) == 1
    assert target.read_bytes() == b"new"


def test_short_writes_are_continued(target, tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, bytes(data[:3])))
    write_if_unchanged(target, b"0123456789", expect=read_file(target).stamp, root=tmp_path)
    assert target.read_bytes() == b"0123456789"


def test_a_short_write_that_is_reported_as_full_is_caught_by_reading_back(target, tmp_path, monkeypatch):
    real = os.write

    def lying(handle, data):
        real(handle, bytes(data[:2]))
        return len(data)

    monkeypatch.setattr(os, "write", lying)
    with pytest.raises(KeptError):
        write_if_unchanged(target, b"0123456789", expect=read_file(target).stamp, root=tmp_path)
    assert target.read_bytes() == b"old"
    assert temps(tmp_path) == []


def test_a_file_size_limit_is_one_clear_error(target, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(KeptError, match="limit"):
            write_if_unchanged(target, b"x" * 100, expect=read_file(target).stamp, root=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert target.read_bytes() == b"old"


def test_a_folder_one_may_not_write_is_one_clear_error(powerless):
    path = powerless / "memory.md"
    path.write_bytes(b"old")
    powerless.chmod(0o500)
    with pytest.raises(KeptError, match="permission denied"):
        write_if_unchanged(path, b"new", expect=read_file(path).stamp, root=powerless)
    path.chmod(0)
    with pytest.raises(KeptError, match="permission denied"):
        read_file(path)
    with pytest.raises(KeptError, match="permission denied"), hold_lock(powerless / "lock"):
        pass


def test_a_folder_of_sessions_that_cannot_be_opened_is_named_with_what_opens_it(powerless):
    denied = powerless / ".codex" / "sessions"
    denied.mkdir(parents=True)
    denied.chmod(0)
    ((told, fix),) = find_outages(Paths(root=powerless, user=powerless))
    assert (str(denied) in told, fix) == (True, f"chmod u+rwx {denied}")


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path, kind):
    path = tmp_path / "memory.md"
    os.mkfifo(path) if kind == "fifo" else path.mkdir()
    with pytest.raises(KeptError):
        read_file(path)
    with pytest.raises(KeptError):
        write_if_unchanged(path, b"new", expect=MISSING, root=tmp_path)


def test_a_file_beyond_the_bound_is_not_read(tmp_path):
    path = tmp_path / "big"
    path.write_bytes(b"x" * 101)
    with pytest.raises(KeptError):
        read_file(path, at_most=100)


def test_the_temporary_files_of_dead_writers_are_swept_and_those_of_live_ones_are_not(target, tmp_path):
    dead, live = target.parent / ".kept-dead.tmp", target.parent / ".kept-live.tmp"
    dead.write_bytes(b"half")
    live.write_bytes(b"half")
    with live.open("rb") as handle:
        files.fcntl.flock(handle, files.fcntl.LOCK_EX)
        write_if_unchanged(target, b"new", expect=read_file(target).stamp, root=tmp_path)
    assert temps(tmp_path) == [live.name]


def test_a_file_is_deleted_only_as_it_was_read(target, tmp_path):
    stamp = read_file(target).stamp
    target.write_bytes(b"edited")
    with pytest.raises(ChangedError):
        delete_if_unchanged(target, expect=stamp, root=tmp_path)
    delete_if_unchanged(target, expect=read_file(target).stamp, root=tmp_path)
    assert not target.exists()
    delete_if_unchanged(target, expect=stamp, root=tmp_path)
    delete_if_unchanged(tmp_path / "no" / "such", expect=stamp, root=tmp_path)


def test_what_is_put_aside_is_numbered_and_never_overwritten(target, tmp_path):
    state = tmp_path / "state"
    first = copy_to_quarantine(target, into=state)
    target.write_bytes(b"\0" * 10)
    second = copy_to_quarantine(target, into=state)
    assert [each.name for each in (first, second)] == ["memory.md.1", "memory.md.2"]
    assert (first.read_bytes(), second.read_bytes()) == (b"old", b"\0" * 10)
    assert mode(first) == 0o600
    assert target.exists()


def named(holder):
    """What the message must say of the process that holds the lock: its number, where the system lists locks."""
    return f"already running as process {holder}" if Path("/proc/locks").exists() else "already running"


def test_the_second_to_lock_is_told_who_was_first(tmp_path):
    path = tmp_path / "state" / "lock"
    with hold_lock(path), pytest.raises(BusyError, match=named(os.getpid())) as raised, hold_lock(path):
        pass
    assert raised.value.exit_code == 0
    with hold_lock(path):
        pass


HOLDER = """
import sys
from pathlib import Path
from kept.local.files import hold_lock

with hold_lock(Path(sys.argv[1])):
    print(flush=True)
    sys.stdin.read()
"""


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            with pytest.raises(BusyError, match=named(holder.pid)), hold_lock(path):
                pass
        finally:
            holder.kill()
            holder.wait()
        with hold_lock(path):
            pass


def test_an_error_inside_a_lock_passes_through_and_frees_it(tmp_path):
    path = tmp_path / "lock"
    with pytest.raises(FileNotFoundError), hold_lock(path):
        raise FileNotFoundError
    with hold_lock(path):
        pass


STEPS = st.lists(st.tuples(st.sampled_from(["ours", "theirs", "gone", "stale"]), st.binary(max_size=20)), max_size=12)


@given(STEPS)
def test_after_any_race_the_file_holds_what_the_last_to_know_it_wrote(tmp_path, steps):
    path = tmp_path / "memory.md"
    path.unlink(missing_ok=True)
    truth, stamp = None, MISSING
    for kind, data in steps:
        if kind == "theirs":
            path.write_bytes(data)
            truth = data
        elif kind == "gone":
            path.unlink(missing_ok=True)
            truth = None
        elif kind == "ours":
            stamp = write_if_unchanged(path, data, expect=read_file(path).stamp, root=tmp_path)
            truth = data
        else:
            known = read_file(path).stamp
            if stamp.digest == known.digest:
                stamp, truth = write_if_unchanged(path, data, expect=stamp, root=tmp_path), data
            else:
                with pytest.raises(ChangedError):
                    write_if_unchanged(path, data, expect=stamp, root=tmp_path)
        assert (path.read_bytes() if path.exists() else None) == truth
    assert temps(tmp_path) == []


def test_a_writer_killed_at_any_moment_leaves_the_old_file_or_the_new(tmp_path):
    path = tmp_path / "memory.md"
    old, new = b"old" * 1000, b"new" * 2000
    for step in range(1, 40, 2):
        path.write_bytes(old)
        child = os.fork()
        if child == 0:  # dies at its n-th call to the system
            left = [step]
            for name in ("open", "write", "fsync", "rename", "read", "fchmod", "lseek", "fstat", "close"):
                setattr(os, name, dying(getattr(os, name), left))
            write_if_unchanged(
                path, new, expect=files.FileStamp(digest=files._digest(old), inode=0, size=0, changed_ns=0), root=tmp_path
            )
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert path.read_bytes() in (old, new)
        if status == 0:
            break
    assert step > 9
    write_if_unchanged(path, new, expect=read_file(path).stamp, root=tmp_path)
    assert temps(tmp_path) == []


def dying(call, left):
    def counted(*args, **more):
        left[0] -= 1
        if left[0] == 0:
            os._exit(9)
        return call(*args, **more)

    return counted


def test_where_a_missing_file_is_denied_its_folder_is_named(tmp_path):
    with pytest.raises(KeptError) as raised, files.explain_os_errors(tmp_path / "rules" / "memory.md", "writing"):
        raise PermissionError(errno.EACCES, "denied")
    assert f"make the folder {tmp_path} readable" in raised.value.hint
