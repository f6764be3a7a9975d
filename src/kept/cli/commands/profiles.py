"""``kept profiles``: list, show, copy, check and migrate profiles."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from kept import profiles as known
from kept.changes import settle
from kept.cli import show
from kept.cli.commands.edit import told_problems
from kept.cli.front import asked, at_desk
from kept.cli.show import Line, counted, entry, line
from kept.core.codec import dump
from kept.core.errors import ConfigError, UsageError
from kept.core.redact.check import refuse_secrets
from kept.local import files
from kept.memories import configure
from kept.memories.migrate import Migrated, migrate
from kept.paths import Paths, find_paths
from kept.profiles.profile import INTENTS, Category, Occasion, Profile

_NAMES = {"list": (0, 0), "show": (0, 1), "new": (1, 1), "check": (0, 1), "migrate": (2, 2)}


def profiles(
    context: typer.Context,
    action: Annotated[str, typer.Argument(metavar="list|show|new|check|migrate", help="What to do.")] = "list",
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME…", help="Of which profile; of migrate: from and to.")] = None,
    *,
    like: Annotated[str, typer.Option(metavar="NAME", help="With new: the profile to copy.")] = "coding",
    mapping: Annotated[
        list[str] | None, typer.Option("--map", metavar="A=B", help="With migrate: category A becomes B; A= stays. Repeatable.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With migrate: show what would become what; change nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> int:
    """List profiles, show one, copy one to make your own, check yours, migrate memories to another.

    Which sources and projects use which profile is said in the settings: profile, profiles, and [[use]] rules.
    """
    given = names or []
    least, most = _NAMES.get(action, (1, 0))
    if not least <= len(given) <= most:
        raise UsageError(
            "that is no call of profiles", hint="kept profiles [list] | show [NAME] | new NAME | check [NAME] | migrate FROM TO"
        )
    home = find_paths(asked(context).home, os.environ)
    match action:
        case "new":
            return _new(home, given[0], like)
        case "check":
            return _check_profiles(home, given, as_json=as_json)
        case "migrate":
            return _migrate(context, given, mapping or [], dry=dry_run, as_json=as_json)
        case "show":
            return _show(home, given[0] if given else _chosen(context, home), as_json=as_json)
        case _:
            return _list(context, home, as_json=as_json)


def _chosen(context: typer.Context, home: Paths) -> str:
    return asked(context).profile or str(configure.setting(home, "profile"))


def _folder(home: Paths) -> Path:
    return home.config / "profiles"


def _list(context: typer.Context, home: Paths, *, as_json: bool) -> int:
    folder, chosen = _folder(home), _chosen(context, home)
    known.profile(chosen, folder)  # says what is wrong with it
    used = {chosen, *configure.setting(home, "profiles"), *(each["profile"] for each in configure.setting(home, "use"))}
    found: dict[str, Profile | str] = {}
    for name in known.names(folder):
        try:
            found[name] = known.profile(name, folder)
        except ConfigError as error:
            found[name] = str(error)
    if as_json:
        show.write_json([_profile_body(name, each, chosen, used) for name, each in found.items()])
        return 0
    lines: list[Line] = []
    for name, each in found.items():
        mark = "  in use" if name == chosen else "  at work beside it" if name in used else ""
        told = each if isinstance(each, str) else each.summary
        lines.append(entry([(f"{name}  ", "bold")], told, (mark, "green")))
        if isinstance(each, Profile) and (name == chosen or asked(context).verbose):
            lines += _categories(each)
    show.write(
        [
            *lines,
            line((f"Your own: {show.format_path(folder)}/NAME.toml", "dim"), (" → kept profiles new NAME --like coding", "dim")),
        ]
    )
    return 0


def _profile_body(name: str, each: Profile | str, chosen: str, used: set[str]) -> dict[str, Any]:
    body: dict[str, Any] = {"id": name, "used": name == chosen, "at_work": name in used}
    if isinstance(each, str):
        return body | {"problem": each}
    return body | {"title": each.title, "summary": each.summary, "categories": [one.id for one in each.categories]}


def _categories(each: Profile) -> list[Line]:
    width = max(len(one.id) for one in each.categories)
    return [
        entry([("  ", ""), (f"{one.id:<{width}}  ", "cyan")], one.belongs, (f" Not: {one.excludes}", "dim"))
        for one in each.categories
    ]


def _show(home: Paths, name: str, *, as_json: bool) -> int:
    found = known.profile(name, _folder(home))
    if as_json:
        show.write_json(dump(found))
    else:
        show.write(_format_profile(found))
    return 0


def _format_profile(found: Profile) -> Iterator[Line]:
    yield line((found.title, "bold"), (f"  {found.id}", "dim"))
    yield entry([("", "")], found.summary)
    when = ", ".join(each.value for each in Occasion if found.when.on(each))
    yield line(("extracted: ", "cyan"), when, (f"; {found.buffer.least} to {found.buffer.most} events together", "dim"))
    outputs = found.outputs
    written = [
        (outputs.memory_file, f"at most {show.size(outputs.memory_bytes)}, {outputs.memory_lines} lines"),
        (outputs.card_file, f"at most {outputs.card_chars:,} characters"),
        (outputs.daily_folder, "a note for each day"),
        (outputs.pages_folder, f"pages of at most {show.size(outputs.page_bytes)}"),
        (outputs.view_file, f"what matters most as JSON, at most {show.size(outputs.view_bytes)}"),
        ("CLAUDE.md" if outputs.project_section else "", f"the section “{outputs.section}” in each project"),
        (".claude/rules" if outputs.project_rules else "", "rules in each project"),
    ]
    for path, told in written:
        if path:
            yield line(("writes: ", "cyan"), path, (f"  {told}", "dim"))
    for each in found.categories:
        yield from _category(found, each)


def _category(found: Profile, each: Category) -> Iterator[Line]:
    yield line()
    yield line((each.title, "bold"), (f"  {each.id}", "dim"))
    yield entry([("  belongs  ", "cyan")], each.belongs)
    yield entry([("  not      ", "cyan")], each.excludes)
    for example in each.examples:
        yield entry([("  such as  ", "cyan")], f"“{example}”")
    yield entry([("  many     ", "cyan")], f"{each.shape.value}: {each.consolidation}")
    fades = f"weighs half after {each.half_life} days unseen" if each.half_life else "does not fade"
    gates = [
        name
        for name, on in (
            ("the user's words", each.users_words),
            ("no tool's words", not each.users_words and not each.tool_words),
            ("a concrete artifact", each.specific),
            ("actionable words", each.actionable),
        )
        if on
    ]
    yield entry(
        [("  needs    ", "cyan")], f"confidence {each.floor}{''.join(f', {gate}' for gate in gates)}; {fades}; weight {each.weight}"
    )
    shown, writers = ", ".join(one.value for one in each.shown_in), ", ".join(one.value for one in each.writers)
    most = f", at most {each.budget} of a project" if each.budget else ""
    yield entry([("  shown    ", "cyan")], f"{shown}{most}; written by {writers}")
    filed = [
        f"{intent} ({told})" for intent, told in INTENTS.items() if (kind := found.category_for(intent)) and kind.id == each.id
    ]
    if filed:
        yield entry([("  filed    ", "cyan")], "; ".join(filed))


def _new(home: Paths, name: str, like: str) -> int:
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise UsageError(f"a profile cannot be called {name!r}", hint="letters, digits, - and _")
    refuse_secrets(name)
    if name in known.names(_folder(home)):
        raise UsageError(f"there is a profile {name!r} already", hint=f"kept profiles show {name}")
    text, _ = known.source(like, _folder(home))
    path = _folder(home) / f"{name}.toml"
    lines = [
        f'id = "{name}"' if each.startswith("id = ") and number < _HEAD else each for number, each in enumerate(text.splitlines())
    ]
    files.write(path, ("\n".join(lines) + "\n").encode(), expect=files.read(path).stamp, root=home.root)
    show.write(
        [
            line(
                ("Made ", "green"),
                show.format_path(path),
                (f" → edit it, then: kept profiles check {name}; kept config set profile {name}", "dim"),
            )
        ]
    )
    return 0


_HEAD = 12  # lines within which a profile says its id


def _check_profiles(home: Paths, given: list[str], *, as_json: bool) -> int:
    folder = _folder(home)
    found = {name: (known.source(name, folder)) for name in (given or known.names(folder))}
    wrong = {name: known.check(text) for name, (text, _) in found.items()}
    if as_json:
        body = [
            {"id": name, "file": found[name][1], "mistakes": [each._asdict() for each in several]}
            for name, several in wrong.items()
        ]
        show.write_json(body)
        return 2 if any(wrong.values()) else 0
    for name, several in wrong.items():
        if not several:
            show.write([line((f"{name}  ", "bold"), ("nothing is wrong", "green"))])
            continue
        show.write(
            [
                line(
                    (f"{name}  ", "bold"),
                    (counted(len(several), "mistake"), "red"),
                    (f"  {show.format_path(Path(found[name][1]))}", "dim"),
                )
            ]
        )
        for each in several:
            show.write(
                [
                    entry(
                        [("  ", ""), (f"{each.setting}  ", "cyan")],
                        each.told,
                        (f" → {each.allowed}" if each.allowed else "", "dim"),
                    )
                ]
            )
    return 2 if any(wrong.values()) else 0


def _migrate(context: typer.Context, given: list[str], mapping: list[str], *, dry: bool, as_json: bool) -> int:
    wanted = dict(_pair(each) for each in mapping)
    with at_desk(context) as workspace:
        done, written = settle(workspace, lambda: migrate(workspace, given[0], given[1], wanted, dry=dry))
        if as_json:
            show.write_json({"mapping": dict(done.mapping), "moved": dict(done.moved), "stayed": dict(done.stayed), "dry": dry})
        else:
            show.write(_format_migration(done, dry=dry))
        return told_problems(written)


def _pair(text: str) -> tuple[str, str]:
    left, equals, right = text.partition("=")
    if not equals:
        raise UsageError(f"--map cannot be {text!r}", hint="--map decision=project_context, or --map decision= to leave it")
    return left.strip(), right.strip()


def _format_migration(done: Migrated, *, dry: bool) -> Iterator[Line]:
    for name, kind in sorted(done.mapping.items()):
        count = done.moved.get(name, 0)
        yield line((f"  {name} → {kind}", "cyan"), f"  {counted(count, 'memory', 'memories')}")
    for name, count in sorted(done.stayed.items()):
        yield line((f"  {name} stays", "yellow"), f"  {counted(count, 'memory', 'memories')}", (f" → --map {name}=CATEGORY", "dim"))
    total = sum(done.moved.values())
    told = f"{'Would migrate' if dry else 'Migrated'} {counted(total, 'memory', 'memories')}"
    yield line((told, "bold"), ("" if dry or not total else " → kept undo takes it back", "dim"))
