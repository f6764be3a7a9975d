"""Two records with one identity and different content are two."""

import json

import pytest

from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.safety import check_home

SAME = "11111111-1111-4111-8111-111111111111"


def record(words, *, uuid=SAME, session="s1", at="2026-01-05T10:00:00.000Z"):
    body = {
        "type": "user",
        "uuid": uuid,
        "parentUuid": None,
        "sessionId": session,
        "cwd": "/x/harbor",
        "timestamp": at,
        "message": {"role": "user", "content": words},
    }
    return json.dumps(body) + "\n"


def texts(workspace):
    store = workspace.store.archive
    return sorted(event.text for thread in store.threads() for event in store.events(thread.id, 0, thread.events))


@pytest.fixture
def folder(home):
    place = home / ".claude" / "projects" / "p"
    place.mkdir(parents=True)
    return place


def test_two_records_of_a_file_with_one_identity_are_both_kept_at_every_reading(desk_at, home, folder):
    (folder / "a.jsonl").write_text(record("The first content.") + record("Quite another content."))
    with desk_at(home) as workspace:
        for options in (RunOptions(), RunOptions(), RunOptions(force=True)):
            run_pipeline(workspace, [], options)
            assert texts(workspace) == ["Quite another content.", "The first content."]


def test_records_of_two_files_with_one_identity_are_both_kept(desk_at, home, folder):
    (folder / "a.jsonl").write_text(record("The first content."))
    (folder / "b.jsonl").write_text(record("Quite another content.", session="s2"))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        run_pipeline(workspace, [], RunOptions(force=True))
        assert texts(workspace) == ["Quite another content.", "The first content."]


def test_a_record_that_arrives_later_under_a_known_identity_is_kept(desk_at, home, folder):
    path = folder / "a.jsonl"
    path.write_text(record("The first content."))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        path.write_text(path.read_text() + record("Quite another content.") + record("The first content."))
        run_pipeline(workspace, [], RunOptions())
        assert texts(workspace) == ["Quite another content.", "The first content."]


def test_a_copy_in_another_file_is_no_second_record(desk_at, home, folder):
    (folder / "a.jsonl").write_text(record("The first content."))
    (folder / "b.jsonl").write_text(record("The first content.", session="s2"))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        keys = {
            event.key
            for each in workspace.store.archive.threads()
            for event in workspace.store.archive.events(each.id, 0, each.events)
        }
        assert len(keys) == 1


@pytest.mark.parametrize("gone", [True, False])
def test_a_session_whose_file_came_along_to_another_folder_is_one_session(desk_at, home, folder, gone):
    (folder / "a.jsonl").write_text(record("From now on we always sort imports."))
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        copy = folder.parent / "q" / "a.jsonl"
        copy.parent.mkdir()
        copy.write_text((folder / "a.jsonl").read_text() + record("And the lists too.", uuid=SAME.replace("1", "2")))
        if gone:
            (folder / "a.jsonl").unlink()
        run_pipeline(workspace, [], RunOptions())
        run_pipeline(workspace, [], RunOptions(force=True))
        (thread,) = workspace.store.archive.threads()
        assert texts(workspace) == ["And the lists too.", "From now on we always sort imports."]
        assert thread.path.endswith("a.jsonl")
        assert not check_home(workspace).damage
