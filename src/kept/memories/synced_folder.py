"""One person, several machines, no server: each machine writes what changed in its memory to a file of its own in a synced folder.

A line is what a memory is after a pass, signed with a key that the person's machines share, and says which lines of the others its
machine knew. So a change made without knowledge of another is seen: of two changes by the person the later stands and the other's
words wait beside it; what a machine worked out by itself gives way to the person. What was forgotten is a line without words.
Such lines also lie beside the store while the server of a home cannot be reached.
"""

import hmac
import json
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from kept.core.codec import digest, dump, load, to_canonical_json
from kept.core.erasure import ErasureMatch, ErasureWords
from kept.core.errors import KeptError, UsageError
from kept.core.fingerprint import is_known_statement
from kept.core.fold import erase_content
from kept.core.memory import Actor, Memory, Status
from kept.core.operation import Add, Merge, Operation, Reaffirm, Reword, to_facts
from kept.core.text import normal_form
from kept.core.times import format_instant, parse_stored_instant
from kept.local import files
from kept.memories.decisions import hold_clash
from kept.store.check import IMPORTED
from kept.store.run_number import RunNumber
from kept.store.values import Draft
from kept.workspace import Workspace

SYNC = "sync"  # the stage of what comes from other machines, and the note of the store with the key and what was read
_AWAY = "away"  # the machine of what was changed here without the server
_FILE = re.compile(r"([a-z0-9-]{1,80})\.(\d{1,6})\b")  # what syncs the folder may add to the name of a copy
_OTHER = re.compile(r"[^a-z0-9]+")
_SHOWN = (Status.ACTIVE, Status.HELD)
_SAID = ("content", "category", "profile", "scope", "status", "pinned", "superseded_by", "resolved_by", "valid_until", "about")

Place = tuple[int, int]  # of a line: the epoch of its file, and the pass


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """Who changed a memory: on which ``machine``, in which pass (``place``) and when, the ``person`` or rules."""

    machine: str
    place: Place
    at: datetime
    person: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncLine(Change):
    """What a ``memory`` is after a change; ``seen`` is how far its machine had read the others then."""

    seen: Mapping[str, Place]
    memory: Memory


@dataclass(kw_only=True, slots=True)
class SyncReport:
    """What was exchanged: changes ``received`` and lines ``sent``, clashes that wait, memories ``forgotten`` on other machines that
    are still here, and what was wrong.
    """

    received: int = 0
    clashes: int = 0
    forgotten: tuple[Memory, ...] = ()
    sent: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SyncFolder:
    """The folder of the settings, as this machine sees it. Also a holder of words: those in its own files."""

    workspace: Workspace
    name: str = "the synced folder"
    claims: tuple[str, ...] = ()
    _keys: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)

    @property
    def folder(self) -> Path | None:
        """The folder; None where the settings name none, or the store is one of a program that works for many."""
        given = self.workspace.settings.sync.folder
        return Path(given).expanduser() if given and not self.workspace.paths.settings_folder else None

    @property
    def machine(self) -> str:
        """What this store is called in the folder: another name on another machine, should the home be copied there."""
        node = platform.node()
        own = digest(self.workspace.store.key("machine").hex(), node, size=4)
        return f"{_OTHER.sub('-', node.lower()).strip('-')[:60] or 'machine'}-{own}"

    @property
    def code(self) -> str:
        """The key that the person's machines share, as a person copies it. Made here where no other was given."""
        if not self._note().get("key"):
            self._save_note(key=self.workspace.store.key(SYNC).hex())
        return str(self._note()["key"])

    def join(self, code: str) -> None:
        """Use the key of the person's other machines. Raises UsageError where it is none."""
        if not re.fullmatch("[0-9a-f]{64}", code):
            raise UsageError("this is no key of `kept sync`", hint="copy what `kept sync --show-key` prints on the other machine")
        self._save_note(key=code)

    def seen(self) -> dict[str, Place]:
        """How far the files of other machines were read."""
        return {machine: (epoch, number) for machine, (epoch, number) in self._note().get("seen", {}).items()}

    def _note(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.workspace.store.note(SYNC) or "{}")
        return found

    def _save_note(self, **values: object) -> None:
        self.workspace.store.save_note(SYNC, to_canonical_json(self._note() | values))

    # The files

    def _paths(self) -> dict[str, list[tuple[int, Path]]]:
        """The files of each machine, by epoch."""
        found: dict[str, list[tuple[int, Path]]] = {}
        for path in sorted(self.folder.iterdir()) if self.folder else ():
            if path.suffix == ".jsonl" and (match := _FILE.match(path.name)) and path.is_file() and not path.is_symlink():
                found.setdefault(match[1], []).append((int(match[2]), path))
        return found

    def _read(self, machine: str, epoch: int, path: Path, wrong: list[str]) -> Iterator[tuple[SyncLine, str]]:
        """The lines of a file with their texts. One that is not whole yet is read when it is."""
        for text in files.read_text(path).split("\n")[:-1]:
            try:
                line = self._parse(machine, epoch, text)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                wrong.append(path.name)
            else:
                yield line, text

    def _parse(self, machine: str, epoch: int, text: str) -> SyncLine:
        body = json.loads(text)
        sign = body.pop("sign")
        if not hmac.compare_digest(sign, self._sign(machine, epoch, body)):
            raise ValueError("signed with another key")
        return SyncLine(
            machine=machine,
            place=(epoch, int(body["pass"])),
            at=parse_stored_instant(body["at"]),
            person=bool(body["person"]),
            seen={str(name): (int(place[0]), int(place[1])) for name, place in body["seen"].items()},
            memory=load(Memory, body["memory"]),
        )

    def _format(self, line: SyncLine) -> str:
        body = {
            "pass": line.place[1],
            "at": format_instant(line.at),
            "person": line.person,
            "seen": line.seen,
            "memory": dump(line.memory),
        }
        body = json.loads(to_canonical_json(body))
        return f"{to_canonical_json(body | {'sign': self._sign(line.machine, line.place[0], body)})}\n"

    def _sign(self, machine: str, epoch: int, body: Mapping[str, object]) -> str:
        key = bytes.fromhex(self.code)
        return hmac.new(key, f"{machine}.{epoch}\n{to_canonical_json(body)}".encode(), sha256).hexdigest()

    def _lines_of_others(self, wrong: list[str]) -> list[SyncLine]:
        own = self.machine
        return [
            line
            for machine, paths in self._paths().items()
            if machine != own
            for line in sorted(
                (line for epoch, path in paths for line, _ in self._read(machine, epoch, path, wrong)),
                key=lambda line: line.place,
            )
        ]

    # Sending

    def push(self) -> int:
        """Append what changed here since the last line to this machine's file. Returns the lines added. Raises KeptError."""
        if self.folder is None:
            return 0
        machine, log, wrong = self.machine, self.workspace.store.log, list[str]()
        epoch, path = max(self._paths().get(machine, []), default=(1, self.folder / f"{machine}.1.jsonl"))
        content = files.read_file(path)
        written = [line for line, _ in self._read(machine, epoch, path, wrong)]
        if wrong:  # the machines got another key since
            written, content = [], replace(content, data=b"")
        elif written and [pass_.recorded_at for pass_ in log.passes([written[-1].place[1]])] != [written[-1].at]:
            epoch, written = epoch + 1, []  # a backup was restored
            path = self.folder / f"{machine}.{epoch}.jsonl"
            content = files.read_file(path)
        said = {line.memory.id: line.memory for line in written}
        lines = self._lines_after(written[-1].place[1] if written else 0, epoch, said, self.seen())
        if lines:
            whole = content.data[: content.data.rfind(b"\n") + 1]
            data = whole + "".join(map(self._format, lines)).encode()
            files.write_if_unchanged(path, data, expect=content.stamp, root=self.folder)
        return len(lines)

    def _lines_after(self, after: int, epoch: int, said: Mapping[str, Memory], seen: Mapping[str, Place]) -> list[SyncLine]:
        """What memories that changed here after a pass are now, by pass; of what rules changed, only what was not ``said``."""
        lines = []
        for number, change in self._changes(after, epoch).items():
            memory = self._find(number)
            if memory and (change.person or number not in said or not _says_same(said[number], memory)):
                lines.append(
                    SyncLine(
                        machine=change.machine,
                        place=change.place,
                        at=change.at,
                        person=change.person,
                        seen=seen,
                        memory=replace(memory, candidates=()),
                    )
                )
        return sorted(lines, key=lambda line: line.place)

    # A time without the server

    @property
    def _outbox(self) -> Path:
        return self.workspace.paths.state / "outbox.jsonl"

    def save_outbox(self, after: int) -> None:
        """Save what changed here after a pass, without the server, beside the store, for :meth:`apply_outbox`."""
        seen = {self.machine: (1, after)}
        path, content = self._outbox, files.read_file(self._outbox)
        earlier = [text for line, text in self._read(_AWAY, 1, path, []) if line.seen != seen]
        made = [self._format(replace(line, machine=_AWAY)) for line in self._lines_after(after, 1, {}, seen)]
        data = "".join((*(f"{text}\n" for text in earlier), *made)).encode()
        files.write_if_unchanged(path, data, expect=content.stamp, root=path.parent)

    def apply_outbox(self, run: RunNumber) -> SyncReport:
        """Apply the saved changes to the store, as those of another machine; so the server gets them. Raises StoreError."""
        report, content = SyncReport(), files.read_file(self._outbox)
        if content.data and self.workspace.store.away_since is None:
            with self.workspace.store.transaction():
                for line, _ in self._read(_AWAY, 1, self._outbox, []):
                    self._apply_line(line, run, report)
            files.delete_if_unchanged(self._outbox, expect=content.stamp, root=self._outbox.parent)
        return report

    def _changes(self, after: int, epoch: int) -> dict[str, Change]:
        """What happened here after a pass to which memories: the last pass of each, and whether the person had a part in any."""
        log, found = self.workspace.store.log, dict[str, Change]()
        for pass_ in log.passes_after(after):
            operations = () if pass_.stage == SYNC else pass_.operations
            if switched := {*pass_.undoes, *pass_.redoes}:
                operations = tuple(operation for other in log.passes(switched) for operation in other.operations)
            for number in _changed(operations):
                person = pass_.actor is Actor.PERSON or (number in found and found[number].person)
                found[number] = Change(machine=self.machine, place=(epoch, pass_.id), at=pass_.recorded_at, person=person)
        return found

    # Receiving

    def pull(self, run: RunNumber) -> SyncReport:
        """Apply what other machines wrote since they were read last, in one transaction. Raises StoreError."""
        report, wrong = SyncReport(), list[str]()
        if self.folder is None:
            return report
        if not self.folder.is_dir():
            return SyncReport(problems=(f"the synced folder {self.folder} is not there",))
        try:
            report.sent = self.push()  # as what was made without knowing what comes now
            lines, seen = self._lines_of_others(wrong), self.seen()
        except (KeptError, OSError) as error:
            return SyncReport(problems=(f"the synced folder cannot be used: {error}",))
        gone = {line.memory.id for line in lines if not line.memory.content}
        fresh = [line for line in lines if line.place > seen.get(line.machine, (0, 0))]
        with self.workspace.store.transaction():
            for line in fresh:
                if line.memory.id not in gone:
                    self._apply_line(line, run, report)
            if fresh:
                self._save_note(seen=seen | {line.machine: line.place for line in fresh})
        if gone:
            self.erase(ErasureWords(sentences=(), memories=frozenset(gone)))
        known = (self.workspace.store.log.memory(number) for number in sorted(gone))
        report.forgotten = tuple(memory for memory in known if memory is not None and memory.content)
        report.problems = tuple(
            f"{wrong.count(name)} lines of {name} are not signed with this machine's key → kept sync --key"
            for name in dict.fromkeys(wrong)
        )
        return report

    def _apply_line(self, line: SyncLine, run: RunNumber, report: SyncReport) -> None:
        log, theirs = self.workspace.store.log, line.memory
        mine = self._find(theirs.id)
        if mine is None:
            known, key = log.forgotten_fingerprints(), self.workspace.store.key("forget")
            if theirs.status in _SHOWN and not (known and is_known_statement(theirs.content, known, key)):
                self._commit(line, run, self._additions(line))
                report.received += 1
            return
        if not mine.content or _says_same(mine, theirs):
            if mine.content and line.person:  # so that the next line is told from this one
                self._commit(line, run, [_replacement(line, mine)])
            return
        last = self._last_change(theirs.id)
        knew = last.machine == line.machine or last.place <= line.seen.get(last.machine, (0, 0))
        if not line.person and ((mine.candidates and not mine.owned) or (last.person and not knew)):
            return  # what rests on what was said here, or the person decided, no other machine's rules change
        if knew or (line.person and not last.person):
            self._commit(line, run, [_replacement(line, mine)])
            report.received += 1
        elif line.person:
            self._settle_clash(line, mine, last, run, report)

    def _find(self, number: str) -> Memory | None:
        """A memory as it is here; as retired where what added it was undone."""
        log = self.workspace.store.log
        added = [operation.value for _, operation in log.operations_on(number) if isinstance(operation, Add)]
        return log.memory(number) or (replace(added[-1], status=Status.RETIRED) if added else None)

    def _settle_clash(self, line: SyncLine, mine: Memory, last: Change, run: RunNumber, report: SyncReport) -> None:
        """The later of two changes stands, on every machine; what the other one said waits beside it."""
        theirs_stand = (line.at, line.machine) > (last.at, last.machine)
        stands, other, where = (line.memory, mine, last.machine) if theirs_stand else (mine, line.memory, line.machine)
        number = digest(SYNC, mine.id, other.content, size=5)
        held = (
            other.status in _SHOWN
            and normal_form(other.content) != normal_form(stands.content)
            and self.workspace.store.log.memory(number) is None
        )
        if theirs_stand:
            self._commit(line, run, [_replacement(line, mine)])
        if held:  # sent on as a change of this machine: one that knew of both changes sees no clash
            clash = hold_clash(number, stands, other.content, self.workspace.clock(), path=where)
            self._commit(replace(line, person=False), run, [clash], stage="clash")
        report.received += theirs_stand
        report.clashes += held

    def _additions(self, line: SyncLine) -> Iterator[Operation]:
        """The operations of a memory that is new here; with one that says the same it becomes one, the same on each machine."""
        value = replace(line.memory, candidates=(), owned=line.memory.status is Status.ACTIVE, trigger=IMPORTED)
        yield Add(memory=value.id, at=value.last_seen, reason=f"told on {line.machine}", value=value)
        form = normal_form(value.content)
        for other in self.workspace.store.log.memories(group=(value.profile, value.scope)):
            clash = value.superseded_by or other.superseded_by  # what waits beside another memory is no second one
            if other.status in _SHOWN and normal_form(other.content) == form and not clash:
                winner, loser = sorted((value, other), key=lambda each: (each.status is not Status.ACTIVE, each.id))
                candidates = tuple(sorted({*winner.candidates, *loser.candidates}))
                facts = replace(to_facts(winner), candidates=candidates)
                yield Merge(
                    memory=winner.id, at=value.last_seen, reason="said on several machines", losers=(loser.id,), facts=facts
                )
                return

    def _commit(self, line: SyncLine, run: RunNumber, operations: Iterable[Operation], *, stage: str = SYNC) -> None:
        self.workspace.store.log.commit(
            Draft(
                run=run(),
                stage=stage,
                subject=f"{line.machine} {line.place[0]} {line.place[1]}",
                actor=Actor.PERSON if line.person else Actor.MACHINE,
                recorded_at=self.workspace.clock(),
                operations=tuple(operations),
                note=format_instant(line.at),
            )
        )

    def _last_change(self, number: str) -> Change:
        """Who changed a memory last, as far as this machine knows."""
        log = self.workspace.store.log
        history = [pass_ for pass_, operation in log.operations_on(number) if number in _changed((operation,))]
        ids = {pass_.id for pass_ in history}
        last = max(
            (*history, *(pass_ for pass_ in log.undo_redo_passes() if ids & {*pass_.undoes, *pass_.redoes})),
            key=lambda pass_: pass_.id,
        )
        person = last.actor is Actor.PERSON
        if last.stage != SYNC or self.folder is None:  # the machines of a server count the same passes
            epoch = max((epoch for epoch, _ in self._paths().get(self.machine, ())), default=1)
            return Change(machine=self.machine, place=(epoch, last.id), at=last.recorded_at, person=person)
        machine, *place = last.subject.split()
        return Change(machine=machine, place=(int(place[0]), int(place[1])), at=parse_stored_instant(last.note), person=person)

    # Words

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """The lines of this machine that hold the words."""
        for path, line, text in self._own_lines():
            if _holds(words, line, text):
                yield ErasureMatch(holder=self.name, where=str(path), text=words.excerpt(line.memory.content))

    def erase(self, words: ErasureWords) -> int:
        """Write this machine's files anew without those lines; that a memory was forgotten stays. Raises KeptError."""
        lines, held = tuple(self._own_lines()), 0
        for path in {path for path, line, text in lines if _holds(words, line, text)}:
            stamp, kept = files.read_file(path).stamp, []
            for line, text in ((line, text) for place, line, text in lines if place == path):
                if not _holds(words, line, text):
                    kept.append(f"{text}\n")
                elif line.memory.id in words.memories:
                    kept.append(self._format(replace(line, memory=erase_content(line.memory))))
                held += _holds(words, line, text)
            files.write_if_unchanged(path, "".join(kept).encode(), expect=stamp, root=path.parent)
        return held

    def _own_lines(self) -> Iterator[tuple[Path, SyncLine, str]]:
        if self.folder is not None and self.folder.is_dir():
            for epoch, path in self._paths().get(self.machine, ()):
                for line, text in self._read(self.machine, epoch, path, []):
                    yield path, line, text


def _holds(words: ErasureWords, line: SyncLine, text: str) -> bool:
    return bool(line.memory.content) and (line.memory.id in words.memories or words.is_in_text(text))


def _changed(operations: Iterable[Operation]) -> Iterator[str]:
    """The memories that operations change for other machines: what a machine counts for itself is its own."""
    for operation in operations:
        if not isinstance(operation, Reaffirm | Reword):
            yield from (operation.memory, *getattr(operation, "losers", ()))


def _says_same(one: Memory, other: Memory) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in _SAID)


def _replacement(line: SyncLine, mine: Memory) -> Add:
    """What another machine says of a memory, in the place of what it is here; what it rests on here stays."""
    value = replace(
        line.memory,
        candidates=mine.candidates,
        evidence=mine.evidence,
        observations=mine.observations,
        trigger=mine.trigger,
        owned=mine.owned or line.memory.status is not Status.HELD,
    )
    return Add(memory=mine.id, at=value.last_seen, reason=f"{line.memory.reason} (on {line.machine})", value=value)
