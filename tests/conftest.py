"""Fixtures that every test may ask for."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, settings

from clock import Clock
from kept.local.agents_shell import SIGNS
from kept.paths import find_paths
from kept.workspace import open_workspace
from postgres_server import owners

# Seconds a test may take on a machine ten times as busy as a quiet one, where each takes less than a tenth of that. They end what
# hangs; no test waits for less than these, so that a busy machine fails none.
LIMIT = 900
SLOW_LIMIT = 4 * 3600

# How long an example takes says nothing about what it proves. `make test` tries the same examples each time; `make torture` tries
# others, and more where a test does not say how many.
_EVER = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]}
settings.register_profile("kept", **_EVER, derandomize=True, max_examples=50)
settings.register_profile("long", **_EVER, max_examples=1_000, database=None)
settings.load_profile("kept")


# A store waits for the disk at each commit, a hundred times in a test; files in memory wait for nothing.
MEMORY, ENOUGH = "/dev/shm", 4 << 30
IN_MEMORY = pytest.StashKey[str]()


def folders_in_memory() -> str:
    """The folder below which tests get theirs: in memory, where the system has room for them and lets programs run from there."""
    try:
        found = os.statvfs(MEMORY)
    except OSError:
        return ""
    fit = found.f_bavail * found.f_frsize >= ENOUGH and not found.f_flag & os.ST_NOEXEC and os.access(MEMORY, os.W_OK)
    return MEMORY if fit else ""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hear Ctrl-C, and let the commands that tests start hear it: what a shell starts in the background is deaf to it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for sign in SIGNS:  # the tests play the person, whoever starts them
        os.environ.pop(sign, None)
    if config.option.basetemp is None and "PYTEST_DEBUG_TEMPROOT" not in os.environ and (place := folders_in_memory()):
        config.option.basetemp = config.stash[IN_MEMORY] = mkdtemp(dir=place)  # short: the path of a socket has a hundred bytes
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each core has a worker of its own
    os.environ["KEPT_EMBEDDINGS"] = "hashing"  # no test loads the real model unasked, nor does a command it starts


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each test its time limit, unless it names one. A signal interrupts it, so that the next ones run, in the same worker
    too.
    """
    if not config.pluginmanager.hasplugin("timeout"):  # `-p no:timeout`, to stand still in a debugger
        return
    for item in items:
        if item.get_closest_marker("timeout") is None:
            slow = item.get_closest_marker("slow") is not None
            item.add_marker(pytest.mark.timeout(SLOW_LIMIT if slow else LIMIT, method="signal"))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Give the memory back, unless somebody may want to look at what failed."""
    if exitstatus != pytest.ExitCode.TESTS_FAILED and (folder := session.config.stash.get(IN_MEMORY, "")):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared samples; the test is skipped where it is absent."""
    given = os.environ.get("KEPT_SHARED")
    folder = Path(given) if given else Path(__file__).parents[1] / ".." / "shared"
    if not folder.is_dir():
        pytest.skip("the shared samples are not here")
    return folder.resolve()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    """The URL of a new owner on a real PostgreSQL with each call; skipped where there is none."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with owners(folder / "pg") as new_owner:
        yield new_owner


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home of the test's own, as HOME and KEPT_HOME."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KEPT_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def transcripts(home: Path) -> Path:
    """The sample's transcripts where Claude Code keeps its own."""
    place = home / ".claude" / "projects"
    shutil.copytree(Path(str(files("kept.sample") / "projects")), place)
    return place


@pytest.fixture
def desk_at(clock: Clock):
    """Opens a workspace at a home: ``with desk_at(folder) as workspace``."""

    @contextmanager
    def at(folder: Path, **options):
        env = {"HOME": str(folder), "KEPT_EMBEDDINGS": "hashing", **options.pop("variables", {})}
        with open_workspace(
            find_paths(str(folder), env), zone=options.pop("zone", "Europe/Berlin"), clock=clock, env=env, **options
        ) as workspace:
            yield workspace

    return at
