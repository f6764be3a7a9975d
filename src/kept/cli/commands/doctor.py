"""``kept doctor``: checks the installation and says how to fix what is wrong."""

from typing import Annotated

import typer

from kept.cli import show
from kept.cli.front import asked, home_of
from kept.cli.show import entry, line
from kept.core.codec import dump
from kept.install.doctor import examine

_MARKS = {True: ("well   ", "green"), False: ("wrong  ", "red"), None: ("note   ", "yellow")}


def doctor(context: typer.Context, *, as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False) -> int:
    """Check the installation and say how to fix each problem. Changes nothing."""
    call = asked(context)
    found = examine(home_of(context), profile=call.profile, zone=call.zone)
    wrong = [each for each in found if each.well is False]
    if as_json:
        show.write_json([dump(each) for each in found])
    else:
        width = max(len(each.name) for each in found)
        show.write(
            entry(
                [_MARKS[each.well], (f"{each.name:<{width}}  ", "cyan")],
                each.detail,
                (f" → {each.fix}" if each.fix and each.well is not True else "", "dim"),
            )
            for each in found
        )
        show.write([line((f"{len(wrong)} wrong" if wrong else "Nothing is wrong.", "red" if wrong else "green"))])
    return int(bool(wrong))
