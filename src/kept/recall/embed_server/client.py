"""Client of the embedding server, for hooks: imports little and never waits past its deadline.

A question with a session asks for what was said in other sessions of the one scope; without, for memories.
"""

import time
from collections.abc import Callable, Mapping

from kept.recall.embed_server import read_answer, send_question, socket_path
from kept.recall.nearby import Meant, Nearest

_LONGEST = 600  # characters of a message whose meaning counts, its last: 2,000 take ten times as long as a short question


def ask_for_memories(state: str, message: str, seconds: float) -> Nearest:
    """How a context is given what a warm process tells; nothing where it does not within ``seconds`` of being asked."""

    def start(scopes: list[str]) -> Meant:
        until = time.monotonic() + seconds
        connection = send_question(socket_path(state), {"message": message[-_LONGEST:], "scopes": scopes}, until)

        def found() -> Mapping[str, float]:
            return read_answer(connection, until)

        return found

    return start


def ask_for_turns(state: str, message: str, session: str, seconds: float) -> Callable[[str], Mapping[str, float]]:
    """How a context is told by a warm process what was said in other sessions."""

    def ask_server(scope: str) -> Mapping[str, float]:
        until = time.monotonic() + seconds
        question = {"message": message[-_LONGEST:], "scopes": [scope], "session": session}
        return read_answer(send_question(socket_path(state), question, until), until)

    return ask_server
