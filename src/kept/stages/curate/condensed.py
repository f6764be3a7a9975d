"""Condensing: which clusters of a category that has too many entries become one, the most alike first (J5).

What is condensed is computed from the live candidates alone, so that neither the order of runs nor what memories there are can
change it. Nothing is lost by it: the entry says each in short and rests on all their evidence. Knows no memories but a person's.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from kept.model.lifecycle import CONDENSING, Rules, alike
from kept.model.memory import Judged, Memory, Status
from kept.model.statement import Statement, statement
from kept.stages.curate.evidence import facts_of

SEVERAL = 4  # clusters in one entry: of more, its text could not say each
_COMMON = 40  # entries that share a word or a name; what more of them have tells nothing, and would compare every pair

Group = tuple[int, ...]


def condensed(
    groups: Sequence[Group], proposals: Sequence[Judged], standing: Sequence[Memory], rules: Rules
) -> tuple[tuple[Group, ...], ...]:
    """The clusters, those that become one entry together; each run of clusters by its first member, and so are the runs.

    ``groups`` are indices into ``proposals`` and, behind those, ``standing``. Pairs join in the order of their likeness until there are as
    many entries as the category may have, or nothing is alike enough. What a person has the say over, fixes and what expires stay alone.
    """
    entries = _entries(groups, proposals, rules)
    owned = [each.category for each in standing if each.status is Status.ACTIVE]
    leader = {place: place for place in range(len(groups))}
    for category, says in entries.items():
        surplus = len(says) + owned.count(category) - rules.condensed[category]
        _join(says, surplus, leader)
    found: dict[int, list[Group]] = defaultdict(list)
    for place, group in enumerate(groups):
        found[leader[place]].append(group)
    return tuple(tuple(each) for _, each in sorted(found.items()))


def _entries(groups: Sequence[Group], proposals: Sequence[Judged], rules: Rules) -> dict[str, dict[int, Statement]]:
    """By category, the clusters that may be condensed, by their place, and what each says."""
    entries: dict[str, dict[int, Statement]] = defaultdict(dict)
    for place, group in enumerate(groups):
        if group[-1] >= len(proposals) or not any(proposals[i].candidate.category in rules.condensed for i in group):
            continue
        facts, status = facts_of([proposals[i] for i in group], rules)
        alone = facts.fingerprint or facts.valid_until or facts.subject
        if status is Status.ACTIVE and facts.category in rules.condensed and not alone:
            entries[facts.category][place] = statement(facts.content, facts.artifacts)
    return entries


def _join(says: Mapping[int, Statement], surplus: int, leader: dict[int, int]) -> None:
    """Join the most alike until ``surplus`` entries fewer are left; ``leader`` names the first place of each one's entry."""
    if surplus <= 0:
        return
    size = dict.fromkeys(says, 1)
    near = sorted((-likeness, i, j) for i, j in _pairs(says) if (likeness := alike(says[i], says[j])) >= CONDENSING)
    for _, i, j in near:
        first, other = sorted((leader[i], leader[j]))
        if surplus <= 0:
            return
        if first != other and size[first] + size[other] <= SEVERAL:
            size[first] += size[other]
            for each in says:
                leader[each] = first if leader[each] == other else leader[each]
            surplus -= 1


def _pairs(says: Mapping[int, Statement]) -> Iterator[tuple[int, int]]:
    """The pairs, earlier first, that share a word or a name that few have."""
    having: dict[str, list[int]] = defaultdict(list)
    for place, each in says.items():
        for word in each.content | each.artifacts:
            having[word].append(place)
    shared = (places for places in having.values() if len(places) <= _COMMON)
    yield from sorted({(i, j) for places in shared for at, i in enumerate(places) for j in places[at + 1 :]})
