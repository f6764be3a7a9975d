"""Compare a memory on a PostgreSQL server to one in a file: the same commands over the same transcripts, and many writers.

Usage: python benchmarks/shared.py [--transcripts FOLDER] [--rounds 5] [--writes 40]

Prints two tables. Costs are processor times (user and system) of the command and of the server, as medians of the rounds. A writer
commits one memory at a time; the throughput of ten writers is compared to that of one by wall clock, alternately, because a busy
machine slows both.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from importlib.resources import files
from itertools import count
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

import psutil
import psycopg
from scale import addition, as_role, commit, open_replica, server

from kept.paths import find_paths
from kept.recall.index import UnitKind
from kept.recall.search import search
from kept.recall.server_search import search_server
from kept.store.postgres.server import PostgresServer
from kept.workspace import open_workspace

KEPT = [sys.executable, "-m", "kept"]
WORDS = ("deploy", "tests", "staging", "database", "release", "config", "errors", "build", "review", "parser")
ASKED = 100
ALLOWED = 1.5  # maximum cost of a command with a server, relative to that without one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, help="a folder of transcripts; the bundled sample without it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--writes", type=int, default=40, help="memories of each writer; 0: no writers")
    parser.add_argument("--writer", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.writer:
        write(Path(options.writer[0]), options.writer[1], options.writes)
        return
    source = options.transcripts or Path(str(files("kept.sample") / "projects"))
    with tempfile.TemporaryDirectory() as folder, server(Path(folder) / "server") as admin:
        PostgresServer(admin, create=True).close()
        machine = Machine(Path(folder), admin)
        compare(machine, source, options.rounds)
        if options.writes:
            writers(machine, options.rounds, options.writes)


class Machine:
    """Creates homes and owners on one server, and reads the server's processor time."""

    def __init__(self, folder: Path, admin: str) -> None:
        self.folder, self.admin = folder, admin
        self._postmaster = psutil.Process(int((folder / "server" / "postmaster.pid").read_text().split()[0]))
        self._numbers = count()

    def owner(self) -> str:
        """Create an owner and return its URL."""
        name = f"owner{next(self._numbers)}"
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {name} LOGIN")
        return as_role(self.admin, name)

    def home(self, *, shared: bool) -> Path:
        """Create a home, with its own owner on the server or with only a file."""
        home = self.folder / f"home{next(self._numbers)}"
        home.mkdir()
        if shared:
            kept(home, "config", "set", "store.url", self.owner())
        return home

    def used(self) -> float:
        """The processor seconds of all processes of the server, including ended ones."""
        while True:
            with suppress(psutil.NoSuchProcess):  # it has ended, and its time is now counted with the postmaster
                running = [process.cpu_times()[:2] for process in self._postmaster.children(recursive=True)]
                return sum(self._postmaster.cpu_times()[:4]) + sum(map(sum, running))


def kept(home: Path, *call: str, told: str = "") -> str:
    env = {**os.environ, "HOME": str(home), "KEPT_HOME": str(home)}
    done = subprocess.run([*KEPT, *call], env=env, input=told, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{call}: {done.stderr}")
    return done.stdout


def compare(machine: Machine, source: Path, rounds: int) -> None:
    costs: dict[tuple[str, bool], list[tuple[float, float]]] = defaultdict(list)

    def measure(what: str, home: Path, *call: str, shared: bool, told: str = "") -> None:
        before, there = getrusage(RUSAGE_CHILDREN), machine.used()
        kept(home, *call, told=told)
        after = getrusage(RUSAGE_CHILDREN)
        own = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        costs[what, shared].append((own, machine.used() - there))

    homes = {}
    for _ in range(rounds):
        for shared in (False, True):
            homes[shared] = machine.home(shared=shared)
            measure("first run", homes[shared], "run", str(source), shared=shared)
    for number in range(rounds * 2):
        payload = {"session_id": f"s{number}", "prompt": f"Look at the {WORDS[number % 10]} again.", "cwd": str(machine.folder)}
        for shared, home in homes.items():
            measure("run, nothing new", home, "run", str(source), shared=shared)
            measure("search", home, "search", WORDS[number % 10], "tests", shared=shared)
            measure("context", home, "context", f"the {WORDS[number % 10]} fails again", shared=shared)
            measure("hook before a prompt", home, "hook", "user-prompt", shared=shared, told=json.dumps(payload))
            measure("add", home, "add", f"Rule {number} is kept.", "--type", "constraint", shared=shared)
    print(f"{'':>22} {'file, s':>10} {'server, s':>10} {'there, s':>10} {'ratio':>8} {'with there':>11}")
    for what in dict.fromkeys(name for name, _ in costs):
        alone = median(own for own, _ in costs[what, False])
        own, there = (median(each) for each in zip(*costs[what, True], strict=True))
        told = "" if (own + there) / alone <= ALLOWED else f"  above {ALLOWED}"
        print(f"{what:>22} {alone:>10.3f} {own:>10.3f} {there:>10.3f} {own / alone:>8.2f} {(own + there) / alone:>11.2f}{told}")
    agreement(homes[True])


def agreement(home: Path) -> None:
    """Print how often the search on the server and the local search rank the same memory first, for three words of a memory."""
    chance, same, asked = random.Random(7), 0, 0
    with open_workspace(find_paths(str(home), {"HOME": str(home)}), env=dict(os.environ)) as workspace:
        url, recall = workspace.settings.store.url, workspace.settings.recall
        for memory in workspace.store.log.memories()[:ASKED]:
            words = [word for word in memory.content.split() if len(word) > 3]
            question = " ".join(chance.sample(words, min(3, len(words))))
            here = search(workspace, question, where=(UnitKind.MEMORY,), limit=1)
            there = search_server(url, question, recall, workspace.env, workspace.clock(), limit=1)
            asked, same = asked + 1, same + ([hit.id for hit in here] == [hit.id for hit in there])
    print(f"\nthe search on the server finds first what the search here does: {same} of {asked} questions of three words")


def write(folder: Path, url: str, writes: int) -> None:
    """Commit so many memories, after a signal on stdin."""
    chance = random.Random(folder.name)
    with open_replica(folder, url) as store:
        store.refresh()
        print("ready", flush=True)
        sys.stdin.readline()
        first, begun = len(store.log.memory_ids()), time.process_time()
        for number in range(writes):
            commit(store, [addition(chance, chance.randrange(10**4) * 1_000 + first + number)])
        print(time.process_time() - begun, flush=True)


def writers(machine: Machine, rounds: int, writes: int) -> None:
    one, ten = [machine.owner()], [machine.owner() for _ in range(10)]
    rates: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for number in range(rounds):
        for what, urls in (("one writer", one), ("ten writers, an owner each", ten), ("ten machines of one owner", one * 10)):
            rates[what].append(
                at_once(machine, [(machine.folder / f"{what}-{at}-{number}", url) for at, url in enumerate(urls)], writes)
            )
    print(f"\n{'':>28} {'commits/s':>10} {'ratio':>8} {'its ms':>8} {'server ms':>10}")
    alone = median(rate for rate, *_ in rates["one writer"])
    for what, found in rates.items():
        rate, own, there = (median(each) for each in zip(*found, strict=True))
        print(f"{what:>28} {rate:>10.1f} {rate / alone:>8.1f} {1000 * own:>8.1f} {1000 * there:>10.1f}")


def at_once(machine: Machine, who: list[tuple[Path, str]], writes: int) -> tuple[float, float, float]:
    """The commits per second of writers that start together, and the processor time per commit of a writer and of the server."""
    call = [sys.executable, __file__, "--writes", str(writes), "--writer"]
    started = [
        subprocess.Popen([*call, str(folder), url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for folder, url in who
    ]
    for each in started:
        assert each.stdout.readline() == "ready\n"
    begun, there = time.monotonic(), machine.used()
    for each in started:
        each.stdin.write("go\n")
        each.stdin.flush()
    own = sum(float(each.stdout.readline()) for each in started)
    passed, made = time.monotonic() - begun, writes * len(who)
    used = machine.used() - there
    for each in started:
        each.communicate()
    return made / passed, own / made, used / made


if __name__ == "__main__":
    main()
