"""The private socket between a warm process and a hook: who is answered, and that nobody waits for one who is dead, slow or
lying.
"""

import json
import os
import stat
import threading
import time
from contextlib import contextmanager, suppress
from socket import AF_UNIX, SOCK_STREAM, socket

import pytest

from kept.recall import embed_server
from kept.recall.embed_server import ask_for_turns, read_answer, send_question, socket_path
from kept.recall.embed_server.server import run_server
from waiting import until

QUESTION = {"message": "where are the invoices?", "scopes": ["user"]}
SHORT = 0.05


def ask(path, question=QUESTION, seconds=600.0):
    end = time.monotonic() + seconds
    return read_answer(send_question(str(path), question, end), end)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A server that gives a question as long as it takes on a busy machine."""
    monkeypatch.setattr("kept.recall.embed_server.server._SECONDS", 600.0)


@contextmanager
def serving(folder, answer):
    """A server that is ready."""
    ready = threading.Event()

    def prepare():
        ready.set()
        return answer

    with run_server(str(folder), prepare):
        ready.wait()
        until(lambda: ask(folder / embed_server.NAME))
        yield


@contextmanager
def pretending(path, reply):
    """Somebody who listens at the socket and does ``reply(connection)``; it is taken away at the end."""
    with socket(AF_UNIX, SOCK_STREAM) as door:
        door.bind(str(path))
        door.listen(1)

        def run():
            connection, _ = door.accept()
            with connection:
                reply(connection)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield
        thread.join()


def test_a_question_is_answered_with_numbers_by_id(tmp_path):
    with serving(tmp_path, lambda message, scopes, _: {message: 0.5, **dict.fromkeys(scopes, 1.0)}):
        assert ask(tmp_path / embed_server.NAME) == {QUESTION["message"]: 0.5, "user": 1.0}
        mode = os.lstat(tmp_path / embed_server.NAME).st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
    assert not (tmp_path / embed_server.NAME).exists()
    assert ask(tmp_path / embed_server.NAME) == {}


def test_a_socket_that_a_dead_process_left_is_harmless_and_the_next_takes_its_place(tmp_path):
    with socket(AF_UNIX, SOCK_STREAM) as door:
        door.bind(str(tmp_path / embed_server.NAME))
    assert ask(tmp_path / embed_server.NAME) == {}
    with serving(tmp_path, lambda *_: {"a": 0.9}):
        assert ask(tmp_path / embed_server.NAME) == {"a": 0.9}


def test_of_two_processes_the_second_answers_when_the_first_has_ended(tmp_path):
    prepared = []
    with serving(tmp_path, lambda *_: {"first": 1.0}):
        second = run_server(str(tmp_path), lambda: prepared.append(1) or (lambda *_: {"second": 1.0}))
        second.__enter__()
        assert ask(tmp_path / embed_server.NAME) == {"first": 1.0}
        assert prepared == []
    until(lambda: ask(tmp_path / embed_server.NAME) == {"second": 1.0})
    second.__exit__(None, None, None)


def test_who_does_not_answer_in_time_is_not_waited_for(tmp_path):
    over = threading.Event()
    with pretending(tmp_path / "s", lambda _: over.wait()):
        assert ask(tmp_path / "s", seconds=SHORT) == {}
        over.set()


def test_who_sends_a_byte_now_and_then_is_not_waited_for(tmp_path):
    over = threading.Event()

    def drip(connection):
        while not over.wait(0.01):
            try:
                connection.sendall(b"x")
            except OSError:
                return

    with pretending(tmp_path / "s", drip):
        assert ask(tmp_path / "s", seconds=SHORT) == {}
        over.set()


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"\n",
        b"no JSON\n",
        b"[1, 2]\n",
        b'{"a": "words", "b": null, "c": [1]}\n',
        b'{"a": 101, "b": -1, "c": NaN, "d": Infinity}\n',
        b"x" * (embed_server.MOST + 1) + b"\n",
        b"[" * 30_000 + b"\n",
        b"\xff\xfe\n",
        b'{"a": 0.5}',
    ],
    ids=["gone", "empty", "no-json", "a-list", "words", "no-cosines", "too-long", "too-deep", "no-utf8", "cut-off"],
)
def test_what_a_liar_tells_counts_for_nothing(tmp_path, reply):
    with pretending(tmp_path / "s", lambda connection: connection.sendall(reply)):
        assert ask(tmp_path / "s") == {}


def test_another_users_socket_is_told_nothing(tmp_path, monkeypatch):
    heard = []
    monkeypatch.setattr(embed_server, "peer_user", lambda _: os.geteuid() + 1)
    with pretending(tmp_path / "s", lambda connection: heard.append(connection.recv(100))):
        assert ask(tmp_path / "s") == {}
    assert heard == [b""]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_kernel_tells_another_users_socket_and_another_users_question(tmp_path):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # another user, who listens; it must end here whatever happens
        try:
            with socket(AF_UNIX, SOCK_STREAM) as door:
                door.bind(str(tmp_path / "s"))
                (tmp_path / "s").chmod(0o666)
                os.setuid(65_534)
                door.listen(1)
                os.write(write, b".")
                connection, _ = door.accept()
                connection.recv(100)
        finally:
            os._exit(0)
    os.read(read, 1)
    assert ask(tmp_path / "s") == {}
    os.waitpid(child, 0)


def test_who_asks_as_another_user_gets_nothing(tmp_path, monkeypatch):
    with serving(tmp_path, lambda *_: {"a": 0.9}):
        monkeypatch.setattr("kept.recall.embed_server.server.peer_user", lambda _: os.geteuid() + 1)
        assert ask(tmp_path / embed_server.NAME) == {}


@pytest.mark.parametrize(
    "question",
    [b"\n", b"no JSON\n", b"[]\n", b'{"message": 1, "scopes": []}\n', b'{"message": "x", "scopes": "user"}\n', b"x" * 100_000, b""],
)
def test_who_asks_wrongly_gets_nothing_and_the_next_is_answered(tmp_path, question):
    with serving(tmp_path, lambda *_: {"a": 0.9}):
        with socket(AF_UNIX, SOCK_STREAM) as rude:
            rude.connect(str(tmp_path / embed_server.NAME))
            with suppress(OSError):  # it may hang up in the middle of it
                rude.sendall(question)
        assert ask(tmp_path / embed_server.NAME) == {"a": 0.9}


def test_a_question_that_fails_unexpectedly_gets_nothing_and_the_next_is_answered(tmp_path):
    def answer(message, scopes, session):
        if message == "odd":
            raise OverflowError
        return {message: 1.0}

    with serving(tmp_path, answer):
        assert ask(tmp_path / embed_server.NAME, QUESTION | {"message": "odd"}) == {}
        assert ask(tmp_path / embed_server.NAME) == {QUESTION["message"]: 1.0}


def test_a_question_longer_than_a_message_may_be_is_not_asked(tmp_path):
    with serving(tmp_path, lambda *_: {"a": 0.9}):
        assert ask(tmp_path / embed_server.NAME, {"message": "x" * embed_server.MOST}) == {}


def test_a_home_whose_path_is_too_long_for_a_socket_has_none(tmp_path):
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    assert socket_path(str(deep)) == ""
    with run_server(str(deep), lambda: pytest.fail("nobody can ask")):
        pass
    assert list(deep.iterdir()) == []


def test_where_there_is_no_state_none_is_made(tmp_path):
    with run_server(str(tmp_path / "none"), lambda: pytest.fail("nobody can ask")):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_is_asked_stands_on_one_line(tmp_path):
    heard = []

    def hear(connection):
        heard.append(connection.recv(1_000))
        connection.sendall(b'{"a": 0.25}\n')

    with pretending(tmp_path / "s", hear):
        assert ask(tmp_path / "s", {"message": "two\nlines", "scopes": []}) == {"a": 0.25}
    assert json.loads(heard[0]) == {"message": "two\nlines", "scopes": []}
    assert heard[0].count(b"\n") == 1


def test_a_question_with_a_session_asks_for_what_was_said_in_the_others(tmp_path):
    answers = {None: {"memory": 0.9}, "s": {"turn": 0.6}}
    with serving(tmp_path, lambda _, __, session: answers[session]):
        assert ask_for_turns(str(tmp_path), "where do the lanterns hang?", "s", 30.0)("project:x") == {"turn": 0.6}
