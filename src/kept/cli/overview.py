"""The pages of help that list commands: those of every day, all of them, and the end of one's own."""

from kept.cli.registry import COMMANDS, EVERYDAY, GLOBAL_OPTIONS, GROUPS, TOGETHER, Command


def overview_text() -> str:
    """The first page of help: the commands of every day."""
    lines = [
        "kept remembers what you and your agents worked out: small, curated, yours to edit.",
        "",
        "Usage: kept COMMAND [OPTIONS]",
        "",
        *(_command_row(COMMANDS[name]) for name in EVERYDAY),
        "",
        f"All {len(COMMANDS)} commands and the options of every one: kept help all",
        "More about a command, with an example: kept COMMAND --help",
        "Start with: kept run. Connect your agents: kept setup. Something wrong? kept doctor.",
    ]
    return "\n".join(lines)


def full_overview_text() -> str:
    """Every command by its group, and the options that each takes."""
    lines = ["Usage: kept COMMAND [OPTIONS]"]
    for title, group in GROUPS.items():
        lines += ["", f"{title}:", *map(_command_row, group)]
    lines += ["", "With every command:", *(f"  {name:<16}{meaning}" for name, meaning in GLOBAL_OPTIONS)]
    return "\n".join(lines)


def _command_row(command: Command) -> str:
    return f"  {command.name:<11}{command.summary}"


def command_epilog(command: Command) -> str:
    """The end of a command's help: its examples, lines kept as they are, and the commands it belongs with."""
    lines = ["\b", "Example:" if len(command.examples) == 1 else "Examples:", *(f"  {example}" for example in command.examples)]
    others = dict.fromkeys(name for item in TOGETHER if command.name in item for name in item if name != command.name)
    if others:
        lines += ["", "\b", "See also:", *(f"  kept {name:<11}{COMMANDS[name].summary}" for name in others)]
    return "\n".join(lines)
