"""Fixtures for all tests."""

import gc
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from clock import Clock
from kept.local.agents_shell import VARIABLES
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.store.sqlite import SqliteStore
from kept.workspace import open_workspace
from postgres_server import owners
from prepared import SAMPLE, Prepared, open_at

# Time limits of a test in seconds. On an idle machine each test takes less than a tenth of this. The limits end tests that hang; no
# test has a shorter one, so that none fails on a busy machine.
LIMIT = 900
SLOW_LIMIT = 4 * 3600

# There is no deadline for examples, because their duration proves nothing. `make test` uses the same examples every time;
# `make torture` uses others, and more of them if a test does not set a number.
_EVER = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]}
settings.register_profile("kept", **_EVER, derandomize=True, max_examples=20)
settings.register_profile("long", **_EVER, max_examples=1_000, database=None)
settings.load_profile("kept")


# A store waits for the disk at each commit, a hundred times in a test; files in memory avoid this.
MEMORY, ENOUGH = "/dev/shm", 4 << 30
IN_MEMORY = pytest.StashKey[str]()


def folders_in_memory() -> str:
    """The folder for the tests' folders: in memory, if there is enough space and programs may run from there; else empty."""
    try:
        found = os.statvfs(MEMORY)
    except OSError:
        return ""
    fit = found.f_bavail * found.f_frsize >= ENOUGH and not found.f_flag & os.ST_NOEXEC and os.access(MEMORY, os.W_OK)
    return MEMORY if fit else ""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Handle Ctrl-C, also in commands that tests start: processes that a shell starts in the background ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for sign in VARIABLES:  # the tests act as a person, even if an agent starts them
        os.environ.pop(sign, None)
    if config.option.basetemp is None and "PYTEST_DEBUG_TEMPROOT" not in os.environ and (place := folders_in_memory()):
        config.option.basetemp = config.stash[IN_MEMORY] = mkdtemp(dir=place)  # short: socket paths are limited to 100 bytes
        os.environ["TMPDIR"] = config.option.basetemp
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each core already has a worker
    os.environ["KEPT_EMBEDDINGS"] = "hashing"  # neither a test nor a command that it starts loads the real model by default


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each test a time limit, unless it sets one. A signal interrupts it, so that the next tests run in the same worker."""
    if settings.get_current_profile_name() == "kept":  # else the examples of `make test` change with the constants of every module
        providers._get_local_constants = providers.Constants
    if not config.pluginmanager.hasplugin("timeout"):  # `-p no:timeout` is for debuggers
        return
    for item in items:
        if item.get_closest_marker("timeout") is None:
            slow = item.get_closest_marker("slow") is not None
            item.add_marker(pytest.mark.timeout(SLOW_LIMIT if slow else LIMIT, method="signal"))


def pytest_collection_finish() -> None:
    """Have the garbage collector look no more at modules and collected tests, which stay: that takes a sixth of a test's time."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Delete the folders in memory, unless tests failed and somebody may want to look at them."""
    if exitstatus != pytest.ExitCode.TESTS_FAILED and (folder := session.config.stash.get(IN_MEMORY, "")):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared samples; skips the test if it is missing."""
    given = os.environ.get("KEPT_SHARED")
    folder = Path(given) if given else Path(__file__).parents[1] / ".." / "shared"
    if not folder.is_dir():
        pytest.skip("the shared samples are not here")
    return folder.resolve()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    """A function that returns the URL of a new owner on a real PostgreSQL server; skips the test if there is none."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with owners(folder / "pg") as new_owner:
        yield new_owner


@pytest.fixture(scope="session")
def prepared_sample(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """A home with the sample's transcripts, which were read and remembered once."""

    def make(home: Path) -> None:
        shutil.copytree(SAMPLE, home / ".claude" / "projects")
        with open_at(home) as workspace:
            run_pipeline(workspace, [], RunOptions())

    return Prepared(tmp_path_factory, make)


@pytest.fixture
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home for the test, or the prepared one it asks for (``prepared_…``), set as HOME and KEPT_HOME."""
    for name in request.fixturenames:
        if name.startswith("prepared_"):
            return request.getfixturevalue(name).again(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KEPT_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def transcripts(home: Path) -> Path:
    """The sample's transcripts, in the folder where Claude Code keeps its transcripts."""
    return shutil.copytree(SAMPLE, home / ".claude" / "projects")


@pytest.fixture
def remembered_sample(home: Path, prepared_sample: Prepared) -> Path:
    """The sample's transcripts, which were read before the test began."""
    return home / ".claude" / "projects"


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store file without content. Copying it takes a tenth of the time of making one."""
    path = tmp_path_factory.mktemp("store") / "empty.db"
    with SqliteStore(path):
        return path


@pytest.fixture
def desk_at(clock: Clock, empty_store: Path):
    """A function that opens a workspace for a home: ``with desk_at(folder) as workspace``. A new home has an empty store."""

    @contextmanager
    def at(folder: Path, **options):
        env = {"HOME": str(folder), "KEPT_EMBEDDINGS": "hashing", **options.pop("variables", {})}
        paths = find_paths(str(folder), env)
        if not (options.get("dry") or paths.state.exists()):
            paths.state.mkdir(parents=True, mode=0o700)
            shutil.copy(empty_store, paths.store)
        with open_workspace(paths, zone=options.pop("zone", "Europe/Berlin"), clock=clock, env=env, **options) as workspace:
            yield workspace

    return at
