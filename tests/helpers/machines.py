"""Machines of one person that exchange memories through a folder."""

from kept.changes import apply_person_change
from kept.core.memory import Status
from kept.memories import person
from kept.memories.configure import change_setting
from kept.memories.synced_folder import SyncFolder
from kept.paths import find_paths
from kept.pipeline.machines import sync_machines
from kept.pipeline.run import RunOptions, run_pipeline

KEY = "ab" * 32


class Machine:
    """A home whose person works in the project harbor; it shares a folder with the other machines."""

    def __init__(self, home, folder, desk_at, key=KEY) -> None:
        self.home, self.folder, self._desk_at = home, folder, desk_at
        home.mkdir()
        change_setting(find_paths(str(home), {"HOME": str(home)}), "sync.folder", str(folder))
        with self.desk() as workspace:
            SyncFolder(workspace=workspace).join(key)
            self.name = SyncFolder(workspace=workspace).machine

    def desk(self):
        return self._desk_at(self.home)

    def run(self):
        with self.desk() as workspace:
            report = run_pipeline(workspace, [], RunOptions())
            assert workspace.store.find_damage() == ()
            return report

    def sync(self):
        with self.desk() as workspace:
            return sync_machines(workspace)[0]

    def change(self, change, *arguments):
        with self.desk() as workspace:
            return apply_person_change(workspace, lambda: change(workspace, *arguments))[0]

    def add(self, text):
        return self.change(lambda workspace: person.create_memory(workspace, text, "constraint", project="/x/harbor")).id

    def memories(self, *, check=True):
        with self.desk() as workspace:
            assert not check or workspace.store.find_damage() == ()
            return {memory.id: memory for memory in workspace.store.log.memories()}

    def active(self):
        return {memory.content for memory in self.memories().values() if memory.status is Status.ACTIVE}

    def file(self):
        return (self.home / ".claude" / "rules" / "memory.md").read_text()
