"""Which project a directory is, and what projects are called."""

from pathlib import PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.project import correct_directory, directory_name, fallback_project_folder, project_root, project_scope, short_names


@each_case(
    ("path", "folder"),
    [
        ("/home/u/.codex/sessions/2025/09/10/rollout-1.jsonl", "/home/u/.codex"),
        ("/home/u/.codex/archived_sessions/rollout-1.jsonl", "/home/u/.codex"),
        ("/home/u/exports/chatgpt/conversations.json", "/home/u/exports/chatgpt"),
        ("/home/u/notes/2025/12/diary.md", "/home/u/notes"),
        ("/diary.md", "/"),
        ("C:\\Users\\u\\chats\\a.json", "C:\\Users\\u"),
    ],
)
def test_a_conversation_without_a_directory_belongs_to_the_folder_that_means_something(path, folder):
    assert fallback_project_folder(path) == folder


def test_names_are_short_and_get_a_parent_only_where_two_are_the_same():
    identities = ["git:example.org/me/app", "dir:/home/u/work/app", "dir:/home/u/site", "dir:/srv/work/App"]
    names = short_names({each: each for each in identities})
    assert names == {
        "git:example.org/me/app": "app (example.org/me)",
        "dir:/home/u/work/app": "app (u/work)",
        "dir:/srv/work/App": "App (srv/work)",
        "dir:/home/u/site": "site",
    }
    assert set(short_names({each: each for each in identities[:2]}.copy()).values()) == {"app (me)", "app (work)"}


@given(
    st.sets(
        st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4).map(lambda parts: "dir:/" + "/".join(parts)), max_size=8
    )
)
def test_no_two_projects_have_the_same_name(identities):
    names = short_names({each: each for each in identities})
    assert len({name.casefold() for name in names.values()}) == len(identities)


def test_a_correction_holds_below_its_folder_and_for_worktrees_and_follows_others():
    said = {"/old/app": "/new/app", "/new/app": "/newest/app/"}
    assert correct_directory("/old/app/src", said) == "/newest/app"
    assert correct_directory("/old/app/.worktrees/fix", said) == "/newest/app"
    assert correct_directory("/old/application", said) is None
    assert correct_directory("/a", {"/a": "/b", "/b": "/a"}) in ("/a", "/b")


def test_a_scope_is_a_slug_and_a_hash_and_never_a_path():
    assert project_scope("git:example.org/me/My App!").startswith("project:my-app-")
    assert project_scope("dir:/a/app") != project_scope("dir:/b/app")
    assert PurePosixPath(project_scope("dir:/../../etc")).name.startswith("project:etc-")


def test_a_worktree_is_known_by_its_checkout():
    assert project_root("/x/app/.claude/worktrees/fix-1/src") == "/x/app"
    assert directory_name(project_root("/x/app/.worktrees/y")) == "app"
