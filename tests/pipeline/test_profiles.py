"""Several active profiles at once: which remembers what, and where it is written."""

import pytest

from kept.core.errors import UsageError
from kept.core.memory import Status
from kept.memories.history import undo
from kept.memories.migrate import migrate_profile
from kept.memories.person import create_memory, pin, retire
from kept.outputs.targets import compose_outputs, list_targets
from kept.pipeline.run import RunOptions, run_pipeline
from talking import OTHER, RULE, say

NOTES = """\
id = "notes"
title = "Notes"
summary = "What is said among notes."

[outputs]
memory_file = ".claude/rules/memory.md"

[[categories]]
id = "constraint"
title = "Constraints"
belongs = "Rules."
excludes = "The rest."

[[categories]]
id = "idea"
title = "Ideas"
belongs = "Ideas."
excludes = "The rest."
specific = false
"""


def configure(home, settings, **profiles):
    folder = home / ".config" / "kept"
    (folder / "profiles").mkdir(parents=True)
    (folder / "config.toml").write_text(settings)
    for name, text in profiles.items():
        (folder / "profiles" / f"{name}.toml").write_text(text)


def remembered(workspace):
    return {(each.profile, each.category, each.content) for each in workspace.store.log.memories()}


def test_each_project_is_remembered_by_the_profile_its_rule_names(home, desk_at):
    configure(home, '[[use]]\nprofile = "notes"\nprojects = ["/x/notes"]\n', notes=NOTES)
    say(home, "s1", RULE, cwd="/x/harbor")
    say(home, "s2", OTHER, cwd="/x/notes/inner")
    with desk_at(home) as workspace:
        assert [each.id for each in workspace.profiles] == ["coding", "notes"]
        run_pipeline(workspace, [], RunOptions())
        assert {each[:2] for each in remembered(workspace)} == {("coding", "convention"), ("notes", "constraint")}


def test_profiles_that_name_one_file_write_it_together_each_under_its_own_headings(home, desk_at):
    configure(home, 'profiles = ["notes"]\n[[use]]\nprofile = "notes"\nprojects = ["/x/notes"]\n', notes=NOTES)
    say(home, "s1", OTHER, cwd="/x/notes")
    say(home, "s2", OTHER, cwd="/x/harbor")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert len(list_targets(workspace, compose_outputs(workspace))) == 1
        text = (home / ".claude" / "rules" / "memory.md").read_text()
    assert "### Constraints\n" in text
    assert "### Constraints (Notes)\n" in text


def test_a_line_added_by_hand_belongs_to_the_profile_whose_section_it_stands_in(home, desk_at):
    configure(home, 'profiles = ["notes"]\n', notes=NOTES)
    path = home / ".claude" / "rules" / "memory.md"
    with desk_at(home) as workspace:
        create_memory(workspace, "Lanterns could hang from the crane.", "idea")
        run_pipeline(workspace, [], RunOptions())
        path.write_text(path.read_text().replace("\n<!-- kept: ", "\n- A bell for fog.\n<!-- kept: ", 1))
        run_pipeline(workspace, [], RunOptions())
        assert ("notes", "idea", "A bell for fog.") in remembered(workspace)


def test_a_category_of_a_profile_that_is_not_the_default_is_named_with_or_without_it(home, desk_at):
    configure(home, 'profiles = ["notes"]\n', notes=NOTES)
    with desk_at(home) as workspace:
        assert create_memory(workspace, "Gulls mean land is near.", "idea").profile == "notes"
        assert create_memory(workspace, "Anchor before dusk, always.", "constraint").profile == "coding"
        assert create_memory(workspace, "Anchor after dawn, always.", "notes.constraint").profile == "notes"
        with pytest.raises(UsageError, match=r"no category 'notes\.decision'"):
            create_memory(workspace, "Sail at noon from now on.", "notes.decision")


def test_naming_a_profile_for_one_call_makes_it_remember_everything(home, desk_at):
    configure(home, '[[use]]\nprofile = "coding"\n', notes=NOTES)
    say(home, "s1", OTHER)
    with desk_at(home, profile="notes") as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert {each[0] for each in remembered(workspace)} == {"notes"}


def test_another_default_profile_leaves_what_was_remembered_before(home, desk_at):
    say(home, "s1", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = remembered(workspace)
    configure(home, 'profile = "notes"\n', notes=NOTES)
    say(home, "s2", OTHER)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert before < remembered(workspace)


def test_a_profile_of_one_run_erases_nothing_that_others_wrote_nor_do_they(home, desk_at):
    configure(home, 'profile = "coding"\n', notes=NOTES)
    path = home / ".claude" / "rules" / "memory.md"
    say(home, "s1", RULE, cwd="/x/harbor")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    say(home, "s2", OTHER, cwd="/x/harbor")
    with desk_at(home, profile="notes") as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert {each[0] for each in remembered(workspace)} == {"coding", "notes"}
    both = {line for line in path.read_text().splitlines() if line.startswith("- ")}
    assert len(both) == 2
    with desk_at(home) as workspace:
        assert [each.id for each in workspace.profiles] == ["coding"]
        run_pipeline(workspace, [], RunOptions())
        create_memory(workspace, "Anchor before dusk, always.", "constraint")
        run_pipeline(workspace, [], RunOptions())
        assert both < {line for line in path.read_text().splitlines() if line.startswith("- ")}
        path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if "pip" not in line))
        run_pipeline(workspace, [], RunOptions())
        assert {each.profile for each in workspace.store.log.memories() if each.status is Status.RETIRED} == {"notes"}
        assert remembered(workspace)
    with desk_at(home) as workspace:
        assert run_pipeline(workspace, [], RunOptions()).written.files == []


def test_a_profile_whose_file_is_gone_leaves_the_memory_file(home, desk_at):
    configure(home, 'profile = "coding"\n', notes=NOTES)
    path = home / ".claude" / "rules" / "memory.md"
    with desk_at(home, profile="notes") as workspace:
        create_memory(workspace, "Gulls mean land is near.", "notes.idea")
        create_memory(workspace, "Anchor before dusk, always.", "coding.constraint")
        run_pipeline(workspace, [], RunOptions())
    (home / ".config" / "kept" / "profiles" / "notes.toml").unlink()
    with desk_at(home) as workspace:
        assert not run_pipeline(workspace, [], RunOptions()).partly
    assert "Anchor before dusk" in path.read_text()
    assert "Gulls" not in path.read_text()


HANDED = [f"Remember that the {name} is closed on Mondays." for name in ("mill", "lock", "weir", "ferry", "quay")]


def living(workspace):
    return sorted(each.content for each in workspace.store.log.memories() if each.status is Status.ACTIVE)


@pytest.mark.parametrize("decided", [False, True])
def test_a_change_of_the_profile_doubles_no_memory_and_is_no_loss_to_a_guard(home, desk_at, decided):
    configure(home, "", notes=NOTES)
    say(home, "s1", *HANDED, cwd="/x/notes")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = living(workspace)
        assert len(before) == len(HANDED)
        if decided:
            pin(workspace, workspace.store.log.memories()[0].id)
            retire(workspace, workspace.store.log.memories()[1].id)
            before = living(workspace)
    (home / ".config/kept/config.toml").write_text('[[use]]\nprofile = "notes"\nprojects = ["/x/notes"]\n')
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [], RunOptions(force=True))
        assert report.curated.stopped == []
        assert living(workspace) == before
        migrate_profile(workspace, "coding", "notes", {"project_fact": "idea"})
        run_pipeline(workspace, [], RunOptions(force=True))
        assert living(workspace) == before
        assert {each.profile for each in workspace.store.log.memories() if each.status is Status.ACTIVE} == {"notes"}


def test_migrating_beside_a_memory_that_says_the_same_leaves_one_and_undo_both(home, desk_at):
    configure(home, 'profiles = ["notes"]\n', notes=NOTES)
    with desk_at(home) as workspace:
        for kind in ("coding.constraint", "notes.constraint"):
            create_memory(workspace, "Anchor before dusk, always.", kind)
        migrate_profile(workspace, "coding", "notes", {})
        assert living(workspace) == ["Anchor before dusk, always."]
        undo(workspace)
        assert living(workspace) == ["Anchor before dusk, always."] * 2
