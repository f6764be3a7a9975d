"""The rooms stay small enough to be read."""

from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "kept"
MOST_LINES = 400
MOST_MODULES = 25


def _code_lines(path: Path) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in lines)


def test_no_module_has_more_than_400_lines_of_code() -> None:
    sizes = {str(path.relative_to(SOURCES)): _code_lines(path) for path in SOURCES.rglob("*.py")}
    assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}


def test_no_folder_holds_more_than_25_modules() -> None:
    folders = {path.parent for path in SOURCES.rglob("*.py")}
    sizes = {str(folder.relative_to(SOURCES)): len(list(folder.glob("[!_]*.py"))) for folder in folders}
    assert {name: size for name, size in sizes.items() if size > MOST_MODULES} == {}
