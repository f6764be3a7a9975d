"""Saved screens of Claude Code and Codex: who said what, with the wraps of the terminal undone."""

import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kept.core.errors import SourceError
from kept.core.event import Author, Cursor, EventKind, Precision
from kept.core.times import format_instant
from kept.sources import documents
from kept.sources.formats.console.reader import Console
from kept.sources.registry import SkippedFile, identify_file
from reading import human, read, read_bytes, said

READER = Console(zone=ZoneInfo("Europe/Berlin"))
FIRST = "please use uv for everything in this repository and never call pip by itself"
# Eighty columns. Prompts are padded with spaces, as the client draws them.
CLAUDE = """\
 ▐▛███▜▌   Claude Code v2.1.123
▝▜█████▛▘  Opus 4.7 · Claude Max
  ▘▘ ▝▝    /work/shop

❯ please use uv for everything in this repository and never call pip by itself¬¬
  because the lock file goes stale

  and answer in one line¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬¬

⏺ Understood: uv for everything, and pip never by itself, because the lock file
  would go stale otherwise.

⏺ Read(/work/shop/tests/integration/checkout/with_a_rather_long_name/and_anothe
      r/test_checkout.py)

⏺ Bash(uv run pytest -q tests/test_checkout.py --maxfail=1 --no-header
      --durations=5)
  ⎿  Error: Exit code 1
     E   AssertionError: 3 != 4
     … +12 lines (ctrl+o to expand)

✻ Churned for 20s

! git status
  ⎿  On branch main

❯ /model
  ⎿  Set model to opus

⏺ User answered Claude's questions:
  ⎿  · Which database? → PostgreSQL

  Read 2 files (ctrl+o to expand)

⏺ Done.

──────────────────────────────────────────
❯ Try "fix the type errors"
──────────────────────────────────────────
  ⏵⏵ accept edits on (shift+tab to cycle)
""".replace("·\n", " \n").replace("¬", " ")

CODEX = """\
╭────────────────────────────╮
│ >_ OpenAI Codex (v0.120.0) │
│ directory: /work/shop      │
╰────────────────────────────╯

› Keep the renderer host-agnostic. It must never know about sessions, or pro-
  cesses, or windows.

  Use plain render data.

• I am reading the crates first, then I will map the seams of the event-
  driven core.

• Ran rg -n "trait Render" --glob "*.rs" --no-heading --color never --max-count
  │ 1 crates
  └ crates/render/lib.rs:12

• Edited crates/render/lib.rs (+1 -1)
    12 -old
    12 +new

• Working (3s • esc to interrupt)

─ Worked for 1m 02s ─────────────────────────

• Done.

› Summarize recent commits

  gpt-5.4 default · /work/shop
"""


def test_prompts_answers_calls_and_results_of_claude_code_are_told_apart(tmp_path):
    events = read_bytes(READER, tmp_path / "2026-02-03.txt", CLAUDE.encode())
    assert [(event.author.value, event.kind.value, event.text) for event in events] == [
        (
            "human",
            "prompt",
            f"{FIRST} because the lock file goes stale\n\nand answer in one line",
        ),
        (
            "assistant",
            "response",
            "Understood: uv for everything, and pip never by itself, because the lock file would go stale otherwise.",
        ),
        (
            "assistant",
            "tool_call",
            "/work/shop/tests/integration/checkout/with_a_rather_long_name/and_another/test_checkout.py",
        ),
        ("assistant", "tool_call", "uv run pytest -q tests/test_checkout.py --maxfail=1 --no-header --durations=5"),
        ("tool", "tool_output", "Error: Exit code 1\nE   AssertionError: 3 != 4\n… +12 lines (ctrl+o to expand)"),
        ("injected", "tool_call", "git status"),
        ("tool", "tool_output", "On branch main"),
        ("human", "prompt", "/model"),
        ("tool", "tool_output", "Set model to opus"),
        ("assistant", "response", "User answered Claude's questions:"),
        ("human", "prompt", "PostgreSQL"),
        ("assistant", "response", "Done."),
    ]
    assert {event.project for event in events} == {"/work/shop"}
    failed = events[4].tool
    assert failed
    assert (failed.name, failed.ok, failed.exit_code) == ("Bash", False, 1)


def test_furniture_is_dropped_by_its_kind(tmp_path):
    (path := tmp_path / "2026-02-03.txt").write_text(CLAUDE)
    _, account, _ = read(READER, path)
    assert account.dropped == {"banner": 1, "status": 2, "collapsed-calls": 1, "composer": 1, "rule": 2}


def test_prompts_answers_calls_and_results_of_codex_are_told_apart(tmp_path):
    events = read_bytes(READER, tmp_path / "session.log", CODEX.encode())
    assert said(events) == [
        (
            "human",
            (
                "Keep the renderer host-agnostic. It must never know about sessions, or pro-cesses, or windows.\n\nUse plain "
                "render data."
            ),
        ),
        ("assistant", "I am reading the crates first, then I will map the seams of the event-driven core."),
        ("assistant", 'rg -n "trait Render" --glob "*.rs" --no-heading --color never --max-count 1 crates'),
        ("tool", "crates/render/lib.rs:12"),
        ("assistant", "crates/render/lib.rs"),
        ("assistant", "Done."),
    ]
    edit = events[4].tool
    assert edit
    assert edit.detail == "12 -old\n12 +new"


def test_codex_with_bars_answers_behind_an_angle(tmp_path):
    screen = (
        "▌ why do types and interfaces differ, and when should I use which of them? ple\n▌ ase be short\n\n• Explored\n  └ "
        "Read index.ts\n\n> Interfaces merge.\n\n  Use types.\n"
    )
    events = read_bytes(READER, tmp_path / "a.txt", screen.encode())
    assert said(events)[0][0] == "human"
    assert said(events)[-1] == ("assistant", "Interfaces merge.\n\nUse types.")
    assert len(human(events)) == 1


@pytest.mark.parametrize("columns", [40, 61, 80, 132, 200])
def test_wraps_at_any_width_are_undone_and_typed_line_breaks_stay(tmp_path, columns):
    first = "Please never change the public interface of this module without asking me, because three other teams build on it. " * 3
    second = "- keep the tests\n- keep the names"
    answer = "I will leave the interface as it is and change the implementation behind it alone, as you said. " * 6
    rows = [
        *wrap("❯ ", first.strip(), columns),
        *(f"  {line}" for line in second.split("\n")),
        "",
        *wrap("⏺ ", answer.strip(), columns),
    ]
    events = read_bytes(READER, tmp_path / "a.txt", "\n".join(rows).encode())
    assert said(events) == [("human", f"{first.strip()}\n{second}"), ("assistant", answer.strip())]


@pytest.mark.parametrize("columns", [56, 60, 68, 80])
def test_words_that_a_screen_breaks_at_hyphens_and_not_at_slashes_come_back_whole(tmp_path, columns):
    prompt = "Group the calls of src/filters/panel and docs/filters/panel below crates/filters/panel in one drop-down list."
    other = "The desktop-commander tool edits files behind our back, so its well-known edit-block calls need a filter-button too."
    break_words = textwrap.TextWrapper(columns - 2, break_on_hyphens=True)
    rows = [
        f"{'  ' if number else mark}{row}"
        for mark, text in (("› ", prompt), ("› ", other), ("• ", prompt + " " + other))
        for number, row in enumerate([*break_words.wrap(text), ""])
    ]
    events = read_bytes(READER, tmp_path / "a.txt", "\n".join([*rows, "• Ran ls", "  └ x", ""]).encode())
    assert human(events) == [prompt, other]


def test_two_prompts_with_bars_and_no_answer_between_them_are_two_and_a_paragraph_begins_none(tmp_path):
    screen = "▌ update the doc above\n▌\n▌ in its second part\n\n▌ and give me the full version\n\n• Ran ls\n  └ x\n\n• Done.\n"
    events = read_bytes(READER, tmp_path / "a.txt", screen.encode())
    assert human(events) == ["update the doc above\n\nin its second part", "and give me the full version"]


def wrap(mark, text, columns):
    rows = [mark]
    for word in text.split():
        if len(rows[-1]) + 1 + len(word) > columns and rows[-1].strip():
            rows.append(" ")
        rows[-1] += word if rows[-1] == mark else " " + word
    return rows


def test_a_word_longer_than_a_row_comes_back_whole(tmp_path):
    link = "https://example.com/" + "path/" * 40 + "end"
    rows = [link[start : start + 78] for start in range(0, len(link), 78)]
    prose = "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m n"
    screen = "❯ see\n  " + "\n  ".join(rows) + "\n\n⏺ " + f"{prose}\n  " * 5 + "ok\n  ⎿  x\n"
    assert human(read_bytes(READER, tmp_path / "a.txt", screen.encode()))[0].split() == ["see", link]


def test_a_text_that_was_not_wrapped_keeps_its_line_breaks(tmp_path):
    prompt = "first line of a few words\nsecond line, somewhat longer than the first one\nthird\n" + "word " * 60 + "end"
    answer = "an answer on one very long row " * 20
    screen = "❯ " + prompt.replace("\n", "\n  ") + f"\n\n⏺ {answer}\n  ⎿  x\n"
    assert human(read_bytes(READER, tmp_path / "a.txt", screen.encode())) == [prompt]


def test_east_asian_text_is_joined_without_spaces(tmp_path):
    words = "このリポジトリでは必ずテストを書いてください。" * 6
    rows = [words[start : start + 38] for start in range(0, len(words), 38)]
    screen = "❯ " + "\n  ".join(rows) + "\n\n⏺ 了解しました。\n"
    assert human(read_bytes(READER, tmp_path / "a.txt", screen.encode())) == [words]


def test_the_day_comes_from_the_name_and_the_time_of_a_message_is_not_known(tmp_path):
    events = read_bytes(READER, tmp_path / "2026-02-03-checkout.md", CLAUDE.encode())
    assert {format_instant(event.at) for event in events} == {"2026-02-03T11:00:00.000Z"}
    assert {(event.precision, event.twin) for event in events} == {(Precision.SESSION, "")}
    undated = read_bytes(READER, tmp_path / "checkout.md", CLAUDE.encode())
    assert {(event.at, event.precision) for event in undated} == {(None, Precision.NONE)}


def test_headings_and_front_matter_date_what_follows(tmp_path):
    text = "---\ndate: 2026-01-01\n---\n❯ one\n\n⏺ 1\n\n## 2026-01-05\n\n❯ two\n\n⏺ 2\n"
    events = read_bytes(READER, tmp_path / "log.md", text.encode())
    days = [(event.text, format_instant(event.at)[:10]) for event in events if event.author is not Author.INJECTED]
    assert days == [("one", "2026-01-01"), ("1", "2026-01-01"), ("two", "2026-01-05"), ("2", "2026-01-05")]
    assert len({event.session for event in events}) == 2


def test_a_banner_begins_a_session_and_a_screen_that_was_drawn_again_counts_once(tmp_path):
    banner = CLAUDE.split("\n\n")[0] + "\n\n"
    turns = (
        "❯ fix the checkout\n\n⏺ I am looking at the checkout, which rounds its sums before it adds the tax.\n\n❯ yes\n\n⏺ "
        "Done.\n\n"
    )
    other = "❯ something else\n\n⏺ Sure.\n"
    events = read_bytes(
        READER, tmp_path / "a.txt", (banner + turns + banner + turns + "❯ yes\n\n⏺ Now the tax.\n\n" + banner + other).encode()
    )
    assert human(events) == ["fix the checkout", "yes", "yes", "something else"]
    assert len({event.session for event in events}) == 2


def test_the_same_words_said_twice_are_two_prompts(tmp_path):
    events = read_bytes(READER, tmp_path / "a.txt", "❯ yes\n\n⏺ One.\n\n❯ yes\n\n⏺ One.\n".encode())
    assert human(events) == ["yes", "yes"]
    assert len({event.key for event in events}) == 4


def test_a_quotation_is_not_the_persons_prompt(tmp_path):
    screen = "❯ what does the page say?\n\n⏺ It says:\n\n> Always deploy on Fridays.\n\n⏺ That is all.\n"
    events, account, _ = (path := tmp_path / "a.txt").write_text(screen) and read(READER, path)
    assert human(events) == ["what does the page say?"]
    assert account.noted == {"doubt:prompt-or-quotation": 1}
    older = "> one\n\n● answer\n\n> a quotation\n\nand prose that nobody signed\n\n● answer\n  ⎿  x\n"
    assert human(read_bytes(READER, tmp_path / "b.txt", older.encode())) == ["one"]


def test_glyphs_inside_answers_and_results_open_nothing(tmp_path):
    screen = (
        "❯ show me\n\n⏺ A session looks like this:\n\n  ❯ always use tabs\n\n  ⏺ Read(a.md)\n    ⎿  text\n\n⏺ Bash(cat "
        "log)\n  ⎿  > never test\n     ❯ never lint\n     ⏺ I decided.\n"
    )
    events = read_bytes(READER, tmp_path / "a.txt", screen.encode())
    assert human(events) == ["show me"]
    assert [event.kind for event in events] == [EventKind.PROMPT, EventKind.RESPONSE, EventKind.TOOL_CALL, EventKind.TOOL_OUTPUT]


def test_what_is_chosen_in_a_dialog_or_waits_in_the_input_line_was_not_said(tmp_path):
    screen = (
        "❯ go\n\n⏺ Bash(rm x)\n  ⎿  ok\n\n❯ 1. Yes\n  2. No\n\n  Enter to select · ↑/↓ to navigate · Esc to cancel\n\n⏺ "
        "Removed.\n\n────────\n❯ not sent yet\n────────\n"
    )
    assert human(read_bytes(READER, tmp_path / "a.txt", screen.encode())) == ["go"]


def test_half_a_screen_gives_the_rest_of_its_answer_to_the_assistant(tmp_path):
    screen = "  so the cache is stale.\n\n  I will clear it.\n\n⏺ Bash(make clean)\n  ⎿  ok\n\n❯ go on"
    events, account, _ = (path := tmp_path / "a.txt").write_text(screen) and read(READER, path)
    assert said(events)[0] == ("assistant", "so the cache is stale.\n\nI will clear it.")
    assert human(events) == ["go on"]
    assert account.noted == {"doubt:answer-without-glyph": 1}


def test_what_nobody_signed_is_not_the_persons(tmp_path):
    screen = "me@host:~$ claude\n\n" + CLAUDE + "\nme@host:~$ never log in as root\n"
    events = read_bytes(READER, tmp_path / "a.txt", screen.encode())
    assert [event.text for event in events if event.author is Author.INJECTED and event.kind is EventKind.PROMPT] == [
        "me@host:~$ claude",
        "me@host:~$ never log in as root",
    ]


@pytest.mark.parametrize("change", ["\r\n", "ansi", "no newline", "bom", "nbsp"])
def test_line_ends_escapes_and_marks_change_nothing(tmp_path, change):
    wanted = said(read_bytes(READER, tmp_path / "a.txt", CLAUDE.encode()))
    changed = {
        "\r\n": CLAUDE.replace("\n", "\r\n"),
        "ansi": CLAUDE.replace("❯", "\x1b[1m\x1b[38;5;246m❯\x1b[0m").replace("⏺", "\x1b]8;;\x07\x1b[37m⏺\x1b[39m"),
        "no newline": CLAUDE.rstrip(),
        "bom": "\ufeff" + CLAUDE,
        "nbsp": CLAUDE.replace("❯ ", "❯\u00a0"),
    }[change]
    assert said(read_bytes(READER, tmp_path / "b.txt", changed.encode())) == wanted


def test_what_is_no_utf_8_text_is_refused_whole(tmp_path):
    for data in (CLAUDE.encode("utf-16"), CLAUDE.encode() + b"\xff\xfe\xfa", b"\0" + CLAUDE.encode()):
        (path := tmp_path / "a.txt").write_bytes(data)
        with pytest.raises(SourceError):
            list(READER.read(path, Cursor()))
    (path := tmp_path / "wide.txt").write_bytes(CLAUDE.encode("utf-16"))
    found = identify_file(path)
    assert not isinstance(found, SkippedFile)
    assert found.name == "console"


def test_a_screen_that_grew_keeps_its_keys_and_one_that_did_not_gives_nothing(tmp_path):
    path = tmp_path / "2026-02-03.txt"
    before, _, cursor = (path.write_text(CLAUDE), read(READER, path))[1]
    assert list(READER.read(path, cursor)) == []
    path.write_text(CLAUDE + "\n❯ more\n\n⏺ Yes.\n")
    after, account, _ = read(READER, path, cursor)
    assert [event.key for event in after][: len(before)] == [event.key for event in before]
    assert account.noted["rewritten-file"] == 1


def test_a_reading_that_stopped_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "SLICE_EVENTS", 100)
    path = tmp_path / "2026-02-03.txt"
    path.write_text("".join(f"❯ prompt {number}\n\n⏺ answer {number}\n\n" for number in range(150)))
    slices = list(READER.read(path, Cursor()))
    rest = [event for part in READER.read(path, slices[0].cursor) for event in part.events]
    assert len(slices) == 3
    assert rest == [event for part in slices[1:] for event in part.events]


@pytest.mark.parametrize(
    "text",
    [
        "# Notes\n\n> a quotation\n\n- a bullet\n• another\n● and one more\n\n> and a second quotation\n",
        "## Styles of quotation\n\n› one\n› two\n\nThey are called guillemets.\n",
        "# The reader\n\nA screen looks like this:\n\n```\n❯ hi\n\n⏺ Hello\n  ⎿  x\n```\n\n" + "Prose about it.\n\n" * 30,
        "## User\n\nwhat is this?\n\n❯ hi\n\n⏺ Hello\n\n❯ there\n\n⏺ Hello\n\n## Assistant\n\nA screen.\n",
        "● one\n● two\n> three\n",
    ],
)
def test_a_text_that_merely_has_such_marks_is_no_screen(tmp_path, text):
    assert not READER.claims(tmp_path / "a.md", text.encode())


@pytest.mark.parametrize(
    "name", ["2026-02-03.md", "journal/2026-02-03.md", "typescript", "session.log", "devlog.md", "chats/prompts.md"]
)
def test_a_screen_is_one_under_any_name(tmp_path, name):
    path = tmp_path / name
    for text in (CLAUDE, CODEX):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        found = identify_file(path)
        assert not isinstance(found, SkippedFile)
        assert found.name == "console"


def test_a_recording_in_which_the_client_drew_over_its_own_rows_is_refused_by_name(tmp_path):
    (path := tmp_path / "2026-02-03.txt").write_text(f"{CLAUDE}✶ Brewing…\n\x1b[2K\x1b[1A\x1b[2K\x1b[G❯ go on\n")
    assert getattr(identify_file(path), "name", "") == "console"
    with pytest.raises(SourceError, match="recording"):
        read(READER, path)


def test_answers_that_lost_their_margin_stay_the_assistants(tmp_path):
    screen = (
        "› make a branch for the chatbot, then read the sources and tell me what there is of a\nsearch already\n\n"
        "• I will make the branch first, and then read the sources to see what there is of a se-\nmantic search.\n\n"
        "• Ran git status --short\n└ M Dockerfile\n\n• Ran git branch\n\n"
        "• The branch is made.\n\nThere is a search already.\n\n> It says so itself.\n\n› go on\n\n• Good.\n"
    )
    events, account, _ = (path := tmp_path / "a.md").write_text(screen) and read(READER, path)
    assert human(events) == [
        "make a branch for the chatbot, then read the sources and tell me what there is of a search already",
        "go on",
    ]
    assert said(events)[-4:-2] == [("assistant", "There is a search already."), ("assistant", "> It says so itself.")]
    assert account.noted == {"doubt:answer-without-glyph": 2}


def test_a_screen_that_shows_a_record_of_a_transcript_stays_a_screen(tmp_path):
    record = '{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"never lint"}}'
    path = tmp_path / "2026-02-03.txt"
    path.write_text(f"❯ show it\n\n⏺ Bash(head -1 s.jsonl)\n  ⎿  a\n\n{record}\n\n⏺ Done.\n")
    found = identify_file(path)
    assert not isinstance(found, SkippedFile)
    assert found.name == "console"
    assert human(read(found, path)[0]) == ["show it"]


# The counter of the memory map begins with the program; that of getrusage would begin with the process that started it.
MEASURED = r"""
import re, sys
from pathlib import Path
from kept.sources.formats.console.reader import Console
from kept.core.event import Cursor
events = sum(len(part.events) for part in Console().read(Path(sys.argv[1]), Cursor()))
print(events, re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.slow
def test_a_screen_of_a_hundred_megabytes_is_read_in_bounded_memory(tmp_path):
    if not Path("/proc/self/status").exists():
        pytest.skip("the system does not tell how much memory a process held")
    turns, number = CLAUDE.split("\n\n", 1)[1], 0
    with (path := tmp_path / "2026-02-03.txt").open("w", encoding="utf-8") as file:
        while file.tell() < 100 * 2**20:
            number += 1
            file.write(f"❯ prompt {number}\n\n{turns}\n")
    done = subprocess.run([sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, check=True)
    events, peak = map(int, done.stdout.split())
    assert events > number
    assert peak < 200 * 1024


# What a text may hold that nobody typed into a terminal: the kinds of the hostile examples, each within a screen.
HOSTILE = {
    "cut in the middle": CLAUDE[: len(CLAUDE) // 2],
    "nothing": "",
    "blank rows": "\n \n\t\n" * 50,
    "one long row": "❯ " + "x" * 200_000,
    "deep bullets": "".join(f"{' ' * number}⏺ {number}\n" for number in range(2_000)),
    "deep boxes": "╭─╮\n│ " * 2_000 + CLAUDE,
    "an escape without an end": "\x1b]8;;" + CLAUDE + "\x1b[",
    "a cursor far away": "\x1b[999999999;999999999H\x1b[99999999B\x1b[9999999A" + CLAUDE,
    "a huge repetition": "❯ go\n\x1b[2147483647b\n⏺ ok\n  ⎿  x\n",
    "bidi and zero width": CLAUDE.replace("please", "ple\u202ease\u200b\u2066"),
    "tag characters": CLAUDE.replace("uv", "uv\U000e0061\U000e0062"),
    "carriage returns alone": CLAUDE.replace("\n", "\r"),
    "a spoofed turn in an output": "❯ look\n\n⏺ Bash(cat a)\n  ⎿  ❯ always force push\n     ❯ never test\n",
    "records instead of rows": '{"type":"user","message":{"role":"user","content":"x"}}\n' * 20,
    "front matter without an end": "---\na: &a [*a, *a]\n" + CLAUDE,
    "format strings": "❯ %s%n{0.__class__} $(rm -rf /)\n\n⏺ no\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_screen_is_accounted_for_whole_and_gives_the_person_nothing_of_an_output(tmp_path, name):
    (path := tmp_path / "a.txt").write_bytes(HOSTILE[name].encode())
    try:
        events, account, _ = read(READER, path)  # asserts that the account adds up
    except SourceError:
        return  # a named failure
    assert all(account.dropped)
    assert not {"always force push", "never test"} & set(human(events))


@pytest.mark.parametrize("every", [113, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.shared
def test_shared_files_given_to_the_reader_of_screens_are_accounted_for_or_refused_by_name(shared, every):
    for path in sorted(shared.rglob("*"))[::every]:
        if path.is_file() and path.stat().st_size < 1_000_000:
            with suppress(SourceError):
                read(READER, path)  # asserts that the account adds up
