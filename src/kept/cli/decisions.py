"""Which calls of the command line are decisions that a person alone takes, and how an agent's shell is told so."""

from collections.abc import Mapping, Sequence

from kept.core.errors import UsageError
from kept.local.agents_shell import agent_variable

# A command, and the words one of which must be among its arguments for it to be a decision (none: it always is).
_DECISIONS: Mapping[str, frozenset[str]] = {
    "edit": frozenset(),
    "merge": frozenset(),
    "resolve": frozenset(),
    "retire": frozenset(),
    "forget": frozenset(),
    "pin": frozenset(),
    "undo": frozenset(),
    "redo": frozenset(),
    "import": frozenset(),
    "restore": frozenset(),
    "web": frozenset(),
    "review": frozenset({"--approve", "--admit", "--reject"}),
    "run": frozenset({"--accept-loss"}),
    "config": frozenset({"set"}),
    "profiles": frozenset({"new", "migrate"}),
    "prompt": frozenset({"edit", "reset", "declare", "withdraw"}),
    "sources": frozenset({"add", "--author"}),
    "projects": frozenset({"join"}),
}


def refuse_agents(name: str, arguments: Sequence[str], variables: Mapping[str, str]) -> None:
    """Raise UsageError where an agent's shell makes a call that is a person's decision."""
    words = _DECISIONS.get(name)
    if words is None or list(arguments) in (["--help"], ["-h"]):
        return
    sign = agent_variable(variables)
    if sign and (not words or words & {argument.partition("=")[0] for argument in arguments}):
        raise UsageError(
            f"an agent runs this ({sign} is set), and `kept {name}` is for the person to decide",
            hint="nothing was changed; run it in a terminal of your own",
        )
