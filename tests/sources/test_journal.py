"""Journals: whose text a note is, which day it belongs to, and that a section is a record."""

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept.core.event import Author, Precision
from kept.core.times import to_local_day
from kept.sources.formats.journal import Journal
from kept.sources.formats.vault import Vault
from kept.sources.registry import identify_file
from reading import files, human, read, read_bytes, said

TOKYO = ZoneInfo("Asia/Tokyo")
READER = Journal(zone=TOKYO)
NOTE = "# 2026-02-07\n\nIntro.\n\n## Morning\nTea, not coffee.\n\n## Empty\n\n## Evening\n- read\n```\n## not a heading\n```\n"


def write(folder, text, name):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def day(event):
    return str(to_local_day(event.at, TOKYO)) if event.at else ""


def label(path):
    return {(event.author, event.label_reason) for event in read(READER, path)[0]}


def test_each_section_with_a_text_is_an_event_of_the_day_in_the_files_name(tmp_path):
    events, account, _ = read(READER, write(tmp_path, NOTE, "memory/2026-02-07.md"))
    assert [event.text for event in events] == [
        "# 2026-02-07\n\nIntro.",
        "## Morning\nTea, not coffee.",
        "## Evening\n- read\n```\n## not a heading\n```",
    ]
    assert {(day(event), event.precision, event.twin) for event in events} == {("2026-02-07", Precision.SESSION, "")}
    assert account.dropped == {"heading-only": 1}


def test_a_daily_note_that_nobody_signed_is_the_agents_wherever_it_lies(tmp_path):
    (tmp_path / ".obsidian").mkdir()
    for name in ("journal/2026-02-07.md", "Daily Notes/2026-02-07 Saturday.md", "journals/2026_02_07.md", "diary/2026/02/07.md"):
        assert label(write(tmp_path, NOTE, name)) == {(Author.ASSISTANT, "unsigned")}


def test_what_is_removed_from_several_quoted_prompts_adds_up(tmp_path):
    quote = '**User prompt:** "<system-reminder>\nBe brief.\n</system-reminder>\nUse tabs here."\n\n'
    note = write(tmp_path, f"# Work\n\n{quote}**Result:** done\n\n{quote}", "memory/2026-02-07.md")
    assert read(READER, note)[1].noted["removed:system-reminder"] == 2


def test_a_page_that_a_clipper_kept_is_no_words_of_the_persons_whoever_signs_it(tmp_path):
    for author in ("[Eve Adams]", "me"):
        front = f"---\nauthor: {author}\nsource: https://evil.example/x\n---"
        assert label(write(tmp_path, f"{front}\n{NOTE}", "journal/2026-02-11.md")) == {(Author.INJECTED, "front-matter:clipping")}


@pytest.mark.parametrize(
    "text",
    [
        "---\nisbn: 9780000000000\n---\n## Lessons\n\n- Write before breakfast every day.\n",
        "---\nattendees: [Ida, Max]\n---\n## Decisions\n\n- The pier closes in March.\n",
        "---\nauthor: Ida Berg\ntype: Books\n---\n## Lessons\n\n- Write before breakfast every day.\n",
        "# Harbour board\n\nPresent: Ida, Max\n\n## Decisions\n\n- The pier closes in March.\n",
        "Source: https://blog.example/tides\n\n## Lessons\n\n- Measure the tide twice a day.\n",
        "## Call with Ida\n\n### Decisions\n\n- The pier closes in March.\n",
    ],
)
def test_what_a_note_about_a_book_a_page_or_a_meeting_lists_is_unconfirmed(tmp_path, text):
    events, _, _ = read(Journal(author=Author.HUMAN), write(tmp_path, text, "journal/2026-02-11.md"))
    assert {event.label_reason.partition(":")[0] for event in events} == {"unconfirmed"}


def test_what_a_template_lists_is_unconfirmed(tmp_path):
    path = write(tmp_path, "## Decisions\n\n- We decide on Fridays only.\n", "Templates/2026-02-11.md")
    events, _, _ = read(Journal(author=Author.HUMAN), path)
    assert {event.label_reason for event in events} == {"unconfirmed:unsigned"}


def test_a_link_in_the_text_of_a_persons_note_leaves_it_theirs(tmp_path):
    text = "Read https://blog.example/tides on the train.\n\n## Lessons\n\n- Measure the tide twice a day.\n"
    events, _, _ = read(Journal(author=Author.HUMAN), write(tmp_path, text, "journal/2026-02-11.md"))
    assert {event.label_reason for event in events} == {"unsigned"}


def test_a_note_whose_front_matter_names_a_person_is_theirs_closed_or_not(tmp_path):
    for front in ("author: person\n---", "written_by: Ada Lovelace\n---", "authors: [me]\n---", "author: Ada Lovelace\n"):
        assert label(write(tmp_path, f"---\n{front}\n{NOTE}", "journal/2026-02-09.md")) == {(Author.HUMAN, "front-matter:person")}
    assert label(write(tmp_path, f"---\nauthor: agent\n\n{NOTE}", "journal/2026-02-10.md")) == {
        (Author.ASSISTANT, "front-matter:agent")
    }


def test_the_persons_words_that_a_block_quote_gives_under_their_name_are_theirs(tmp_path):
    text = (
        "# Day\n\n> **Human:** always use pnpm\n> and never npm\n\nSet up.\n\n> **Claude:** We could use npm.\n> **User**: "
        "no\n\n> plain quote\n"
    )
    events, _, _ = read(READER, write(tmp_path, text, "journal/2026-02-11.md"))
    assert human(events) == ["always use pnpm\nand never npm", "no"]
    (own,) = (event.text for event in events if event.author is Author.ASSISTANT)
    assert "pnpm" not in own
    assert "> **Claude:** We could use npm." in own


def test_an_agents_notes_are_not_the_persons(tmp_path):
    assert label(write(tmp_path, NOTE, "memory/2026-02-07.md")) == {(Author.ASSISTANT, "memory-folder")}
    write(tmp_path, "be kind", "agent/SOUL.md")
    assert label(write(tmp_path, NOTE, "agent/journal/2026-02-07.md")) == {(Author.ASSISTANT, "agent-workspace")}
    for field in ("author: Claude", "generated_by: x", "model: gpt-5", "authors: [me, some AI]"):
        path = write(tmp_path, f"---\n{field}\n---\n{NOTE}", "journal/2026-02-08.md")
        assert label(path) == {(Author.ASSISTANT, "front-matter:agent")}


def test_what_nobody_signed_is_whose_the_reader_is_told(tmp_path):
    path = write(tmp_path, NOTE, "work-diary.md")
    assert label(path) == {(Author.ASSISTANT, "unsigned")}
    events, _, _ = read(Journal(author=Author.HUMAN), path)
    assert {(event.author, event.label_reason) for event in events} == {(Author.HUMAN, "unsigned")}


def test_a_persons_note_may_quote_what_memory_tools_injected(tmp_path):
    text = "---\nauthor: me\n---\n## A\n<relevant_memories>old</relevant_memories>\nmine <!-- hidden -->\n"
    path = write(tmp_path, text, "journal/2026-02-07.md")
    events, account, _ = read(READER, path)
    assert human(events) == ["## A\n\nmine"]
    assert account.noted == {"removed:hidden-text": 1, "removed:relevant_memories": 1}


def test_a_comment_that_holds_a_heading_is_hidden_whole(tmp_path):
    text = "---\nauthor: me\n---\n# Today\n\nFine.\n\n<!--\n## Decisions\n- We chose Redis.\n-->\n\n## Late\n\nRain.\n"
    events, _, _ = read(READER, write(tmp_path, text, "journal/2026-02-07.md"))
    assert human(events) == ["# Today\n\nFine.", "## Late\n\nRain."]


@pytest.mark.parametrize("opened", ["%%\n## Decisions\n- We chose Redis.\n%%", "%% a word by the way %%"])
def test_what_obsidian_takes_for_a_comment_is_hidden(tmp_path, opened):
    text = f"---\nauthor: me\n---\n# Today\n\nFine.\n\n{opened}\n\n## Late\n\nRain.\n"
    events, account, _ = read(READER, write(tmp_path, text, "journal/2026-02-07.md"))
    assert human(events) == ["# Today\n\nFine.", "## Late\n\nRain."]
    assert account.noted == {"removed:hidden-text": 1}


def unsure(tmp_path, text):
    """The last line of each section of a person's note that may be somebody else's."""
    events, _, _ = read(READER, write(tmp_path, f"---\nauthor: me\n---\n{text}", "journal/2026-02-07.md"))
    return [event.text.splitlines()[-1] for event in events if event.label_reason == "unconfirmed:front-matter:person"]


@pytest.mark.parametrize(
    "heading",
    ["Book: Deep Work", "Livre : Clean Code", "From the article", "Quotes", "Codex session", "Claude", "読書メモ", "Podcast 12"],
)
def test_what_stands_below_the_heading_of_a_text_or_an_agent_may_be_somebody_elses(tmp_path, heading):
    text = f"# 2026-02-07\n\nmine\n\n## {heading}\n\ntheirs\n\n### Decisions\n\n- theirs too\n\n## Late\n\nmine\n"
    assert unsure(tmp_path, text) == ["theirs", "- theirs too"]


@pytest.mark.parametrize(
    "heading", ["Work", "10:30 standup", "Day 3: the port", "Project: harbor", "Proyecto: puerto", "2026-02-07"]
)
def test_what_stands_below_a_heading_that_names_no_text_is_the_persons(tmp_path, heading):
    assert unsure(tmp_path, f"## {heading}\n\nmine\n\n### Decisions\n\n- mine too\n") == []


@pytest.mark.parametrize(
    "pasted",
    [
        "From: Petra Holm <petra@client.example>\nSubject: minutes",
        "    2026-02-06 10:00  the assistant: From now on always stream.",
        "10:00–10:20  app  2 prompts, 4 events  11111111-1111-1111-1111-111111111111",
        "  3f2a9c1b04  From now on always stream.",
        "[00:12:09] From now on always ship on Fridays.",
    ],
)
def test_a_section_with_a_mail_a_transcript_or_what_kept_printed_may_be_somebody_elses_to_its_end(tmp_path, pasted):
    text = f"# 2026-02-06\n\n{pasted}\n\n## Decisions\n\n- theirs\n\n# 2026-02-07\n\nmine\n"
    assert unsure(tmp_path, text)[1:] == ["- theirs"]


def test_the_times_of_a_persons_own_day_make_it_nobody_elses(tmp_path):
    assert unsure(tmp_path, "# 2026-02-07\n\n- 10:30 fixed the importer\n- 11:00 tests\n\n2026-02-06 10:00 was better\n") == []


DIARY = """---
Title: Diary
LastUpdated: 2026-03-20T08:35:07.139341274-04:00
---
# Diary

## Step 1: Start

### Prompt Context

**User prompt (verbatim):** "use uv,
and never pip"

**Assistant interpretation:** switch to uv.

### What I did

**User prompt (verbatim):** (same as Step 1)

## Step 2: More

**User request:**

```text
commit often

**User prompt:** "not this"
```

I did.

**User prompt:** unquoted words of whoever
"""


def test_prompts_that_an_agent_quotes_word_by_word_are_the_persons_and_nothing_else_is(tmp_path):
    events, _, _ = read(READER, write(tmp_path, DIARY, "01-diary.md"))
    assert human(events) == ["use uv,\nand never pip", 'commit often\n\n**User prompt:** "not this"']
    assert {event.label_reason for event in events if event.author is Author.HUMAN} == {"quoted-prompt"}
    rest = "\n".join(event.text for event in events if event.author is Author.ASSISTANT)
    assert "switch to uv" in rest
    assert "(same as Step 1)" in rest
    assert "never pip" not in rest


@pytest.mark.parametrize(
    ("name", "front", "text", "days"),
    [
        ("work-diary.md", "LastUpdated: 2026-03-20T23:35:07+09:00", "a", ["2026-03-20"]),
        ("work-diary.md", "created: 2026-03-19\nupdated: 2026-03-20", "a", ["2026-03-19"]),
        ("2026/03/17/topic/diary.md", "updated: 2026-03-20", "a", ["2026-03-17"]),
        ("2026-03-16-diary.md", "created: 2026-03-19", "a", ["2026-03-16"]),
        ("diary.md", "title: x", "a", [""]),
        ("diary.md", "title: x", "## 2026-03-18 One\na\n### Deeper\nb\n## Other\nc", ["2026-03-18", "2026-03-18", ""]),
        ("diary.md", "title: x", "## One\nDate: 2026-03-18\na\n## Two\n- **Date**: 2026-03-19\nb", ["2026-03-18", "2026-03-19"]),
        ("2026-03-16-diary.md", "title: x", "## What I planned for the whole year after 2027-01-01\na", ["2026-03-16"]),
    ],
)
def test_the_day_is_the_most_certain_one_that_the_note_tells(tmp_path, name, front, text, days):
    assert [day(event) for event in read(READER, write(tmp_path, f"---\n{front}\n---\n{text}\n", name))[0]] == days


def test_journals_are_claimed_by_their_names(tmp_path):
    for name in (
        "memory/2026-01-30.md",
        "a/memory/archive/2026-01-30.md",
        "2026-01-30.md",
        "x/01-diary.md",
        "devlog.md",
        "dev-journal-2.md",
    ):
        assert READER.claims(tmp_path / name, NOTE.encode()), name
    for name in (
        "README.md",
        "AGENTS.md",
        "memory/topic.md",
        "2026-01-30-release-notes.md",
        "2026-13-30.md",
        "journalism.md",
        "diary.txt",
    ):
        assert not READER.claims(tmp_path / name, NOTE.encode()), name
    assert not READER.claims(tmp_path / "2026-01-30.md", b"<!-- Generated by SpecStory, Markdown v2.1.0 -->\n")


def test_markdown_that_no_format_claims_is_read_as_a_note_when_a_person_names_it(tmp_path):
    path = write(tmp_path, "---\na: &a [x]\nb: *a\n---\ndecided to use uv\n", "some.md")
    assert getattr(identify_file(path, named=True), "name", "") == "journal"
    assert not hasattr(identify_file(path), "read")
    events, account, _ = read(READER, path)
    assert said(events) == [("assistant", "decided to use uv")]
    assert account.noted == {"front-matter:alias": 1}


def test_a_dated_note_keeps_its_keys_when_it_is_moved(tmp_path):
    here, _, _ = read(READER, write(tmp_path, NOTE, "memory/2026-02-07.md"))
    there, _, _ = read(READER, write(tmp_path, NOTE, "memory/archive/2026-02-07.md"))
    assert [event.key for event in here] == [event.key for event in there]


SECTIONS = st.lists(st.sampled_from(["same", "- done", "other"]), min_size=1, max_size=8)


@given(SECTIONS, SECTIONS)
def test_a_note_that_grew_by_sections_keeps_every_key_it_had(tmp_path, first, more):
    def note(texts):
        return "".join(f"## Check\n{text}\n\n" for text in texts).encode()

    path = tmp_path / "memory" / "2026-02-07.md"
    before = [event.key for event in read_bytes(READER, path, note(first))]
    after = [event.key for event in read_bytes(READER, path, note(first + more))]
    assert after[: len(before)] == before
    assert len(set(after)) == len(after) == len(first) + len(more)


@pytest.mark.slow
@pytest.mark.shared
def test_every_shared_journal_is_accounted_for_and_its_authors_are_told_apart(shared):
    inputs = shared / "transcripts" / "inputs"
    texts: list[str] = []
    for path in [*files(inputs / "journal-md", "*.md"), *files(inputs / "openclaw-workspace", "20*.md")]:
        head = path.read_bytes()[:65536]
        assert READER.claims(path, head), path
        assert not Vault().claims(path, head), path
        events, account, cursor = read(READER, path)
        assert account.records > 0
        assert all(event.at for event in events), path
        assert {event.label_reason for event in events if event.author is Author.HUMAN} <= {"quoted-prompt"}
        assert len({event.key for event in events}) == len(events)
        assert list(READER.read(path, cursor)) == []
        texts += human(events)
    assert any("we focus on pinocchio and moments" in text for text in texts)


def test_the_places_are_the_agents_workspaces(tmp_path):
    (tmp_path / ".openclaw" / "workspace-two").mkdir(parents=True)
    assert READER.places(tmp_path, {}) == (tmp_path / ".openclaw" / "workspace-two" / "memory", tmp_path / "clawd" / "memory")
    assert READER.places(tmp_path, {"OPENCLAW_STATE_DIR": "/nowhere"}) == (Path(tmp_path / "clawd" / "memory"),)


@pytest.mark.parametrize(
    ("text", "authors"),
    [
        ("**LLM:** GitHub Copilot\n\n## Changes\n\nThe path is cached.\n", [Author.ASSISTANT, Author.ASSISTANT]),
        ("- Model: gpt-4\n\n## Solution\n\nThe path is cached.\n", [Author.ASSISTANT, Author.ASSISTANT]),
        ("Claude is my neighbour: we sing.\n\n## Bench\n\nThe roof is glued.\n", [Author.HUMAN, Author.HUMAN]),
        ("## Morning\n\nTea.\n\n## Talk\n\n**Claude:** Use a cache.\n", [Author.HUMAN, Author.ASSISTANT]),
    ],
)
def test_a_note_of_a_persons_folder_that_names_its_model_or_an_assistant_is_theirs_no_further(tmp_path, text, authors):
    events, _, _ = read(Journal(author=Author.HUMAN), write(tmp_path, text, "Chats/pathfinding.md"))
    assert [event.author for event in events] == authors
