"""``kept projects``: list projects, suggest pairs that may be the same project, join two, and undo that."""

from collections.abc import Iterator

from kept.cli.command_support import check_choice, command_home, command_workspace
from kept.cli.console import Line, format_count, format_path, hanging_line, line, write_json, write_line, write_lines
from kept.cli.registry import GlobalOptions
from kept.core.codec import to_json
from kept.core.errors import UsageError
from kept.intake.project_evidence import load_branches, suggest_same_projects
from kept.intake.projects import ProjectFamily, find_project_family, list_project_families
from kept.memories.configure import map_projects
from kept.workspace import Workspace

_SHOWN = 5


def projects(call: GlobalOptions, action: str = "", project: str = "", other: str = "", *, as_json: bool = False) -> None:
    """List projects, and pairs that may be the same project; join two or undo that. Their memories follow at the next run.

    Example: kept projects join ~/old/harbor ~/code/harbor
    """
    with command_workspace(call) as workspace:
        if not action:
            _list_projects(workspace, as_json=as_json)
            return
        changes = _project_changes(workspace, check_choice(action, ("join", "undo"), "the action"), project, other)
    map_projects(command_home(call), changes)
    if as_json:
        write_json({"projects": changes})
        return
    for directory, place in changes.items():
        text = f" belongs to {format_path(place)}" if place else " is a separate project again"
        write_line((format_path(directory), "bold"), text, " → kept run")


def _project_changes(workspace: Workspace, action: str, project: str, other: str) -> dict[str, str]:
    """The changes to the setting that assigns directories to projects. Raises UsageError."""
    joined = workspace.settings.projects
    if action == "undo":
        if not joined:
            raise UsageError("no projects were joined", hint="kept projects")
        directories = find_project_family(workspace, project).directories if project else (list(joined)[-1],)
        chosen = {directory: "" for directory in joined if directory in directories}
        target = joined[directories[0]] if not project else ""
        chosen |= {directory: "" for directory, place in joined.items() if target and place == target}
        if not chosen:
            raise UsageError(f"{project!r} was not joined to another project", hint="kept projects")
        return chosen
    if not (project and other):
        raise UsageError("`kept projects join` needs two projects", hint="kept projects join PROJECT PROJECT")
    project_family, two = find_project_family(workspace, project), find_project_family(workspace, other)
    if project_family.scope == two.scope:
        raise UsageError("they are one project already", where=project_family.name)
    return dict.fromkeys(project_family.directories, two.directories[0])


def _list_projects(workspace: Workspace, *, as_json: bool) -> None:
    project_families = list_project_families(workspace)
    by_identity = {family.identity: family for family in project_families}
    pairs = [
        (by_identity[first], by_identity[second], why)
        for first, second, why in suggest_same_projects(workspace.store.archive.projects(), load_branches(workspace.paths))
        if first in by_identity and second in by_identity
    ]
    if as_json:
        suggestions = [
            {"project": family.directories[0], "other": second.directories[0], "evidence": why} for family, second, why in pairs
        ]
        write_json({"projects": to_json(project_families), "suggestions": suggestions, "joined": dict(workspace.settings.projects)})
    else:
        write_lines(_format_projects(workspace, project_families, pairs))


def _format_projects(
    workspace: Workspace, families: tuple[ProjectFamily, ...], pairs: list[tuple[ProjectFamily, ProjectFamily, str]]
) -> Iterator[Line]:
    if not families:
        yield line("No project was seen yet.", " → kept run")
    for family in families:
        shown = ", ".join(format_path(directory) for directory in family.directories[:_SHOWN])
        more = f" … {len(family.directories) - _SHOWN:,} more" if len(family.directories) > _SHOWN else ""
        head = [(family.name, "cyan"), (f"  {format_count(family.memories, 'memory')}  ", "dim")]
        yield hanging_line(head, shown, (more, "dim"))
    for first, second, why in pairs:
        yield line()
        yield line((f"{first.name} and {second.name} may be the same project: {why}", "yellow"))
        yield line((f"  → kept projects join {format_path(first.directories[0])} {format_path(second.directories[0])}", "dim"))
    for directory, other in workspace.settings.projects.items():
        yield line((f"{format_path(directory)} belongs to {format_path(other)}, by your setting", "dim"), " → kept projects undo")
