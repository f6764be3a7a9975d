"""Which repository a directory belongs to."""

import os

import pytest

from kept.local.git import find_checkout

CONFIG = '[core]\n\tbare = false\n[remote "upstream"]\n\turl = x:y/z\n[remote "origin"]\n\turl = {url}\n'


@pytest.fixture
def repository(tmp_path):
    git = tmp_path / "code" / "harbor" / ".git"
    git.mkdir(parents=True)
    (git / "config").write_text(CONFIG.format(url="git@example.org:Office/Harbor.git"))
    return git.parent


@pytest.mark.parametrize(
    "url",
    [
        "git@example.org:Office/Harbor.git",
        "https://example.org/office/harbor",
        "https://user:word@example.org/office/harbor.git",
        "ssh://git@example.org:22/office/harbor.git",
        "git://example.org/office/harbor/",
    ],
)
def test_the_origin_has_one_name_however_it_is_written(repository, url):
    (repository / ".git" / "config").write_text(CONFIG.format(url=url))
    assert find_checkout(str(repository)).remote == "example.org/office/harbor"


def test_a_directory_inside_belongs_to_its_repository(repository):
    inside = repository / "src" / "deep"
    inside.mkdir(parents=True)
    assert find_checkout(str(inside)).root == repository


def test_a_worktree_belongs_to_the_repository_it_was_made_from(repository, tmp_path):
    own = repository / ".git" / "worktrees" / "fix"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    tree = tmp_path / "elsewhere"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")
    found = find_checkout(str(tree))
    assert (found.root, found.remote) == (repository, "example.org/office/harbor")


def test_a_directory_that_is_gone_or_odd_belongs_to_none(tmp_path):
    for name in (str(tmp_path / "gone"), "", "relative/path", "/\0", "../../etc"):
        assert find_checkout(name) is None


def test_a_pipe_in_place_of_the_settings_of_a_repository_is_not_waited_for(repository):
    config = repository / ".git" / "config"
    config.unlink()
    os.mkfifo(config)
    assert find_checkout(str(repository)).remote == ""


def test_a_repository_without_origin_is_known_by_its_place(repository):
    (repository / ".git" / "config").unlink()
    assert find_checkout(str(repository)).remote == ""
