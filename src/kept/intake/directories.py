"""Record what a directory is when it is first seen."""

from kept.core.project import Project, directory_name
from kept.workspace import Workspace


def record_directory(workspace: Workspace, place: str) -> None:
    """Record what a directory is, unless it is known."""
    if workspace.store.archive.project(place) is None:
        identity = workspace.detect_identity(place)
        workspace.store.archive.save_project(
            Project(directory=place, identity=identity, name=directory_name(identity), scope=workspace.scope(place))
        )
