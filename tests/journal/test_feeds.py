"""External sources of the journal: what they bring, their cursors, and what becomes of malformed ones."""

import os
import re
import sqlite3
import subprocess
import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from kept.core.errors import SourceError
from kept.journal.feeds import read_new_items
from kept.journal.feeds.base import FetchResponse, fetch_address, html_to_text
from kept.journal.feeds.rss import parse_feed_addresses

BERLIN = ZoneInfo("Europe/Berlin")

RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour news</title>
<item><title>Tide gauges &amp; you</title><link>https://example.org/1</link><guid>g1</guid>
<description>&lt;p&gt;A &lt;b&gt;gauge&lt;/b&gt; reads.&lt;script&gt;evil()&lt;/script&gt;&lt;/p&gt;</description>
<pubDate>Mon, 05 Jan 2026 09:30:00 +0100</pubDate></item>
<item><title>No date</title></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>Release 2</title><id>urn:2</id>
<link href="https://example.org/2"/><updated>2026-01-06T08:00:00Z</updated><summary>Out now.</summary></entry></feed>"""
BOMB = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>
<rss><channel><item><title>&b;</title></item></channel></rss>"""


def no_network(address, cursor):
    pytest.fail("fetched")


NOW = datetime(2026, 6, 1, tzinfo=UTC)


def brought(kind, place, cursor=None, fetching=no_network, now=NOW):
    return read_new_items(kind, name="news", place=str(place), cursor=cursor or {}, zone=BERLIN, now=now, fetching=fetching)


def file(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# --- RSS and Atom


def test_a_feed_gives_its_dated_items_as_plain_text(tmp_path):
    found = brought("rss", file(tmp_path, "f.xml", RSS))
    (item,) = found.items
    assert (item.title, item.text) == ("Tide gauges & you", "A gauge reads.")
    assert item.at == datetime(2026, 1, 5, 8, 30, tzinfo=UTC)
    assert item.link == "https://example.org/1"
    assert found.skipped == {"without a date": 1}


def test_atom_is_read_as_well(tmp_path):
    (item,) = brought("rss", file(tmp_path, "f.xml", ATOM)).items
    assert (item.title, item.at, item.link) == ("Release 2", datetime(2026, 1, 6, 8, tzinfo=UTC), "https://example.org/2")


def test_content_in_xhtml_is_read_with_its_elements_and_prefixes_need_no_declaration(tmp_path):
    body = '<content type="xhtml"><div>Out <b>now</b>.</div></content><media:thumb url="x"/>'
    (item,) = brought("rss", file(tmp_path, "f.xml", ATOM.replace("<summary>Out now.</summary>", body))).items
    assert item.text == "Out now."


def test_a_feed_that_did_not_change_gives_nothing_and_keeps_its_cursor(tmp_path):
    path = file(tmp_path, "f.xml", RSS)
    first = brought("rss", path)
    again = brought("rss", path, first.cursor)
    assert again.items == ()
    assert again.cursor == first.cursor


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "",
        "<rss><channel>",
        "<html><body>no feed</body></html>",
        b"\xff\xfe\x00",
        b"\0" * 50,
        "<a>" * 500,
        '<?xml version="1.0" encoding="nonsense"?><rss/>',
        BOMB.encode("utf-16"),
    ],
)
def test_a_malformed_feed_or_one_that_declares_a_document_type_is_refused_whole(tmp_path, text):
    with pytest.raises(SourceError):
        brought("rss", file(tmp_path, "f.xml", text))


def test_odd_dates_and_addresses_of_a_feed_are_passed_over(tmp_path):
    text = RSS.replace("Mon, 05 Jan 2026 09:30:00 +0100", "Someday, 99 Foo 99999").replace("https://example.org/1", "javascript:x")
    found = brought("rss", file(tmp_path, "f.xml", text))
    assert found.items == ()
    assert found.skipped == {"without a date": 2}


def test_a_feed_with_an_address_is_asked_with_the_validators_of_the_last_time():
    asked = []

    def fetching(address, cursor):
        asked.append((address, dict(cursor)))
        return FetchResponse(data=None if cursor.get("etag") else RSS.encode(), validators={"etag": "x1"})

    first = brought("rss", "https://example.org/feed", fetching=fetching)
    assert len(first.items) == 1
    assert brought("rss", "https://example.org/feed", first.cursor, fetching).items == ()
    assert asked[1][1]["etag"] == "x1"


# --- OPML

OPML = """<opml version="2.0"><body><outline text="all"><outline xmlUrl="https://example.org/a" type="rss"/>
<outline xmlUrl="https://example.org/b"/><outline xmlUrl="file:///etc/passwd"/>
<outline xmlUrl="https://example.org/a"/></outline></body></opml>"""


def test_a_list_names_addresses_of_the_web_alone_each_once():
    assert parse_feed_addresses(OPML.encode(), "x") == ("https://example.org/a", "https://example.org/b")


def test_every_feed_of_a_list_is_fetched_and_a_broken_one_is_counted(tmp_path):
    def fetching(address, cursor):
        return FetchResponse(data=RSS.encode() if address.endswith("a") else b"<broken", validators={})

    path = file(tmp_path, "feeds.opml", OPML)
    found = brought("opml", path, fetching=fetching)
    assert [each.title for each in found.items] == ["Tide gauges & you"]
    assert found.skipped["feeds that cannot be read"] == 1
    assert brought("opml", path, found.cursor, fetching).items == ()


@pytest.mark.parametrize("text", ["", "<opml", "<rss/>", BOMB.replace("rss", "opml")])
def test_a_malformed_list_is_refused(tmp_path, text):
    with pytest.raises(SourceError):
        brought("opml", file(tmp_path, "feeds.opml", text))


def test_a_real_list_is_read(shared):
    (path,) = list((shared / "transcripts" / "inputs" / "opml").rglob("*.opml"))[:1]
    assert len(parse_feed_addresses(path.read_bytes(), str(path))) > 1


# --- git


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repo"
    folder.mkdir()

    def git(*arguments, at="2026-01-05T10:00:00+01:00"):
        env = {**os.environ, "GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at, "HOME": str(tmp_path)}
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, "-C", str(folder), *arguments], check=True, env=env, capture_output=True)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "Add the tide reader")
    return folder, git


def test_a_repository_gives_its_commits_and_then_only_the_new_ones(repository):
    folder, git = repository
    first = brought("git", folder)
    (item,) = first.items
    assert item.title.startswith("Add the tide reader (")
    assert item.at == datetime(2026, 1, 5, 9, tzinfo=UTC)
    assert brought("git", folder, first.cursor).items == ()
    git("commit", "-q", "--allow-empty", "-m", "Fix it", at="2026-01-06T10:00:00+01:00")
    assert [each.title[:6] for each in brought("git", folder, first.cursor).items] == ["Fix it"]


def test_rewritten_history_is_read_again_under_the_same_keys(repository):
    folder, _ = repository
    first = brought("git", folder)
    again = brought("git", folder, {"head": "0" * 40})
    assert [each.key for each in again.items] == [each.key for each in first.items]


def test_a_repositorys_own_settings_run_nothing(repository, tmp_path):
    folder, git = repository
    git("config", "core.fsmonitor", f"touch {tmp_path}/ran")
    git("config", "core.pager", f"touch {tmp_path}/ran")
    git("config", "log.showSignature", "true")
    git("config", "gpg.program", f"touch {tmp_path}/ran")
    brought("git", folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["none", "plain"])
def test_a_folder_that_is_no_repository_is_refused(tmp_path, name):
    (tmp_path / "plain").mkdir()
    with pytest.raises(SourceError):
        brought("git", tmp_path / name)


def test_a_saved_log_is_read_as_git_writes_it_and_nonsense_is_counted(tmp_path):
    text = (
        "commit b547d3f9\nAuthor: A <a@example.org>\nDate:   Wed Dec 17 10:22:39 2025 -0500\n\n    Add typed keys\n\n    more\n"
        "commit ad020eed\ndate 2025-12-17T12:23:32-05:00\nsubject Add a test\ncommit of something\ncommit 1234567\nDate: "
        "soon\n\n    x\n"
    )
    found = brought("git", file(tmp_path, "log.txt", text))
    assert [each.title for each in found.items] == ["Add typed keys (b547d3f9)", "Add a test (ad020eed)"]
    assert found.skipped == {"without a date or a subject": 1}
    assert brought("git", file(tmp_path, "odd.txt", b"\xff\0\xfe nothing")).items == ()


def test_a_commit_whose_date_names_no_zone_is_dated_in_utc(tmp_path):
    text = "commit b547d3f9\nDate: Wed, 17 Dec 2025 10:22:39\n\n    Add typed keys\n"
    (item,) = brought("git", file(tmp_path, "log.txt", text)).items
    assert item.at == datetime(2025, 12, 17, 10, 22, 39, tzinfo=UTC)


# --- notes


def test_notes_are_told_by_heading_and_first_words_and_only_once(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    file(notes, "a.md", "---\ntags: x\n---\n# Mooring lines\n\nUse two springs.\n")
    file(notes, ".hidden.md", "secret")
    file(notes, "b.md", "---\ndate: 2026-01-05\ngenerated_by: kept\n---\n# own\n")
    file(notes, "c.txt", b"\0\1\2")
    (notes / "d.md").symlink_to(tmp_path / "elsewhere.md")
    found = brought("notes", notes)
    assert [(each.title, each.text) for each in found.items] == [("Mooring lines", "Use two springs.")]
    assert found.skipped == {"kept's own": 1, "not text": 1, "links": 1}
    assert brought("notes", notes, found.cursor).items == ()


def test_a_folder_of_notes_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SourceError):
        brought("notes", tmp_path / "none")


def test_a_nonsense_cursor_of_notes_reads_all(tmp_path):
    file(tmp_path, "a.md", b"caf\xe9 on the quay")
    assert len(brought("notes", tmp_path, {"since": "soon"}).items) == 1


# --- mail

MAIL = """From a@example.org Mon Jan  5 08:00:00 2026
From: Quay news <a@example.org>
Subject: =?utf-8?q?Tides_of_the_week?=
Date: Mon, 05 Jan 2026 08:00:00 +0000
Message-ID: <1@example.org>

High water is late.
> an old quotation
--\x20
The quay

"""
LETTER = """From b@example.org Tue Jan  6 08:00:00 2026
Subject: Second
Date: Tue, 06 Jan 2026 08:00:00 +0000
Content-Type: multipart/alternative; boundary=x

--x
Content-Type: text/html; charset=utf-8

<p>Only <b>markup</b>.</p><style>p{}</style>
--x--

"""


def test_a_mailbox_gives_its_messages_without_quotations_and_then_only_the_new_ones(tmp_path):
    path = file(tmp_path, "box", MAIL)
    first = brought("mail", path)
    (item,) = first.items
    assert (item.title, item.text, item.at) == ("Tides of the week", "High water is late.", datetime(2026, 1, 5, 8, tzinfo=UTC))
    assert brought("mail", path, first.cursor).items == ()
    path.write_text(MAIL + LETTER)
    (second,) = brought("mail", path, first.cursor).items
    assert (second.title, second.text) == ("Second", "Only markup .")
    path.write_text(LETTER)
    assert [each.title for each in brought("mail", path, first.cursor).items] == ["Second"]


def test_a_maildir_is_read_as_well(tmp_path):
    (tmp_path / "cur").mkdir()
    (tmp_path / "tmp").mkdir()
    file(tmp_path / "cur", "1:2,S", MAIL.partition("\n")[2])
    file(tmp_path / "tmp", "2", MAIL.partition("\n")[2])
    assert [each.title for each in brought("mail", tmp_path).items] == ["Tides of the week"]


@pytest.mark.parametrize(
    "text",
    [
        b"From x\n",
        b"From x\nSubject: a\n\nno date",
        b"From x\nDate: never\nSubject: \xff\xfe\n\nx",
        b"From x\n" + b"\0" * 5000,
        b"From x\n" + b"Content-Type: message/rfc822\n\n" * 2000,
        b"From x\nContent-Type: multipart/mixed\nSubject: =?x?q?=\n\n--\n",
        b"From x\nContent-Type: text/plain; charset=none\nDate: Mon, 05 Jan 2026 08:00:00 +0000\n\nx",
    ],
)
def test_malformed_messages_are_skipped_and_counted(tmp_path, text):
    found = brought("mail", file(tmp_path, "box", text + b"\n\n" + MAIL.encode()))
    assert [each.title for each in found.items] == ["Tides of the week"]
    assert found.skipped.total() == 1


@pytest.mark.parametrize("piece", ["<!--", "<a b=", "<a '", "<script>", "&", "<"])
def test_text_of_hostile_html_takes_time_in_proportion_to_its_length(piece):
    began = time.process_time()
    html_to_text(piece * 300_000)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("piece", ['<A HREF="', "<a x>", "<a '", "<a "])
def test_hostile_bookmarks_take_time_in_proportion_to_their_length(tmp_path, piece):
    began = time.process_time()
    brought("bookmarks", file(tmp_path, "marks", f"<a href=x>{piece * 200_000}"))
    assert time.process_time() - began < 10


def test_an_address_that_is_none_is_refused_by_name():
    with pytest.raises(SourceError, match=re.escape("http://[::1")):
        fetch_address("http://[::1", {})


def test_what_is_no_mailbox_is_refused(tmp_path):
    with pytest.raises(SourceError):
        brought("mail", file(tmp_path, "box", "Dear diary"))
    assert brought("mail", file(tmp_path, "empty", ""), {"offset": "x", "head": "y:z"}).items == ()


# --- bookmarks


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><DT><A HREF="https://example.org/t" ADD_DATE="1767600000">Tides</A></DL>',
        (
            '{"roots": {"bar": {"children": [{"type": "url", "name": "Tides", "url": "https://example.org/t", "date_added": '
            '"13412073600000000"}]}}}'
        ),
        '{"children": [{"title": "Tides", "uri": "https://example.org/t", "dateAdded": 1767600000000000}]}',
        '[{"title": "Tides", "url": "https://example.org/t", "time_added": 1767600000}]',
        '[{"title": "Tides", "url": "https://example.org/t", "created_at": "2026-01-05T08:00:00Z"}]',
    ],
)
def test_bookmarks_of_every_browser_are_read(tmp_path, text):
    path = file(tmp_path, "marks", text)
    found = brought("bookmarks", path)
    assert [(each.title, each.link, each.at) for each in found.items] == [
        ("Tides", "https://example.org/t", datetime(2026, 1, 5, 8, tzinfo=UTC))
    ]
    assert brought("bookmarks", path, found.cursor).items == ()


@pytest.mark.parametrize("text", ["", "plain words", "{half", "[" * 100_000, b"\xff\0"])
def test_what_is_no_list_of_bookmarks_is_refused(tmp_path, text):
    with pytest.raises(SourceError):
        brought("bookmarks", file(tmp_path, "marks", text))


def test_odd_bookmarks_are_skipped_and_counted(tmp_path):
    text = (
        '[{"url": "javascript:x", "time_added": 1767600000}, {"url": "https://example.org/t", "time_added": 9e99}, {"url": '
        "5}, null]"
    )
    found = brought("bookmarks", file(tmp_path, "marks", text))
    assert found.items == ()
    assert found.skipped == {"without a web address": 1, "without a date": 1}


# --- history


def firefox(path, *visits):
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE IF NOT EXISTS moz_places (id INTEGER PRIMARY KEY, url, title)")
    database.execute("CREATE TABLE IF NOT EXISTS moz_historyvisits (id INTEGER PRIMARY KEY, place_id, visit_date)")
    for address, at in visits:
        place = database.execute("INSERT INTO moz_places (url, title) VALUES (?, 'Tides')", (address,)).lastrowid
        database.execute("INSERT INTO moz_historyvisits (place_id, visit_date) VALUES (?, ?)", (place, at))
    database.commit()
    return database


EIGHT = 1_767_600_000_000_000


def test_the_history_of_a_running_firefox_is_read_from_a_copy_without_what_follows_the_question_mark(tmp_path):
    path = tmp_path / "places.sqlite"
    database = firefox(path, ("https://u:p@example.org/t?token=x#y", EIGHT), ("about:config", EIGHT + 1), (b"\xff", "soon"))
    assert (tmp_path / "places.sqlite-wal").stat().st_size
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    first = brought("history", path)
    assert [(each.title, each.link, each.at) for each in first.items] == [
        ("Tides", "https://example.org/t", datetime(2026, 1, 5, 8, tzinfo=UTC))
    ]
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
    assert brought("history", path, first.cursor).items == ()
    database.close()


def test_a_page_counts_once_a_day(tmp_path):
    path = tmp_path / "places.sqlite"
    firefox(
        path,
        ("https://example.org/t?a", EIGHT),
        ("https://example.org/t?b", EIGHT + 5),
        ("https://example.org/t", EIGHT + 86_400_000_000),
    ).close()
    assert len(brought("history", path).items) == 2


def test_the_history_of_chrome_is_read_in_its_own_time(tmp_path):
    path = tmp_path / "History"
    database = sqlite3.connect(path)
    database.executescript("CREATE TABLE urls (id INTEGER PRIMARY KEY, url, title); CREATE TABLE visits (id, url, visit_time);")
    database.execute("INSERT INTO urls VALUES (1, 'https://example.org/t', NULL)")
    database.execute("INSERT INTO visits VALUES (1, 1, 13412073600000000)")
    database.commit()
    database.close()
    (item,) = brought("history", path).items
    assert (item.title, item.at) == ("https://example.org/t", datetime(2026, 1, 5, 8, tzinfo=UTC))


@pytest.mark.parametrize("data", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4_000])
def test_what_is_no_history_is_refused(tmp_path, data):
    with pytest.raises(SourceError):
        brought("history", file(tmp_path, "History", data))


def test_a_history_that_would_never_end_is_given_up(tmp_path, monkeypatch):
    path = tmp_path / "History"
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE visits (id); DROP TABLE visits; CREATE TABLE moz_historyvisits (place_id, visit_date);"
        "CREATE VIEW moz_places AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, 'x' AS url, "
        "'' AS title FROM n;"
        "INSERT INTO moz_historyvisits VALUES (-1, 5);"
    )
    database.close()
    monkeypatch.setattr("kept.journal.feeds.history._STEPS", 20)
    with pytest.raises(SourceError):
        brought("history", path)


# --- pages


def test_saved_pages_are_told_by_title_and_visible_words(tmp_path):
    file(
        tmp_path,
        "a.html",
        "<html><head><title>Tides &amp; moon</title></head><nav>menu</nav><article><p>High.</p><script>x</script></article>",
    )
    file(tmp_path, "b.html", b"\0\xff")
    file(tmp_path, "c.html", "<" * 3_000 + "<a b='")
    found = brought("pages", tmp_path)
    assert [(each.title, each.text) for each in found.items][:1] == [("Tides & moon", "High.")]
    assert found.skipped["no web page"] == 1
    assert brought("pages", tmp_path, found.cursor).items == ()


# --- all of them


@pytest.mark.parametrize("kind", ["rss", "opml", "calendar", "mail", "bookmarks", "history"])
def test_a_pipe_or_a_missing_file_is_refused_without_waiting(tmp_path, kind):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "none"):
        with pytest.raises(SourceError):
            brought(kind, tmp_path / name)


GARBAGE = (
    b"",
    b"\0" * 5_000,
    b"\xff\xfe" + bytes(range(256)) * 8,
    b"<" * 50_000,
    b"[" * 50_000,
    b"{" * 50_000,
    b"\n" * 50_000,
    b"a" * 200_000,
    b"From \nDate: \xff\nSubject: =?x?q?\n\n" * 50,
    b"BEGIN:VCALENDAR\nBEGIN:VEVENT\n" * 500,
    b"commit 1234567\nDate: x\n" * 500,
    b"<rss><channel><item><pubDate>99 Foo 99999</pubDate></item></channel></rss>",
    b"SQLite format 3\0" + b"\0" * 4_000,
    b'{"roots": [{"children": null, "url": 7, "date_added": 1e400}]}',
    b"<a href='x' add_date='" + b"9" * 5_000 + b"'>x</a>",
)


@pytest.mark.parametrize("kind", ["git", "rss", "opml", "notes", "calendar", "mail", "bookmarks", "history", "pages"])
@pytest.mark.parametrize("number", range(len(GARBAGE)))
def test_garbage_is_refused_or_skipped_and_never_ends_a_run(tmp_path, kind, number):
    folder = tmp_path / "folder" / "cur"
    folder.mkdir(parents=True)
    for name in ("x.md", "x.html", "x"):
        (folder / name).write_bytes(GARBAGE[number])
    place = folder.parent if kind in ("notes", "pages") else folder / "x"
    for cursor in ({}, {"since": "\u0663", "mark": "x", "next": "x", "head": "-1:x", "offset": "-3"}):
        try:
            found = brought(kind, place, cursor)
        except SourceError:
            continue
        assert all(each.at is not None for each in found.items)
        assert all(isinstance(value, str) for value in found.cursor.values())


@pytest.mark.parametrize("kind", ["notes", "pages", "mail"])
def test_files_of_a_folder_that_cannot_be_read_are_counted_and_links_are_not_followed(tmp_path, kind):
    folder = tmp_path / "cur"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("# Secret\n")
    for suffix in ("md", "html"):
        (folder / f"link.{suffix}").symlink_to(tmp_path / "secret.md")
    found = brought(kind, folder)
    assert found.items == ()
    assert found.skipped["links"] >= 1
