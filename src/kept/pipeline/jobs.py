"""Jobs: the user's own agent answers the model's questions. kept writes each question to a file, and the agent writes its reply
beside it. The reply is processed like that of any model. This needs no key and no network, and kept starts no agent.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kept.changes import archive_before_edits
from kept.core.errors import UsageError
from kept.core.fence import NOTICE, TAG
from kept.core.redact import load_scanner, redact
from kept.core.value import dataclass, field, replace
from kept.curation.llm_curation import LlmCurationReport, curate_with_llm, write_requests
from kept.curation.passes import CurationReport, curate_changed_groups
from kept.days.llm_summaries import write_day_summaries
from kept.extraction.llm_extraction import LlmExtractionReport, Trust, extract_with_llm
from kept.extraction.questions.turns import estimate_tokens_high
from kept.llm.ask import Ask, CompleteReply, PendingReply, Reply, UnreadableReply
from kept.llm.reply import InvalidReply, parse_reply
from kept.local import files
from kept.local.files import hold_lock
from kept.memories.backups import make_daily_backup
from kept.memories.browse import find_by_prefix
from kept.outputs.write import WriteReport, merge_hand_edits, write_outputs
from kept.pipeline.write_journal import find_entries_without_model, write_journal_entry
from kept.workspace import RunNumber, Workspace

_REPLY = ".reply.json"
_JOB = ".md"
_MODEL = "jobs"
_BY = "the user's own agent"
_WAITING = "no reply yet"
_HEAD = """# kept job {id}

Answer the question below with one JSON object of the form that it shows. Write that object, and nothing else, to this file:

{reply}

Then: kept jobs commit

{system}
# The part to read

"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """An open question: its file and the file for the reply. ``state`` is ``waiting``, ``answered``, or the error in its reply."""

    id: str
    path: Path
    reply: Path
    sessions: tuple[str, ...]
    tokens: int
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class JobsReport:
    """The result of processing the replies. ``wrong`` maps jobs to the error that makes their reply unusable. ``waiting`` counts
    jobs without a reply. ``refused`` counts, by reason, changes to memories that were not applied.
    """

    run: int
    llm_extraction: LlmExtractionReport
    curated: CurationReport
    refused: Counter[str]
    written: WriteReport
    wrong: dict[str, str]
    waiting: int

    @property
    def partly(self) -> bool:
        """True if something was not done."""
        return bool(self.wrong or self.curated.stopped or self.written.problems)


@dataclass(kw_only=True, slots=True)
class _ReplyFiles:
    """Answers questions from the reply files (an :data:`~kept.llm.ask.Asking`). Records questions asked and errors in replies."""

    workspace: Workspace
    asked: dict[str, Ask] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)

    def __call__(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        return [self._read_reply(ask) for ask in asks]

    @property
    def is_answered(self) -> bool:
        """True if every question asked so far has a reply."""
        return self.answered >= self.asked.keys()

    def _read_reply(self, ask: Ask) -> Reply:
        safe = replace(ask, prompt=redact(ask.prompt, key=self.workspace.store.key("redaction"), more=load_scanner()).text)
        number = safe.key(_MODEL)[:10]
        self.asked[number] = safe
        content = files.read_file(jobs_folder(self.workspace) / f"{number}{_REPLY}")
        if content.stamp == files.MISSING:
            return PendingReply(reason=_WAITING)
        found = parse_reply(content.data.decode("utf-8", "replace"), safe.schema)
        if isinstance(found, InvalidReply):
            self.wrong[number] = found.reason
            return UnreadableReply(reason=found.reason, fault=found.fault)
        self.answered.add(number)
        return CompleteReply(body=found)


def jobs_folder(workspace: Workspace) -> Path:
    """The folder with the files of jobs."""
    return workspace.paths.state / "jobs"


def prepare_jobs(workspace: Workspace, *, most: int, agent: bool = False) -> tuple[tuple[Job, ...], int]:
    """Write a file for each open question, so that at most ``most`` wait for a reply, and delete the files of questions that are no
    longer open. Returns the jobs that now exist, and the number of questions without a file.

    Raises BusyError if a run is active, StoreError, ConfigError.
    """
    with hold_lock(workspace.paths.lock):
        reply_files = _find_open_questions(workspace, agent=agent)
        existing = [item for item in reply_files.asked if _job_path(workspace, item).exists()]
        waiting = sum(item not in reply_files.answered for item in existing)
        fresh = [item for item in reply_files.asked if item not in existing][: max(0, most - waiting)]
        for number in fresh:
            _write_question(workspace, number, reply_files.asked[number])
        _delete_finished_jobs(workspace, reply_files.asked)
        return _build_jobs(workspace, reply_files), len(reply_files.asked) - len(existing) - len(fresh)


def list_jobs(workspace: Workspace, *, agent: bool = False) -> tuple[Job, ...]:
    """Return the jobs that exist. Raises BusyError if a run is active, StoreError, ConfigError."""
    with hold_lock(workspace.paths.lock):
        return _build_jobs(workspace, _find_open_questions(workspace, agent=agent))


def load_job_text(workspace: Workspace, job_id: str) -> str:
    """Return the text of a job. Raises MissingError if no job has that id."""
    known = {path.name.removesuffix(_JOB): path for path in jobs_folder(workspace).glob(f"*{_JOB}")}
    return files.read_text(find_by_prefix(known, job_id, f"no job {job_id!r}", "see `kept jobs list`"))


def commit_replies(workspace: Workspace, *, agent: bool = False) -> JobsReport:
    """Process all replies as a run does, and delete the files of finished jobs.

    If an ``agent`` calls this in its shell, only passages that the person typed become active and all others are held, because an
    agent must not approve or reword memories by a reply.

    Raises UsageError if there is no reply at all, BusyError if a run is active, StoreError, ConfigError.
    """
    with hold_lock(workspace.paths.lock):
        if not any(jobs_folder(workspace).glob(f"*{_REPLY}")):
            raise UsageError("no job has a reply", where=str(jobs_folder(workspace)), hint="kept jobs prepare, then answer them")
        number = RunNumber(workspace, "jobs")
        written, reply_files = WriteReport(agent=agent), _ReplyFiles(workspace=workspace)
        archive_before_edits(workspace, locks=False)
        merge_hand_edits(workspace, number, written)
        make_daily_backup(workspace)
        llm_extraction_report, curated, llm_curated = _ask_all(workspace, number, reply_files, agent=agent)
        curated.operations.update(llm_curated.operations)
        curated.stopped += llm_curated.stopped
        write_outputs(workspace, number, written)
        left = _find_open_questions(workspace, agent=agent)
        _delete_finished_jobs(workspace, left.asked)
        number.end(
            {
                "llm_extraction": llm_extraction_report.body(),
                "operations": dict(curated.operations),
                "refused": dict(llm_curated.refused),
                "stopped": list(curated.stopped),
            }
        )
        run = number() if number.started else 0
        waiting = sum(job.state == "waiting" for job in _build_jobs(workspace, left))
    _rewrite_entries(workspace, reply_files, agent=agent)
    return JobsReport(
        run=run,
        llm_extraction=llm_extraction_report,
        curated=curated,
        refused=llm_curated.refused,
        written=written,
        wrong=reply_files.wrong,
        waiting=waiting,
    )


def _rewrite_entries(workspace: Workspace, reply_files: _ReplyFiles, *, agent: bool) -> None:
    """Rewrite the journal entries that have a reply. Each is then extracted in a run of its own."""
    written = False
    for first, last, work, ask in [*find_entries_without_model(workspace, reply_files, _BY)] if reply_files.is_answered else ():
        if isinstance(reply_files((ask,))[0], CompleteReply):
            written = True
            if (done := write_journal_entry(workspace, work, first, last)).reason:
                reply_files.wrong[first.isoformat()] = done.reason
    if written:
        with hold_lock(workspace.paths.lock):
            _delete_finished_jobs(workspace, _find_open_questions(workspace, agent=agent).asked)


def _find_open_questions(workspace: Workspace, *, agent: bool) -> _ReplyFiles:
    """Find the questions that are still open after the replies, by asking all of them in a transaction that is rolled back."""
    reply_files = _ReplyFiles(workspace=workspace)
    with workspace.store.trial_transaction():
        number = RunNumber(workspace, "jobs")
        _ask_all(workspace, number, reply_files, agent=agent)
        if reply_files.is_answered:  # questions about entries depend on the memories found before
            reply_files([ask for *_, ask in find_entries_without_model(workspace, reply_files, _BY)])
    return reply_files


def _ask_all(
    workspace: Workspace, number: RunNumber, reply_files: _ReplyFiles, *, agent: bool
) -> tuple[LlmExtractionReport, CurationReport, LlmCurationReport]:
    """Ask the questions of a run: about sessions, memories and days, and then about requests before which memories are shown. There
    is no trial, because the person works with the agent that answers.
    """
    advised = LlmCurationReport()
    read = extract_with_llm(workspace, number, reply_files, by=_BY, trust=Trust.PASSAGES if agent else Trust.CLAIMS)
    curated = curate_changed_groups(workspace, number)
    if not agent:
        advised = curate_with_llm(workspace, number, reply_files, by=_BY)
    write_day_summaries(workspace, reply_files, by=_BY)
    if reply_files.is_answered:  # last, because earlier replies may add memories that need requests
        write_requests(workspace, number, reply_files, by=_BY)
    return read, curated, advised


def _job_path(workspace: Workspace, job_id: str) -> Path:
    return jobs_folder(workspace) / f"{job_id}{_JOB}"


def _write_question(workspace: Workspace, job_id: str, ask: Ask) -> None:
    reply = jobs_folder(workspace) / f"{job_id}{_REPLY}"
    # The prompt is fenced as kept's own text, so that an agent's transcript of this job is not extracted again.
    prompt = ask.prompt.replace(TAG, "kept context")
    text = f"{_HEAD.format(id=job_id, reply=reply, system=ask.system)}<{TAG}> {NOTICE}\n{prompt}\n</{TAG}>\n"
    path = _job_path(workspace, job_id)
    files.write_if_unchanged(path, text.encode(), expect=files.read_file(path).stamp, root=workspace.paths.root)


def _delete_finished_jobs(workspace: Workspace, asked: dict[str, Ask]) -> None:
    for path in sorted((*jobs_folder(workspace).glob(f"*{_JOB}"), *jobs_folder(workspace).glob(f"*{_REPLY}"))):
        number = path.name.removesuffix(_JOB).removesuffix(_REPLY)
        if number not in asked:
            files.delete_if_unchanged(path, expect=files.read_file(path).stamp, root=workspace.paths.root)


def _build_jobs(workspace: Workspace, reply_files: _ReplyFiles) -> tuple[Job, ...]:
    return tuple(
        Job(
            id=number,
            path=_job_path(workspace, number),
            reply=jobs_folder(workspace) / f"{number}{_REPLY}",
            sessions=ask.about,
            tokens=estimate_tokens_high(ask.system) + estimate_tokens_high(ask.prompt),
            state="answered" if number in reply_files.answered else reply_files.wrong.get(number, "waiting"),
        )
        for number, ask in reply_files.asked.items()
        if _job_path(workspace, number).exists()
    )
