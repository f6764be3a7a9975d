"""Client of the embedding server, for hooks: it imports little and does not wait past its deadline.

A question with a session asks for turns of other sessions in one scope; without a session it asks for memories.
"""

import time
from collections.abc import Callable, Mapping

from kept.recall.embed_server import read_answer, send_question, socket_path
from kept.recall.nearby import NearnessLookup, NearnessReader

_LONGEST = 600  # only this many characters at the end of a message are sent: 2,000 take ten times as long as a short question


def ask_for_memories(state: str, message: str, seconds: float) -> NearnessLookup:
    """A lookup of memories near the message that asks the embedding server; it finds nothing if no answer comes in time."""

    def start(scopes: list[str]) -> NearnessReader:
        until = time.monotonic() + seconds
        connection = send_question(socket_path(state), {"message": message[-_LONGEST:], "scopes": scopes}, until)

        return lambda: read_answer(connection, until)

    return start


def ask_for_turns(state: str, message: str, session: str, seconds: float) -> Callable[[str], Mapping[str, float]]:
    """A lookup of turns of other sessions that asks the embedding server; it finds nothing if no answer comes in time."""

    def ask_server(scope: str) -> Mapping[str, float]:
        until = time.monotonic() + seconds
        question = {"message": message[-_LONGEST:], "scopes": [scope], "session": session}
        return read_answer(send_question(socket_path(state), question, until), until)

    return ask_server
