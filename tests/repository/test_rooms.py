"""The rooms stay small enough to be read, and a search for a function finds it."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "kept"
MOST_LINES = 400
MOST_MODULES = 25
MOST_ADAPTER_LINES = 150


def _code_lines(path: Path) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in lines)


def test_no_module_has_more_than_400_lines_of_code() -> None:
    sizes = {str(path.relative_to(SOURCES)): _code_lines(path) for path in SOURCES.rglob("*.py")}
    assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}


def test_an_adapter_has_fewer_than_150_lines() -> None:
    sizes = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in (SOURCES / "adapters").glob("*.py")}
    assert {name: size for name, size in sizes.items() if size >= MOST_ADAPTER_LINES} == {}


def test_no_folder_holds_more_than_25_modules() -> None:
    folders = {path.parent for path in SOURCES.rglob("*.py")}
    sizes = {str(folder.relative_to(SOURCES)): len(list(folder.glob("[!_]*.py"))) for folder in folders}
    assert {name: size for name, size in sizes.items() if size > MOST_MODULES} == {}


MOST_DEFINITIONS = 4
CALLED_BY_PYTHON = {"close"}  # contextlib.closing calls it
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _statements(holder: ast.AST) -> Iterator[ast.AST]:
    """The statements in a statement or module, also nested ones, without their expressions."""
    yield holder
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(holder, name, ()):
            yield from _statements(node)


@cache
def _members(holder: ast.ClassDef | ast.Module) -> set[str]:
    """The functions and attributes that a class or module defines."""
    nodes = [*_statements(holder)]
    targets = (target for node in nodes if isinstance(node, ast.Assign) for target in node.targets)
    assigned = {getattr(target, "attr", getattr(target, "id", "")) for target in targets}
    declared = {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    return assigned | declared | {node.name for node in holder.body if isinstance(node, FUNCTIONS)}


def _protocols(modules: dict[str, ast.Module]) -> dict[str, set[str]]:
    """The methods of each Protocol class, those of the protocols it extends included."""
    classes = [node for module in modules.values() for node in _statements(module) if isinstance(node, ast.ClassDef)]
    bases = {each.name: {ast.unparse(base).partition("[")[0] for base in each.bases} for each in classes}
    own = {each.name: {f.name for f in each.body if isinstance(f, FUNCTIONS)} for each in classes if "Protocol" in bases[each.name]}
    return {name: set().union(methods, *(own.get(base, ()) for base in bases[name])) for name, methods in own.items()}


def _own_names(
    holder: ast.AST, protocols: dict[str, set[str]], bases: list[ast.ClassDef], *, is_protocol: bool = False
) -> Iterator[str]:
    """The names of functions in a class or module that no protocol or language rule gives them. A module can follow a protocol."""
    given: set[str] = set()
    if isinstance(holder, ast.ClassDef | ast.Module):
        names = {*map(ast.unparse, holder.bases)} if isinstance(holder, ast.ClassDef) else set()
        members = _members(holder).union(*(_members(base) for base in bases if base.name in names))
        given = given.union(*(methods for methods in protocols.values() if len(methods) > 1 and methods <= members))
    for node in ast.iter_child_nodes(holder):
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, FUNCTIONS):
            called = isinstance(holder, ast.ClassDef) and node.name in CALLED_BY_PYTHON
            if not (is_protocol or called or node.name in given or node.name.startswith("__")):
                yield node.name
        yield from _own_names(node, protocols, bases, is_protocol=isinstance(node, ast.ClassDef) and node.name in protocols)


def test_no_function_name_is_defined_in_more_than_four_modules_unless_a_protocol_gives_it() -> None:
    texts = {str(path.relative_to(SOURCES)): path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    counted = Counter(name for text in texts.values() for name in set(re.findall(r"\bdef (\w+)", text)))
    often = "|".join(name for name, count in counted.items() if count > MOST_DEFINITIONS)
    parsed = re.compile(rf"\bProtocol\b|\bdef (?!__)(?:{often})\b")  # parsing all modules takes seconds
    modules = {path: ast.parse(text) for path, text in texts.items() if parsed.search(text)}
    protocols = _protocols(modules)
    bases = [node for module in modules.values() for node in module.body if isinstance(node, ast.ClassDef)]
    places: dict[str, set[str]] = {}
    for path, module in modules.items():
        for name in _own_names(module, protocols, bases):
            places.setdefault(name, set()).add(path)
    assert {name: sorted(paths) for name, paths in places.items() if len(paths) > MOST_DEFINITIONS} == {}


ROLE = re.compile(r":(?:func|class|meth|data|attr|mod|exc):`~?([\w.]+)`")


def test_a_docstring_refers_to_names_that_exist() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    known = {word for text in texts.values() for word in re.findall(r"\w+", ROLE.sub("", text))}
    broken = {f"{path.relative_to(SOURCES)}: {name}" for path, text in texts.items() for name in ROLE.findall(text)}
    assert {each for each in broken if each.rpartition(": ")[2].rpartition(".")[2] not in known} == set()
