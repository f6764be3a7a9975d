"""The writing commands, each with a home to start from and what it makes of it undisturbed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from faults import SAMPLE, Point, copy, desk_at, kept, points_of, ran, state, store_of, written


@dataclass(frozen=True, kw_only=True)
class Case:
    """A writing command: how its home is prepared, its arguments there, which file it writes apart from the memory file."""

    name: str
    prepare: Callable[[Path], None]
    arguments: Callable[[Path], Sequence[object]]
    output: str = ""


def _sample(home: Path) -> None:
    ran(home)


def _undone(home: Path) -> None:
    ran(home)
    assert kept(home, "undo").code == 0


def _first(home: Path) -> str:
    with desk_at(home) as workspace:
        return min(each.id for each in workspace.store.log.memories() if "ISO 8601" in each.content)


NEW = "Quokka releases go out on Tuesdays only."
CASES = (
    Case(name="first run", prepare=lambda _: None, arguments=lambda _: ["run", SAMPLE]),
    Case(
        name="next run", prepare=lambda home: ran(home, min(SAMPLE.rglob("*.jsonl"))) and None, arguments=lambda _: ["run", SAMPLE]
    ),
    Case(name="add", prepare=_sample, arguments=lambda _: ["add", NEW, "--type", "constraint"]),
    Case(name="edit", prepare=_sample, arguments=lambda home: ["edit", _first(home), NEW]),
    Case(name="retire", prepare=_sample, arguments=lambda home: ["retire", _first(home)]),
    Case(name="pin", prepare=_sample, arguments=lambda home: ["pin", _first(home)]),
    Case(name="forget", prepare=_sample, arguments=lambda home: ["forget", _first(home), "--yes"]),
    Case(name="undo", prepare=_sample, arguments=lambda _: ["undo"]),
    Case(name="redo", prepare=_undone, arguments=lambda _: ["redo"]),
    Case(name="export", prepare=_sample, arguments=lambda home: ["export", "--output", home / "out.jsonl"], output="out.jsonl"),
    Case(name="rebuild", prepare=_sample, arguments=lambda _: ["rebuild"]),
)
CASE = {each.name: each for each in CASES}


@dataclass(frozen=True, kw_only=True)
class World:
    """A command's home (``home``, as it was in ``before``), what is remembered before and after it, which writing calls it
    makes.
    """

    case: Case
    home: Path
    before: Path
    arguments: tuple[object, ...]
    points: tuple[Point, ...]
    old: list
    new: list
    old_file: bytes | None
    new_file: bytes | None
    output: tuple[bytes | None, ...]

    @property
    def files(self) -> tuple[bytes | None, ...]:
        """What the memory file may be where the command was cut short: forgetting first takes lines out, then writes the rest."""
        if self.case.name != "forget" or self.old_file is None:
            return self.old_file, self.new_file
        gone = {content.encode() for _, content, *_ in self.old} - {content.encode() for _, content, *_ in self.new}
        lines = self.old_file.splitlines(keepends=True)
        return self.old_file, self.new_file, b"".join(line for line in lines if not any(words in line for words in gone))


def world(case: Case, folder: Path) -> World:
    """The command undisturbed, as what all disturbed ones are compared with."""
    home = folder / "home"
    home.mkdir(parents=True)
    case.prepare(home)
    before = copy(home, folder / "before")
    arguments = case.arguments(home)
    old = state(home) if store_of(home).exists() else []
    old_file = written(home)
    points = points_of(copy(before, home), *arguments)  # in a copy, as all later runs: kept takes its files for changed ones
    output = (None, (home / case.output).read_bytes()) if case.output else ()
    return World(
        case=case,
        home=home,
        before=before,
        arguments=tuple(arguments),
        points=points,
        old=old,
        new=state(home),
        old_file=old_file,
        new_file=written(home),
        output=output,
    )
