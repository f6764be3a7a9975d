"""``kept check``, ``rebuild``, ``export``: proof that nothing is damaged, what derives made anew, everything out."""

from pathlib import Path
from typing import Annotated

import typer

from kept.app.browsing import Filter, chosen, exported
from kept.app.desk import Desk
from kept.app.safety import check as prove
from kept.app.safety import put
from kept.app.safety import rebuild as recreate
from kept.model.markup import fact_line, sentence
from kept.model.memory import Memory
from kept.ui.cli import show
from kept.ui.cli.changing import told_problems
from kept.ui.cli.front import asked, at_desk, one_of
from kept.ui.cli.lists import FORGOTTEN, scope_name
from kept.ui.cli.show import counted, line

_FORMATS = ("jsonl", "json", "md")


def check(context: typer.Context, *, as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False) -> int:
    """Prove that nothing is damaged: pages, hashes, the chain of passes, memories against the log. Exits 2 where something is."""
    with at_desk(context) as desk:
        found = prove(desk).damage
        if as_json:
            show.write_json({"ok": not found, "damage": list(found)})
        else:
            show.write(line(("damaged  ", "red"), each) for each in found)
            if found:
                show.write(
                    [
                        line(
                            (f"{counted(len(found), 'thing')} wrong", "bold red"),
                            (" → kept rebuild mends what derives from the log", "dim"),
                        )
                    ]
                )
            elif not asked(context).quiet:
                show.write([line(("All is well: ", "green"), "the log, the archive and the memories agree.")])
        return 2 if found else 0


def rebuild(context: typer.Context) -> int:
    """Recreate the memories, their index and the files from the log alone."""
    with at_desk(context) as desk:
        written = recreate(desk)
        if not asked(context).quiet:
            show.write([line(("Rebuilt: ", "green"), counted(len(desk.store.log.memories()), "memory", "memories"))])
        return told_problems(written)


def export(
    context: typer.Context,
    *,
    kind: Annotated[str, typer.Option("--format", metavar="FORMAT", help="jsonl (one memory a line), json or md.")] = "jsonl",
    output: Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write to this file instead.")] = None,
) -> None:
    """Everything out: every memory of every status with its evidence (md: the active ones, to read)."""
    one_of(kind, _FORMATS, "--format")
    with at_desk(context) as desk:
        which = Filter(everything=kind != "md")
        memories = chosen(desk, desk.store.log.memories(), which, desk.clock())
        text = _text(desk, memories, kind)
        if output is None:
            show.write_text(text)
        else:
            put(output, text)
            show.write(
                [
                    line(
                        ("Wrote ", "green"),
                        show.place(output.absolute()),
                        (f" ({counted(len(memories), 'memory', 'memories')})", "dim"),
                    )
                ]
            )


def _text(desk: Desk, memories: tuple[Memory, ...], kind: str) -> str:
    match kind:
        case "jsonl":
            return "".join(f"{show.json_text(exported(desk, each), indent=None)}\n" for each in memories)
        case "json":
            return f"{show.json_text([exported(desk, each) for each in memories])}\n"
        case _:
            return _markdown(desk, memories)


def _markdown(desk: Desk, memories: tuple[Memory, ...]) -> str:
    titles, names = {each.id: each.title for each in desk.profile.categories}, desk.names()
    lines, above = ["# Memory"], ("", "")
    for each in memories:
        if each.scope != above[0]:
            lines += ["", f"## {sentence(scope_name(each.scope, names))}"]
        if (each.scope, each.category) != above:
            lines += ["", f"### {titles.get(each.category, each.category)}", ""]
        above = (each.scope, each.category)
        seen = each.last_seen.astimezone(desk.zone).date() if each.last_seen else None
        lines.append(fact_line(sentence(each.content or FORGOTTEN), seen))
    return "\n".join(lines) + "\n"
