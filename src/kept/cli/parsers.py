"""Build the help pages that list commands, and the parser of a command, for running it or only for its help.

Help needs only a function's signature and docstring, but importing what the function uses takes a second. For help, placeholders
therefore replace all other modules of kept, so that the import takes milliseconds.
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from kept.cli.registry import COMMANDS, EVERYDAY, GLOBAL_OPTIONS, GROUPS, TOGETHER, Command

STATES = (
    ("active", "given to sessions where it is relevant"),
    ("held", "a proposal that you have not decided on yet (kept review); no session gets it"),
    ("superseded", "replaced by a later memory that contradicts it, or says it better"),
    ("resolved", "a question that was answered"),
    ("retired", "taken out of use; its history stays"),
    ("was so", "no longer true since a day that you gave (kept review --past)"),
    ("expired", "its last day has passed"),
    ("rejected", "a proposal that you decided against; it does not come back"),
    ("refused", "a proposal that kept itself did not accept (kept list --refused)"),
    ("forgotten", "erased; only its id is left"),
)
"""The states of a proposal or a memory: for each, the word that commands, page and documentation use, and its meaning."""


def create_parser(command: Command) -> Any:
    """The parser that runs a command. Imports what the command uses."""
    module, _, function = _split_place(command)
    return _build_parser(command, getattr(importlib.import_module(module), function))


def create_help_parser(command: Command) -> Any:
    """The parser of a command for help and completion, made without importing what the command uses.

    If the signature contains a value from another module, this is the parser that runs the command.
    """
    module, _, function = _split_place(command)
    try:
        with _load_for_help(module) as module_type:
            made = _build_parser(command, getattr(module_type, function))
    except _UnknownValueError:
        return create_parser(command)
    return create_parser(command) if any(param.default is _Placeholder for param in made.params) else made


def _split_place(command: Command) -> tuple[str, str, str]:
    return f"kept.cli.{command.place}".partition(":")


def _build_parser(command: Command, function: Callable[..., object]) -> Any:
    import typer  # noqa: PLC0415 - `kept --help`, `--version` and a mistyped command do without
    from typer import core  # noqa: PLC0415
    from typer.main import get_command  # noqa: PLC0415

    app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["--help", "-h"]})
    app.command(command.name, epilog=_format_epilog(command))(function)
    values: Any = core
    if "build_runtime_param" in vars(core) and not isinstance(values.build_runtime_param, partial):
        values.build_runtime_param = partial(_TypedValue, values.build_runtime_param)
    parser = get_command(app)
    for argument in (param for param in parser.params if param.param_type_name == "argument"):  # without "<list[str]>"
        argument.display_type_rich = lambda ctx: ""  # type: ignore[attr-defined] # noqa: ARG005 - Typer passes it by name
    return parser


class _TypedValue:
    """Converts the value of an option. Converts texts, numbers, lists of texts or paths, and missing values itself, and other
    values with Typer.

    Typer imports pydantic for a conversion, which takes longer than `kept list`.
    """

    def __init__(self, by_typer: Callable[[Any], Any], option: Any) -> None:
        self._by_typer = partial(by_typer, option)
        self._kind = option.annotation

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert a value to the type that the command expects. Raises Typer's BadParameter."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if self._kind in (str, int) and type(value) is self._kind:
            return value
        if self._kind in (list[str], list[Path]) and isinstance(value, tuple | list):
            return list(map(self._kind.__args__[0], value))
        return self._by_typer().coerce(value, param=param, ctx=ctx)


class _UnknownValueError(Exception):
    """The value of a placeholder is needed."""


class _PlaceholderType(type):
    """A metaclass whose classes have a placeholder for every attribute, so that module-level code that uses them runs."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Placeholder

    def __iter__(cls) -> Iterator[Any]:
        raise _UnknownValueError

    def __str__(cls) -> str:
        raise _UnknownValueError


class _Placeholder(metaclass=_PlaceholderType):
    """A placeholder for an object of a module of kept. It can be called, subclassed and used in an annotation."""

    def __new__(cls, *_: object, **__: object) -> Any:
        return super().__new__(cls)


class _PlaceholderFinder:
    """An import finder that replaces all modules of kept except one by placeholders."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        self.made: list[str] = [wanted]

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        del path, target
        if not name.startswith("kept.") or f"{self.wanted}.".startswith(f"{name}."):
            return None
        self.made.append(name)
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type] # importlib.abc takes long to import

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__dict__["__getattr__"] = lambda name: getattr(_Placeholder, name)
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


@contextmanager
def _load_for_help(name: str) -> Iterator[ModuleType]:
    """Import a module only for its signatures and docstrings. The module is removed again afterwards."""
    if name in sys.modules:
        yield sys.modules[name]
        return
    finder = _PlaceholderFinder(name)
    sys.meta_path.insert(0, finder)
    try:
        yield importlib.import_module(name)
    finally:
        sys.meta_path.remove(finder)
        for made in finder.made:
            sys.modules.pop(made, None)
            parent, _, child = made.rpartition(".")
            if parent in sys.modules:
                sys.modules[parent].__dict__.pop(child, None)


def overview_text() -> str:
    """The first page of help: the everyday commands."""
    lines = [
        "kept remembers what you and your agents worked out: small, curated, yours to edit.",
        "",
        "Usage: kept COMMAND [OPTIONS]",
        "",
        *(_format_row(COMMANDS[name]) for name in EVERYDAY),
        "",
        f"All {len(COMMANDS)} commands, and the meaning of held, refused and so on: kept help all",
        "More about a command, with examples: kept COMMAND --help",
        "Start with: kept run. Connect your agents: kept setup. If something is wrong: kept doctor.",
    ]
    return "\n".join(lines)


def full_overview_text() -> str:
    """The page of help with all commands by group, the global options, and the states of memories."""
    lines = ["Usage: kept COMMAND [OPTIONS]"]
    for title, group in GROUPS.items():
        lines += ["", f"{title}:", *map(_format_row, group)]
    for title, rows in (("Options of every command", GLOBAL_OPTIONS), ("States of a memory or a proposal", STATES)):
        lines += ["", f"{title}:", *(f"  {name:<16}{meaning}" for name, meaning in rows)]
    return "\n".join(lines)


def _format_row(command: Command) -> str:
    return f"  {command.name:<11}{command.summary}"


def _format_epilog(command: Command) -> str:
    """The end of a command's help: its examples, and related commands."""
    examples = command.examples  # read from a file, so only once
    lines = ["\b", "Example:" if len(examples) == 1 else "Examples:", *(f"  {example}" for example in examples)]
    others = dict.fromkeys(name for item in TOGETHER if command.name in item for name in item if name != command.name)
    if others:
        lines += ["", "\b", "See also:", *(f"  kept {name:<11}{COMMANDS[name].summary}" for name in others)]
    return "\n".join(lines)
