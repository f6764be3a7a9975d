"""What is typed to a client as a command, or to one that no terminal shows: which of it becomes a memory, from file to log."""

import json

import pytest

from kept.cli.hook import EVENTS as HOOKS
from kept.core.memory import Status
from kept.intake.cleaned_files import list_own_places
from kept.pipeline.follow_roots import add_root
from kept.pipeline.run import RunOptions, run_pipeline, sample_files
from kept.profiles.profile import Occasion
from talking import OTHER, say

LESSON = "staging resets at 03:00 UTC"


def active(workspace):
    run_pipeline(workspace, [], RunOptions())
    return [memory.content for memory in workspace.store.log.memories() if memory.status is Status.ACTIVE]


def test_words_behind_a_command_that_takes_none_are_no_memory(desk_at, home):
    say(home, "a", "/clear always use vim", "go on")
    with desk_at(home) as workspace:
        assert active(workspace) == []


def test_the_words_behind_the_memory_command_are_the_memory(desk_at, home):
    say(home, "a", f"/kept:remember {LESSON}")
    with desk_at(home) as workspace:
        assert active(workspace) == [LESSON]


@pytest.mark.parametrize(
    ("answer", "stays"), [("no wait, scratch that", False), ("never mind, I was wrong", False), ("thanks", True)]
)
def test_what_the_next_prompt_takes_back_waits(desk_at, home, answer, stays):
    say(home, "a", OTHER, answer)
    with desk_at(home) as workspace:
        assert active(workspace) == ([OTHER] if stays else [])
        assert OTHER in {memory.content for memory in workspace.store.log.memories()}


def test_a_file_of_rules_that_opens_with_a_heading_is_no_memory_command(desk_at, home):
    say(home, "a", f"# Memory Bank\n\n## Rules\n\n- {OTHER}\n", "go on")
    with desk_at(home) as workspace:
        assert active(workspace) == []


def waiting(workspace):
    return [memory.content for memory in workspace.store.log.held()]


def test_what_is_told_to_codex_exec_waits(desk_at, home):
    def row(kind, second, **payload):
        return {"timestamp": f"2026-01-05T10:00:{second:02}.000Z", "type": kind, "payload": payload}

    native = "019b8d00-0000-7000-8000-000000000001"
    rows = [
        row(
            "session_meta",
            0,
            id=native,
            timestamp="2026-01-05T10:00:00.000Z",
            cwd="/x/harbor",
            source="exec",
            originator="codex_exec",
        ),
        row("response_item", 1, type="message", role="user", content=[{"type": "input_text", "text": OTHER}]),
        row("event_msg", 1, type="user_message", message=OTHER, images=[]),
        row("response_item", 2, type="message", role="assistant", content=[{"type": "output_text", "text": "Done."}]),
    ]
    path = home / ".codex" / "sessions" / "2026" / "01" / "05" / f"rollout-2026-01-05T10-00-00-{native}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in rows), encoding="utf-8")
    with desk_at(home) as workspace:
        assert (active(workspace), waiting(workspace)) == ([], [OTHER])


def print_prompt(home, session, words):
    """A prompt of ``claude -p``."""
    path = say(home, session, words)
    path.write_text(path.read_text().replace('{"type"', '{"entrypoint": "sdk-cli", "type"'))


def test_what_is_told_to_claude_p_waits_until_a_terminal_shows_that_a_person_told_it(desk_at, home):
    print_prompt(home, "a", OTHER)
    with desk_at(home) as workspace:
        assert (active(workspace), waiting(workspace)) == ([], [OTHER])
    say(home, "b", OTHER, day="2026-01-06")
    with desk_at(home) as workspace:
        assert active(workspace) == [OTHER]


def test_a_wish_that_comes_by_claude_p_again_and_again_is_none_of_the_persons(desk_at, home):
    for session in "abcd":
        print_prompt(home, session, "please prefer tables over long paragraphs in the reports")
    with desk_at(home) as workspace:
        assert active(workspace) == []


ROWS = ({"role": "user", "content": OTHER}, {"role": "assistant", "content": "ok"})
CHATS = {
    "docs/chat.md": f"**User:** hi\n\n**Assistant:** ok\n\n**User:** {OTHER}\n\n**Assistant:** ok\n",
    "fixtures/chat.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    ".aider.chat.history.md": f"# aider chat started at 2026-01-05 09:00:00\n\n#### {OTHER}  \n\nok\n",
    "session.txt": f"╭───╮\n│ ✻ Welcome to Claude Code! │\n╰───╯\n\n> hi\n\n● Bash(cat x)\n  ⎿  out\n\n> {OTHER}\n\n● ok\n",
}


def write_all(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(("name", "mark"), [("docs/chat.md", "package.json"), *((name, ".git/HEAD") for name in CHATS)])
def test_a_chat_in_a_repository_is_anybodys_until_a_root_says_otherwise(desk_at, home, name, mark):
    repository = home / "checkout"
    write_all(repository, {mark: "", name: CHATS[name]})
    with desk_at(home) as workspace:
        run_pipeline(workspace, [repository], RunOptions())
        assert (active(workspace), waiting(workspace)) == ([], [OTHER])


def test_a_client_s_folder_copied_into_a_repository_is_no_client_s(desk_at, home):
    say(home / "checkout", "a", OTHER)
    write_all(home / "checkout", {".git/HEAD": ""})
    with desk_at(home) as workspace:
        run_pipeline(workspace, [home / "checkout"], RunOptions())
        assert (active(workspace), waiting(workspace)) == ([], [OTHER])


@pytest.mark.parametrize("named", ["docs", "docs/chat.md"])
def test_what_a_person_names_in_a_repository_is_theirs(desk_at, home, named):
    write_all(home / "checkout", {".git/HEAD": "", "docs/chat.md": CHATS["docs/chat.md"]})
    with desk_at(home) as workspace:
        run_pipeline(workspace, [home / "checkout" / named], RunOptions())
        assert active(workspace) == [OTHER]


@pytest.mark.parametrize("hook", ["session-end", "pre-compact", "run"])
def test_a_file_that_only_a_hook_names_is_nobodys(desk_at, home, hook):
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
    path = say(home / "elsewhere", "a", OTHER)
    if hook != "run":
        HOOKS[hook](str(home), {"session_id": "a", "transcript_path": str(path)}, "claude")
    with desk_at(home) as workspace:
        run_pipeline(workspace, [path] if hook == "run" else [], RunOptions(occasion=Occasion.SESSION_END))
        assert (active(workspace), waiting(workspace)) == ([], [OTHER])


def test_a_chat_in_a_repository_that_is_followed_is_the_persons(desk_at, home):
    write_all(home / "checkout", {".git/HEAD": "", "docs/chat.md": CHATS["docs/chat.md"]})
    with desk_at(home) as workspace:
        add_root(workspace.paths, home / "checkout")
    with desk_at(home) as workspace:
        assert active(workspace) == [OTHER]


def test_transcripts_of_a_home_that_is_a_repository_are_the_persons(desk_at, home):
    write_all(home, {".git/HEAD": "", "Makefile": ""})
    say(home, "a", OTHER)
    write_all(home, {"chats/chat.md": CHATS["docs/chat.md"].replace("uv sync", "uv lock")})
    with desk_at(home) as workspace:
        run_pipeline(workspace, [home / "chats"], RunOptions())
        assert len(active(workspace)) == 2


QUOTING = {
    ".aider.chat.history.md": "# aider chat started at 2026-01-05 09:00:00\n\n#### read the readme  \n\nIt says:\n\n"
    f"#### {OTHER}  \n\nDone.\n",
    "a.md": "<!-- Generated by SpecStory -->\n\n# x (2026-01-05 09:00Z)\n\n_**User**_\n\nread the readme\n\n---\n\n"
    f"_**Assistant**_\n\nIt says\n\n---\n\n_**User**_\n\n{OTHER}\n\n---\n\n_**Assistant**_\n\nok\n",
    "chat.md": f"**User:** read the readme\n\n**Assistant:** It says:\n\n**User:** {OTHER}\n\n**Assistant:** ok\n",
}


@pytest.mark.parametrize("name", list(QUOTING))
def test_a_speakers_mark_that_a_reply_introduces_may_be_the_replys(desk_at, home, name):
    write_all(home / "chats", {name: QUOTING[name]})
    with desk_at(home) as workspace:
        run_pipeline(workspace, [home / "chats"], RunOptions())
        assert (active(workspace), waiting(workspace)) == ([], [OTHER])


@pytest.mark.parametrize("name", list(QUOTING))
def test_a_speakers_mark_below_a_finished_reply_is_the_persons(desk_at, home, name):
    text = QUOTING[name].replace("It says:", "I did.\n\n> Tokens: 2k sent, 1k received.  ").replace("It says\n", "I did.\n")
    write_all(home / "chats", {name: text, ".aider.input.history": f"\n# 2026-01-05 09:05:00.000000\n+{OTHER}\n"})
    with desk_at(home) as workspace:
        run_pipeline(workspace, [home / "chats" / name], RunOptions())
        assert active(workspace) == [OTHER]


@pytest.mark.parametrize(
    "lines",
    [f"> Tokens: 2k sent, 1k received.  \n\n#### {OTHER}  \n", f"# aider chat started at 2026-01-06 09:00:00\n\n#### {OTHER}  \n"],
)
def test_what_an_answer_of_aiders_lets_look_typed_is_held(desk_at, home, lines):
    chat = "# aider chat started at 2026-01-05 09:00:00\n\n#### read the readme  \n\nI did.\n\n"
    write_all(
        home / "chats", {".aider.chat.history.md": f"{chat}{lines}\nok\n", ".aider.input.history": "\n# 2026\n+read the readme\n"}
    )
    with desk_at(home) as workspace:
        run_pipeline(workspace, [home / "chats" / ".aider.chat.history.md"], RunOptions())
        assert (active(workspace), waiting(workspace)) == ([], [OTHER])


def test_a_history_that_a_repository_tracks_is_everybodys_though_a_client_wrote_it(home):
    project = home / "checkout"
    write_all(project, {".specstory/history/a.md": "", ".git/index": "DIRC\0\0\0\2src/a.py\0"})
    place = project / ".specstory" / "history"
    assert place in list_own_places((), [(None, place)], home)
    (project / ".git" / "index").write_bytes(b"DIRC\0\0\0\2.specstory/history/a.md\0")
    assert place not in list_own_places((), [(None, place)], home)


@pytest.mark.parametrize(
    ("files", "link"),
    [
        ({"package.json": ""}, False),
        ({".hg/dirstate": ""}, False),
        ({".git": "gitdir: ../bare/w", "../bare/w/index": "DIRC\0\0\0\2.specstory/history/a.md\0"}, False),
        ({".git/index": "DIRC\0\0\0\4"}, False),
        ({".git/index": "DIRC\0\0\0\2chats/a.md\0"}, True),
        ({".git/index": "DIRC\0\0\0\2.specstory/history\0"}, True),
    ],
    ids=["copy", "mercurial", "worktree", "names shortened", "link to what is tracked", "tracked link"],
)
def test_chats_that_may_have_come_with_a_project_are_not_taken_for_the_persons(home, files, link):
    project = home / "other"
    place = project / ".specstory" / "history"
    write_all(project, {"chats/a.md": "", **files} if link else {".specstory/history/a.md": "", **files})
    if link:
        place.parent.mkdir()
        place.symlink_to(project / "chats")
    assert list_own_places((), [(None, place)], home)[:-1] == ()


def test_the_bundled_sample_plays_a_person_though_it_lies_in_a_repository(home, desk_at):
    with desk_at(home) as workspace:
        assert len(run_pipeline(workspace, sample_files(), RunOptions(), sample=True).new) == 6
