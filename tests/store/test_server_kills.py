"""A server that is killed at any step of a change: what machines were told is kept is there, and nothing twice."""

from hashlib import sha256
from itertools import cycle

import pytest

from kept.core.errors import StoreError
from postgres_server import private_server
from store_world import add, archive, commit, event, replica

pytestmark = pytest.mark.slow
KILLS = 50
STEPS = ("lock", "changed", "put", "before commit", "after commit")


class Dying:
    """A connection whose server is killed at a step of its owner's next change, where one is named."""

    def __init__(self, server, kill) -> None:
        self.server, self.kill, self.step = server, kill, ""

    def __getattr__(self, name):
        if name == self.step:
            self._die()
        return getattr(self.server, name)

    def commit(self, head) -> None:
        if self.step == "before commit":
            self._die()
        self.server.commit(head)
        if self.step == "after commit":
            self._die()
            raise StoreError("the reply was lost")

    def _die(self) -> None:
        self.step = ""
        self.kill()


def remember(store, text: str) -> None:
    """One change of several rows, made again where it is not known whether it holds."""
    number = sha256(text.encode()).hexdigest()[:10]
    if store.log.memory(number) is None:
        with store.transaction():
            archive(store, event(number, text=text), path=text)
            commit(store, add(number, text))
            store.log.mark_group_curated("coding", "user")


def test_fifty_kills_of_the_server_lose_nothing_and_make_nothing_twice(tmp_path):
    from kept.store.postgres.server import PostgresServer  # noqa: PLC0415 - where a server can be had, psycopg is installed
    from kept.store.replica.store import ReplicaStore  # noqa: PLC0415

    with private_server(tmp_path / "server") as (url, kill, start):
        PostgresServer(url, create=True).close()
        connections: dict[str, Dying] = {}
        failed, told = 0, []

        def machine(name):
            def connect():
                connections[name] = Dying(PostgresServer(url), kill)
                return connections[name]

            return ReplicaStore(tmp_path / name / "kept.db", connect)

        with machine("a") as first, machine("b") as second:
            stores = {"a": first, "b": second}
            for store in stores.values():
                store.refresh()
            for number, step, name in zip(range(KILLS), cycle(STEPS), cycle("aab"), strict=False):
                text = f"rule {number}"
                remember(stores[name], f"{text} before")
                remember(stores["b" if name == "a" else "a"], f"{text} elsewhere")
                connections[name].step = step
                try:
                    remember(stores[name], text)
                except StoreError:
                    failed += 1
                start()
                remember(stores[name], text)
                told += [f"{text} before", f"{text} elsewhere", text]
            for store in stores.values():
                store.refresh()
            assert failed == KILLS
            assert sorted(memory.content for memory in first.log.memories()) == sorted(told)
            assert list(first.export_rows()) == list(second.export_rows())
            for store in stores.values():
                assert store.find_damage() == ()
        with replica(tmp_path / "new" / "kept.db", url) as store:
            store.refresh()
            store.prove_server()
