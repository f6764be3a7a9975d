"""Curate groups whose candidates changed: validate, guard and apply operations, one transaction per group."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from kept.core.memory import USER_SCOPE, Actor, Candidate, CandidateVerdict, Memory
from kept.core.operation import operation_kind
from kept.core.spans import typed_text
from kept.core.statement import find_content
from kept.core.text import normal_form
from kept.curation.curate import curate
from kept.curation.curate.plans import is_person_owned
from kept.curation.curate.values import Meaning
from kept.curation.guard import find_overreach, find_protected_changes
from kept.curation.lifecycle import CurationRules, rules_of
from kept.extraction.questions.answer import apply_overrulings, overruled_candidate_ids
from kept.local.progress import Progress, ignore_progress
from kept.store.values import Draft
from kept.workspace import Workspace

_BEFORE = 40  # events before a prompt among which the prompt before it is looked for
_ENOUGH = 3  # words around a wish that tell what else was asked for
CURATE, GUARD = "curate", "guard"


@dataclass(kw_only=True, slots=True)
class CurationReport:
    """What curation did: operations by kind, and the passes a guard threw out, in words."""

    operations: Counter[str] = field(default_factory=Counter)
    stopped: list[str] = field(default_factory=list)


class _UnaskedError(Exception):
    """How near some texts are is not known yet."""


class _Asked:
    """How near texts are, asked between transactions: a server that embeds may take long, and others wait to write."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning
        self._known: dict[tuple[str, str], float | None] = {}
        self._open: tuple[tuple[str, str], ...] = ()
        self._silent = False

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float | None] | None:
        self._open = tuple(pair for pair in pairs if pair not in self._known)
        if self._silent:
            return None
        if self._open:
            raise _UnaskedError
        return [self._known[pair] for pair in pairs]

    def ask_open(self) -> None:
        """Ask for what was wanted last; nothing is asked again of what gives no answer."""
        scores = self._meaning(self._open) if self._open and not self._silent else ()
        self._silent = self._silent or scores is None
        self._known |= dict(zip(self._open, scores or (), strict=False))
        self._open = ()


def curate_changed_groups(
    workspace: Workspace,
    run: Callable[[], int],
    *,
    allow: bool = False,
    freed: frozenset[str] = frozenset(),
    meaning: Meaning | None = None,
    progress: Progress = ignore_progress,
) -> CurationReport:
    """Curate every group whose live candidates changed. ``allow`` lets passes through that a guard would stop. Raises StoreError.

    ``run`` gives the number of the run, asked for only where something is to be noted. ``freed`` are scopes that a person's own
    doing changed: no guard watches them. ``meaning`` tells how near texts are. A group that a guard stopped keeps its candidates
    and waits, noted once.
    """
    result = CurationReport()
    groups = workspace.store.log.groups_to_curate()
    blocked = workspace.store.log.blocked_candidates()
    asked = _Asked(meaning) if meaning else None
    for number, (profile, scope) in enumerate(groups):
        progress("curating", number, len(groups))
        done = False
        while not done:
            with suppress(_UnaskedError), workspace.store.transaction():
                allowed = allow or scope in freed
                if curate_group(workspace, run, (profile, scope), result, blocked=blocked, allow=allowed, meaning=asked):
                    workspace.store.log.mark_group_curated(profile, scope)
                done = True
            if asked:
                asked.ask_open()
    progress("curating", len(groups), len(groups))
    return result


def curate_group(
    workspace: Workspace,
    run: Callable[[], int],
    group: tuple[str, str],
    result: CurationReport,
    *,
    blocked: frozenset[str],
    allow: bool,
    meaning: Meaning | None = None,
) -> bool:
    """Curate one group; False where a guard stopped the pass. Raises StoreError."""
    log, (profile, scope) = workspace.store.log, group
    memories = log.memories(group=(profile, scope))
    proposed = tuple(proposal.judged for proposal in log.proposals(profile, scope))
    judged = apply_overrulings(proposed)
    way = next((item for item in workspace.profiles if item.id == profile), None)
    operations = curate(
        judged,
        memories,
        blocked=blocked | _candidates_kept_elsewhere(workspace, judged, profile, scope),
        rules=rules_of(way) if way else CurationRules(),
        surroundings=lambda candidate: _words_around(workspace, candidate),
        meaning=meaning,
    )
    if not operations:
        return True
    subject = f"{profile} · {scope}"
    turned_down = overruled_candidate_ids(proposed)
    corrected = frozenset(
        memory.id for memory in memories if memory.candidates and not memory.owned and turned_down.issuperset(memory.candidates)
    )
    overreach = [] if allow else find_overreach(memories, operations, corrected=corrected)
    if overreach:  # what another profile remembers from now on is not lost
        corrected |= _memories_proposed_elsewhere(workspace, memories, profile, scope)
        overreach = find_overreach(memories, operations, corrected=corrected)
    stops = [str(guard_stop) for guard_stop in overreach]
    stops += [
        f"it would change {change}, which is pinned or the user's own" for change in find_protected_changes(memories, operations)
    ]
    if stops:
        note = f"stopped by the guard: {'; '.join(stops)}"
        if not _is_repeated_stop(workspace, subject, note):
            log.commit(
                Draft(run=run(), stage=GUARD, subject=subject, actor=Actor.MACHINE, recorded_at=workspace.clock(), note=note)
            )
        result.stopped.append(f"{workspace.name(scope)}: {'; '.join(stops)}")
        return False
    log.commit(
        Draft(run=run(), stage=CURATE, subject=subject, actor=Actor.MACHINE, recorded_at=workspace.clock(), operations=operations)
    )
    result.operations.update(map(operation_kind, operations))
    return True


def _words_around(workspace: Workspace, candidate: Candidate) -> frozenset[str]:
    """The words that the person typed around a wish: in its prompt, or where it is all of that, in the prompt before."""
    quote = candidate.evidence[0]
    *before, prompt = workspace.store.archive.events_around(quote.event, _BEFORE, 0) or (None,)
    if prompt is None:
        return frozenset()
    around = find_content(typed_text(prompt).replace(quote.quote, " "))
    if len(around) >= _ENOUGH:
        return around
    typed = (typed_text(event) for event in reversed(before) if event is not None and event.session == prompt.session)
    return find_content(next(filter(None, typed), ""))


def _other_groups(workspace: Workspace, profile: str, scope: str) -> Iterator[tuple[str, str]]:
    """The groups of the other active profiles that hold in a scope."""
    return ((item.id, place) for item in workspace.profiles if item.id != profile for place in {scope, USER_SCOPE})


def _candidates_kept_elsewhere(
    workspace: Workspace, judged: Iterable[CandidateVerdict], profile: str, scope: str
) -> frozenset[str]:
    """The candidates of a group whose memories a person has migrated to another profile, or that say what a person decided on
    there: the person's memory stays the only one, in use or not.
    """
    others = [memory for group in _other_groups(workspace, profile, scope) for memory in workspace.store.log.memories(group=group)]
    decided = {normal_form(memory.content) for memory in others if is_person_owned(memory) and memory.content}
    said = (item.candidate for item in judged if decided and normal_form(item.candidate.content) in decided)
    return frozenset(candidate for memory in others for candidate in memory.candidates) | {candidate.id for candidate in said}


def _memories_proposed_elsewhere(workspace: Workspace, memories: Iterable[Memory], profile: str, scope: str) -> frozenset[str]:
    """The memories of a group that another active profile proposes now: the settings gave their source to it."""
    proposals = (
        proposal for group in _other_groups(workspace, profile, scope) for proposal in workspace.store.log.proposals(*group)
    )
    said = {normal_form(proposal.judged.candidate.content) for proposal in proposals}
    return frozenset(memory.id for memory in memories if normal_form(memory.content) in said)


def _is_repeated_stop(workspace: Workspace, subject: str, note: str) -> bool:
    """Whether this stop was the last thing that happened to the group."""
    last = [pass_ for pass_ in workspace.store.log.pass_heads() if pass_.subject == subject and pass_.stage in (GUARD, CURATE)][-1:]
    return bool(last) and (last[0].stage, last[0].note) == (GUARD, note)
