"""Jobs: the user's own agent is the model. Each question lies in a file of its own, the agent writes each reply beside it, and what
it replied is read as any model's reply is. No key, no network; nothing runs an agent from here.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kept.changes import read_before_edits
from kept.core.errors import UsageError
from kept.core.fence import NOTICE, TAG
from kept.core.redact import redact
from kept.core.redact.scanner import scanner
from kept.curation.llm_curation import take_advice
from kept.curation.passes import Curated, curate_dirty
from kept.days.llm_summaries import write_days
from kept.extraction.llm_extraction import Heard, hear
from kept.extraction.questions import weigh
from kept.llm.ask import Answered, Ask, Awaited, Reply, Unreadable
from kept.llm.reply import Wrong, understand
from kept.local import files
from kept.local.files import locked
from kept.memories.backups import safeguard
from kept.outputs.write import Written, absorb_edits, write_outputs
from kept.pipeline.write_journal import without_model, write
from kept.store.run_number import RunNumber
from kept.workspace import Workspace

_REPLY = ".reply.json"
_JOB = ".md"
_MODEL = "jobs"
_BY = "the user's own agent"
_WAITING = "no reply yet"
_HEAD = """# kept job {id}

Answer the question below with one JSON object of the form at its end. Write that object, complete and nothing else, to this file:

{reply}

Then: kept jobs commit

{system}
# The part to read

"""
_FORM = """

# The form of the reply, as JSON Schema

{schema}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A question that waits: where it lies and where its reply belongs. ``state`` is ``waiting``, ``answered``, or what is wrong
    with it.
    """

    id: str
    path: Path
    reply: Path
    sessions: tuple[str, ...]
    tokens: int
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Committed:
    """What the replies came to. ``wrong`` says by job what is wrong with a reply that could not be used; ``waiting`` jobs have none
    yet.
    """

    run: int
    heard: Heard
    curated: Curated
    written: Written
    wrong: dict[str, str]
    waiting: int

    @property
    def partly(self) -> bool:
        """Whether something could not be done."""
        return bool(self.wrong or self.curated.stopped or self.written.problems)


@dataclass(kw_only=True, slots=True)
class _Shelf:
    """An asking that takes its replies from files; notes which questions there were, and what is wrong with replies."""

    workspace: Workspace
    asked: dict[str, Ask] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)

    def __call__(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        return [self._reply(each) for each in asks]

    @property
    def is_answered(self) -> bool:
        """Whether every question so far has a reply."""
        return self.answered >= self.asked.keys()

    def _reply(self, ask: Ask) -> Reply:
        safe = replace(ask, prompt=redact(ask.prompt, key=self.workspace.store.key("redaction"), more=scanner()).text)
        number = safe.key(_MODEL)[:10]
        self.asked[number] = safe
        content = files.read(folder(self.workspace) / f"{number}{_REPLY}")
        if content.stamp == files.MISSING:
            return Awaited(reason=_WAITING)
        found = understand(content.data.decode("utf-8", "replace"), safe.schema)
        if isinstance(found, Wrong):
            self.wrong[number] = found.reason
            return Unreadable(reason=found.reason, fault=found.fault)
        self.answered.add(number)
        return Answered(body=found)


def folder(workspace: Workspace) -> Path:
    """Where jobs lie."""
    return workspace.paths.state / "jobs"


def prepare(workspace: Workspace, *, most: int) -> tuple[tuple[Job, ...], int]:
    """Write a file for each question that waits for a reply, ``most`` at most; the jobs there are now, and how many questions have
    none.

    What is no longer asked is swept away. Raises BusyError where a run is under way, StoreError, ConfigError.
    """
    with locked(workspace.paths.lock):
        shelf = _needed(workspace)
        there = [each for each in shelf.asked if _path(workspace, each).exists()]
        fresh = [each for each in shelf.asked if each not in there][: max(0, most - len(there))]
        for number in fresh:
            _write_question(workspace, number, shelf.asked[number])
        _sweep(workspace, shelf.asked)
        return _jobs(workspace, shelf), len(shelf.asked) - len(there) - len(fresh)


def listed(workspace: Workspace) -> tuple[Job, ...]:
    """The jobs there are. Raises BusyError where a run is under way, StoreError, ConfigError."""
    with locked(workspace.paths.lock):
        return _jobs(workspace, _needed(workspace))


def text_of(workspace: Workspace, number: str) -> str:
    """The text of a job. Raises UsageError where there is none of that id."""
    known = sorted(each.name.removesuffix(_JOB) for each in folder(workspace).glob(f"*{_JOB}"))
    found = [each for each in known if number and each.startswith(number)]
    if len(found) != 1:
        raise UsageError(f"no job {number!r}", hint="see `kept jobs list`")
    return files.read_text(_path(workspace, found[0]))


def commit(workspace: Workspace) -> Committed:
    """Read every reply there is, and remember what comes of it, as a run does; jobs that are done with are swept away.

    Raises UsageError where there is no reply at all, BusyError where a run is under way, StoreError, ConfigError.
    """
    with locked(workspace.paths.lock):
        if not any(folder(workspace).glob(f"*{_REPLY}")):
            raise UsageError(
                "there is no reply to any job", where=str(folder(workspace)), hint="kept jobs prepare, then answer them"
            )
        number, written, shelf = RunNumber(workspace.store.log, workspace.clock, "jobs"), Written(), _Shelf(workspace=workspace)
        read_before_edits(workspace, locks=False)
        absorb_edits(workspace, number, written)
        heard = hear(workspace, number, shelf, by=_BY)
        curated = Curated()
        if workspace.store.log.dirty():
            safeguard(workspace)
            curated = curate_dirty(workspace, number)
        advised = take_advice(workspace, number, shelf, by=_BY)
        curated.operations.update(advised.operations)
        curated.stopped += advised.stopped
        write_days(workspace, shelf, by=_BY)
        write_outputs(workspace, number, written)
        left = _needed(workspace)
        _sweep(workspace, left.asked)
        if number.started:
            report = {"heard": heard.body(), "operations": dict(curated.operations), "stopped": list(curated.stopped)}
            workspace.store.log.end_run(number(), workspace.clock(), report)
        run = number() if number.started else 0
        waiting = sum(each.state == "waiting" for each in _jobs(workspace, left))
    _write_entries(workspace, shelf)
    return Committed(run=run, heard=heard, curated=curated, written=written, wrong=shelf.wrong, waiting=waiting)


def _write_entries(workspace: Workspace, shelf: _Shelf) -> None:
    """Write the entries of the journal anew to which there is a reply; each is read in a run of its own."""
    written = False
    for first, last, work, ask in [*without_model(workspace, shelf, _BY)] if shelf.is_answered else ():
        if isinstance(shelf((ask,))[0], Answered):
            written = True
            if (done := write(workspace, work, first, last)).reason:
                shelf.wrong[first.isoformat()] = done.reason
    if written:
        with locked(workspace.paths.lock):
            _sweep(workspace, _needed(workspace).asked)


def _needed(workspace: Workspace) -> _Shelf:
    """Which questions are open now, given the replies there are: found by asking them for trial."""
    shelf = _Shelf(workspace=workspace)
    with workspace.store.trial():
        number = RunNumber(workspace.store.log, workspace.clock, "jobs")
        hear(workspace, number, shelf, by=_BY)
        curate_dirty(workspace, number)
        take_advice(workspace, number, shelf, by=_BY)
        write_days(workspace, shelf, by=_BY)
        if shelf.is_answered:  # an entry is written of what was found
            shelf([ask for *_, ask in without_model(workspace, shelf, _BY)])
    return shelf


def _path(workspace: Workspace, number: str) -> Path:
    return folder(workspace) / f"{number}{_JOB}"


def _write_question(workspace: Workspace, number: str, ask: Ask) -> None:
    reply = folder(workspace) / f"{number}{_REPLY}"
    # The part stands in the block that kept knows as its own: an agent's transcript of this work is not remembered once more.
    prompt = ask.prompt.replace(TAG, "kept context")
    form = _FORM.format(schema=json.dumps(ask.schema, ensure_ascii=False))
    text = f"{_HEAD.format(id=number, reply=reply, system=ask.system)}<{TAG}> {NOTICE}\n{prompt}\n</{TAG}>{form}"
    path = _path(workspace, number)
    files.write(path, text.encode(), expect=files.read(path).stamp, root=workspace.paths.root)


def _sweep(workspace: Workspace, asked: dict[str, Ask]) -> None:
    for path in sorted((*folder(workspace).glob(f"*{_JOB}"), *folder(workspace).glob(f"*{_REPLY}"))):
        if path.name.removesuffix(_JOB).removesuffix(_REPLY) not in asked:
            files.remove(path, expect=files.read(path).stamp, root=workspace.paths.root)


def _jobs(workspace: Workspace, shelf: _Shelf) -> tuple[Job, ...]:
    return tuple(
        Job(
            id=number,
            path=_path(workspace, number),
            reply=folder(workspace) / f"{number}{_REPLY}",
            sessions=ask.about,
            tokens=weigh(ask.system) + weigh(ask.prompt),
            state="answered" if number in shelf.answered else shelf.wrong.get(number, "waiting"),
        )
        for number, ask in shelf.asked.items()
        if _path(workspace, number).exists()
    )
