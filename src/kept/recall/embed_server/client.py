"""Client of the embedding server, for hooks: imports little and never waits past its deadline."""

import time
from collections.abc import Mapping

from kept.recall.embed_server import begin, path_of, read_answer
from kept.recall.nearby import Meant, Nearest

_LONGEST = 600  # characters of a message whose meaning counts, its last: 2,000 take ten times as long as a short question


def ask(state: str, message: str, seconds: float) -> Nearest:
    """How a context is given what a warm process tells; nothing where it does not within ``seconds`` of being asked."""

    def start(scopes: list[str]) -> Meant:
        until = time.monotonic() + seconds
        connection = begin(path_of(state), {"message": message[-_LONGEST:], "scopes": scopes}, until)

        def found() -> Mapping[str, float]:
            return read_answer(connection, until)

        return found

    return start
