"""Projects: one for all its directories, recorded, and corrected by a person."""

import json
import shutil

import pytest

from kept.changes import archive_before_edits
from kept.core.memory import USER_SCOPE, Status
from kept.intake import project_evidence
from kept.intake.project_evidence import load_branches, suggest_same_projects
from kept.memories import person
from kept.memories.history import undo
from kept.pipeline import run
from kept.pipeline.run import RunOptions, run_pipeline
from talking import OTHER, RULE, say


def settings(home, **projects):
    folder = home / ".config" / "kept"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{json.dumps(left)} = {json.dumps(right)}" for left, right in projects.items()]
    (folder / "config.toml").write_text("\n".join(["[projects]", *lines]) + "\n")


def repository(folder, url=""):
    git = folder / ".git"
    git.mkdir(parents=True)
    (git / "config").write_text(f'[remote "origin"]\n\turl = {url}\n' if url else "")
    return folder


def active(workspace):
    return {each.content: each.scope for each in workspace.store.log.memories() if each.status is Status.ACTIVE}


def scopes(workspace):
    return set(active(workspace).values()) - {USER_SCOPE}


def test_two_checkouts_of_one_origin_are_one_project_even_after_one_is_gone(desk_at, home):
    one = repository(home / "a" / "harbor", "git@example.org:office/harbor.git")
    two = repository(home / "b" / "harbor-copy", "https://example.org/office/harbor")
    say(home, "s1", RULE, cwd=one)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        shutil.rmtree(one)
        say(home, "s2", OTHER, cwd=two / "src")
        run_pipeline(workspace, [], RunOptions())
        assert len(scopes(workspace)) == 1
        assert list(workspace.scope_names().values()) == ["harbor"]


def test_a_home_under_version_control_is_no_project_of_all_that_lies_below_it(desk_at, home):
    repository(home, "git@example.org:me/dotfiles.git")
    say(home, "s1", RULE, cwd=home / "a" / "harbor")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert set(workspace.scope_names().values()) == {"harbor"}


def test_a_conversation_without_a_directory_is_not_for_the_user_everywhere(desk_at, home):
    path = home / "exports" / "old" / "chat.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(
        "".join(
            json.dumps({"role": role, "content": words, "timestamp": "2026-01-05T10:00:00Z"}) + "\n"
            for role, words in (("user", RULE), ("assistant", "Done."))
        )
    )
    with desk_at(home) as workspace:
        run_pipeline(workspace, [path], RunOptions())
        assert active(workspace)
        assert USER_SCOPE not in active(workspace).values()
        assert list(workspace.scope_names().values()) == ["old"]


def test_a_corrected_project_takes_its_memories_along_in_one_pass_that_can_be_undone(desk_at, home):
    rules = (
        RULE,
        "Never commit generated files to this repo, always leave them to `make docs`.",
        "We always use `pnpm` here, never `npm`.",
        "Always run `make check` before you push, never push without it.",
        "In this repo we never mock the database, always use a temporary one.",
    )
    say(home, "s1", *rules, cwd="/old/place/harbor")
    say(home, "s2", OTHER, cwd="/new/place/port")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = workspace.store.log.memories()
        edited = next(each for each in before if "dates" in each.content)
        person.edit(workspace, edited.id, "Dates are ISO 8601, always.")
        told = person.create_memory(workspace, "The harbor master is Ida.", "project_fact", project="/old/place/harbor")
    settings(home, **{"/old/place/harbor": "/new/place/port"})
    with desk_at(home) as workspace:
        report = run_pipeline(workspace, [], RunOptions())
        assert report.curated.stopped == []
        assert report.moved >= 4
        assert len(scopes(workspace)) == 1
        assert set(active(workspace)) >= {"Dates are ISO 8601, always.", "The harbor master is Ida."}
        assert {each.id for each in before} <= {each.id for each in workspace.store.log.memories()}
        assert workspace.store.log.memory(told.id).reason == "moved to port"
        assert workspace.store.find_damage() == ()
        passes = [each for each in workspace.store.log.passes() if each.stage == "move"]
        assert len(passes) == 1
        assert run_pipeline(workspace, [], RunOptions()).run == 0
        undo(workspace)
        assert len(scopes(workspace)) == 2
        assert workspace.store.find_damage() == ()


def test_a_withdrawal_that_waits_stays_with_its_project_where_that_moves(desk_at, home):
    say(
        home,
        "s1",
        "From now on indent with tabs in this repository.",
        "Never align comments with tabs in this repository.",
        cwd="/old/harbor",
    )
    say(home, "s2", "Forget what I said about tabs.", cwd="/old/harbor", day="2026-01-09")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        (held,) = (each for each in workspace.store.log.memories() if each.status is Status.HELD)
    settings(home, **{"/old/harbor": "/new/port"})
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        after = workspace.store.log.memory(held.id)
        assert (after.status, after.scope) == (Status.HELD, workspace.scope("/old/harbor"))
        assert scopes(workspace) == {after.scope}


def test_a_folder_mapped_to_itself_leaves_the_repository_it_lies_in(desk_at, home):
    mono = repository(home / "mono", "git@example.org:office/mono.git")
    say(home, "s1", RULE, cwd=mono / "web")
    say(home, "s2", OTHER, cwd=mono / "api")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert len(scopes(workspace)) == 1
    settings(home, **{str(mono / "web"): str(mono / "web")})
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert len(scopes(workspace)) == 2
        assert set(workspace.scope_names().values()) == {"mono", "web"}
        assert workspace.store.find_damage() == ()


@pytest.mark.parametrize("force", [False, True])
def test_nothing_moves_where_nothing_was_corrected(desk_at, home, force):
    say(home, "s1", RULE, cwd="/x/harbor")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        before = active(workspace)
        run_pipeline(workspace, [], RunOptions(force=force))
        assert active(workspace) == before
        assert not [each for each in workspace.store.log.passes() if each.stage == "move"]


def places(workspace):
    """Where the memories of the directories that were seen belong."""
    return {workspace.scope(each.directory) for each in workspace.store.archive.projects()}


def pushed(path, cwd, words, remote="git@example.org:office/harbor.git", *, branch="", command="git push origin main"):
    """A session in a directory that is gone, in which the person says something and git pushes."""
    base = {"sessionId": path.stem, "cwd": cwd, "gitBranch": branch, "timestamp": "2026-01-05T10:00:00.000Z"}
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": f"To {remote}\n   1a2b3c4..5d6e7f8  main -> main"}
    records = [("user", words), ("assistant", [{"type": "text", "text": "Done."}, call]), ("user", [result])]
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        base
        | {
            "type": role,
            "uuid": f"{path.stem}-{n}",
            "parentUuid": f"{path.stem}-{n - 1}" if n else None,
            "message": {"role": role, "content": content},
        }
        for n, (role, content) in enumerate(records)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_folders_that_are_gone_are_one_project_where_git_named_one_repository_in_both(desk_at, home):
    folder = home / ".claude" / "projects" / "p"
    pushed(folder / "s1.jsonl", "/Users/a/code/harbor", RULE)
    pushed(folder / "s2.jsonl", "/Users/a/moved/harbor-2", OTHER, remote="https://example.org/office/harbor")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert len(places(workspace)) == 1
        assert {each.identity for each in workspace.store.archive.projects()} == {"git:example.org/office/harbor"}
        assert run_pipeline(workspace, [], RunOptions()).run == 0


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("git push", True),
        ("git add . && git push -u origin main", True),
        ("cd /gone/harbor && git push 2>&1", True),
        ("git commit -am x && git push overleaf paper:master", False),
        ("git push --force https://example.org/x main", False),
        ("git -C paper push", False),
        ("cd paper && git push", False),
    ],
)
def test_a_push_to_another_remote_or_from_another_folder_does_not_name_the_project(desk_at, home, command, named):
    pushed(home / ".claude" / "projects" / "p" / "s1.jsonl", "/gone/harbor", RULE, "https://paper.example/65", command=command)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert list(workspace.scope_names().values()) == ["65" if named else "harbor"]


def test_what_git_named_counts_after_a_run_that_was_cut_short_behind_its_reading(desk_at, home, monkeypatch):
    pushed(home / ".claude" / "projects" / "p" / "s1.jsonl", "/Users/a/code/harbor", RULE)
    with desk_at(home) as workspace:
        with monkeypatch.context() as patched:
            patched.setattr(run, "record_projects", interrupt)
            with pytest.raises(KeyboardInterrupt):
                run_pipeline(workspace, [], RunOptions())
        run_pipeline(workspace, [], RunOptions())
        assert {each.identity for each in workspace.store.archive.projects()} == {"git:example.org/office/harbor"}


def interrupt(*_args, **_options):
    raise KeyboardInterrupt


def test_memories_follow_when_git_names_the_repository_later(desk_at, home):
    folder = home / ".claude" / "projects" / "p"
    one = repository(home / "a" / "harbor", "git@example.org:office/harbor.git")
    say(home, "s1", RULE, cwd=one)
    say(home, "s2", OTHER, cwd="/gone/harbor")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert len(places(workspace)) == 2
        pushed(folder / "s3.jsonl", "/gone/harbor", "Thanks, looks fine.")
        run_pipeline(workspace, [], RunOptions())
        assert len(places(workspace)) == 1
        assert workspace.store.find_damage() == ()


def test_workspaces_of_a_manager_belong_to_the_one_project_of_that_name(desk_at, home):
    one = repository(home / "a" / "harbor", "git@example.org:office/harbor.git")
    say(home, "s1", RULE, cwd=one)
    say(home, "s2", OTHER, cwd=f"{home}/conductor/workspaces/harbor/lima")
    say(
        home, "s3", "Always run `make check` before you push, never push without it.", cwd="/Users/x/.codex/worktrees/7f/harbor/src"
    )
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert len(places(workspace)) == 1


def test_two_projects_of_the_name_of_a_workspace_decide_nothing_and_are_suggested(desk_at, home):
    say(home, "s1", RULE, cwd="/a/harbor")
    say(home, "s2", OTHER, cwd="/b/harbor")
    say(home, "s3", "Always run `make check` before you push, never push without it.", cwd="/u/conductor/workspaces/harbor/lima")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert len(places(workspace)) == 3
        assert len(suggest_same_projects(workspace.store.archive.projects(), {})) == 3


def test_two_folders_whose_own_branches_have_the_same_names_are_suggested_as_one_project(desk_at, home):
    for number, branch in enumerate(["ana/quay-height", "ana/tide-tables", "main", "main"]):
        say(home, f"a{number}", RULE, cwd="/a/harbor" if number < 3 else "/c/mill", branch=branch)
        say(home, f"b{number}", OTHER, cwd="/b/port", branch=branch)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        (pair,) = suggest_same_projects(workspace.store.archive.projects(), load_branches(workspace.paths))
        noted = (workspace.paths.state / "branches.json").read_text()
    assert pair[2] == "2 branches of both have the same names"
    assert not any(name in noted for name in ("quay", "tide"))


def test_a_clone_of_a_folder_on_this_machine_is_the_same_project(desk_at, home):
    one = repository(home / "a" / "harbor")
    two = repository(home / "b" / "copy", str(one))
    say(home, "s1", RULE, cwd=one)
    say(home, "s2", OTHER, cwd=two)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert len(places(workspace)) == 1


def test_a_repository_that_was_renamed_is_one_project_by_its_first_commit(desk_at, home, monkeypatch):
    one = repository(home / "a" / "harbor", "git@example.org:office/harbor.git")
    two = repository(home / "b" / "port", "git@example.org:office/port.git")
    other = repository(home / "c" / "mill", "git@example.org:office/mill.git")
    commits = {one / ".git": "1" * 40, two / ".git": "1" * 40, other / ".git": "2" * 40}
    monkeypatch.setattr(project_evidence, "first_commit", lambda git: commits[git])
    say(home, "s1", RULE, cwd=one)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        say(home, "s2", OTHER, cwd=two)
        say(home, "s3", "Always run `make check` before you push, never push without it.", cwd=other)
        run_pipeline(workspace, [], RunOptions())
        assert len(places(workspace)) == 2


def test_what_is_read_before_a_change_tells_as_much_of_a_directory_as_what_a_run_reads(desk_at, home):
    folder = home / ".claude" / "projects" / "p"
    pushed(folder / "one.jsonl", "/gone/one", RULE)
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        memory = next(home.rglob("memory.md"))
        memory.write_text(f"{memory.read_text()}- A line by hand.\n")
        pushed(folder / "two.jsonl", "/gone/two", OTHER, branch="fix-login-flow")
        archive_before_edits(workspace)
        run_pipeline(workspace, [], RunOptions())
        known = {each.directory: each.identity for each in workspace.store.archive.projects()}
        assert known["/gone/two"] == known["/gone/one"]
        assert "/gone/two" in load_branches(workspace.paths)
