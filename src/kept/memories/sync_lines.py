"""The lines that a person's machines exchange, and the merge of all lines of one memory.

A line is the state of a memory after a change. The result of a merge depends only on the set of lines, not on their order. Two
changes are concurrent if neither machine had seen the other's change. In that case, a person's change wins over kept's own; if both
are of the same kind, the later one wins. If a losing line has other words of the person, a held memory keeps them.
"""

import hmac
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256

from kept.core.codec import dump, load, to_canonical_json
from kept.core.digest import digest
from kept.core.memory import Memory, Status
from kept.core.operation import Add, Anticipate, Operation, Reaffirm, Reword
from kept.core.text import normal_form
from kept.core.times import format_instant, parse_stored_instant
from kept.core.value import dataclass, replace

SYNC = "sync"  # stage of the passes that apply changes from other machines
SHOWN = (Status.ACTIVE, Status.HELD)
_VISIBLE = ("content", "category", "profile", "scope", "status", "pinned", "superseded_by", "resolved_by", "valid_until", "about")

Place = tuple[int, int]  # the epoch of a machine's file, and the number of the pass


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncLine:
    """The state of ``memory`` after a pass (``place``) on ``machine``. ``person`` means that a person made the change.

    ``seen`` says up to which place the machine had read each other machine's file by then. ``project`` is the name that the
    memory's project has on the machine.
    """

    machine: str
    place: Place
    at: datetime
    person: bool
    seen: Mapping[str, Place]
    memory: Memory
    project: str = ""

    def is_known_to(self, other: "SyncLine") -> bool:
        """True if the machine that wrote ``other`` may have known this line when it wrote it."""
        return self.place < other.place if self.machine == other.machine else self.place <= other.seen.get(self.machine, (0, 0))

    @property
    def words(self) -> str:
        """The normal form of the memory's words."""
        return normal_form(self.memory.content)

    @property
    def held_id(self) -> str:
        """The id of the held memory with this line's words, in case another line wins. It is the same on every machine."""
        return conflict_id(self.memory, of=self.memory.id)


def settle_lines(lines: Iterable[SyncLine]) -> tuple[SyncLine, list[SyncLine]]:
    """Merge the lines of one memory. Returns the winning line, and the losing lines whose words must be held for review.

    A losing line is held if a person wrote its words, no later line has them, and a machine wrote other words without having seen
    it.
    """
    ordered = sorted(lines, key=lambda line: (line.person, line.at, line.machine, line.place))
    newest = [line for line in ordered if not any(map(line.is_known_to, ordered))]
    waiting = []
    for number, line in enumerate(ordered):
        later = ordered[number + 1 :] if line.person and line.memory.status in SHOWN else []
        same = [other for other in ordered if other.words == line.words]
        if not any(other in same for other in later) and any(
            not (line.is_known_to(other) or other.is_known_to(line) or any(each.is_known_to(other) for each in same))
            for other in later
        ):
            waiting.append(line)
    return (newest or ordered)[-1], waiting


def format_line(line: SyncLine, key: bytes) -> str:
    """A line as canonical JSON with its signature. ``key`` is the key that the machines share."""
    body = {
        "pass": line.place[1],
        "at": format_instant(line.at),
        "person": line.person,
        "seen": line.seen,
        "memory": dump(line.memory),
        "project": line.project,
    }
    body = json.loads(to_canonical_json(body))
    return f"{to_canonical_json(body | {'sign': _sign(line.machine, line.place[0], body, key)})}\n"


def parse_line(machine: str, epoch: int, text: str, key: bytes) -> SyncLine:
    """Parse a line from the file that ``machine`` wrote in ``epoch``.

    Raises ValueError, KeyError, TypeError, AttributeError or RecursionError if it is invalid or signed with another key.
    """
    body = json.loads(text)
    sign = body.pop("sign")
    if not hmac.compare_digest(sign, _sign(machine, epoch, body, key)):
        raise ValueError("signed with another key")
    return SyncLine(
        machine=machine,
        place=(epoch, int(body["pass"])),
        at=parse_stored_instant(body["at"]),
        person=bool(body["person"]),
        seen={str(name): (int(place[0]), int(place[1])) for name, place in body["seen"].items()},
        memory=load(Memory, body["memory"]),
        project=str(body.get("project", "")),
    )


def _sign(machine: str, epoch: int, body: Mapping[str, object], key: bytes) -> str:
    return hmac.new(key, f"{machine}.{epoch}\n{to_canonical_json(body)}".encode(), sha256).hexdigest()


def conflict_id(memory: Memory, *, of: str) -> str:
    """The id of a held memory that has the words of ``memory``, which may contradict the memory with the id ``of``."""
    return digest(SYNC, of, memory.content, size=5)


def changed_ids(operations: Iterable[Operation]) -> Iterator[str]:
    """The ids of the memories that other machines must be told about. These are the memories that the operations change.

    Confirmations (Reaffirm), requests (Anticipate) and day lines (Reword) are not shared with other machines.
    """
    for operation in operations:
        if not isinstance(operation, Reaffirm | Anticipate | Reword):
            yield from (operation.memory, *getattr(operation, "losers", ()))


def looks_same(memory: Memory, other: Memory) -> bool:
    """True if all visible fields of two memories are equal."""
    return all(getattr(memory, name) == getattr(other, name) for name in _VISIBLE)


def replace_memory(line: SyncLine, mine: Memory) -> Add:
    """The operation that gives a memory the state in another machine's line. Its evidence and candidates on this machine stay."""
    value = replace(
        line.memory,
        candidates=mine.candidates,
        evidence=mine.evidence,
        observations=mine.observations,
        needed_for=line.memory.needed_for or mine.needed_for,
        trigger=mine.trigger,
        owned=mine.owned or line.memory.status is not Status.HELD,
    )
    return Add(memory=mine.id, at=value.last_seen, reason=f"{line.memory.reason} (on {line.machine})", value=value)
