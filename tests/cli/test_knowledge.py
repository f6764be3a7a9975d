"""``kept graph``, ``kept files``, ``kept day --month``: what the page shows, for the terminal and for
programs.
"""

import pytest

from cli_world import OTHER, RULE, kept, memory_file, told, transcript

MEMORY = ".claude/rules/memory.md"


@pytest.fixture
def remembered(home, capsys):
    """A home in which two rules are remembered, of two days."""
    place = home / ".claude" / "projects" / "p"
    transcript(place / "one.jsonl", RULE)
    transcript(place / "two.jsonl", OTHER, day="2026-01-06")
    assert kept(capsys, "run", "--tz", "UTC")[0] == 0
    return home


def test_the_graph_ties_memories_to_what_they_are_about(capsys, remembered):
    body = told(capsys, "graph")
    memories = {each["id"] for each in body["nodes"] if each["kind"] == "memory"}
    assert memories == {each["id"] for each in told(capsys, "list")}
    assert {each["source"] for each in body["edges"] if each["kind"] == "about"} == memories
    assert body["left_out"] == {}
    assert "harbor  2 memories" in kept(capsys, "graph")[1]


def test_the_graph_for_graphviz_quotes_what_was_said(capsys, home):
    assert kept(capsys, "add", 'Say "graph {" in `a.dot`, not \\n.', "--type", "decision")[0] == 0
    _, out, _ = kept(capsys, "graph", "--dot")
    assert out.startswith("graph kept {\n")
    assert '[label="Say \\"graph {\\" in `a.dot`, not \\\\n.", shape=plaintext];' in out
    assert out.endswith("}\n")


def test_files_are_listed_and_shown(capsys, remembered):
    assert f"{MEMORY}  memory, profile coding; 2 memories" in kept(capsys, "files")[1]
    (file,) = told(capsys, "files")
    assert (file["name"], file["condition"], file["memories"]) == (MEMORY, "there", 2)
    assert kept(capsys, "files", "show", MEMORY)[1] == memory_file(remembered).read_text()
    code, _, err = kept(capsys, "files", "show", "/etc/passwd")
    assert (code, "not a file that kept writes" in err) == (2, True)


def test_a_preview_tells_what_the_next_run_takes_over_and_changes_nothing(capsys, remembered):
    assert kept(capsys, "files", "preview")[1] == "Nothing would change.\n"
    path = memory_file(remembered)
    path.write_text(path.read_text().replace("ISO 8601", "RFC 3339"))
    before = path.read_bytes()
    _, out, _ = kept(capsys, "files", "preview")
    assert "revise" in out
    assert "RFC 3339" in out
    (change,) = told(capsys, "files", "preview")["changes"]
    assert (change["kind"], change["before"]) == ("revise", RULE)
    assert path.read_bytes() == before
    assert "ISO 8601" in kept(capsys, "list")[1]


def test_a_month_is_told_a_line_a_day(capsys, remembered):
    _, out, _ = kept(capsys, "day", "2026-01-20", "--month", "--tz", "UTC")
    assert out.splitlines() == ["January 2026", "  Mon 2026-01-05  1 session, 1 decided", "  Tue 2026-01-06  1 session, 1 decided"]
    body = told(capsys, "day", "2026-01-20", "--month", "--tz", "UTC")
    assert sum(each["sessions"] for each in body["cells"]) == 2
