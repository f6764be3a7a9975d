"""Curate the groups whose candidates changed: compute the operations, let the guard check them, and commit them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from kept.core.codec import to_canonical_json
from kept.core.digest import digest
from kept.core.memory import GROUP_SEPARATOR, USER_SCOPE, Candidate, Memory
from kept.core.operation import TAKEN_BACK, Operation, Retire, operation_kind
from kept.core.spans import typed_text
from kept.core.statement import find_content
from kept.core.text import normal_form
from kept.core.value import dataclass, field
from kept.curation.curate import curate
from kept.curation.curate.plans import DAWN
from kept.curation.curate.values import Meaning
from kept.curation.guard import WINDOW, GuardStop, find_ended, find_overreach, find_protected_changes
from kept.curation.lifecycle import CurationRules, rules_of
from kept.curation.part import Part, WholeGroupError, find_part, is_large, read_group, settle_group
from kept.curation.text_index import TextIndex
from kept.extraction.questions.answer import apply_overrulings, overruled_candidate_ids
from kept.local.progress import Progress, ignore_progress
from kept.store.log import Log
from kept.store.values import CURATE, GUARD
from kept.workspace import RunNumber, Workspace

_BEFORE = 40  # at most this many events before a prompt are searched for the previous prompt
_ENOUGH = 3  # the previous prompt is not read if a prompt has this many content words besides the wish
_PACKAGE = Path(__file__).parents[1]
_DECIDING = ("core/*.py", "core/*.toml", "curation/**/*.py", "profiles/lexicon/**/*.toml")  # files of the package


@dataclass(kw_only=True, slots=True)
class CurationReport:
    """The result of curation: the number of operations by kind, and a description of each pass that a guard stopped."""

    operations: Counter[str] = field(default_factory=Counter)
    taken_back: int = 0  # the number of memories that were retired because a person withdrew them
    stopped: list[str] = field(default_factory=list)


class _UnknownSimilarityError(Exception):
    """The similarity of some texts is not computed yet."""


class _DeferredMeaning:
    """The similarity of texts, computed outside transactions, because it may take long and other processes wait to write.

    A call inside a transaction raises _UnknownSimilarityError if the similarity of a pair is missing. The caller then calls
    :meth:`compute_missing` outside the transaction and tries again.
    """

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning
        self._known: dict[tuple[str, str], float | None] = {}
        self._missing: tuple[tuple[str, str], ...] = ()
        self.failed = False

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float | None] | None:
        self._missing = tuple(pair for pair in pairs if pair not in self._known)
        if self.failed:
            return None
        if self._missing:
            raise _UnknownSimilarityError
        return [self._known[pair] for pair in pairs]

    def compute_missing(self) -> None:
        """Compute the similarity of the pairs that the last call lacked. After a failure, nothing is computed any more."""
        scores = self._meaning(self._missing) if self._missing and not self.failed else ()
        self.failed = self.failed or scores is None
        self._known |= dict(zip(self._missing, scores or (), strict=False))
        self._missing = ()


def curate_changed_groups(
    workspace: Workspace,
    run: RunNumber,
    *,
    allow: bool = False,
    freed: frozenset[str] = frozenset(),
    meaning: Meaning | None = None,
    progress: Progress = ignore_progress,
) -> CurationReport:
    """Curate every group whose live candidates changed. Raises StoreError.

    ``run`` returns the number of the run. It is called only if something is committed. With ``allow``, passes that would deactivate
    too many memories are committed too. ``freed`` has the scopes in which they are always committed, because a person changed them
    on purpose. ``meaning`` returns the similarity of texts. If a guard stops a group, the stop is recorded once. The group stays
    queued.
    """
    result = CurationReport()
    groups = workspace.store.log.groups_to_curate()
    blocked = workspace.store.log.blocked_candidates()
    deferred = _DeferredMeaning(meaning) if meaning else None
    for number, (profile, scope) in enumerate(groups):
        progress("curating", number, len(groups))
        done = False
        while not done:
            with suppress(_UnknownSimilarityError), workspace.store.transaction():
                allowed = allow or scope in freed
                version = partial(_describe_rules, workspace, profile, scope, meaning)
                if curate_group(
                    workspace, run, (profile, scope), result, blocked=blocked, allow=allowed, meaning=deferred, version=version
                ):
                    workspace.store.log.mark_group_curated(profile, scope)
                done = True
            if deferred:
                deferred.compute_missing()
    progress("curating", len(groups), len(groups))
    return result


def curate_group(
    workspace: Workspace,
    run: RunNumber,
    group: tuple[str, str],
    result: CurationReport,
    *,
    blocked: frozenset[str],
    allow: bool,
    meaning: Meaning | None = None,
    version: Callable[[], str] | None = None,
) -> bool:
    """Curate one group. Returns False if a guard stopped the pass. Raises StoreError.

    ``version`` returns the version of the rules under which a large group is settled. As long as this version stays the same, later
    passes read only changed texts and those related to them. If ``version`` is None, the group is read whole and not settled.
    """
    log, (profile, scope) = workspace.store.log, group
    rules = _rules_for(workspace, profile)
    index = TextIndex(log, group, rules, blocked=blocked, others=_other_groups(workspace, profile, scope))

    def find_operations(part: Part) -> tuple[Operation, ...]:
        return curate(
            apply_overrulings(part.judged),
            part.memories,
            blocked=blocked | part.blocked,
            rules=rules,
            surroundings=lambda candidate: _words_around(workspace, candidate),
            meaning=meaning,
            compared=part.compared,
            taken=part.taken,
        )

    part = _read_part(index, version, meaning)
    operations = find_operations(part) if part is not None else ()
    if part is None or (operations and not allow and _find_overreach(log, group, part, operations, _find_corrected(part))):
        part = read_group(index)
        operations = find_operations(part)
    if operations and not _commit_operations(workspace, run, group, part, operations=operations, result=result, allow=allow):
        return False
    if version is not None:
        is_complete = not (isinstance(meaning, _DeferredMeaning) and meaning.failed)
        settle_group(index, part, operations, version() if is_complete and (part.texts is None or is_large(part)) else "")
    return True


def _rules_for(workspace: Workspace, profile: str) -> CurationRules:
    """The curation rules of an active profile. A profile that is not active gets the default rules."""
    return next((rules_of(item) for item in workspace.profiles if item.id == profile), CurationRules())


def _commit_operations(
    workspace: Workspace,
    run: RunNumber,
    group: tuple[str, str],
    part: Part,
    *,
    operations: tuple[Operation, ...],
    result: CurationReport,
    allow: bool,
) -> bool:
    """Commit operations on a group. Returns False if a guard stopped them. Raises StoreError."""
    log, subject, memories = workspace.store.log, GROUP_SEPARATOR.join(group), part.memories
    corrected = _find_corrected(part)
    overreach = () if allow else _find_overreach(log, group, part, operations, corrected)
    if overreach and part.texts is not None:  # a memory is not lost if another profile has it from now on
        corrected |= _memories_proposed_elsewhere(workspace, memories, group)
        overreach = find_overreach(memories, operations, corrected=corrected)
    stops = [str(guard_stop) for guard_stop in overreach]
    stops += [
        f"it would change {change}, which is pinned or the user's own" for change in find_protected_changes(memories, operations)
    ]
    if stops:
        note = f"stopped by the guard: {'; '.join(stops)}"
        if not _is_repeated_stop(workspace, subject, note):
            run.commit(GUARD, subject=subject, note=note)
        result.stopped.append(f"{workspace.name(group[1])}: {'; '.join(stops)}")
        return False
    run.commit(CURATE, operations, subject=subject)
    result.operations.update(map(operation_kind, operations))
    result.taken_back += sum(isinstance(each, Retire) and each.reason.startswith(TAKEN_BACK) for each in operations)
    return True


def _find_corrected(part: Part) -> frozenset[str]:
    """The ids of memories that should never have become active, because a model rejected all their candidates."""
    turned_down = overruled_candidate_ids(part.judged)
    resting = (memory for memory in part.memories if memory.candidates and not memory.owned)
    return frozenset(memory.id for memory in resting if turned_down.issuperset(memory.candidates))


def _describe_rules(workspace: Workspace, profile: str, scope: str, meaning: Meaning | None) -> str:
    """A description of everything on which the curation of a group depends, other than its content, as JSON.

    It has the version and a hash of the program, the rules, the groups of other profiles, and whether an embedding model is
    available.
    """
    rules = _rules_for(workspace, profile)
    kinds = (rules.lasting, rules.gathered, rules.themes, rules.questions)
    others = sorted(_other_groups(workspace, profile, scope))
    return to_canonical_json(
        [_program_version(), meaning is not None, sorted(rules.promotions.items()), *map(sorted, kinds), others]
    )


@cache
def _program_version() -> tuple[str, str]:
    """The version of kept, and a hash of the code and the tables of words that decide what texts have to do with each other."""
    from importlib.metadata import version  # noqa: PLC0415 - slow to import, and few runs need it

    paths = sorted(path for names in _DECIDING for path in _PACKAGE.glob(names))
    return version("kept"), digest(*(path.read_text(encoding="utf-8") for path in paths))


def _words_around(workspace: Workspace, candidate: Candidate) -> frozenset[str]:
    """The content words that the person typed around a wish in its prompt or, if these are too few, in the previous prompt."""
    quote = candidate.evidence[0]
    *before, prompt = workspace.store.archive.events_around(quote.event, _BEFORE, 0) or (None,)
    if prompt is None:
        return frozenset()
    around = find_content(typed_text(prompt).replace(quote.quote, " "))
    if len(around) >= _ENOUGH:
        return around
    typed = (typed_text(event) for event in reversed(before) if event is not None and event.session == prompt.session)
    return find_content(next(filter(None, typed), ""))


def _other_groups(workspace: Workspace, profile: str, scope: str) -> frozenset[tuple[str, str]]:
    """The groups of the other active profiles that apply to a scope: those of the scope and of the user scope."""
    return frozenset((item.id, place) for item in workspace.profiles if item.id != profile for place in {scope, USER_SCOPE})


def _memories_proposed_elsewhere(workspace: Workspace, memories: Iterable[Memory], group: tuple[str, str]) -> frozenset[str]:
    """The ids of a group's memories that another active profile proposes now, because the settings gave it their source."""
    proposals = (proposal for other in _other_groups(workspace, *group) for proposal in workspace.store.log.proposals(*other))
    proposed = {normal_form(proposal.judged.candidate.content) for proposal in proposals}
    return frozenset(memory.id for memory in memories if normal_form(memory.content) in proposed)


def _read_part(index: TextIndex, version: Callable[[], str] | None, meaning: Meaning | None) -> Part | None:
    """The part of a group that changed since the group was settled. Returns None if the whole group must be read."""
    settled_under = index.texts.rules if version else None
    if not (version and settled_under and settled_under == version()):
        return None
    try:
        return find_part(index, meaning)
    except WholeGroupError:
        return None


def _find_overreach(
    log: Log, group: tuple[str, str], part: Part, operations: Sequence[Operation], corrected: frozenset[str]
) -> tuple[GuardStop, ...]:
    """The guard's stops for operations on a part of a group. Other memories of the group are read only if the guard needs them."""
    if part.texts is not None:
        return find_overreach(part.memories, operations, corrected=corrected)
    memories = {memory.id: memory for memory in part.memories}
    lost = {memory.category for memory in find_ended(part.memories, operations) if memory.id not in corrected}
    if not lost:
        return ()
    until = max((operation.at for operation in operations if operation.at is not None), default=None)
    for memory in log.ended_memories(group, lost, until - WINDOW if until else DAWN):
        memories.setdefault(memory.id, memory)
    while True:
        successors = {by for memory in memories.values() for by in (memory.superseded_by, memory.resolved_by) if by}
        found = {memory.id: memory for memory in log.some(sorted(successors - memories.keys()))}
        if not found:
            break
        memories |= found
    return find_overreach(memories.values(), operations, corrected=corrected, active=log.active_counts(group))


def _is_repeated_stop(workspace: Workspace, subject: str, note: str) -> bool:
    """True if the last pass on a group was stopped for the same reasons."""
    last = [pass_ for pass_ in workspace.store.log.pass_heads() if pass_.subject == subject and pass_.stage in (GUARD, CURATE)][-1:]
    return bool(last) and (last[0].stage, last[0].note) == (GUARD, note)
