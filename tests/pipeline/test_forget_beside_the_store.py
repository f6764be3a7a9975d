"""Forgetting beside the store: what external sources brought, what a recording and the file of replies hold, what entries tell."""

import json
from datetime import date

import pytest

from kept.core.errors import KeptError
from kept.journal.feed_reading import collect_feeds, items_between
from kept.llm.adapters.recorded import RecordingModel
from kept.llm.adapters.scripted import ScriptedModel
from kept.llm.client import LlmClient
from kept.local import files
from kept.pipeline.erase.forget import forget, make_erasure_request
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.write_journal import make_entry_options, write_journal_entry
from talking import say

DAY = date(2026, 1, 5)
SECRET = "Never speak of the wreck of the Esmeralda in `notices.md`, it is under seal."
ITEM = (
    "<item><title>{title}</title><guid>{number}</guid><description>{text}</description><pubDate>Mon, 05 Jan 2026 "
    "09:30:00 GMT</pubDate></item>"
)


def runs(text, size=8):
    """Every run of so many bytes of a text."""
    data = text.encode()
    return {data[place : place + size] for place in range(len(data) - size + 1)}


def holding(home, text):
    """The files below a home that hold any eight bytes in a row of a text."""
    wanted = runs(text)
    return [each for each in home.rglob("*") if each.is_file() and any(one in each.read_bytes() for one in wanted)]


@pytest.fixture
def fed(home, desk_at):
    """A home with a session that says what is to be forgotten, a feed that says it too, and one that does not; and a recording."""
    items = [("Gauges", "News from the quay."), ("Seal", f"They say: {SECRET} So they say."), (SECRET, "x")]
    (home / "feed.xml").write_text(
        "<rss><channel>" + "".join(ITEM.format(number=n, title=a, text=b) for n, (a, b) in enumerate(items)) + "</channel></rss>"
    )
    config = home / ".config" / "kept" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[llm]\nrecording = "{home / "recording.jsonl"}"\n[[feed]]\nkind = "rss"\nname = "quay"\npath = "{home / "feed.xml"}"\n'
    )
    say(home, "a", SECRET, "Please rewrite the tide reader in `tides.py` so that it reads all gauges.", day=DAY.isoformat())
    return lambda: desk_at(home, also=("journal",))


def recorded(workspace, home):
    """The workspace with a model that repeats what it is told, recorded."""

    def answer(ask):
        if ask.purpose != "journal":
            return {
                "hints": [],
                "memories": [],
                "notes": {each: [] for each in ("problems", "solutions", "decisions", "questions")},
            }
        notes = [line for line in ask.prompt.splitlines() if line.startswith("s") and "): " in line]
        told = [(line.split(" ", 1)[0], line.partition("): ")[2]) for line in notes]
        return {"paragraphs": [{"part": "worked", "text": text, "sources": [name]} for name, text in told]}

    object.__setattr__(workspace, "llm", LlmClient(lambda: RecordingModel(ScriptedModel(answer), home / "recording.jsonl")))
    return workspace


def secret_ones(workspace):
    return [each for each in workspace.store.log.memories() if "Esmeralda" in each.content]


def test_what_is_forgotten_leaves_no_eight_bytes_in_feeds_recording_entries_or_store(fed, home):
    with fed() as raw:
        workspace = recorded(raw, home)
        run_pipeline(workspace, [], RunOptions())
        collect_feeds(workspace)
        entry = write_journal_entry(workspace, make_entry_options(workspace), DAY).path
        assert "Esmeralda" in entry.read_text()
        assert "Esmeralda" in (home / "recording.jsonl").read_text()
        said = [home / "feed.xml", home / ".claude" / "projects" / "p" / "a.jsonl"]  # the person's own files stay as they are
        assert len(holding(home, SECRET)) > len(said)
        gone = forget(workspace, make_erasure_request(workspace, secret_ones(workspace)))
        assert gone.memories
        assert (gone.items, gone.problems) == (2, ())
        run_pipeline(workspace, [], RunOptions())
        collect_feeds(workspace)
        assert [each.title for each in items_between(workspace, *workspace.day_bounds(DAY))] == ["Gauges"]
        assert "tide reader" in entry.read_text()
        write_journal_entry(workspace, make_entry_options(workspace), DAY)
    assert sorted(holding(home, SECRET)) == sorted(said)


def test_what_was_forgotten_is_not_put_by_when_a_source_brings_it_under_another_key(fed, home):
    with fed() as workspace:
        run_pipeline(workspace, [], RunOptions())
        forget(workspace, make_erasure_request(workspace, secret_ones(workspace)))
        collect_feeds(workspace)
        (home / "feed.xml").write_text(f"<rss><channel>{ITEM.format(number=77, title=SECRET, text='y')}</channel></rss>")
        collect_feeds(workspace)
        assert [each.title for each in items_between(workspace, *workspace.day_bounds(DAY))] == ["Gauges"]
    (put,) = (home / ".local" / "share" / "kept" / "feeds").glob("*.jsonl")
    assert b"Esmeralda" not in put.read_bytes()


@pytest.mark.parametrize("named", ["quay", "feed.xml"])
def test_a_source_is_forgotten_by_name_or_file_out_of_what_it_brought_and_out_of_entries(fed, home, named):
    with fed() as workspace:
        run_pipeline(workspace, [], RunOptions())
        collect_feeds(workspace)
        entry = write_journal_entry(workspace, make_entry_options(workspace), DAY).path
        assert "News from the quay" in entry.read_text()
        source = named if named == "quay" else str(home / named)
        (home / "recording.jsonl").write_text(json.dumps({"key": "k", "text": "It told: News from the quay."}) + "\n")
        gone = forget(workspace, make_erasure_request(workspace, source=source))
        assert (gone.items, gone.memories) == (3, ())
        assert "News from the quay" not in entry.read_text()
        assert "tide reader" in entry.read_text()
        assert "News" not in (home / "recording.jsonl").read_text()
        collect_feeds(workspace)
        assert items_between(workspace, *workspace.day_bounds(DAY)) == ()
        assert secret_ones(workspace)  # the session said it as well
    (put,) = (home / ".local" / "share" / "kept" / "feeds").glob("*.jsonl")
    assert not any(one in put.read_bytes() for one in runs("News from the quay."))


def test_a_recording_that_cannot_be_written_is_told_and_the_rest_is_forgotten(fed, home, monkeypatch):
    real = files.write_if_unchanged

    def refusing(path, data, **options):
        if path.name == "recording.jsonl":
            raise KeptError("permission denied", where=str(path))
        return real(path, data, **options)

    with fed() as workspace:
        run_pipeline(workspace, [], RunOptions())
        collect_feeds(workspace)
        (home / "recording.jsonl").write_text(json.dumps({"key": "k", "text": SECRET}) + "\n")
        monkeypatch.setattr(files, "write_if_unchanged", refusing)
        gone = forget(workspace, make_erasure_request(workspace, secret_ones(workspace)))
        assert gone.memories
        assert gone.items == 2
        assert not secret_ones(workspace)
        (told,) = gone.problems
        assert "recording.jsonl" in told


def test_a_line_of_a_recording_that_cannot_be_read_goes_where_it_tells_and_stays_otherwise(fed, home):
    with fed() as workspace:
        run_pipeline(workspace, [], RunOptions())
        path = home / "recording.jsonl"
        path.write_text(f'{{"key": "k", "text": "{SECRET}\nhalf a line\n')
        forget(workspace, make_erasure_request(workspace, secret_ones(workspace)))
        assert path.read_text() == "half a line\n"


def test_a_recording_forgets_what_was_said_about_a_session_whatever_words_it_used(fed, home):
    with fed() as raw:
        workspace = recorded(raw, home)
        run_pipeline(workspace, [], RunOptions())
        (thread,) = workspace.store.archive.threads()
        path = home / "recording.jsonl"
        other = json.dumps({"key": "o", "text": "{}", "about": ["other"]})
        path.write_text(json.dumps({"key": "k", "text": "In other words.", "about": [thread.session]}) + "\n" + other + "\n")
        forget(workspace, make_erasure_request(workspace, secret_ones(workspace)))
        assert path.read_text() == other + "\n"


def test_a_note_that_is_written_on_does_not_bring_back_what_was_forgotten_of_it(home, desk_at):
    note, told = home / "vault" / "2026-01-05.md", "The alarm code of the cottage lies under the blue pot."
    note.parent.mkdir()
    note.write_text(f"# 2026-01-05\n\n{SECRET}\n\n{told} Fog all day.\n")
    config = home / ".config" / "kept" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[[root]]\npath = "{note.parent}"\nformat = "vault"\nauthor = "person"\n')
    with desk_at(home) as workspace:
        run_pipeline(workspace, [], RunOptions())
        forget(workspace, make_erasure_request(workspace, said=(SECRET, told)))
        with note.open("a") as file:
            file.write("\nBought bread.\n")
        run_pipeline(workspace, [], RunOptions())
        archive = workspace.store.archive
        kept = " ".join(event.text for thread in archive.threads() for event in archive.events(thread.id, 0, thread.events))
    assert "Bought bread." in kept
    assert "Fog all day." in kept
    assert [path for path in holding(home, SECRET) + holding(home, told) if path != note] == []
