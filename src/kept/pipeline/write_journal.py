"""Write journal entries for a day or for many days in order, and extract memories from the entries as from any other journal.

Writing and extracting are separate passes that share no state. An entry is not written again if a person changed it or its inputs
have not changed. Repeating a day therefore changes nothing, and an interrupted backfill continues where it stopped.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta
from enum import StrEnum
from pathlib import Path
from statistics import fmean

from kept.core.codec import dump, to_canonical_json
from kept.core.digest import digest
from kept.core.errors import UsageError
from kept.core.text import jaccard_similarity, tokenize
from kept.core.value import dataclass, field, replace
from kept.extraction.questions.question import PURPOSE, SCHEMA
from kept.journal.context import collect_context, last_work_before_day, memories_before_day, session_ids_between, worked_days
from kept.journal.entry import (
    EXTRACTIVE,
    ContextItem,
    EntryHead,
    FeedItem,
    Slot,
    Template,
    TrustLevel,
    entry_body,
    is_entry_edited,
    list_templates,
    load_template,
    parse_entry_head,
    render_entry,
    self_reference_share,
    template_slots,
)
from kept.journal.entry_prose import ContextBounds, ItemSelection, build_prose_ask, read_prose_reply, select_items
from kept.journal.feed_reading import items_between
from kept.llm.adapter import estimate_ask_tokens, estimate_tokens
from kept.llm.ask import Ask, Asking, CompleteReply
from kept.llm.budget import Estimate
from kept.local import files
from kept.local.progress import Progress, ignore_progress
from kept.pipeline.estimate import estimate_run
from kept.pipeline.run import RunOptions, run_pipeline
from kept.profiles.lexicons import load_machinery_pattern
from kept.workspace import JOURNAL, Workspace

_TOKEN = 3  # bytes per token, as the context budget counts them
_ENTRY_CHARS = 1_500  # typical characters of an entry, and of the question about it
_SAME = 0.6  # a memory with this word overlap already says what was last worked on
_LATELY = 7  # number of entries; if they are mostly about the memory system, content from outside gets a larger share


class EntryState(StrEnum):
    """The outcome for an entry."""

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    EDITED = "edited by hand, left alone"
    FOREIGN = "another file is there, left alone"
    NOTHING = "nothing happened"
    FAILED = "not written"


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryOutcome:
    """The result for the entry about some days. ``reason`` says why it failed. ``refused`` counts a model's unsupported paragraphs.

    ``run`` is the run that extracted memories from the entry, 0 if there was nothing new.

    ``asked`` is the key of the question to a model. ``asked_again`` means that the question asked ahead for this day was a
    different one and of no use.
    """

    first: date
    last: date
    path: Path
    state: EntryState
    head: EntryHead | None = None
    reason: str = ""
    refused: int = 0
    memories: int = 0
    run: int = 0
    problems: tuple[str, ...] = ()
    asked: str = ""
    asked_again: bool = False

    @property
    def incomplete(self) -> bool:
        """True if something was not done."""
        return bool(self.state in (EntryState.FAILED, EntryState.FOREIGN) or self.problems)


@dataclass(frozen=True, kw_only=True, slots=True)
class BackfillPlan:
    """The plan of a backfill: the days, and the estimate for asking a model about their entries (None without a model)."""

    days: tuple[date, ...]
    estimate: Estimate | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _EntryInputs:
    """The inputs of an entry that fit its budgets, and a hash of all inputs before that selection."""

    first: date
    last: date
    chosen: ItemSelection
    inputs: str
    sessions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryOptions:
    """How entries are written: the template, and whether a model is used. ``asking`` replaces the settings' model; ``by`` is its
    name.
    """

    template: Template
    model: bool = True
    progress: Progress = field(default=ignore_progress)
    asking: Asking | None = None
    by: str = ""


def make_entry_options(workspace: Workspace, name: str = "", *, model: bool = True) -> EntryOptions:
    """Return the options for a template (default: that of the settings). Raises UsageError, ConfigError."""
    found = load_template(name or workspace.settings.journal.template, workspace.paths.config)
    if not template_slots(found):
        raise UsageError(f"the template {found.name!r} has no slot to fill", hint="put {{worked}} or another slot into it")
    return EntryOptions(template=found, model=model and workspace.llm is not None)


def find_entries_without_model(workspace: Workspace, asking: Asking, by: str) -> Iterator[tuple[date, date, EntryOptions, Ask]]:
    """Yield the entries that were written without a model and not edited. Each comes with its days, the options for rewriting it
    with ``asking``, and the question.
    """
    names = list_templates(workspace.paths.config)
    for head in load_entry_heads(workspace):
        if head.writer != EXTRACTIVE or head.template not in names:
            continue
        work = replace(make_entry_options(workspace, head.template), model=True, asking=asking, by=by)
        if is_entry_edited(files.read_text(_entry_path(workspace, work, head.first))):
            continue
        ask = _build_entry_ask(work, _collect_inputs(workspace, work, head.first, head.last))
        if ask is not None:
            yield head.first, head.last, work, ask


def entries_folder(workspace: Workspace, template: Template) -> Path:
    """The folder of a template's entries. For the template of the settings it is the journal folder, else a subfolder."""
    own = workspace.paths.root / workspace.settings.journal.folder
    return own if template.name == workspace.settings.journal.template else own / template.name


def write_journal_entry(workspace: Workspace, work: EntryOptions, first: date, last: date | None = None) -> EntryOutcome:
    """Write the entry about a day (or the days from ``first`` to ``last``), and extract memories from it.

    Raises BusyError if another process writes a journal or a run is active, StoreError, ConfigError.
    """
    with files.hold_lock(workspace.paths.state / "journal.lock"):
        return _write_span(workspace, work, first, last or first)


def plan_backfill(workspace: Workspace, work: EntryOptions, first: date, last: date) -> BackfillPlan:
    """Plan a backfill of these days. Writes nothing and asks nothing. Raises StoreError."""
    days = worked_days(workspace, first, last)
    if not work.model or workspace.llm is None:
        return BackfillPlan(days=days)
    asks = [ask for day in days if (ask := _build_entry_ask(work, _collect_inputs(workspace, work, day, day))) is not None]
    pages = [_build_extraction_ask(workspace, ask) for ask in asks] if work.template.extract else []
    return BackfillPlan(days=days, estimate=workspace.llm.estimate([*asks, *pages]) + estimate_run(workspace, workspace.llm))


def _build_extraction_ask(workspace: Workspace, ask: Ask) -> Ask:
    """The approximate question for extracting an entry once it is written."""
    kind = next((profile for profile in workspace.profiles if profile.id == JOURNAL), workspace.profile)
    system = workspace.extraction_prompt(kind)
    prompt = f"{ask.prompt[:_ENTRY_CHARS].ljust(_ENTRY_CHARS, '.')}\n{system.reminder}"
    return Ask(purpose=PURPOSE, version=system.version, system=system.system, prompt=prompt, schema=SCHEMA)


def backfill_entries(
    workspace: Workspace,
    work: EntryOptions,
    days: Sequence[date],
    on_outcome: Callable[[EntryOutcome], None],
    *,
    concurrency: int = 1,
) -> tuple[EntryOutcome, ...]:
    """Write the entries of ``days`` in order. Each is extracted before the next is written. Calls ``on_outcome`` with each outcome.

    If ``concurrency`` exceeds 1, a model is asked about up to that many days at once, as long as no earlier one of them can affect
    a later one. The entries are still written in order. A day whose question has changed by then is asked again, so the result is
    the same.

    Stops at the first failure, because the next entry builds on it. Another call continues from there. Raises the errors of
    :func:`write_journal_entry`.
    """
    entry_outcomes: list[EntryOutcome] = []
    ahead = dict[date, str]()
    with files.hold_lock(workspace.paths.state / "journal.lock"):
        left = _projects_by_day(workspace, work, sorted(days) if concurrency > 1 else ())
        for number, day in enumerate(sorted(days)):
            work.progress("journal", number, len(days))
            if concurrency > 1 and day not in ahead:
                ahead |= _ask_ahead(workspace, work, left, ahead, concurrency)
            left.pop(day, None)
            done = _write_span(workspace, work, day, day)
            entry_outcomes.append(replace(done, asked_again=bool(done.asked and ahead.get(day, done.asked) != done.asked)))
            on_outcome(entry_outcomes[-1])
            if entry_outcomes[-1].state is EntryState.FAILED or entry_outcomes[-1].problems:
                break
        work.progress("journal", len(entry_outcomes), len(days))
    return tuple(entry_outcomes)


def _projects_by_day(workspace: Workspace, work: EntryOptions, days: Sequence[date]) -> dict[date, frozenset[str]]:
    """The projects of each day. Empty if nothing is extracted from entries of this template."""
    return {
        day: frozenset(item.scope for item in collect_context(workspace, day, day)) if work.template.extract else frozenset()
        for day in days
    }


def _ask_ahead(
    workspace: Workspace, work: EntryOptions, days: Mapping[date, frozenset[str]], asked: Collection[date], most: int
) -> dict[date, str]:
    """Ask a model about the next days whose entries do not depend on each other, so that its replies are stored. Returns the keys
    of the questions by day.
    """
    if not work.model or workspace.llm is None:
        return {}
    asks: dict[date, Ask] = {}
    touched: set[str] = set()
    for day, own in days.items():
        if day not in asked and not own & touched and not (touched and "" in own | touched):
            inputs = _collect_inputs(workspace, work, day, day)
            ask = _build_entry_ask(work, inputs)
            if ask is not None and _is_due(workspace, work, inputs):
                asks[day] = ask
        touched |= own
        if len(asks) == most:
            break
    if len(asks) > 1:
        workspace.llm(list(asks.values()))
    return {day: ask.key("") for day, ask in asks.items()}


def _is_due(workspace: Workspace, work: EntryOptions, inputs: _EntryInputs) -> bool:
    """True if the entry must be written: it is missing, or it is kept's own, unedited, and its inputs have changed."""
    text = files.read_text(_entry_path(workspace, work, inputs.first))
    head = parse_entry_head(text)
    return not text or (head is not None and not is_entry_edited(text) and head.inputs != inputs.inputs)


def _entry_path(workspace: Workspace, work: EntryOptions, first: date) -> Path:
    return entries_folder(workspace, work.template) / f"{first.isoformat()}.md"


def _write_span(workspace: Workspace, work: EntryOptions, first: date, last: date) -> EntryOutcome:
    path = _entry_path(workspace, work, first)
    outcome = _write_entry(workspace, work, first, last, path)
    if outcome.state in (EntryState.FAILED, EntryState.FOREIGN, EntryState.NOTHING) or not work.template.extract:
        return outcome
    before, failed = workspace.store.log.memory_ids(), _count_failed_asks(workspace)
    report = run_pipeline(workspace, [path], RunOptions(model=work.model), progress=work.progress)
    problems = [*report.written.problems, *report.curated.stopped]
    if _count_failed_asks(workspace) > failed:
        reasons = [item for entry in report.asked.reasons.values() for item in entry]
        problems.append(f"some of the entry could not be read: {'; '.join(reasons[-2:])}")
    found = len(workspace.store.log.memory_ids() - before)
    return replace(outcome, memories=found, run=report.run, problems=tuple(problems))


def _count_failed_asks(workspace: Workspace) -> int:
    """The number of questions that have failed so far."""
    if workspace.llm is None:
        return 0
    tally = workspace.llm.tally
    return tally.unreadable.total() + tally.unreachable.total() + tally.unaffordable


def _write_entry(workspace: Workspace, work: EntryOptions, first: date, last: date, path: Path) -> EntryOutcome:
    """Write the entry, unless it exists unchanged, a person wrote or edited it, or nothing happened on these days."""
    inputs = _collect_inputs(workspace, work, first, last)
    workspace.refuse_links(path)
    content = files.read_file(path)
    text = content.data.decode("utf-8", "replace")
    head = parse_entry_head(text) if content.stamp != files.MISSING else None
    done = EntryOutcome(first=first, last=last, path=path, state=EntryState.UNCHANGED, head=head)
    if content.stamp != files.MISSING and head is None:
        return replace(done, state=EntryState.FOREIGN, reason="kept did not write that file")
    if head is not None and is_entry_edited(text):
        return replace(done, state=EntryState.EDITED)
    if not any(item.grade is TrustLevel.SESSION for item in inputs.chosen.items):
        return replace(done, state=EntryState.NOTHING if head is None else EntryState.UNCHANGED)
    if head is not None and head.inputs == inputs.inputs:
        return done
    context_items, tokens, refused, reason = _compose_entry(workspace, work, inputs)
    ask = _build_entry_ask(work, inputs) if work.model else None
    done = replace(done, asked=ask.key("") if ask else "")
    if reason:
        return replace(done, state=EntryState.FAILED, reason=reason)
    composed = _compose_page(workspace, work, inputs, context_items, tokens)
    files.write_if_unchanged(
        path, composed.encode(), expect=content.stamp, root=workspace.paths.root, links=workspace.linked_folders
    )
    return replace(done, state=EntryState.WRITTEN, head=parse_entry_head(composed), refused=refused)


def _compose_page(
    workspace: Workspace, work: EntryOptions, inputs: _EntryInputs, items: Sequence[ContextItem], tokens: tuple[int, int]
) -> str:
    drawn = tuple(
        dict.fromkeys(item.reference for item in inputs.chosen.items if item.reference and item.grade is TrustLevel.MEMORY)
    )
    head = EntryHead(
        first=inputs.first,
        last=inputs.last,
        template=work.template.name,
        writer=_writer_name(workspace, work),
        extract=work.template.extract,
        sessions=len(inputs.sessions),
        shares=inputs.chosen.shares,
        memories=drawn,
        tokens=tokens,
        inputs=inputs.inputs,
    )
    names, links = workspace.scope_names(), _entry_links(workspace, work)
    measured = self_reference_share(entry_body(render_entry(head, work.template, items, names, links)), load_machinery_pattern())
    return render_entry(replace(head, self_reference=measured), work.template, items, names, links)


def _entry_links(workspace: Workspace, work: EntryOptions) -> Mapping[date, str]:
    """Links to the existing entries, relative to the folder of this template's entries."""
    own = workspace.paths.root / workspace.settings.journal.folder
    above = "" if entries_folder(workspace, work.template) == own else "../"
    return {entry_head.first: f"{above}{entry_head.first.isoformat()}.md" for entry_head in load_entry_heads(workspace)}


def _writer_name(workspace: Workspace, work: EntryOptions) -> str:
    return (work.by or workspace.settings.llm.name) if work.model else EXTRACTIVE


def _collect_inputs(workspace: Workspace, work: EntryOptions, first: date, last: date) -> _EntryInputs:
    slots = set(template_slots(work.template))
    start, stop = workspace.day_bounds(first)[0], workspace.day_bounds(last)[1]
    day = [item for item in collect_context(workspace, first, last, detailed=work.model) if item.slot in slots or work.model]
    items = [_to_context_item(feed_item) for feed_item in items_between(workspace, start, stop)] if Slot.OUTSIDE in slots else []
    memory = memories_before_day(workspace, first) if Slot.BEFORE in slots or work.model else ()
    if work.model:
        known = [tokenize(context_item.text) for context_item in memory]  # a memory from before the day may say the same
        stood = last_work_before_day(workspace, first, {context_item.scope for context_item in day})
        memory = (
            *memory,
            *(item for item in stood if not any(jaccard_similarity(tokenize(item.text), words) > _SAME for words in known)),
        )
    parts = [work.template.text, work.template.instruction, _writer_name(workspace, work), [dump(item) for item in (*day, *items)]]
    return _EntryInputs(
        first=first,
        last=last,
        chosen=select_items((*day, *items, *memory), _make_bounds(workspace, first)),
        inputs=digest(to_canonical_json(parts), size=8),
        sessions=session_ids_between(workspace, first, last),
    )


def _to_context_item(item: FeedItem) -> ContextItem:
    words = f"{item.title}: {item.text}" if item.text and item.title else item.title or item.text
    return ContextItem(slot=Slot.OUTSIDE, text=words[:300], grade=TrustLevel.OUTSIDE, source=item.source, reference=item.key)


def _make_bounds(workspace: Workspace, first: date) -> ContextBounds:
    """The budgets of an entry. If recent entries were mostly about the memory system, content from outside gets more."""
    chosen = workspace.settings.journal
    outside = chosen.outside
    since = first - timedelta(days=60)
    lately = [head.self_reference for head in load_entry_heads(workspace) if since <= head.first < first][-_LATELY:]
    over = fmean(lately) - chosen.self_reference if lately else 0.0
    if over > 0 and chosen.self_reference > 0:
        outside = min(chosen.outside_most, outside * (1 + over / chosen.self_reference))
    shares: Mapping[str, float] = {
        feed_settings.name or feed_settings.kind: feed_settings.share for feed_settings in workspace.settings.feed
    }
    return ContextBounds(whole=chosen.tokens * _TOKEN, memory=chosen.memory_tokens * _TOKEN, outside=outside, shares=shares)


def _build_entry_ask(work: EntryOptions, made: _EntryInputs) -> Ask | None:
    if not any(item.grade is TrustLevel.SESSION for item in made.chosen.items):
        return None
    span = made.first.isoformat() if made.first == made.last else f"{made.first.isoformat()} to {made.last.isoformat()}"
    return build_prose_ask(made.chosen.items, work.template, span=span, about=made.sessions)


def _compose_entry(
    workspace: Workspace, work: EntryOptions, made: _EntryInputs
) -> tuple[tuple[ContextItem, ...], tuple[int, int], int, str]:
    """Compose the entry. Returns its items, the (input, output) tokens used, the number of refused paragraphs, and the failure or
    "".
    """
    ask = _build_entry_ask(work, made) if work.model else None
    asking = work.asking or workspace.llm
    if ask is None or asking is None:
        return made.chosen.items, (0, 0), 0, ""
    (reply,) = asking([ask])
    if not isinstance(reply, CompleteReply):
        return (), (0, 0), 0, reply.reason
    try:
        context_items, refused = read_prose_reply(reply.body, made.chosen.items, work.template)
    except ValueError as error:
        return (), (0, 0), 0, f"the reply does not have the requested form: {error}"
    if not context_items:
        return (), (0, 0), refused, "no paragraph of the reply is supported by its citations"
    kept = [context_item for context_item in made.chosen.items if context_item.slot in (Slot.COMMITS, Slot.FILES, Slot.BEFORE)]
    return ((*context_items, *kept), (estimate_ask_tokens(ask), estimate_tokens(to_canonical_json(dict(reply.body)))), refused, "")


def load_entry_heads(workspace: Workspace) -> tuple[EntryHead, ...]:
    """The heads of all journal entries, by day. Skips files that kept did not write."""
    own = workspace.paths.root / workspace.settings.journal.folder
    found = (parse_entry_head(files.read_text(path)) for path in sorted(own.glob("*.md")))
    return tuple(sorted((entry_head for entry_head in found if entry_head is not None), key=lambda each: each.first))
