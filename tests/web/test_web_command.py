"""``kept web`` as a process: what it tells, what it leaves behind, and what it says where it cannot begin."""

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from cli_world import kept, uninstall


@pytest.fixture
def start(home):
    started = []

    def begin(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "kept", "web", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **{name: value for name, value in os.environ.items() if "DISPLAY" not in name},
                "HOME": str(home),
                "KEPT_HOME": str(home),
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


def test_a_killed_start_leaves_no_key_and_the_next_tells_its_own_which_it_keeps_in_no_file(start, home, capsys, monkeypatch):
    first = start()
    _, left = address(first)
    first.kill()
    first.wait()
    process = start("--no-open")
    port, key = address(process)
    assert key != left
    files = [path for path in home.rglob("*") if path.is_file()]
    assert not [path for path in files if key.encode() in path.read_bytes()]
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/memories", headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200
    monkeypatch.setattr("webbrowser.open", lambda _: None)
    again = kept(capsys, "web")[1].splitlines()  # opens the page without the key
    assert again[:2] == ["The page is served already.", f"http://127.0.0.1:{port}/overview"]
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    assert process.stderr.read() == ""


def test_without_the_extra_it_says_how_to_get_it(home, capsys, monkeypatch):
    uninstall(monkeypatch, "fastapi", "kept.web")
    assert kept(capsys, "web") == (2, "", "kept: `kept web` needs the extra web → pip install 'kept[web]'\n")


def test_a_port_that_is_taken_is_told_in_one_line(served, capsys):
    code, out, err = kept(capsys, "web", "--home", served.home / "other", "--port", served.port)
    assert (code, out) == (2, "")
    assert err.startswith(f"kept: port {served.port} cannot be taken: ")
    assert err.count("\n") == 1
