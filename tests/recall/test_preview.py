"""A preview of what would be put before a session: what is shown, and what is near but not near enough, with what it shares."""

from kept.memories.person import create_memory
from kept.pipeline.run import RunOptions, run_pipeline
from kept.recall.preview import preview_context, session_directories
from talking import say

FIX = "`deploy.sh` fails with `EACCES`: run `chmod +x deploy.sh` in the `harbor` checkout first."
CREW = "Keep the sorting crew away from the walnut harvest until the scales are tared."


def test_what_is_near_is_shown_and_what_is_not_near_enough_is_told_with_what_it_shares(home, desk_at):
    with desk_at(home) as workspace:
        create_memory(workspace, FIX, "known_fix")
        create_memory(workspace, CREW, "convention")
        shown = preview_context(workspace, "deploy.sh fails with EACCES, chmod and harbor")
        assert [each.text for each in shown.pieces] == [FIX]
        missed = preview_context(workspace, "Who paid the dealer for crates, lorries, ladders and one sack of walnut shells?")
        assert missed.pieces == ()
        assert missed.left_out == {"not relevant enough": 1}
        ((piece, why),) = missed.omitted
        assert (piece.text, why) == (CREW, "not relevant enough")
        assert "which is too little" in piece.reason
        assert "words 0.00" in piece.reason


def test_a_preview_changes_nothing(home, desk_at):
    with desk_at(home) as workspace:
        memory = create_memory(workspace, FIX, "known_fix")
        preview_context(workspace, "deploy.sh fails with EACCES, chmod and harbor")
        assert workspace.store.log.memory(memory.id) == memory
        assert not workspace.paths.used.exists()


def test_a_project_is_named_once_however_many_directories_it_has(home, desk_at):
    say(home, "s1", "Please look at `feed.py`.", cwd="/x/harbor")
    say(home, "s2", "Please look at `feed.py`.", cwd="/x/harbor/src")
    say(home, "s3", "Please look at `feed.py`.", cwd="/x/quay")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        assert "quay" in [name for _, name in session_directories(workspace)]
        assert len({name for _, name in session_directories(workspace)}) == len(session_directories(workspace))


def test_a_message_that_tells_of_a_failure_gets_the_one_memory_that_is_nearest(home, desk_at):
    with desk_at(home) as workspace:
        for told in ("Run chmod before deploy.sh.", "EACCES of deploy.sh means chmod.", "Never chmod what deploy.sh wrote."):
            create_memory(workspace, told, "project_fact")
        assert len(preview_context(workspace, "chmod and deploy.sh").pieces) == 3
        assert len(preview_context(workspace, "chmod and deploy.sh failed").pieces) == 1
