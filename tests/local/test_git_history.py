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


def test_asking_a_repository_runs_no_program_that_it_names(repository, tmp_path):
    git(repository, "config", "extensions.partialClone", "origin")
    git(repository, "config", "remote.origin.promisor", "true")
    git(repository, "config", "protocol.ext.allow", "always")
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "remote.origin.uploadpack"):
        git(repository, "config", name, f"touch {tmp_path}/ran; false")
    for url in (f"ext::touch {tmp_path}/ran", "ssh://example.org/harbor", f"file://{tmp_path}"):
        git(repository, "config", "remote.origin.url", url)
        assert first_commit(repository / ".git") == git(repository, "rev-list", "--max-parents=0", "HEAD")
        with (repository / ".git" / "HEAD").open("r+") as head:
            before = head.read()
            head.seek(0)
            head.write("1" * 40 + "\n")
            head.truncate()
            head.flush()
            assert first_commit(repository / ".git") == ""
            head.seek(0)
            head.write(before)
            head.truncate()
    assert not (tmp_path / "ran").exists()


def test_variables_of_a_hook_of_git_do_not_name_another_repository(repository, tmp_path, monkeypatch):
    first = git(repository, "rev-list", "--max-parents=0", "HEAD")
    (tmp_path / "other").mkdir()
    git(tmp_path / "other", "init", "-q")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "other" / ".git" / "objects"))
    assert first_commit(repository / ".git") == first


def test_without_git_nothing_is_known_of_a_repository_rather_than_that_it_has_no_first_commit(repository, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert first_commit(repository / ".git") is None
