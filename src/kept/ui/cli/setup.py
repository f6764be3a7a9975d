"""``kept sources``, ``profiles``, ``config``: what is read, how it is remembered, settings."""

import os
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from kept import profiles as known_profiles
from kept.app import configuring
from kept.app.desk import Desk, find_home
from kept.app.reading import places
from kept.model.errors import UsageError
from kept.model.event import Account
from kept.ui.cli import show
from kept.ui.cli.front import asked, at_desk
from kept.ui.cli.report import account_text
from kept.ui.cli.show import Line, counted, entry, line

AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
_ACTIONS = {"show": 0, "get": 1, "set": 2}


def sources(context: typer.Context, *, as_json: AsJson = False) -> None:
    """What is read, from where. With --verbose the account of every record: kept, or set aside and why."""
    with at_desk(context) as desk:
        accounts = _accounts(desk)
        if as_json:
            show.write_json(_sources_body(desk, accounts))
        else:
            show.write(_sources_lines(desk, accounts, verbose=asked(context).verbose))


def _accounts(desk: Desk) -> dict[str, tuple[int, Account]]:
    """By source: how many files were read, and the sum of their accounts."""
    found: dict[str, tuple[int, Account]] = {}
    for each in desk.store.archive.files():
        files, account = found.get(each.source, (0, Account()))
        found[each.source] = (files + 1, account + each.account)
    return found


def _sources_lines(desk: Desk, accounts: dict[str, tuple[int, Account]], *, verbose: bool) -> Iterator[Line]:
    found = places(desk)
    for name in sorted({source.name for source, _ in found} | accounts.keys()):
        files, account = accounts.get(name, (0, Account()))
        off = ("  not read: switched off in the settings", "yellow") if name in desk.settings.sources_off else ("", "")
        yield line((name, "bold"), f"  {counted(files, 'file')} read, {counted(account.events, 'event')}", off)
        yield from (line("  ", show.place(path)) for source, path in found if source.name == name)
        if verbose:
            yield entry([("  ", "")], account_text(account.records, account.kept, account.dropped))
            if account.noted:
                noted = ", ".join(f"{count:,} {what}" for what, count in sorted(account.noted.items()))
                yield entry([("  ", "")], (f"inside kept records: {noted}", "dim"))
            yield from (
                line("  ", f"{show.place(each.path)}:{each.line}", (f"  {each.reason}", "dim")) for each in account.problems
            )
            if account.malformed > len(account.problems):
                yield line((f"  … and {account.malformed - len(account.problems):,} more malformed records", "dim"))
    if not found and not accounts:
        yield line("No transcripts were found on this machine.", (" → kept run PATH", "dim"))
    if verbose:
        yield from _file_lines(desk)


def _file_lines(desk: Desk) -> Iterator[Line]:
    files = desk.store.archive.files()
    if files:
        yield line()
        yield line(("Every file", "bold"))
    for each in files:
        pending = f", {show.size(each.account.pending)} unfinished at its end" if each.account.pending else ""
        yield line(
            "  ",
            show.place(each.path),
            (f"  {account_text(each.account.records, each.account.kept, each.account.dropped)}{pending}", "dim"),
        )


def _sources_body(desk: Desk, accounts: dict[str, tuple[int, Account]]) -> dict[str, Any]:
    found = places(desk)
    return {
        "sources": [
            {
                "name": name,
                "enabled": name not in desk.settings.sources_off,
                "places": [str(path) for source, path in found if source.name == name],
                "files": accounts.get(name, (0, Account()))[0],
            }
            | _account_body(accounts.get(name, (0, Account()))[1])
            for name in sorted({source.name for source, _ in found} | accounts.keys())
        ],
        "files": [
            {"path": each.path, "source": each.source, "bytes_read": each.offset} | _account_body(each.account)
            for each in desk.store.archive.files()
        ],
    }


def _account_body(account: Account) -> dict[str, Any]:
    return {
        "records": account.records, "kept": account.kept, "events": account.events, "dropped": dict(account.dropped),
        "noted": dict(account.noted), "malformed": account.malformed, "pending_bytes": account.pending,
        "problems": [{"path": each.path, "line": each.line, "reason": each.reason} for each in account.problems],
    }  # fmt: skip


def profiles(context: typer.Context, *, as_json: AsJson = False) -> None:
    """The ways of remembering, and the categories of the one in use."""
    home = find_home(asked(context).home, os.environ)
    folder = home.config / "profiles"
    chosen = asked(context).profile or str(configuring.setting(home, "profile"))
    made = {name: known_profiles.profile(name, folder) for name in known_profiles.names(folder)}
    if chosen not in made:
        known_profiles.profile(chosen, folder)  # says what is wrong with it
    if as_json:
        bodies = [
            {
                "id": name,
                "title": each.title,
                "summary": each.summary,
                "used": name == chosen,
                "categories": [one.id for one in each.categories],
            }
            for name, each in made.items()
        ]
        show.write_json(bodies)
        return
    lines: list[Line] = []
    for name, each in made.items():
        lines.append(entry([(f"{name}  ", "bold")], each.summary, ("  in use" if name == chosen else "", "green")))
        if name == chosen or asked(context).verbose:
            width = max(len(one.id) for one in each.categories)
            lines += [
                entry([("  ", ""), (f"{one.id:<{width}}  ", "cyan")], one.belongs, (f" Not: {one.excludes}", "dim"))
                for one in each.categories
            ]
    show.write([*lines, line((f"Your own: {show.place(folder)}/NAME.toml", "dim"))])


def config(
    context: typer.Context,
    action: Annotated[str, typer.Argument(metavar="show|get|set", help="What to do.")] = "show",
    name: Annotated[str, typer.Argument(metavar="NAME", help="The setting.")] = "",
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="Its new value; lists comma-separated; '' for the default.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Settings: show all, get one, set one. They stand in one file that you can also edit by hand."""
    given = (name != "") + (value is not None)
    if action not in _ACTIONS or given != _ACTIONS[action]:
        raise UsageError("that is no call of config", hint="kept config [show] | get NAME | set NAME VALUE")
    home = find_home(asked(context).home, os.environ)
    if action == "show":
        values = configuring.shown(home)
    else:
        values = {name: configuring.setting(home, name) if value is None else configuring.change(home, name, value)}
    if as_json:
        show.write_json(values)
    elif action == "get":
        show.write([line(_plain(values[name]))])
    else:
        width = max(map(len, values))
        show.write(entry([(f"{each:<{width}}  ", "cyan")], _plain(found) or "–") for each, found in values.items())
        show.write([line((show.place(home.settings), "dim"))])


def _plain(value: Any) -> str:
    match value:
        case list():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{left} = {right}" for left, right in value.items())
        case _:
            return str(value)
