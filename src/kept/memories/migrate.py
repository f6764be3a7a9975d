"""Migrate the memories of one profile to the categories of another, in one pass that can be undone.

Switching profiles does not change memories. A migration must be requested, and the person can see the mapping before it is made.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kept import profiles
from kept.core.errors import UsageError
from kept.core.memory import USER_SCOPE, Actor, Memory, Status
from kept.core.operation import Move, Operation, Retire
from kept.core.text import normal_form
from kept.core.value import dataclass
from kept.profiles.profile import INTENTS, Profile
from kept.workspace import RunNumber, Workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class MigrationReport:
    """The result of a migration, or of a dry run: the mapping of categories, and by category the numbers of memories that move and
    stay.
    """

    mapping: Mapping[str, str]
    moved: Mapping[str, int]
    stayed: Mapping[str, int]


def default_mapping(source: Profile, target: Profile) -> dict[str, str]:
    """The default mapping of categories.

    A category maps to the one with the same id, else to the one that the target uses most often for the same intents. A category
    without either is not in the mapping.
    """
    found = {}
    for category in source.categories:
        same = target.category(category.id)
        intents = [intent for intent in INTENTS if (filed := source.category_for(intent)) and filed.id == category.id]
        filed_as = Counter(other.id for intent in intents if (other := target.category_for(intent)))
        if same is not None:
            found[category.id] = same.id
        elif filed_as:
            found[category.id] = filed_as.most_common(1)[0][0]
    return found


def migrate_profile(
    workspace: Workspace, source: str, target: str, mapping: Mapping[str, str], *, dry: bool = False
) -> MigrationReport:
    """Move the memories of the profile ``source`` to ``target``. The report counts active and held memories only.

    ``mapping`` (category to category) takes precedence over :func:`default_mapping`; memories of a category that maps to an empty
    text stay. Raises ConfigError if a profile cannot be read, UsageError for unknown categories or an inactive target, StoreError.
    """
    folder = workspace.paths.config / "profiles"
    left, right = profiles.load_profile(source, folder), profiles.load_profile(target, folder)
    if left.id == right.id:
        raise UsageError("a profile cannot be migrated to itself")
    if right.id not in {profile.id for profile in workspace.profiles}:
        raise UsageError(f"profile {right.id!r} is not active", hint=f"kept config set profiles {right.id}")
    _check_mapping(left, right, mapping)
    became = {name: kind for name, kind in {**default_mapping(left, right), **mapping}.items() if kind}
    every = [memory for memory in workspace.store.log.memories() if memory.profile == left.id and memory.content]
    living = [memory for memory in every if _is_living(memory)]
    # Ended memories move too, because the other profile would otherwise propose them again.
    moved = [memory for memory in every if memory.category in became]
    operations = (
        *(_build_move(memory, right, became[memory.category]) for memory in moved),
        *_retire_twins(workspace, [memory for memory in moved if _is_living(memory)], right),
    )
    if operations and not dry:
        declared = ", ".join(f"{name} to {kind}" for name, kind in sorted(became.items()))
        with workspace.store.transaction():
            run = RunNumber(workspace, "migrate")
            run.commit("migrate", operations, subject=f"{left.id} to {right.id}", actor=Actor.PERSON, note=declared)
            run.end({"operations": {"move": len(operations)}})
    return MigrationReport(
        mapping=became,
        moved=Counter(memory.category for memory in living if memory.category in became),
        stayed=Counter(memory.category for memory in living if memory.category not in became),
    )


def _is_living(memory: Memory) -> bool:
    return memory.status in (Status.ACTIVE, Status.HELD)


def _retire_twins(workspace: Workspace, moved: Sequence[Memory], target: Profile) -> Iterator[Operation]:
    """Retire duplicates after the move.

    If two active or held memories say the same, the one that no person decided on is retired.
    """
    standing = {
        (memory.scope, normal_form(memory.content)): memory
        for memory in workspace.store.log.memories()
        if memory.profile == target.id and _is_living(memory)
    }
    for memory in moved:
        words = normal_form(memory.content)
        twin = standing.get((memory.scope, words)) or standing.get((USER_SCOPE, words))
        if twin is not None:
            goes = memory if twin.owned or twin.pinned or not (memory.owned or memory.pinned) else twin
            yield Retire(memory=goes.id, at=goes.last_seen, reason=f"{target.id} remembers the same")


def _build_move(memory: Memory, target: Profile, category: str) -> Operation:
    reason = f"migrated from {memory.profile} to {target.id}"
    return Move(
        memory=memory.id,
        at=memory.last_seen,
        reason=reason,
        scope=memory.scope,
        candidates=memory.candidates,
        profile=target.id,
        category=category,
    )


def _check_mapping(left: Profile, right: Profile, mapping: Mapping[str, str]) -> None:
    for name, kind in mapping.items():
        for profile, wanted in ((left, name), (right, kind)):
            if wanted and profile.category(wanted) is None:
                known = ", ".join(category.id for category in profile.categories)
                raise UsageError(f"no category {wanted!r} in profile {profile.id!r}", hint=f"categories: {known}")
