"""Any sequence of operations leaves what a dict would hold, in the store and in the memory file, however often it is closed or cut
short.
"""

import shutil
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from faults import SAMPLE, desk_at, memory_file
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from kept.changes import apply_person_change
from kept.core.errors import UsageError
from kept.core.markup import to_fact_text
from kept.memories import history, person
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import check_home, rebuild_store
from talking import forget_ids

CATEGORIES = ("constraint", "decision", "preference")
_MEMORY = Path("/dev/shm")  # nothing here is about disks
PICK = st.integers(0, 10**6)
Row = tuple[str, str, str, bool]  # category, content, status, pinned


@dataclass
class Step:
    """One run in the dict model: what it made of which memories, in order; and whether it is undone."""

    changes: list[tuple[str, dict]]
    forgets: bool = False
    off: bool = False


@dataclass
class Model:
    """A history of dict updates."""

    steps: list[Step] = field(default_factory=list)
    undos: list[list[Step]] = field(default_factory=list)

    def rows(self) -> dict[str, Row]:
        made: dict[str, dict] = {}
        for step in self.steps:
            for number, change in [] if step.off else step.changes:
                if number in made or "content" in change:
                    made[number] = made.get(number, {"pinned": False}) | change
        return {number: (row["category"], row["content"], row["status"], row["pinned"]) for number, row in made.items()}


class Remembering(RuleBasedStateMachine):
    """Everything a person can do, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="kept-model-", dir=_MEMORY if _MEMORY.is_dir() else None))
        self.model = Model()
        self.count = 0
        self.opened = ExitStack()
        self.workspace = self.opened.enter_context(desk_at(self.home))

    def teardown(self) -> None:
        self.opened.close()
        shutil.rmtree(self.home)

    @initialize(sample=st.booleans())
    def begin(self, sample) -> None:
        if sample:
            run_pipeline(self.workspace, [SAMPLE], RunOptions())
            self.model.steps.append(Step([(number, _changes(row)) for number, row in self.stored().items()]))

    def stored(self) -> dict[str, Row]:
        return {
            each.id: (each.category, each.content, each.status.value, each.pinned) for each in self.workspace.store.log.memories()
        }

    def among(self, pick: int, *statuses: str) -> str | None:
        """One of the memories with words whose status is one of these."""
        found = sorted(number for number, row in self.model.rows().items() if row[1] and (not statuses or row[2] in statuses))
        return found[pick % len(found)] if found else None

    def do(self, change, *changes: tuple[str, dict], forgets: bool = False) -> None:
        apply_person_change(self.workspace, change)
        self.model.steps.append(Step(list(changes), forgets=forgets))

    def words(self) -> str:
        self.count += 1
        return f"Rule {self.count} holds for crate c{self.count} in hall {self.count * 7}."

    @rule(category=st.sampled_from(CATEGORIES), agent=st.booleans())
    def add(self, category, agent) -> None:
        words = self.words()
        made, _ = apply_person_change(self.workspace, lambda: person.create_memory(self.workspace, words, category, agent=agent))
        status = "held" if agent else "active"
        self.model.steps.append(Step([(made.id, {"category": category, "content": words, "status": status, "pinned": False})]))

    @rule(category=st.sampled_from(CATEGORIES))
    def add_and_be_cut_short_before_the_file_is_written(self, category) -> None:
        words = self.words()
        made = person.create_memory(self.workspace, words, category)
        self.model.steps.append(Step([(made.id, {"category": category, "content": words, "status": "active", "pinned": False})]))
        self.reopen()
        apply_person_change(self.workspace, lambda: None)

    @rule(pick=PICK)
    def add_what_is_there(self, pick) -> None:
        number = self.among(pick, "active", "held")
        if number:
            memory = self.workspace.store.log.memory(number)
            words = memory.content.upper()
            if memory.scope == "user" and memory.status == "held":
                told = {"status": "active", "content": words, "category": "constraint"}
                self.do(lambda: person.create_memory(self.workspace, words, "constraint"), (number, told))
            elif memory.scope == "user":
                with pytest.raises(UsageError, match="already"):
                    person.create_memory(self.workspace, words, "constraint")

    @rule()
    def be_cut_short_inside_a_change(self) -> None:
        with suppress(KeyboardInterrupt), self.workspace.store.transaction():
            person.create_memory(self.workspace, self.words(), "constraint")
            raise KeyboardInterrupt

    @rule(pick=PICK, category=st.sampled_from([None, *CATEGORIES]))
    def edit(self, pick, category) -> None:
        number, words = self.among(pick), self.words()
        if number:
            change = {"content": words} | ({"category": category} if category else {})
            self.do(lambda: person.edit(self.workspace, number, words, category=category), (number, change))

    @rule(pick=PICK)
    def retire(self, pick) -> None:
        if number := self.among(pick, "active", "held"):
            self.do(lambda: person.retire(self.workspace, number), (number, {"status": "retired"}))

    @rule(pick=PICK)
    def approve(self, pick) -> None:
        if number := self.among(pick, "held", "retired", "rejected"):
            self.do(lambda: person.approve(self.workspace, number), (number, {"status": "active"}))

    @rule(pick=PICK)
    def reject(self, pick) -> None:
        if number := self.among(pick, "held"):
            self.do(lambda: person.reject(self.workspace, number), (number, {"status": "rejected"}))

    @rule(pick=PICK, on=st.booleans())
    def pin(self, pick, on) -> None:
        number = self.among(pick, "active")
        if number and self.model.rows()[number][3] != on:  # else nothing happens that could be undone
            self.do(lambda: person.pin(self.workspace, number, on=on), (number, {"pinned": on}))

    @rule(pick=PICK)
    def forget(self, pick) -> None:
        if number := self.among(pick):
            change = {"content": "", "status": "retired", "pinned": False}
            self.do(lambda: forget_ids(self.workspace, [number]), (number, change), forgets=True)

    @rule()
    def undo(self) -> None:
        last = next((step for step in reversed(self.model.steps) if not step.off), None)
        if last is None or last.forgets:
            with pytest.raises(UsageError):
                history.undo(self.workspace)
            return
        apply_person_change(self.workspace, lambda: history.undo(self.workspace))
        last.off = True
        self.model.undos.append([last])

    @rule()
    def redo(self) -> None:
        last = next((taken for taken in reversed(self.model.undos) if any(step.off for step in taken)), None)
        if last is None:
            with pytest.raises(UsageError):
                history.redo(self.workspace)
            return
        apply_person_change(self.workspace, lambda: history.redo(self.workspace))
        for step in last:
            step.off = False

    def lines(self) -> list[tuple[str, int]]:
        """The memories that stand in the file, each with its line."""
        path = memory_file(self.home)
        lines = path.read_text().splitlines() if path.exists() else []
        shown = {to_fact_text(row[1]): number for number, row in self.model.rows().items() if row[1] and row[2] == "active"}
        found = []
        for place, line in enumerate(lines):
            for words, number in shown.items():
                if line.startswith(f"- {words}"):
                    found.append((number, place))
        return found

    def by_hand(self, place: int, line: str | None) -> None:
        lines = memory_file(self.home).read_text().splitlines()
        lines[place : place + 1] = [] if line is None else [line]
        memory_file(self.home).write_text("\n".join(lines) + "\n")

    @precondition(lambda self: len(self.lines()) > 3)  # a file that lost most of its lines is put aside, not believed
    @rule(pick=PICK)
    def delete_a_line(self, pick) -> None:
        found = self.lines()
        number, place = found[pick % len(found)]
        self.by_hand(place, None)
        self.do(lambda: None, (number, {"status": "retired"}))

    @precondition(lambda self: self.lines())
    @rule(pick=PICK)
    def change_a_line(self, pick) -> None:
        found = self.lines()
        number, place = found[pick % len(found)]
        words = self.workspace.store.log.memory(number).content.rstrip(".") + f", also {self.count}."
        self.count += 1
        self.by_hand(place, f"- {words}")
        self.do(lambda: None, (number, {"content": words}))

    @precondition(lambda self: self.lines())
    @rule(pick=PICK)
    def spoil_the_file(self, pick) -> None:
        path = memory_file(self.home)
        text = path.read_bytes()
        (lambda: path.write_bytes(b""), lambda: path.write_bytes(bytes(1000)), path.unlink)[pick % 3]()
        apply_person_change(self.workspace, lambda: None)
        assert path.read_bytes() == text

    @rule()
    def run_again(self) -> None:
        run_pipeline(self.workspace, [SAMPLE] if any(self.workspace.store.archive.files()) else [], RunOptions())

    @rule()
    def read_all_again(self) -> None:
        """Nothing comes of it, but that what resembles something forgotten goes too."""
        if not self.workspace.store.archive.files() or any(step.off for step in self.model.steps):
            return
        before = self.stored()
        run_pipeline(self.workspace, [SAMPLE], RunOptions(force=True))
        gone = [(number, {"status": row[2]}) for number, row in self.stored().items() if row != before[number]]
        if gone:
            assert self.workspace.store.log.forgotten_fingerprints()
            assert {change["status"] for _, change in gone} == {"retired"}
            self.model.steps.append(Step(gone))

    @rule()
    def rebuild(self) -> None:
        rebuild_store(self.workspace)

    @rule()
    def reopen(self) -> None:
        self.opened.close()
        self.workspace = self.opened.enter_context(desk_at(self.home))

    @invariant()
    def the_store_holds_what_the_dict_holds(self) -> None:
        assert self.stored() == self.model.rows()

    @invariant()
    def nothing_is_damaged(self) -> None:
        assert check_home(self.workspace).damage == ()

    @invariant()
    def the_file_shows_active_memories_and_no_others(self) -> None:
        rows = self.model.rows().values()
        text = memory_file(self.home).read_text() if memory_file(self.home).exists() else ""
        if len(text) < 10_000:
            for _, content, status, _ in rows:
                if status == "active":
                    assert to_fact_text(content) in text
        active = {to_fact_text(content) for _, content, status, _ in rows if status == "active"}
        for _, content, status, _ in rows:
            if content and status in ("retired", "rejected") and not any(to_fact_text(content) in each for each in active):
                assert f"- {to_fact_text(content)}" not in text


def _changes(row: Row) -> dict:
    return dict(zip(("category", "content", "status", "pinned"), row, strict=True))


_LONG = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=False)


def test_a_hundred_operations_agree_with_a_dict():
    run_state_machine_as_test(Remembering, settings=settings(_LONG, max_examples=4, stateful_step_count=25, derandomize=True))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_five_hundred_operations_agree_with_a_dict(part):
    run_state_machine_as_test(Remembering, settings=settings(_LONG, max_examples=5, stateful_step_count=50))
