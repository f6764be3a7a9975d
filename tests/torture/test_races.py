"""Several processes at once lose no update, and none is told that the store is locked."""

import multiprocessing
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from faults import SAMPLE, desk_at, environment, kept, memory_file, need, ran, remembered, state, store_of, traced

from kept.changes import apply_person_change
from kept.core.errors import StoreError
from kept.local import files
from kept.memories import person
from kept.outputs import write as writing
from kept.pipeline.run import RunOptions, run_pipeline
from kept.store import database
from waiting import until

WRITER = Path(__file__).parent / "writer.py"
RULE = "Quokka releases go out on Tuesdays only."
HOLD = """
import sys, time
from pathlib import Path
from kept.local.files import hold_lock
from kept.paths import Paths
home = Paths(root=Path(sys.argv[1]), user=Path(sys.argv[1]))
with hold_lock(home.lock), hold_lock(home.state / "outputs.lock"):
    print("held", flush=True)
    time.sleep(600)
"""


def writers(home: Path, folder: Path, how: str, processes: int, count: int) -> list[subprocess.Popen]:
    return [
        subprocess.Popen(
            [sys.executable, str(WRITER), str(home), str(folder / f"acked{number}"), f"p{number}x", str(count), how],
            env=environment(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]


def all_there(home: Path, folder: Path, how: str, processes: int, count: int) -> None:
    """Let so many processes remember so many sentences each at once: all are there afterwards, in the store and in the file."""
    started = writers(home, folder, how, processes, count)
    while any(each.poll() is None for each in started):
        connection = sqlite3.connect(store_of(home), timeout=30)
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        connection.close()
    for each in started:
        out, err = each.communicate()
        assert (each.returncode, err) == (0, ""), err
        assert "operations/s" in out
    told = {text for each in folder.glob("acked*") for text in each.read_text().splitlines()}
    assert len(told) == processes * count
    assert told <= {content for _, content, _, _ in state(home)}
    if how == "files":
        with desk_at(home) as workspace:
            text = memory_file(home).read_bytes()
            apply_person_change(workspace, lambda: None)
            assert memory_file(home).read_bytes() == text, "the file was behind the store"


def test_processes_that_remember_at_once_lose_nothing(tmp_path):
    home = tmp_path / "home"
    ran(home)
    all_there(home, tmp_path, "files", 2, 4)


@pytest.mark.slow
def test_four_processes_remember_a_hundred_sentences_each_and_all_four_hundred_are_there(tmp_path):
    home = tmp_path / "home"
    ran(home)
    all_there(home, tmp_path, "files", 4, 100)


@pytest.mark.slow
def test_four_writers_of_five_hundred_lose_none_while_the_store_is_checked(tmp_path):
    home = tmp_path / "home"
    ran(home)
    all_there(home, tmp_path, "store", 4, 500)


def test_a_change_that_takes_long_holds_no_lock(tmp_path):
    """While one process waits for something outside (a person, a model), another one changes what is remembered."""
    ran(tmp_path)

    def slowly():
        assert kept(tmp_path, "add", RULE, "--type", "constraint").code == 0
        return person.create_memory(workspace, "Kiwis pack crate 9 first.", "constraint")

    with desk_at(tmp_path) as workspace:
        apply_person_change(workspace, slowly)
        contents = {content for _, content, _, _ in remembered(workspace)}
    assert {RULE, "Kiwis pack crate 9 first."} <= contents
    assert RULE in memory_file(tmp_path).read_text()
    assert "Kiwis" in memory_file(tmp_path).read_text()


def test_an_edit_between_our_read_and_our_write_is_kept_beside_ours(tmp_path, monkeypatch):
    ran(tmp_path)
    path, real, edits = memory_file(tmp_path), files.write_if_unchanged, []

    def write(target, data, *, expect, root, links=None):
        if target == path and not edits:
            edits.append(path.read_text())
            path.write_text(
                edits[0].replace("never as CSV", "and never as CSV, ever").rstrip("\n") + "\n\nMy own words stay here.\n"
            )
        return real(target, data, expect=expect, root=root, links=links)

    monkeypatch.setattr(writing.files, "write_if_unchanged", write)
    assert edits == []
    with desk_at(tmp_path) as workspace:
        apply_person_change(workspace, lambda: person.create_memory(workspace, RULE, "constraint"))
    text = path.read_text()
    assert edits
    assert RULE in text
    assert "My own words stay here." in text
    state(tmp_path)


def test_an_edit_at_every_try_is_never_written_over(tmp_path, monkeypatch):
    ran(tmp_path)
    path, real, count = memory_file(tmp_path), files.write_if_unchanged, []

    def write(target, data, *, expect, root, links=None):
        count.append(1)
        path.write_text(path.read_text() + f"Edit number {len(count)} of mine.\n")
        return real(target, data, expect=expect, root=root, links=links)

    monkeypatch.setattr(writing.files, "write_if_unchanged", write)
    with desk_at(tmp_path) as workspace:
        _, told = apply_person_change(workspace, lambda: person.create_memory(workspace, RULE, "constraint"))
    assert any("changed after it was read" in each for each in told.problems)
    for number in range(1, len(count) + 1):
        assert f"Edit number {number} of mine." in path.read_text()
    monkeypatch.undo()
    ran(tmp_path)
    assert RULE in path.read_text()
    assert "Edit number 1 of mine." in path.read_text()


def test_a_second_run_is_told_so_and_a_dead_ones_lock_is_free(tmp_path):
    home = tmp_path
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(home)], env=environment(home), stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    second = kept(home, "run", SAMPLE)
    assert second.code == 0
    assert "already running" in f"{second.out}{second.err}"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    assert kept(home, "run", SAMPLE).code == 0
    assert state(home)


def _use(workspace, answers):
    try:
        workspace.store.log.memories()
        answers.put("served")
    except StoreError as error:
        answers.put(error.what)


def test_a_forked_process_is_refused_the_connection_and_the_parent_keeps_it(tmp_path):
    ran(tmp_path)
    context = multiprocessing.get_context("fork")
    with desk_at(tmp_path) as workspace:
        answers = context.Queue()
        child = context.Process(target=_use, args=(workspace, answers))
        child.start()
        answer = answers.get()
        child.join()
        answers.close()
        answers.join_thread()
        assert "forked" in answer
        person.create_memory(workspace, RULE, "constraint")
    state(tmp_path)


COMMANDS = (
    ["run", SAMPLE],
    ["add", RULE, "--type", "constraint"],
    ["list"],
    ["check"],
    ["undo"],
    ["export"],
    ["status"],
    ["rebuild"],
)


@pytest.mark.parametrize(
    "command", [*COMMANDS[:2], *(pytest.param(each, marks=pytest.mark.slow) for each in COMMANDS[2:])], ids=str
)
def test_nobody_but_sqlite_opens_the_store_file(tmp_path, command):
    """An open and close beside SQLite's own would drop the process's POSIX locks on the file; SQLite keeps count of its
    connections.
    """
    home, listed = tmp_path / "home", tmp_path / "calls"
    ran(home)
    need("strace")
    assert kept(home, *command, prefix=traced("open,openat,openat2,creat", listed)).code == 0
    opened = [line for line in listed.read_text().splitlines() if f'{store_of(home)}"' in line and " = -1 " not in line]
    assert opened
    assert [line for line in opened if "O_NOFOLLOW|O_CLOEXEC" not in line] == []  # how SQLite opens, and nobody else here


PROBE = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], timeout=0).execute("SELECT count(*) FROM memories").fetchone()
except sqlite3.OperationalError:
    print("locked")
"""


def waits_to_commit(home: Path) -> bool:
    """Whether somebody is about to write into the store file: then SQLite lets no further reader of another process in."""
    return subprocess.run([sys.executable, "-c", PROBE, str(store_of(home))], stdout=subprocess.PIPE, check=True).stdout != b""


def test_a_reader_that_stands_still_makes_a_writer_wait_and_not_fail(tmp_path):
    ran(tmp_path)
    reader = sqlite3.connect(store_of(tmp_path), isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM memories").fetchall()
    command = [sys.executable, "-m", "kept", "add", RULE, "--type", "constraint", "--home", str(tmp_path)]
    writer = subprocess.Popen(command, env=environment(tmp_path))
    until(lambda: writer.poll() is not None or waits_to_commit(tmp_path))
    assert writer.poll() is None, "it did not wait for the reader"
    reader.execute("ROLLBACK")
    reader.close()
    assert writer.wait() == 0
    assert any(content == RULE for _, content, _, _ in state(tmp_path))


def test_a_reader_that_never_ends_is_named_after_a_while_and_nothing_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "_BUSY_MS", 200)
    before = ran(tmp_path)
    reader = sqlite3.connect(store_of(tmp_path), isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM memories").fetchall()
    with desk_at(tmp_path) as workspace, pytest.raises(StoreError, match="locked"):
        person.create_memory(workspace, RULE, "constraint")
    reader.close()
    assert state(tmp_path) == before
    assert kept(tmp_path, "add", RULE, "--type", "constraint").code == 0


def test_a_command_whose_output_nobody_reads_blocks_no_writer(tmp_path):
    """An export into a pager that stands still holds no transaction: the store was read before the first byte is written."""
    ran(tmp_path)
    with desk_at(tmp_path) as workspace, workspace.store.transaction():
        for number in range(9):
            person.create_memory(workspace, f"Rule {number} holds for crate c{number}. " + "x" * 400, "constraint")
    command = [sys.executable, "-m", "kept", "export", "--home", str(tmp_path)]
    stuck = subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.PIPE, pipesize=4096)
    assert stuck.stdout is not None
    assert stuck.stdout.read(1) == b"{"
    assert stuck.poll() is None
    with desk_at(tmp_path) as workspace:
        person.create_memory(workspace, RULE, "constraint")
    stuck.kill()
    stuck.stdout.close()
    stuck.wait()
    state(tmp_path)


def test_a_run_and_a_person_at_once_both_get_their_way(tmp_path):
    """A person's command in the middle of a run is neither refused nor lost."""
    with desk_at(tmp_path) as workspace:
        told = []

        def progress(stage, number, total):
            if stage == "curating" and not told:
                told.append(kept(tmp_path, "add", RULE, "--type", "constraint"))

        run_pipeline(workspace, [SAMPLE], RunOptions(), progress=progress)
    assert [each.code for each in told] == [0]
    assert RULE in memory_file(tmp_path).read_text()
    assert any(content == RULE for _, content, _, _ in state(tmp_path))
