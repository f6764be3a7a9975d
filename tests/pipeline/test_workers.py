"""Other processes read, and one remembers: what is remembered is the same, whoever read it and whatever became of them."""

import os
import pickle
import re
import shutil
import signal
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager, nullcontext
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

from kept.core.errors import ConfigError
from kept.core.value import replace
from kept.intake import reading
from kept.intake.cleaned_files import weigh_file
from kept.intake.discovery import discover
from kept.llm.adapters.scripted import ScriptedModel
from kept.llm.client import LlmClient
from kept.llm.replies import ReplyCache
from kept.local.workers import Workers, map_ahead
from kept.pipeline import backfill as backfilling
from kept.pipeline import run
from kept.pipeline.backfill import backfill
from kept.pipeline.run import RunOptions, run_pipeline
from kept.recall.index.head import vector_model
from kept.recall.index.vectors import Vectors
from kept.recall.indexing import update_index
from prepared import SAMPLE, open_at
from scripted_client import NOTHING
from talking import OTHER, RULE, say

LONG = [RULE if n == 3 else OTHER if n == 31 else f"Now look at part {n} and tell me why it is slow." for n in range(70)]


class Elsewhere(Executor):
    """Does each piece of work on copies, as another process does; loses those from ``lost`` on."""

    def __init__(self, lost: int = 10**9) -> None:
        self.done, self.lost, self.given = 0, lost, []

    def submit(self, function, /, *args):
        self.done += 1
        self.given.append(args)
        future = Future()
        if self.done > self.lost:
            future.set_exception(BrokenExecutor())
        else:
            future.set_result(pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(args))))))
        return future


def without_marks(event):
    """An event whose marks of secrets are those of no store: each draws a key for them."""
    return replace(event, text=re.sub(r"(?<=\[redacted:)([\w-]+):[0-9a-f]{8}(?=\])", r"\1", event.text))


def remembered(workspace):
    """Everything that a store would export, but what each store draws for itself."""
    log, archive = workspace.store.log, workspace.store.archive
    threads = [*archive.threads()]
    return (
        log.memories(),
        [log.thread_proposals(thread.id, 0) for thread in threads],
        [[without_marks(event) for event in archive.events(thread.id, 0, thread.events)] for thread in threads],
        [*archive.files()],
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A folder of transcripts, and what one process remembers of them."""
    home = tmp_path_factory.mktemp("long")
    folder = shutil.copytree(SAMPLE, home / ".claude" / "projects")
    say(home, "long", *LONG)
    say(home, "off", "kept: off the record", "Remember that the vault opens at nine.")
    with open_at(home) as workspace:
        run_pipeline(workspace, [folder], RunOptions())
        return folder, remembered(workspace)


@pytest.mark.parametrize("lost", [10**9, 1])
def test_workers_and_workers_that_are_lost_make_no_difference(desk_at, tmp_path, alone, lost):
    folder, found = alone
    with desk_at(tmp_path / "with") as workspace:
        elsewhere = Elsewhere(lost)
        report = run_pipeline(workspace, [folder], RunOptions(workers=Workers(executor=elsewhere, ahead=2)))
        assert elsewhere.done >= 3
        assert remembered(workspace) == found
        assert run_pipeline(workspace, [folder], RunOptions()).reading.fresh == 0
        assert not report.partly


def test_no_worker_reads_more_than_a_batch_at_once(desk_at, tmp_path, transcripts, home, monkeypatch):
    say(home, "long", *LONG)
    monkeypatch.setattr(reading, "_WORKER_BATCH_BYTES", 2_000)
    monkeypatch.setattr(reading, "BATCH_BYTES", 8_000)
    elsewhere = Elsewhere()
    with desk_at(tmp_path / "with") as workspace:
        found = discover(workspace, [transcripts])
        report = reading.archive_files(workspace, found, force=False, workers=Workers(executor=elsewhere, ahead=2))
    assert report.files == len(found.files)
    sizes = [sum(weigh_file(str(file.path)) for file in files) for (files,) in elsewhere.given]
    assert sizes
    assert max(sizes) <= 8_000 < max(map(weigh_file, found.files))


def test_no_more_work_is_under_way_than_may_wait():
    begun = []
    for item, made in map_ahead(Workers(executor=Elsewhere(), ahead=3), abs, ((begun.append(n) or n, -n) for n in range(9))):
        assert made == item
        assert len(begun) <= item + 3
    assert begun == [*range(9)]


def test_a_dask_cluster_remembers_what_one_process_does(desk_at, tmp_path, alone):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(2, processes=False, threads_per_worker=1, dashboard_address=":0") as cluster,
        desk_at(tmp_path / "dask") as workspace,
    ):
        backfill(workspace, alone[:1], RunOptions(), scheduler=cluster.scheduler_address)
        assert remembered(workspace) == alone[1]


def fetched_again(desk_at, folder, address):
    """What is remembered of an archive at an address; a second time finds nothing new, and no file of it is left here."""
    with desk_at(folder) as workspace:
        backfill(workspace, [address], RunOptions())
        found = {(memory.content, memory.status) for memory in workspace.store.log.memories()}
        assert backfill(workspace, [address], RunOptions()).reading.fresh == 0
        assert not (workspace.paths.state / "fetched").exists()
    return found


@pytest.fixture
def sample(desk_at, tmp_path, transcripts):
    """What is remembered of the sample as it lies on this machine."""
    with desk_at(tmp_path / "here") as workspace:
        run_pipeline(workspace, [transcripts], RunOptions())
        return {(memory.content, memory.status) for memory in workspace.store.log.memories()}


def test_an_archive_at_an_address_of_fsspec_is_remembered_as_one_on_this_machine(desk_at, tmp_path, transcripts, sample):
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.put(str(transcripts), "/archive", recursive=True)
    try:
        assert fetched_again(desk_at, tmp_path / "memory", "memory://archive") == sample != set()
    finally:
        system.rm("/archive", recursive=True)


def test_an_archive_on_a_web_server_is_remembered_as_one_on_this_machine(desk_at, tmp_path, transcripts, sample):
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(transcripts)))
    thread = Thread(target=server.serve_forever, args=(0.005,), daemon=True)
    thread.start()
    try:
        assert fetched_again(desk_at, tmp_path / "web", f"http://127.0.0.1:{server.server_port}/") == sample != set()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("address", ["nowhere://archive", "memory://nothing-there"])
def test_an_address_where_nothing_can_be_read_is_told(desk_at, tmp_path, address):
    pytest.importorskip("fsspec")
    with desk_at(tmp_path / "none") as workspace, pytest.raises(ConfigError, match="cannot be read"):
        backfill(workspace, [address], RunOptions())


@pytest.mark.slow
def test_processes_remember_what_one_does(desk_at, tmp_path, alone):
    with desk_at(tmp_path / "many") as workspace:
        backfill(workspace, alone[:1], RunOptions(), processes=2)
        assert remembered(workspace) == alone[1]


class Batching(ScriptedModel):
    """A model that also takes batches."""

    def __init__(self):
        super().__init__(lambda _: NOTHING)
        self.handed = []

    def submit(self, asks):
        self.handed.append(asks)
        return f"batch-{len(self.handed)}"

    def collect(self, _):
        return None


@pytest.mark.parametrize("base_url", ["", "http://127.0.0.1:1/v1"])
def test_a_backfill_hands_what_can_wait_to_the_batch_interface_of_a_provider(desk_at, tmp_path, home, monkeypatch, base_url):
    monkeypatch.setattr(backfilling, "start_processes", lambda _: nullcontext())
    say(home, "s1", RULE, OTHER)
    model = Batching()
    with desk_at(tmp_path / "kept") as workspace:
        settings = replace(workspace.settings, llm=replace(workspace.settings.llm, base_url=base_url))
        asking = LlmClient(lambda: model, replies=ReplyCache(workspace.paths.replies), clock=workspace.clock)
        backfill(replace(workspace, settings=settings, llm=asking), [home / ".claude"], RunOptions())
    assert bool(model.handed) is not bool(base_url)


COUNTS = ((1, False), (2, False), (4, False), (2, True))  # workers, and whether one is killed in each stage
STAGES = ["reading", "extracting", "summarising"]


@contextmanager
def cluster_of(count, *, kills):
    """The address of a Dask cluster of processes, and what to tell progress to: it kills a worker in the middle of each stage."""
    distributed = pytest.importorskip("distributed")
    killed = []
    with distributed.LocalCluster(count, threads_per_worker=1, dashboard_address=":0") as cluster:

        def kill_in_the_middle(stage, done, total):
            if kills and stage in STAGES and done > total // 3 and stage not in killed:
                killed.append(stage)
                os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)

        yield cluster.scheduler_address, kill_in_the_middle
        assert killed == (STAGES if kills else [])


@pytest.mark.slow
@pytest.mark.shared
def test_any_number_of_workers_and_one_that_is_killed_remember_what_one_process_does(desk_at, tmp_path, shared):
    inputs = shared / "transcripts" / "inputs"
    with desk_at(tmp_path / "alone") as workspace:
        run_pipeline(workspace, [inputs], RunOptions())
        alone = remembered(workspace)
    for number, (count, kills) in enumerate(COUNTS):
        with cluster_of(count, kills=kills) as (address, progress), desk_at(tmp_path / f"{number}") as workspace:
            backfill(workspace, [inputs], RunOptions(), scheduler=address, progress=progress)
            assert remembered(workspace) == alone


def vectors(workspace):
    """Every vector of a home, by kind and number of what it is of."""
    update_index(workspace, float("inf"))
    held = Vectors(workspace.paths.vectors, vector_model(workspace.paths.vectors))
    rows = held.rows[held.rows["kind"] > 0]
    rows = rows[np.lexsort((rows["mark"], rows["item"], rows["kind"]))]
    return rows[["kind", "item", "mark"]].tolist(), rows["body"] * rows["scale"][:, None]


@pytest.mark.slow
def test_with_any_number_of_workers_the_vectors_of_the_real_model_are_those_of_one_process(desk_at, tmp_path, transcripts, home):
    say(home, "long", *LONG)
    real = {"KEPT_EMBEDDINGS": "local"}
    with desk_at(tmp_path / "alone", variables=real) as workspace:
        run_pipeline(workspace, [transcripts], RunOptions())
        alone, export = vectors(workspace), remembered(workspace)
    assert len(alone[0]) > 70
    for number, (count, kills) in enumerate(COUNTS):
        with cluster_of(count, kills=kills) as (address, progress), desk_at(tmp_path / f"{number}", variables=real) as workspace:
            backfill(workspace, [transcripts], RunOptions(), scheduler=address, progress=progress)
            units, made = vectors(workspace)
            assert remembered(workspace) == export
        assert units == alone[0]
        assert np.abs(made - alone[1]).max() < 1e-3


@pytest.mark.parametrize("least", [1, 2**40])
def test_a_run_uses_other_processes_where_much_is_new(desk_at, tmp_path, transcripts, monkeypatch, least):
    elsewhere = Elsewhere()
    monkeypatch.setattr(run, "_MUCH", least)
    monkeypatch.setattr(run, "start_processes", lambda count: nullcontext(Workers(executor=elsewhere, ahead=2 * count)))
    with desk_at(tmp_path / "with") as workspace:
        run_pipeline(workspace, [transcripts], RunOptions(processes=2))
        assert bool(elsewhere.done) is (least == 1)
