"""``kept web`` as a process: what it tells, what it leaves behind, and what it says where it cannot begin."""

import os
import re
import signal
import stat
import subprocess
import sys
import urllib.request

import pytest


@pytest.fixture
def start(home):
    started = []

    def begin(*arguments, **env):
        process = subprocess.Popen(
            [sys.executable, "-m", "kept", "web", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **{name: value for name, value in os.environ.items() if "DISPLAY" not in name},
                "HOME": str(home),
                "KEPT_HOME": str(home),
                **env,
            },
        )
        started.append(process)
        return process

    yield begin
    for each in started:
        each.kill()
        each.communicate()


def address(process):
    process.stdout.readline()
    return re.fullmatch(r"http://127\.0\.0\.1:(\d+)/overview#([\w-]{43})\n", process.stdout.readline()).groups()


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_tells_its_address_answers_and_leaves_no_key_behind_however_it_is_ended(start, home, end):
    process = start("--no-open")
    port, key = address(process)
    path = home / ".local" / "share" / "kept" / "web.key"
    assert (path.read_text().strip(), stat.S_IMODE(path.stat().st_mode)) == (key, 0o600)
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/memories", headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200
    again = start()
    assert address(again) == (port, key)
    assert again.wait() == 0
    process.send_signal(end)
    assert process.wait() == 0
    assert process.stderr.read() == ""
    assert not path.exists()


def test_a_key_that_a_killed_process_left_opens_nothing_and_the_next_start_makes_its_own(start, home):
    first = start()
    _, left = address(first)
    first.kill()
    first.wait()
    second = start()
    port, key = address(second)
    assert key != left
    assert int(port)


def test_without_the_extra_it_says_how_to_get_it(start, tmp_path):
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "fastapi.py").write_text("raise ImportError('not here')\n")
    process = start(PYTHONPATH=str(tmp_path / "without"))
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert err == "kept: `kept web` needs the extra web → pip install 'kept[web]'\n"


def test_a_port_that_is_taken_is_told_in_one_line(start, served):
    process = start("--home", str(served.home / "other"), "--port", str(served.port))
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert err.startswith(f"kept: port {served.port} cannot be taken: ")
    assert err.count("\n") == 1
