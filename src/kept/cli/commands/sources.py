"""``kept sources``: show what is read on this machine and what is not, switch sources on and off, show a session's turns."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from kept.cli.command_support import check_choice, command_home, command_workspace, confirm, is_interactive
from kept.cli.console import (
    Line,
    format_count,
    format_path,
    format_size,
    hanging_line,
    line,
    more_lines,
    write_answer,
    write_json,
    write_line,
    write_lines,
)
from kept.cli.lists import show_session
from kept.cli.model_use import unknown_language_line
from kept.cli.registry import GlobalOptions
from kept.cli.report import format_account, unread_lines
from kept.core.codec import dump, json_fields
from kept.core.errors import UsageError
from kept.core.event import UNKNOWN_KIND, RecordAccount
from kept.core.project import matches_path
from kept.core.times import format_day
from kept.intake.survey import Survey, ToolSurvey, load_unread_reasons, survey
from kept.local.settings.tables import SourceRoot
from kept.memories import configure
from kept.memories.browse import WORDS
from kept.paths import Paths
from kept.pipeline import follow_roots
from kept.sources.base import ENTRY
from kept.workspace import Workspace

_ACTIONS = {
    "disable": ("sources_off", True),
    "enable": ("sources_off", False),
    "exclude": ("exclude", True),
    "include": ("exclude", False),
}
_BACK = {"disable": "enable", "exclude": "include"}
_SHOWN = 5  # maximum paths listed without --verbose
_PROJECTS_SHOWN = 12
_IN_PROJECTS = ("aider", "specstory")  # these tools keep their files in each project's folder, not in one place


def sources(
    call: GlobalOptions,
    action: str = "",
    items: list[str] | None = None,
    *,
    source: str = "",
    project: str = "",
    author: str = "",
    session: str = "",
    as_json: bool = False,
) -> None:
    """Show what is read, from where, and what is not read and why. With --verbose, account for every record.

    Example: kept sources add ~/notes --as journal --author person. Every run reads added folders; `kept sources list` shows them.
    """
    if action in ("add", "remove", "list"):
        wanted = [SourceRoot(path=item, format=source, project=project, author=author) for item in items or ()]
        _change_roots(call, action, wanted, as_json=as_json)
        return
    if source or project or author:
        raise UsageError("--as, --project and --author go with `kept sources add`", hint="kept sources add PATH --as FORMAT")
    if action:
        _switch_sources(call, action, items or [], as_json=as_json)
        return
    with command_workspace(call) as workspace:
        if session:
            show_session(workspace, session, as_json=as_json)
            return
        surveyed = survey(workspace)
        lines = _format_survey(workspace, surveyed, verbose=call.verbose)
        write_answer(lambda: _survey_body(workspace, surveyed), lines, as_json=as_json)


def _change_roots(call: GlobalOptions, action: str, wanted: Sequence[SourceRoot], *, as_json: bool) -> None:
    """Add or remove folders and files that every run reads, or list them."""
    home = command_home(call)
    if action != "list":
        if not wanted:
            raise UsageError(f"`kept sources {action}` needs a folder or file", hint=f"kept sources {action} PATH")
        for item in wanted:
            if action == "add":
                follow_root(home, item, tell=not as_json)
                continue
            root = follow_roots.remove_root(home, Path(item.path))
            if not as_json:
                gone = " is no longer read automatically.", (" What was remembered stays.", "dim")
                write_line((format_path(root.resolve(home.user)), "bold"), *gone)
        if not as_json:
            return
    roots = follow_roots.load_roots(home)
    text = "No folder is added. Every run reads the tools' usual folders; a path given to `kept run` is read only once."
    none = line(text, " → kept sources add PATH")
    lines = _root_lines(roots, home.user) if roots else [none]
    write_answer(lambda: {"roots": [follow_roots.root_body(root, home.user) for root in roots]}, lines, as_json=as_json)


def follow_root(home: Paths, wanted: SourceRoot, *, tell: bool = True) -> None:
    """Let every run read a folder or file. If ``tell``, say so, and ask who wrote the notes in it.

    Without a terminal, say who counts as their author.
    """
    place = Path(wanted.path)
    root = follow_roots.add_root(home, place, source=wanted.format, project=wanted.project, author=wanted.author)
    if not tell:
        return
    shown = format_path(root.resolve(home.user))
    write_line((shown, "bold"), " is read by every run from now on.", " → kept run")
    if root.author or not follow_roots.has_notes(home, root):
        return
    if is_interactive():
        yours = confirm(f"Did you write the notes in {shown} yourself?")
        follow_roots.add_root(home, place, author="person" if yours else "agent")
    else:
        text = "  Notes in it that name no author count as an agent's, so what they say is held for your review"
        write_line(text, f" → if you wrote them: kept sources add {quote(shown)} --author person")


def _root_lines(roots: Sequence[SourceRoot], user: Path) -> Iterator[Line]:
    for root in roots:
        place = root.resolve(user)
        settings = [("as ", root.format), ("project ", root.project), ("by default the words of ", root.author)]
        about = ", ".join(f"{what}{value}" for what, value in settings if value)
        gone = "" if place.exists() else "  is not there"
        yield line("  ", format_path(place), (f"  {about}" if about else "", "dim"), (gone, "yellow"))


def _switch_sources(call: GlobalOptions, action: str, items: Sequence[str], *, as_json: bool) -> None:
    name, included = _ACTIONS[check_choice(action, tuple(_ACTIONS), "the action")]
    if not items:
        raise UsageError(
            f"`kept sources {action}` needs {'a source' if name == 'sources_off' else 'a pattern'}", hint="see `kept sources`"
        )
    if name == "sources_off":
        from kept.sources.registry import SOURCES  # noqa: PLC0415 - only here

        for item in items:
            check_choice(item, tuple(source.name for source in SOURCES), f"{action}:")
    else:
        items = [str(Path(item).expanduser()) for item in items]
    home = command_home(call)
    for item in items:
        listed = configure.include_item(home, name, item, included=included)
        if not as_json:
            write_lines([_switched_line(home, action, item)])
    if as_json:
        write_json({name: list(listed)})


def _switched_line(home: Paths, action: str, item: str) -> Line:
    name, included = _ACTIONS[action]
    if not included:
        return line((item, "bold"), " is read again", (" → kept run", "dim"))
    erased = f" (kept forget --source {item} erases it)" if name == "sources_off" else ""
    back = f" → kept sources {_BACK[action]} '{item}' takes this back"
    missed = [path for path in load_unread_reasons(home) if name == "exclude" and matches_path(path, [item])]
    gone = f" Of these, {format_count(len(missed), 'unreadable file')} {'is' if len(missed) == 1 else 'are'} no longer listed."
    return line(
        (item, "bold"),
        " is no longer read by any run.",
        f"{gone if missed else ''} What was remembered stays{erased}.",
        (back, "dim"),
    )


def _format_survey(workspace: Workspace, surveyed: Survey, *, verbose: bool) -> Iterator[Line]:
    here = [tool_survey for tool_survey in surveyed.tools if tool_survey.known and tool_survey.enabled]
    if here:
        yield line(("What `kept run` reads", "bold"), ("  (each run reads only what is new)", "dim"))
    for tool in here:
        yield from _tool_lines(workspace, tool, verbose=verbose)
    if workspace.settings.root:
        yield line(("Also read", "bold"), ("  because you added it", "dim"))
        yield from _root_lines(workspace.settings.root, workspace.paths.user)
    if not here:
        yield line("No transcripts were found on this machine.", " → kept run PATH")
    if workspace.paths.store.exists():
        yield line((f"The archive is {format_path(workspace.paths.store)}", "dim"))
    yield from filter(None, [unknown_language_line(workspace)])
    yield from _unread_tool_lines(workspace, surveyed, verbose=verbose)
    yield from _project_lines(surveyed, verbose=verbose)
    if verbose:
        yield from _file_lines(workspace)


def _tool_lines(workspace: Workspace, tool: ToolSurvey, *, verbose: bool) -> Iterator[Line]:
    span = f", {format_day(tool.first_at, workspace.zone)} – {format_day(tool.last_at, workspace.zone)}" if tool.first_at else ""
    files = [f"{format_count(tool.files, 'file')}, {format_size(tool.size)}"] if tool.files else []
    files += [f"{format_count(tool.elsewhere, 'file')} in other folders that you named"] if tool.elsewhere else []
    aside = tool.account.records - tool.account.kept
    read = (
        f"; archived: {format_count(tool.sessions, 'session')}, {format_count(tool.account.events, 'event')}{span}"
        + (f"; {aside:,} of {tool.account.records:,} records skipped, not chat ({_common_reasons(tool.account)})" if aside else "")
        if tool.account.records
        else ""
    )
    yield line((tool.name, "bold"), f"  {' and '.join(files) or 'nothing there now'}{read}")
    yield from (line("  ", format_path(place)) for place, exists in tool.places if exists)
    if unknown := tool.account.unknown:
        share = f"{100 * (1 - unknown / tool.account.records):.1f} % of the records understood"
        kinds = ", ".join(sorted(reason for reason in tool.account.dropped if reason.startswith(UNKNOWN_KIND))) or "malformed"
        yield line((f"  {share}, {unknown:,} not ({kinds}); is this {tool.name} newer than kept?", "yellow"), " → kept doctor")
    elif tool.account.records:
        yield line(("  all records understood", "dim"))
    news = [f"{tool.fresh:,} not read yet" if tool.fresh else "", f"{tool.grown:,} changed since" if tool.grown else ""]
    if any(news):
        yield line((f"  {', '.join(filter(None, news))}", "yellow"), " → kept run")
    elif tool.files:
        yield line(("  everything has been read", "dim"))
    if tool.gone:
        yield line((f"  {format_count(tool.gone, 'file')} read before, no longer there; the archive has the turns", "dim"))
    if tool.expiring:
        count = format_count(len(tool.expiring), "file")
        text = f"  {count} not archived will soon be deleted by the tool itself (after {tool.days_kept} days)"
        yield line((text, "red"), " → kept run")
    elif tool.days_kept is not None and tool.files:
        text = f"  {tool.name} deletes its own files {tool.days_kept} days after their last change"
        yield line((f"{text}; nothing will be lost within a week", "dim"))
    shown = tool.unreadable if verbose else tool.unreadable[:_SHOWN]
    yield from (line(("  cannot be read: ", "yellow"), f"{format_path(path)} ({reason})") for path, reason in shown)
    yield from more_lines(len(tool.unreadable), len(shown), "kept sources --verbose")
    if verbose:
        yield from _account_lines(tool.account)


def _common_reasons(account: RecordAccount) -> str:
    """The two most frequent reasons why records were dropped."""
    common = sorted(account.dropped.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count:,} {reason}" for reason, count in common[:2]) + (", …" if len(common) > 2 else "")


def _account_lines(account: RecordAccount) -> Iterator[Line]:
    yield hanging_line([("  ", "")], format_account(account.records, account.kept, account.dropped))
    if account.noted:
        noted = ", ".join(f"{count:,} {what}" for what, count in sorted(account.noted.items()))
        yield hanging_line([("  ", "")], (f"left out of archived records: {noted}", "dim"))
    yield from (
        line("  ", f"{format_path(problem.path)}:{problem.line}", (f"  {problem.reason}", "dim")) for problem in account.problems
    )
    if account.malformed > len(account.problems):
        yield line((f"  … and {account.malformed - len(account.problems):,} more malformed records", "dim"))


def _unread_tool_lines(workspace: Workspace, surveyed: Survey, *, verbose: bool) -> Iterator[Line]:
    """The tools and files that are not read, and why."""
    # The journal is left out, because kept writes it itself. Saved terminal output comes last, because it is the rarest.
    absent = [survey for survey in surveyed.tools if not survey.known and survey.places and survey.name != ENTRY]
    given = [
        _tool_label(survey)
        for survey in sorted(surveyed.tools, key=lambda tool: tool.name == "console")
        if not survey.known and not survey.places
    ]
    yield line()
    yield line(("Not read", "bold"))
    central = [tool_survey for tool_survey in absent if tool_survey.name not in _IN_PROJECTS]
    if central:
        where = ("", "") if verbose else (" → searched folders: kept sources --verbose", "dim")
        yield hanging_line([("  ", "")], "nothing found for: ", ", ".join(map(_tool_label, central)), where)
    if verbose:
        yield from (_searched_places_line(tool_survey) for tool_survey in central)
    if scattered := [survey.name for survey in absent if survey.name in _IN_PROJECTS]:
        text = f"nothing found in {format_path(str(Path.cwd()))} for: "
        yield hanging_line([("  ", "")], text, ", ".join(scattered), (" (each project has its own → kept run PATH)", "dim"))
    if given:
        yield hanging_line([("  ", "")], "no known place, read only from paths you give: ", ", ".join(given), " → kept run PATH")
    if not verbose and any(survey.account.records > survey.account.kept for survey in surveyed.tools):
        yield line("  skipped records, with the reasons", " → kept sources --verbose")
    if missed := [(path, reason) for path, reason in surveyed.unread.items() if path not in _unreadable_paths(surveyed)]:
        yield line((f"  {format_count(len(missed), 'file')} could not be read by the runs so far:", "yellow"))
        yield from unread_lines(missed, verbose=verbose, hint="kept sources --verbose")
    for reason, count in sorted(surveyed.others.items()):
        paths = [format_path(path) for path, why in surveyed.named if why == reason][: None if verbose else _SHOWN]
        more = f" … {count - len(paths):,} more" if count > len(paths) else ""
        yield hanging_line(
            [("  ", "")],
            f"{format_count(count, 'file')} in the folders above, no transcript ({reason}): ",
            ", ".join(paths),
            (more, "dim"),
        )
    for pattern in workspace.settings.exclude:
        count = surveyed.excluded[pattern]
        fits = f", {format_count(count, 'file')}" if count else "" if os.path.lexists(pattern) else ", though no file fits it"
        yield line(f"  {pattern}: excluded by you{fits}", f" → kept sources include '{pattern}'")
    for name in workspace.settings.sources_off:
        before = next((tool_survey.sessions for tool_survey in surveyed.tools if tool_survey.name == name), 0)
        read = f" ({format_count(before, 'session')} read before)" if before else ""
        yield line(f"  {name}: switched off by you{read}", f" → kept sources enable {name}")
    for item in surveyed.opted_out:
        yield line(f"  session {item.session}: off the record, as you wrote in it", (f"  {format_path(item.path)}", "dim"))
    for name, reason in surveyed.plugins_left_out:
        yield line(f"  the format {name} of another package: {reason}")
    yield line(("  if you write <!-- kept: ignore --> on a line of its own, the whole conversation is left out", "dim"))


def _unreadable_paths(surveyed: Survey) -> frozenset[str]:
    return frozenset(path for tool in surveyed.tools for path, _ in tool.unreadable)


def _searched_places_line(tool: ToolSurvey) -> Line:
    places = [format_path(place) for place, _ in tool.places]
    more = f" … {len(places) - _SHOWN:,} more → kept sources --json" if len(places) > _SHOWN else ""
    return hanging_line([(f"    {tool.name}  ", "dim")], ", ".join(places[:_SHOWN]), (more, "dim"))


def _tool_label(tool: ToolSurvey) -> str:
    meaning = WORDS["sources"].get(tool.name)
    return f"{tool.name} ({meaning})" if meaning else tool.name


def _project_lines(surveyed: Survey, *, verbose: bool) -> Iterator[Line]:
    if not surveyed.projects:
        return
    yield line()
    yield line(("Projects", "bold"), ("  memories are filed under these", "dim"))
    for name, directories in list(surveyed.projects.items())[: None if verbose else _PROJECTS_SHOWN]:
        shown = directories if verbose else directories[:_SHOWN]
        more = f" … {len(directories) - len(shown):,} more" if len(shown) < len(directories) else ""
        yield hanging_line([(f"  {name}  ", "cyan")], ", ".join(format_path(item) for item in shown), (more, "dim"))
    yield from more_lines(len(surveyed.projects), len(surveyed.projects) if verbose else _PROJECTS_SHOWN, "kept sources --verbose")
    yield line(("  Are two of them the same project?", "dim"), " → kept projects")


def _file_lines(workspace: Workspace) -> Iterator[Line]:
    for number, file in enumerate(workspace.store.archive.files()):
        if number == 0:
            yield line()
            yield line(("Every file", "bold"))
        pending = f", {format_size(file.account.pending)} unfinished at its end" if file.account.pending else ""
        text = f"  {format_account(file.account.records, file.account.kept, file.account.dropped)}{pending}"
        yield line("  ", format_path(file.path), (text, "dim"))


def _survey_body(workspace: Workspace, surveyed: Survey) -> dict[str, Any]:
    return {
        "sources": [_tool_body(tool) for tool in surveyed.tools if tool.known or not tool.enabled],
        "not_found": [
            {"name": tool.name, "places": [str(place) for place, _ in tool.places]} for tool in surveyed.tools if not tool.known
        ],
        "other_files": dict(surveyed.others),
        "roots": [follow_roots.root_body(root, workspace.paths.user) for root in workspace.settings.root],
        "not_read": [{"path": path, "reason": reason} for path, reason in surveyed.unread.items()],
        "other_files_named": [{"path": path, "reason": reason} for path, reason in surveyed.named],
        "excluded": {item: surveyed.excluded[item] for item in workspace.settings.exclude},
        "opted_out": [dump(item) for item in surveyed.opted_out],
        "projects": {name: list(directories) for name, directories in surveyed.projects.items()},
        "plugins_left_out": [{"name": name, "reason": reason} for name, reason in surveyed.plugins_left_out],
        "files": [
            {"path": file.path, "source": file.source, "bytes_read": file.offset} | _account_body(file.account)
            for file in workspace.store.archive.files()
        ],
    }


def _tool_body(tool: ToolSurvey) -> dict[str, Any]:
    own = {
        "places": [str(place) for place, exists in tool.places if exists],
        "unreadable": [{"path": path, "reason": reason} for path, reason in tool.unreadable],
    }
    same = ("name", "enabled", "files", "gone", "grown", "elsewhere", "excluded", "sessions", "first_at", "last_at")
    other = {"bytes": "size", "new": "fresh", "deleted_soon": "expiring", "deleted_after_days": "days_kept"}
    return json_fields(tool, *same, **other) | own | _account_body(tool.account)


def _account_body(account: RecordAccount) -> dict[str, Any]:
    return json_fields(
        account, "records", "kept", "events", "dropped", "noted", "malformed", "unknown", "problems", pending_bytes="pending"
    )
