"""Build the help pages that list commands, and the parser of a command.

A parser needs only a function's signature and docstring, but importing what the function uses takes a second. So these two are read
from the function's source.
"""

import importlib
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

from kept.cli.registry import COMMANDS, EVERYDAY, GROUPS, TABLES, TOGETHER, Command, GlobalOptions


def create_parser(command: Command) -> Any:
    """The parser of a command. It is made from the source of the command's function, so only a call imports what that uses."""
    import typer  # noqa: PLC0415 - `kept --help`, `--version` and a mistyped command do without
    from typer import core  # noqa: PLC0415
    from typer.main import get_command  # noqa: PLC0415

    app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["--help", "-h"]})
    app.command(command.name, epilog=_format_epilog(command))(_load_signature(command))
    values: Any = core
    if "build_runtime_param" in vars(core) and not isinstance(values.build_runtime_param, partial):
        values.build_runtime_param = partial(_TypedValue, values.build_runtime_param)
    parser = get_command(app)
    for argument in (param for param in parser.params if param.param_type_name == "argument"):  # without "<list[str]>"
        argument.display_type_rich = lambda ctx: ""  # type: ignore[attr-defined] # noqa: ARG005 - Typer passes it by name
    return parser


def _load_signature(command: Command) -> Callable[..., object]:
    """A function with the signature and docstring of the command's, which it imports and calls. Both are read from the source."""
    import ast  # noqa: PLC0415 - Typer imports it too

    import typer  # noqa: PLC0415

    place, _, name = command.place.partition(":")
    tree = ast.parse(Path(__file__).parent.joinpath(*place.split(".")).with_suffix(".py").read_text(encoding="utf-8"))
    (definition,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    definition.body = definition.body[:1]  # the docstring
    scope: dict[str, Any] = {"GlobalOptions": typer.Context, "Path": Path}  # Typer passes its context, which has the options
    exec(compile(ast.Module([definition], []), place, "exec"), scope)  # noqa: S102 - a signature of our own

    @wraps(scope[name])
    def call(**values: Any) -> object:
        if "call" in values:
            values["call"] = values["call"].find_object(GlobalOptions) or GlobalOptions()
        return getattr(importlib.import_module(f"kept.cli.{place}"), name)(**values)

    for parameter, (declared, meaning) in command.options.items():
        call.__annotations__[parameter] = Annotated[call.__annotations__[parameter], _describe(declared, meaning)]
    return call


def _describe(declared: str, meaning: str) -> Any:
    """Typer's description of an option or argument that is declared as in ``commands.txt``."""
    import typer  # noqa: PLC0415

    words = declared.split()
    names = [word for word in words if word.startswith("-")]
    least, _, most = next((word for word in words if ".." in word), "").partition("..")
    metavar = " ".join(word for word in words if word not in names and ".." not in word)
    describe: Any = typer.Option if names else typer.Argument
    bounds = {"min": int(least) if least else None, "max": int(most) if most else None}
    return describe(*names, metavar=metavar or None, help=meaning, **bounds)


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
    for title, rows in TABLES.items():
        lines += ["", f"{title}:", *(f"  {name:<16}{meaning}" for name, meaning in rows)]
    return "\n".join(lines)


def _format_row(command: Command) -> str:
    return f"  {command.name:<11}{command.summary}"


def _format_epilog(command: Command) -> str:
    """The end of a command's help: its examples, and related commands."""
    title = "Example:" if len(command.examples) == 1 else "Examples:"
    lines = ["\b", title, *(f"  {example}" for example in command.examples)]
    others = dict.fromkeys(name for item in TOGETHER if command.name in item for name in item if name != command.name)
    if others:
        lines += ["", "\b", "See also:", *(f"  kept {name:<11}{COMMANDS[name].summary}" for name in others)]
    return "\n".join(lines)
