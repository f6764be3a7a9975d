"""The first commit of a repository, as git itself tells it."""

import os
import shutil
import subprocess

import pytest

from kept.local.git import first_commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *arguments):
    names = {f"GIT_{role}_{what}": "a@b.example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "harbor"
    folder.mkdir()
    git(folder, "init", "-q")
    for number in range(30):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"Change {number} of a text that resembles the others")
    return folder


def test_loose_and_packed_histories_tell_the_same_first_commit_as_git(repository, tmp_path):
    first = git(repository, "rev-list", "--max-parents=0", "HEAD")
    assert first_commit(repository / ".git") == first
    git(repository, "gc", "-q", "--aggressive")
    assert first_commit(repository / ".git") == first
    git(tmp_path, "clone", "-q", "--no-local", str(repository), "copy")
    assert first_commit(tmp_path / "copy" / ".git") == first


def test_a_shallow_clone_an_empty_repository_and_a_damaged_one_tell_nothing(repository, tmp_path):
    git(tmp_path, "clone", "-q", "--depth", "1", repository.as_uri(), "shallow")
    assert first_commit(tmp_path / "shallow" / ".git") == ""
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    assert first_commit(tmp_path / "empty" / ".git") == ""
    git(repository, "gc", "-q")
    (pack,) = (repository / ".git" / "objects" / "pack").glob("*.pack")
    pack.chmod(0o600)
    pack.write_bytes(pack.read_bytes()[:12] + b"\xff" * 4000)
    assert first_commit(repository / ".git") == ""
    assert first_commit(tmp_path / "nowhere") == ""
