"""Homes for fault injection, prepared once for all tests."""

import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from commands import CASE, World, world
from faults import FORKING, Result, environment, need
from warm import Warm

COUNT = "proven"


@pytest.fixture
def proven(record_property: Callable[[str, object], None]) -> Callable[[str, int], None]:
    """A function that counts what a test has done, for the totals at the end."""
    return lambda what, count: record_property(COUNT, (what, count))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many faults the passed tests have injected."""
    sums: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", ()):
        sums.update({what: count for name, (what, count) in report.user_properties if name == COUNT})
    for what, count in sorted(sums.items()):
        terminalreporter.write_line(f"{count:>7,} {what}")


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], World]:
    """A function that returns the world of a writing command by its name."""

    @cache
    def of(name: str) -> World:
        return world(CASE[name], tmp_path_factory.mktemp("world"))

    return of


class Ready:
    """Like `kept` of `faults`, but without starting Python for each command."""

    def __init__(self, folder: Path, library: Path | None = None) -> None:
        self._warm = Warm(folder, environment(folder), library)
        self.close = self._warm.close

    def __call__(
        self,
        home: Path,
        *arguments: object,
        prefix: Sequence[str] = (),
        limits: Mapping[int, int] | None = None,
        fault: tuple[int, int, bool] | None = None,
    ) -> Result:
        """Run a command under a prefix (strace) and resource limits, or with a fault in one of its writing calls."""
        code, out, err = self._warm.run(home, arguments, prefix, limits, fault)
        return Result(code=code, out=out, err=err)

    def calls(self, home: Path, *arguments: object) -> list[str]:
        """The names of the writing calls that a command makes."""
        assert self(home, *arguments, fault=(0, 0, False)).code == 0
        return self._warm.trail.read_text().split()

    def step(self, home: Path, arguments: Sequence[object], strace: str, calls: str, at: Callable[[str, str], None]) -> Result:
        """Run a command that stops after each of some system calls; ``at`` gets the name of the call, and the output so far."""
        code, out, err = self._warm.step(home, arguments, strace, calls, lambda call: at(call, self._warm.out.read_text()))
        return Result(code=code, out=out, err=err)


@pytest.fixture(scope="session", autouse=True)
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    """A started process that runs commands of `kept`."""
    ready = Ready(tmp_path_factory.mktemp("warm"))
    FORKING.append(ready)
    yield ready
    FORKING.clear()
    ready.close()


@pytest.fixture(scope="session")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    """Like `warm`, but with writing calls that can fail."""
    folder = tmp_path_factory.mktemp("failing")
    library = folder / "failing.so"
    source = Path(__file__).with_name("failing.c")
    subprocess.run([need("cc"), "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    ready = Ready(folder, library)
    yield ready
    ready.close()
