"""Sync the memories of one person's machines without a server. Each machine writes its changes to its own file in a synced folder.

A line has the state of a memory after a pass, and says how far its machine had read the other files. It is signed with a key that
the person's machines share (:mod:`kept.memories.sync_lines`). The line of a forgotten memory has no words. If a home's store is on
a server that cannot be reached, its changes are saved as such lines in an outbox file until the server is back.
"""

import json
import platform
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kept.core.codec import to_canonical_json
from kept.core.digest import digest
from kept.core.erasure import ErasureMatch, ErasureWords
from kept.core.errors import KeptError, UsageError
from kept.core.fingerprint import is_known_statement
from kept.core.memory import Actor, Memory, Status
from kept.core.operation import FORGOTTEN, Add, Merge, Operation, Pass, Retire, erase_content, to_facts
from kept.core.pattern import compile_late
from kept.core.text import normal_form
from kept.core.value import dataclass, replace
from kept.local import files
from kept.memories.decisions import hold_conflict
from kept.memories.sync_lines import (
    SHOWN,
    SYNC,
    Place,
    SyncLine,
    changed_ids,
    conflict_id,
    format_line,
    looks_same,
    parse_line,
    replace_memory,
    settle_lines,
)
from kept.store.check import IMPORTED
from kept.workspace import RunNumber, Workspace

_NOTE = SYNC  # name of the note in the store with the key and the places read so far
_AWAY = "away"  # machine name in the lines of the outbox
_FILE = compile_late(r"([a-z0-9-]{1,80})\.(\d{1,6})\b")  # the program that syncs the folder may append text to the names of copies
_OTHER = compile_late(r"[^a-z0-9]+")


@dataclass(kw_only=True, slots=True)
class SyncReport:
    """The result of a sync: ``received`` changes, ``sent`` lines, ``clashes`` held for review, and messages about ``problems``.

    ``forgotten`` has the memories that were forgotten on other machines and still exist here. ``said`` has the words of forgotten
    memories that do not exist here.
    """

    received: int = 0
    clashes: int = 0
    forgotten: tuple[Memory, ...] = ()
    said: tuple[str, ...] = ()
    sent: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SyncFolder:
    """The synced folder of the settings, as this machine uses it.

    It is also the erasure holder of the files that this machine wrote.
    """

    workspace: Workspace
    name: str = "the synced folder"
    claims: tuple[str, ...] = ()

    @property
    def folder(self) -> Path | None:
        """The path of the folder. None if the settings name none, or in the store of a :mod:`kept.api` user."""
        given = self.workspace.settings.sync.folder
        return Path(given).expanduser() if given and not self.workspace.paths.settings_folder else None

    @property
    def machine(self) -> str:
        """The name of this store in the folder.

        It depends on the host's name, so that a copy of the store on another host has another name.
        """
        node = platform.node()
        own = digest(self.workspace.store.key("machine").hex(), node, size=4)
        return f"{_OTHER.sub('-', node.lower()).strip('-')[:60] or 'machine'}-{own}"

    @property
    def code(self) -> str:
        """The key that the person's machines share, in hex. It is created if the store has none."""
        if not self._note().get("key"):
            self._save_note(key=self.workspace.store.key(SYNC).hex())
        return str(self._note()["key"])

    @property
    def _key(self) -> bytes:
        return bytes.fromhex(self.code)

    def join(self, code: str) -> None:
        """Use the key of the person's other machines. Raises UsageError if ``code`` is not a key."""
        if not re.fullmatch("[0-9a-f]{64}", code):
            raise UsageError("this is not a key of `kept sync`", hint="copy the key that `kept sync --show-key` prints there")
        self._save_note(key=code)

    def seen(self) -> dict[str, Place]:
        """The place up to which each other machine's file has been read."""
        return {machine: (epoch, number) for machine, (epoch, number) in self._note().get("seen", {}).items()}

    def _note(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.workspace.store.note(_NOTE) or "{}")
        return found

    def _save_note(self, **values: object) -> None:
        self.workspace.store.save_note(_NOTE, to_canonical_json(self._note() | values))

    # Files

    def _paths(self) -> dict[str, list[tuple[int, Path]]]:
        """The files of each machine with their epochs, by machine name."""
        found: dict[str, list[tuple[int, Path]]] = {}
        for path in sorted(self.folder.iterdir()) if self.folder else ():
            if path.suffix == ".jsonl" and (match := _FILE.match(path.name)) and path.is_file() and not path.is_symlink():
                found.setdefault(match[1], []).append((int(match[2]), path))
        return found

    def _read(self, machine: str, epoch: int, path: Path, wrong: list[str]) -> Iterator[tuple[SyncLine, str]]:
        """The complete lines of a file, parsed and as text. For each invalid line, the file's name is appended to ``wrong``."""
        key = self._key
        for text in files.read_text(path).split("\n")[:-1]:
            try:
                line = parse_line(machine, epoch, text, key)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                wrong.append(path.name)
            else:
                yield line, text

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
        """Append the changes since the last line to this machine's file. Returns the number of new lines. Raises KeptError."""
        if self.folder is None:
            return 0
        machine, log, wrong = self.machine, self.workspace.store.log, list[str]()
        epoch, path = max(self._paths().get(machine, []), default=(1, self.folder / f"{machine}.1.jsonl"))
        content = files.read_file(path)
        written = [line for line, _ in self._read(machine, epoch, path, wrong)]
        if wrong:  # the shared key was changed, so the whole file is written anew
            written, content = [], replace(content, data=b"")
        elif written and [pass_.recorded_at for pass_ in log.passes([written[-1].place[1]])] != [written[-1].at]:
            epoch, written = epoch + 1, []  # the store was restored from a backup, so its passes have other numbers
            path = self.folder / f"{machine}.{epoch}.jsonl"
            content = files.read_file(path)
        sent = {line.memory.id: line.memory for line in written}
        lines = self._lines_after(written[-1].place[1] if written else 0, epoch, sent, self.seen())
        if lines:
            whole = content.data[: content.data.rfind(b"\n") + 1]
            data = whole + "".join(format_line(line, self._key) for line in lines).encode()
            files.write_if_unchanged(path, data, expect=content.stamp, root=self.folder)
        return len(lines)

    def _lines_after(self, after: int, epoch: int, said: Mapping[str, Memory], seen: Mapping[str, Place]) -> list[SyncLine]:
        """Build a line with the present state of each memory that changed here after the pass ``after``, in the order of the
        passes.

        ``said`` has the state in the last line of each memory, by memory id. If no person changed a memory and its state is still
        the same, it gets no new line.
        """
        log, changes = self.workspace.store.log, dict[str, tuple[Pass, bool]]()
        for pass_ in log.passes_after(after):
            operations = () if pass_.stage == SYNC else pass_.operations
            if switched := {*pass_.undoes, *pass_.redoes}:
                operations = tuple(operation for other in log.passes(switched) for operation in other.operations)
            for number in changed_ids(operations):
                changes[number] = (pass_, pass_.actor is Actor.PERSON or (number in changes and changes[number][1]))
        lines, names = [], self.workspace.scope_names() if changes else {}
        for number, (pass_, person) in changes.items():
            memory = self._find(number)
            if memory and (person or number not in said or not looks_same(said[number], memory)):
                lines.append(
                    SyncLine(
                        machine=self.machine,
                        place=(epoch, pass_.id),
                        at=pass_.recorded_at,
                        person=person,
                        seen=seen,
                        memory=replace(memory, candidates=()),
                        project=names.get(memory.scope, ""),
                    )
                )
        return sorted(lines, key=lambda line: line.place)

    # The outbox, for a time without the server

    @property
    def _outbox(self) -> Path:
        return self.workspace.paths.state / "outbox.jsonl"

    def save_outbox(self, after: int) -> None:
        """Save the changes made here after the pass ``after`` in the outbox file. Needs no server.

        :meth:`apply_outbox` reads the file.
        """
        seen = {self.machine: (1, after)}
        path, content = self._outbox, files.read_file(self._outbox)
        earlier = [text for line, text in self._read(_AWAY, 1, path, []) if line.seen != seen]
        made = [format_line(replace(line, machine=_AWAY), self._key) for line in self._lines_after(after, 1, {}, seen)]
        data = "".join((*(f"{text}\n" for text in earlier), *made)).encode()
        files.write_if_unchanged(path, data, expect=content.stamp, root=path.parent)

    def apply_outbox(self, run: RunNumber) -> SyncReport:
        """Apply the changes in the outbox to the store on the server, as if another machine had made them. Then delete the outbox.

        Does nothing while the server cannot be reached. Raises StoreError.
        """
        report, content = SyncReport(), files.read_file(self._outbox)
        if content.data and self.workspace.store.away_since is None:
            with self.workspace.store.transaction():
                for line, _ in self._read(_AWAY, 1, self._outbox, []):
                    self._settle([*self._last_line(line.memory.id), line], run, report)
            files.delete_if_unchanged(self._outbox, expect=content.stamp, root=self._outbox.parent)
        return report

    def _last_line(self, memory_id: str) -> Iterator[SyncLine]:
        """The present state of a memory as a line; none if no pass changed it.

        The line has the number of the last pass that changed it. This number can be compared with those in the outbox, because all
        machines of a server have the same passes.
        """
        log, memory = self.workspace.store.log, self._find(memory_id)
        history = [pass_ for pass_, operation in log.operations_on(memory_id) if memory_id in changed_ids((operation,))]
        ids = {pass_.id for pass_ in history}
        history += [pass_ for pass_ in log.undo_redo_passes() if ids & {*pass_.undoes, *pass_.redoes}]
        if memory and history:
            last = max(history, key=lambda pass_: pass_.id)
            person = last.actor is Actor.PERSON
            yield SyncLine(machine=self.machine, place=(1, last.id), at=last.recorded_at, person=person, seen={}, memory=memory)

    # Receiving

    def pull(self, run: RunNumber) -> SyncReport:
        """Apply the lines that other machines added since the last call, in one transaction. Raises StoreError.

        If the folder cannot be used, nothing is applied, and the report says why.
        """
        report, wrong = SyncReport(), list[str]()
        if self.folder is None:
            return report
        if not self.folder.is_dir():
            return SyncReport(problems=(f"the synced folder {self.folder} is not there",))
        try:
            report.sent = self.push()  # sent first, because these lines must not claim to have seen the lines that are read next
            lines, seen = self._all_lines(wrong), self.seen()
        except (KeptError, OSError) as error:
            return SyncReport(problems=(f"the synced folder cannot be used: {error}",))
        store, lines_by_id = self.workspace.store, dict[str, list[SyncLine]]()
        for line in lines:
            lines_by_id.setdefault(line.memory.id, []).append(line)
        gone = {line.memory.id for line in lines if not line.memory.content}
        fresh = [line for line in lines if line.place > seen.get(line.machine, (0, 0))]
        touched = {line.memory.id for line in fresh} - gone
        with store.transaction():
            for number in sorted(touched):
                self._settle(lines_by_id[number], run, report, lines_by_id)
            self._join_same(touched, run)
            if fresh:
                self.workspace.record_project_names({line.memory.scope: line.project for line in fresh if line.project})
                self._save_note(seen=seen | {line.machine: line.place for line in fresh})
        known, key = store.log.forgotten_fingerprints(), store.key("forget")
        words = {line.memory.content for line in lines if line.held_id in gone}
        report.said = tuple(sorted(text for text in words if not is_known_statement(text, known, key)))
        if gone:
            self.erase(ErasureWords(sentences=(), memories=frozenset(gone)))
        here = [store.log.memory(number) for number in sorted(gone)]
        if gone & {line.memory.id for line in fresh}:  # the memories held beside them are other wordings of the forgotten ones
            here += [memory for memory in store.log.memories() if memory.id == conflict_id(memory, of=memory.superseded_by)]
        report.forgotten = tuple(
            memory for memory in here if memory and memory.content and {memory.id, memory.superseded_by} & gone
        )
        report.problems = tuple(
            f"{name} has lines that are not signed with this machine's key: {wrong.count(name)} → kept sync --key KEY"
            for name in dict.fromkeys(wrong)
        )
        return report

    def _find(self, memory_id: str) -> Memory | None:
        """A memory as it is on this machine. If its addition was undone, it is returned as retired. None if it never existed."""
        log = self.workspace.store.log
        added = [operation.value for _, operation in log.operations_on(memory_id) if isinstance(operation, Add)]
        return log.memory(memory_id) or (replace(added[-1], status=Status.RETIRED) if added else None)

    def _settle(
        self, lines: Sequence[SyncLine], run: RunNumber, report: SyncReport, ids_with_lines: Container[str] = frozenset()
    ) -> None:
        """Give a memory the state of its winning line. Words of a person in other lines become held memories.

        No such memory is made if its id is in ``ids_with_lines``, because lines of its own determine its state.
        """
        log, (line, waiting) = self.workspace.store.log, settle_lines(lines)
        theirs, mine = line.memory, self._find(line.memory.id)
        change, stage = None, SYNC
        if mine is None and theirs.status in SHOWN:
            value = replace(theirs, candidates=(), owned=theirs.status is Status.ACTIVE, trigger=IMPORTED)
            known, key = log.forgotten_fingerprints(), self.workspace.store.key("forget")
            if known and is_known_statement(theirs.content, known, key):
                value, stage = erase_content(value), FORGOTTEN  # passed on as forgotten, so that the other machines forget it too
            if value.content or not line.person:
                change = Add(memory=value.id, at=value.last_seen, reason=value.reason or f"told on {line.machine}", value=value)
        elif (
            mine
            and mine.content
            and not looks_same(mine, theirs)
            # Rules on another machine do not change a memory whose conversation is on this machine.
            and (line.person or (line.machine != self.machine and (mine.owned or not mine.candidates)))
        ):
            change = replace_memory(line, mine)
        if change:
            self._commit(run, change, subject=line.machine, person=line.person, stage=stage)
            report.received += 1
        waits = {other.held_id: other for other in waiting} if mine is None or mine.content else {}
        for other in lines:
            beside, held = waits.get(other.held_id), log.memory(other.held_id)
            if other.held_id in ids_with_lines or (beside and self._find(other.held_id)):
                continue
            if beside:
                words = other.memory.content
                clash = hold_conflict(other.held_id, theirs, words, other.at, path=other.machine)
                self._commit(run, clash, subject=other.machine)
                report.clashes += 1
            elif held and held.status is Status.HELD:  # the memory has these words again
                self._commit(run, Retire(memory=held.id, at=held.last_seen, reason=SYNC), subject=other.machine)

    def _join_same(self, numbers: Container[str], run: RunNumber) -> None:
        """Merge each memory of ``numbers`` with other memories of the same scope that have the same words."""
        log, groups = self.workspace.store.log, dict[tuple[str, ...], list[Memory]]()
        for memory in log.memories() if numbers else ():
            # A memory that is held because it may contradict another one is not a duplicate.
            if memory.status in SHOWN and not memory.superseded_by:
                groups.setdefault((memory.profile, memory.scope, normal_form(memory.content)), []).append(memory)
        for same in groups.values():
            if len(same) > 1 and any(memory.id in numbers for memory in same):
                winner, *losers = sorted(same, key=lambda memory: (memory.status is not Status.ACTIVE, memory.id))
                candidates = tuple(sorted({candidate for memory in same for candidate in memory.candidates}))
                facts = replace(to_facts(winner), candidates=candidates)
                reason, ids = "said on several machines", tuple(loser.id for loser in losers)
                merge = Merge(memory=winner.id, at=winner.last_seen, reason=reason, losers=ids, facts=facts)
                self._commit(run, merge, subject=winner.id, stage="join")

    def _commit(self, run: RunNumber, operation: Operation, *, subject: str, person: bool = False, stage: str = SYNC) -> None:
        """Commit an operation that results from the lines of other machines.

        :meth:`push` does not send operations of the stage ``SYNC``.
        """
        run.commit(stage, (operation,), subject=subject, actor=Actor.PERSON if person else Actor.MACHINE)

    # Erasure

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """The lines in this machine's files that contain the words."""
        for path, line, text in self._own_lines():
            if _holds(words, line, text):
                yield ErasureMatch(holder=self.name, where=str(path), text=words.excerpt(line.memory.content))

    def erase(self, words: ErasureWords) -> int:
        """Erase the words in this machine's files. The lines that say that a memory was forgotten stay.

        Returns the number of changed lines. Raises KeptError.
        """
        lines = [(path, line, text, _holds(words, line, text)) for path, line, text in self._own_lines()]
        for path in {path for path, _, _, held in lines if held}:
            stamp = files.read_file(path).stamp
            kept = [self._without(words, line) if held else f"{text}\n" for at, line, text, held in lines if at == path]
            files.write_if_unchanged(path, "".join(kept).encode(), expect=stamp, root=path.parent)
        return sum(held for _, _, _, held in lines)

    def _without(self, words: ErasureWords, line: SyncLine) -> str:
        """The line that replaces ``line`` after an erasure.

        It has the present state of the memory, which other machines then take over. Empty if the present state still contains the
        words.
        """
        if line.memory.id in words.memories:
            return format_line(replace(line, memory=erase_content(line.memory)), self._key)
        now = self._find(line.memory.id) or line.memory
        text = format_line(replace(line, memory=replace(now, candidates=(), evidence=())), self._key)
        return "" if words.is_in_text(text) else text

    def _own_lines(self) -> Iterator[tuple[Path, SyncLine, str]]:
        if self.folder is not None and self.folder.is_dir():
            for epoch, path in self._paths().get(self.machine, ()):
                for line, text in self._read(self.machine, epoch, path, []):
                    yield path, line, text


def _holds(words: ErasureWords, line: SyncLine, text: str) -> bool:
    return bool(line.memory.content) and (line.memory.id in words.memories or words.is_in_text(text))
