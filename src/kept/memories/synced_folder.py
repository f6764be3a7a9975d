"""One person, several machines, no server: each machine writes what changed in its memory to a file of its own in a synced folder.

A line is what a memory is after a pass, signed with a key that the person's machines share, and says which lines of the others its
machine knew. What a memory is follows from all of its lines, in whatever order they came (:func:`settle_lines`): of changes made
without knowledge of each other the person's goes before what a machine worked out, then the later, and words that the person said
in another wait beside it. What was forgotten is a line without words.
Such lines also lie beside the store while the server of a home cannot be reached.
"""

import hmac
import json
import platform
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
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
from kept.core.operation import Add, Merge, Operation, Pass, Reaffirm, Retire, Reword, to_facts
from kept.core.text import normal_form
from kept.core.times import format_instant, parse_stored_instant
from kept.core.value import dataclass, field, replace
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
class SyncLine:
    """What a ``memory`` is after a change: on which ``machine``, in which pass (``place``) and when, by the ``person`` or by rules;
    ``seen`` is how far its machine had read the others then.
    """

    machine: str
    place: Place
    at: datetime
    person: bool
    seen: Mapping[str, Place]
    memory: Memory

    def is_known_to(self, other: "SyncLine") -> bool:
        """Whether who made another line could know this one."""
        return self.place < other.place if self.machine == other.machine else self.place <= other.seen.get(self.machine, (0, 0))

    @property
    def words(self) -> str:
        """What it says, for comparing."""
        return normal_form(self.memory.content)

    @property
    def clash(self) -> str:
        """The id under which its words wait where another line stands: the same on each machine."""
        return _clash(self.memory, of=self.memory.id)


def settle_lines(lines: Iterable[SyncLine]) -> tuple[SyncLine, list[SyncLine]]:
    """Which line of a memory stands, and which others have words of the person's that nobody who knew them gave up."""
    ordered = sorted(lines, key=lambda line: (line.person, line.at, line.machine, line.place))
    newest = [line for line in ordered if not any(map(line.is_known_to, ordered))]
    waiting = []
    for number, line in enumerate(ordered):
        later = ordered[number + 1 :] if line.person and line.memory.status in _SHOWN else []
        same = [other for other in ordered if other.words == line.words]
        if not any(other in same for other in later) and any(
            not (line.is_known_to(other) or other.is_known_to(line) or any(each.is_known_to(other) for each in same))
            for other in later
        ):
            waiting.append(line)
    return (newest or ordered)[-1], waiting


@dataclass(kw_only=True, slots=True)
class SyncReport:
    """What was exchanged: changes ``received`` and lines ``sent``, clashes that wait, memories ``forgotten`` on other machines that
    are still here (``said``: words of theirs that are no memory here), and what was wrong.
    """

    received: int = 0
    clashes: int = 0
    forgotten: tuple[Memory, ...] = ()
    said: tuple[str, ...] = ()
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

    def _all_lines(self, wrong: list[str]) -> list[SyncLine]:
        return sorted(
            (
                line
                for machine, paths in self._paths().items()
                for epoch, path in paths
                for line, _ in self._read(machine, epoch, path, wrong)
            ),
            key=lambda line: (line.machine, line.place),
        )

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
        log, changes = self.workspace.store.log, dict[str, tuple[Pass, bool]]()
        for pass_ in log.passes_after(after):
            operations = () if pass_.stage == SYNC else pass_.operations
            if switched := {*pass_.undoes, *pass_.redoes}:
                operations = tuple(operation for other in log.passes(switched) for operation in other.operations)
            for number in _changed(operations):
                changes[number] = (pass_, pass_.actor is Actor.PERSON or (number in changes and changes[number][1]))
        lines = []
        for number, (pass_, person) in changes.items():
            memory = self._find(number)
            if memory and (person or number not in said or not _says_same(said[number], memory)):
                place, memory = (epoch, pass_.id), replace(memory, candidates=())
                lines.append(
                    SyncLine(machine=self.machine, place=place, at=pass_.recorded_at, person=person, seen=seen, memory=memory)
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
                    self._settle([*self._last_line(line.memory.id), line], run, report)
            files.delete_if_unchanged(self._outbox, expect=content.stamp, root=self._outbox.parent)
        return report

    def _last_line(self, number: str) -> Iterator[SyncLine]:
        """What a memory is here, as a line of its last pass: the machines of a server count the same passes."""
        log, memory = self.workspace.store.log, self._find(number)
        history = [pass_ for pass_, operation in log.operations_on(number) if number in _changed((operation,))]
        ids = {pass_.id for pass_ in history}
        history += [pass_ for pass_ in log.undo_redo_passes() if ids & {*pass_.undoes, *pass_.redoes}]
        if memory and history:
            last = max(history, key=lambda pass_: pass_.id)
            person = last.actor is Actor.PERSON
            yield SyncLine(machine=self.machine, place=(1, last.id), at=last.recorded_at, person=person, seen={}, memory=memory)

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
            lines, seen = self._all_lines(wrong), self.seen()
        except (KeptError, OSError) as error:
            return SyncReport(problems=(f"the synced folder cannot be used: {error}",))
        store, told = self.workspace.store, dict[str, list[SyncLine]]()
        for line in lines:
            told.setdefault(line.memory.id, []).append(line)
        gone = {line.memory.id for line in lines if not line.memory.content}
        fresh = [line for line in lines if line.place > seen.get(line.machine, (0, 0))]
        touched = {line.memory.id for line in fresh} - gone
        with store.transaction():
            for number in sorted(touched):
                self._settle(told[number], run, report, told)
            self._join_same(touched, run)
            if fresh:
                self._save_note(seen=seen | {line.machine: line.place for line in fresh})
        known, key = store.log.forgotten_fingerprints(), store.key("forget")
        words = {line.memory.content for line in lines if line.clash in gone}
        report.said = tuple(sorted(text for text in words if not is_known_statement(text, known, key)))
        if gone:
            self.erase(ErasureWords(sentences=(), memories=frozenset(gone)))
        here = [store.log.memory(number) for number in sorted(gone)]
        if gone & {line.memory.id for line in fresh}:  # what waits beside them was another wording of theirs
            here += [each for each in store.log.memories() if each.id == _clash(each, of=each.superseded_by)]
        report.forgotten = tuple(
            memory for memory in here if memory and memory.content and {memory.id, memory.superseded_by} & gone
        )
        report.problems = tuple(
            f"{wrong.count(name)} lines of {name} are not signed with this machine's key → kept sync --key"
            for name in dict.fromkeys(wrong)
        )
        return report

    def _find(self, number: str) -> Memory | None:
        """A memory as it is here; as retired where what added it was undone."""
        log = self.workspace.store.log
        added = [operation.value for _, operation in log.operations_on(number) if isinstance(operation, Add)]
        return log.memory(number) or (replace(added[-1], status=Status.RETIRED) if added else None)

    def _settle(self, lines: Sequence[SyncLine], run: RunNumber, report: SyncReport, told: Container[str] = frozenset()) -> None:
        """Have a memory be what its lines say; what is ``told`` of what waits beside it goes before."""
        log, (line, waiting) = self.workspace.store.log, settle_lines(lines)
        theirs, mine = line.memory, self._find(line.memory.id)
        change: Add | None = None
        if mine is None:
            known, key = log.forgotten_fingerprints(), self.workspace.store.key("forget")
            if theirs.status in _SHOWN and not (known and is_known_statement(theirs.content, known, key)):
                owned = theirs.status is Status.ACTIVE
                value = replace(theirs, candidates=(), owned=owned, trigger=IMPORTED)
                change = Add(memory=value.id, at=value.last_seen, reason=f"told on {line.machine}", value=value)
        elif (
            mine.content
            and not _says_same(mine, theirs)
            # What rests on what was said here, no other machine's rules change.
            and (line.person or (line.machine != self.machine and (mine.owned or not mine.candidates)))
        ):
            change = _replacement(line, mine)
        if change:
            self._commit(run, change, subject=line.machine, person=line.person)
            report.received += 1
        waits = {each.clash: each for each in waiting} if mine is None or mine.content else {}
        for each in lines:
            beside, held = waits.get(each.clash), log.memory(each.clash)
            if each.clash in told or (beside and self._find(each.clash)):
                continue
            if beside:
                words = each.memory.content
                clash = hold_clash(each.clash, theirs, words, each.at, path=each.machine)
                self._commit(run, clash, subject=each.machine)
                report.clashes += 1
            elif held and held.status is Status.HELD:  # its words stand again
                self._commit(run, Retire(memory=held.id, at=held.last_seen, reason=SYNC), subject=each.machine)

    def _join_same(self, numbers: Container[str], run: RunNumber) -> None:
        """Have those of ``numbers`` that say the same as another memory be one with it."""
        log, groups = self.workspace.store.log, dict[tuple[str, ...], list[Memory]]()
        for memory in log.memories() if numbers else ():
            if memory.status in _SHOWN and not memory.superseded_by:  # what waits beside another memory is no second one
                groups.setdefault((memory.profile, memory.scope, normal_form(memory.content)), []).append(memory)
        for same in groups.values():
            if len(same) > 1 and any(memory.id in numbers for memory in same):
                winner, *losers = sorted(same, key=lambda each: (each.status is not Status.ACTIVE, each.id))
                candidates = tuple(sorted({candidate for memory in same for candidate in memory.candidates}))
                facts = replace(to_facts(winner), candidates=candidates)
                reason, ids = "said on several machines", tuple(loser.id for loser in losers)
                merge = Merge(memory=winner.id, at=winner.last_seen, reason=reason, losers=ids, facts=facts)
                self._commit(run, merge, subject=winner.id, stage="join")

    def _commit(self, run: RunNumber, operation: Operation, *, subject: str, person: bool = False, stage: str = SYNC) -> None:
        """Commit what the lines of the machines come to: no change of this machine's, so that it is not told, but for a join."""
        self.workspace.store.log.commit(
            Draft(
                run=run(),
                stage=stage,
                subject=subject,
                actor=Actor.PERSON if person else Actor.MACHINE,
                recorded_at=self.workspace.clock(),
                operations=(operation,),
            )
        )

    # Words

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """The lines of this machine that hold the words."""
        for path, line, text in self._own_lines():
            if _holds(words, line, text):
                yield ErasureMatch(holder=self.name, where=str(path), text=words.excerpt(line.memory.content))

    def erase(self, words: ErasureWords) -> int:
        """Have no line of this machine's files hold the words; that a memory was forgotten stays. Raises KeptError."""
        lines = [(path, line, text, _holds(words, line, text)) for path, line, text in self._own_lines()]
        for path in {path for path, _, _, held in lines if held}:
            stamp = files.read_file(path).stamp
            kept = [self._without(words, line) if held else f"{text}\n" for at, line, text, held in lines if at == path]
            files.write_if_unchanged(path, "".join(kept).encode(), expect=stamp, root=path.parent)
        return sum(held for _, _, _, held in lines)

    def _without(self, words: ErasureWords, line: SyncLine) -> str:
        """A line in whose place is what the memory is now, which others go on from; nothing of it where that holds the words."""
        if line.memory.id in words.memories:
            return self._format(replace(line, memory=erase_content(line.memory)))
        now = self._find(line.memory.id) or line.memory
        text = self._format(replace(line, memory=replace(now, candidates=(), evidence=())))
        return "" if words.is_in_text(text) else text

    def _own_lines(self) -> Iterator[tuple[Path, SyncLine, str]]:
        if self.folder is not None and self.folder.is_dir():
            for epoch, path in self._paths().get(self.machine, ()):
                for line, text in self._read(self.machine, epoch, path, []):
                    yield path, line, text


def _clash(memory: Memory, *, of: str) -> str:
    return digest(SYNC, of, memory.content, size=5)


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
