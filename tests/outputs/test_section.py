"""kept's section in a file of the user's: found for certain, and not one byte outside it changes."""

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from cases import each_case
from kept.core.errors import ChangedError
from kept.outputs.section import find_section, place_section, remove_section

TITLE = "Memory Loop Insights"
INSIDE = ["### Decisions", "- Releases are cut from main only. (2026-02-13)"]
OURS = "\n".join(INSIDE)


def blocks(data):
    return data.decode().count("<!-- kept:begin")


@each_case(
    ("original", "before"),
    [
        (b"", b""),
        (b"# P\n\nhand written\n", b"# P\n\nhand written\n\n"),
        (b"# P\n\nno newline", b"# P\n\nno newline\n\n"),
        (b"# P\r\ntext\r\n", b"# P\r\ntext\r\n\r\n"),
        (b"# P\rtext\r", b"# P\rtext\r\r"),
        (b"\xef\xbb\xbf# P\n", b"\xef\xbb\xbf# P\n\n"),
        (b"caf\xe9 in latin-1\n", b"caf\xe9 in latin-1\n\n"),
        (b"```md\n## Memory Loop Insights\n```\n", b"```md\n## Memory Loop Insights\n```\n\n"),
        (b"~~~~\n## Memory Loop Insights\n~~~\n~~~~\n", b"~~~~\n## Memory Loop Insights\n~~~\n~~~~\n\n"),
        (b"> ## Memory Loop Insights\n", b"> ## Memory Loop Insights\n\n"),
        (b"- ## Memory Loop Insights\n", b"- ## Memory Loop Insights\n\n"),
        (b"<!--\n## Memory Loop Insights\n-->\n", b"<!--\n## Memory Loop Insights\n-->\n\n"),
        (b"<div>\n## Memory Loop Insights\n</div>\n", b"<div>\n## Memory Loop Insights\n</div>\n\n"),
        (b"---\n## Memory Loop Insights\n---\n", b"---\n## Memory Loop Insights\n---\n\n"),
        (b"    ## Memory Loop Insights\n", b"    ## Memory Loop Insights\n\n"),
        (b"Memory Loop Insights\n---\nx\n", b"Memory Loop Insights\n---\nx\n\n"),
        (
            b"## Memory Loop Insights (2025)\n### Memory Loop Insights\n",
            b"## Memory Loop Insights (2025)\n### Memory Loop Insights\n\n",
        ),
        (b"##  Memory Loop  Insights\n## memory loop insights\n", b"##  Memory Loop  Insights\n## memory loop insights\n\n"),
        (
            b"\\## Memory Loop Insights\n#### ## Memory Loop Insights\n",
            b"\\## Memory Loop Insights\n#### ## Memory Loop Insights\n\n",
        ),
    ],
)
def test_where_there_is_no_section_it_is_appended(original, before):
    data = place_section(original, TITLE, INSIDE)
    newline = b"\r\n" if b"\r\n" in original else b"\r" if b"\r" in original else b"\n"
    assert data.startswith(before + b"## Memory Loop Insights" + newline + b"<!-- kept:begin ")
    assert data.endswith(b"<!-- kept:end -->" + newline)
    assert place_section(data, TITLE, INSIDE) == data
    assert remove_section(data) == original


@each_case(
    "original",
    [
        b"# P\ntext\n## Memory Loop Insights\n- old",
        b"# P\n## Memory Loop Insights\n- old\n### My own notes\nkeep me\n## Next\nkeep me too\n",
        b"## Memory Loop Insights",
        b"\xef\xbb\xbf## Memory Loop Insights\r\nmine\r\n",
        b"## Memory Loop Insights  \n\nmine\n\n## Memory Loop Insights\nagain\n",
    ],
)
def test_text_in_a_section_of_that_name_stays_under_the_block(original):
    data = place_section(original, TITLE, INSIDE)
    block = find_section(data)
    assert block is not None
    newline = b"\r\n" if b"\r\n" in original else b"\n"
    lines = data.split(newline)
    assert lines[block.first - 1].lstrip(b"\xef\xbb\xbf").rstrip() == b"## Memory Loop Insights"
    assert remove_section(data) == original


def test_new_lines_replace_the_old_ones_and_nothing_else():
    data = place_section(b"# P\n\n## Memory Loop Insights\nmine\n\n## Next\n", TITLE, INSIDE)
    other = place_section(data, TITLE, ["- Something else."])
    assert other.count(b"<!-- kept:begin") == 1
    assert b"Releases" not in other
    assert other.startswith(b"# P\n\n## Memory Loop Insights\n<!-- kept:begin ")
    assert other.endswith(b"- Something else.\n<!-- kept:end -->\nmine\n\n## Next\n")


def test_a_section_whose_heading_the_user_renamed_or_moved_is_still_found():
    data = place_section(b"# P\n", TITLE, INSIDE).replace(b"## Memory Loop Insights", b"## What the agent learnt")
    other = place_section(data, TITLE, ["- Something else."])
    assert b"Memory Loop Insights" not in other
    assert blocks(other) == 1


def test_an_edited_block_is_replaced_only_by_who_has_read_the_edit():
    data = place_section(b"# P\n", TITLE, INSIDE).replace(b"main only", b"main and next")
    block = find_section(data)
    assert block is not None
    assert block.edited
    with pytest.raises(ChangedError):
        place_section(data, TITLE, ["- x"])
    with pytest.raises(ChangedError):
        place_section(data, TITLE, ["- x"], absorbed=b"something else")
    with pytest.raises(ChangedError):
        remove_section(data)
    assert blocks(place_section(data, TITLE, ["- x"], absorbed=block.inside)) == 1


def test_another_line_ending_for_the_whole_file_is_no_edit():
    block = find_section(place_section(b"# P\n", TITLE, INSIDE).replace(b"\n", b"\r\n"))
    assert block is not None
    assert not block.edited


@each_case(
    "damage",
    [
        lambda data: data.replace(b"<!-- kept:end -->\n", b""),
        lambda data: data.replace(b"<!-- kept:begin ", b"<!-- begin "),
        lambda data: data + data,
        lambda data: b"<!-- kept:end -->\n\n" + data,
        lambda data: data.replace(b" own ", b" "),
        lambda data: data.replace(b"- Releases", b"```\n- Releases"),
        lambda data: data.replace(b"## Memory", b"<!--\n\n## Memory"),
        lambda data: data + b"\0",
        lambda data: data + b"x" * 400_001,
    ],
)
def test_comments_that_do_not_match_are_refused(damage):
    data = damage(place_section(b"# P\n", TITLE, INSIDE))
    with pytest.raises(ChangedError):
        place_section(data, TITLE, ["- x"])


@pytest.mark.parametrize("original", [b"```\nnever closed\n", b"<!-- never closed\n", b"<script>\n"])
def test_a_file_whose_end_is_code_or_comment_is_refused(original):
    with pytest.raises(ChangedError):
        place_section(original, TITLE, INSIDE)


@each_case("line", ["```", "<!-- kept:end -->", "<!--", "<!-- kept:begin 0 own 0 -->", "<script>"])
def test_lines_that_would_break_out_are_refused(line):
    with pytest.raises(ChangedError):
        place_section(b"# P\n", TITLE, ["- x", line])


def test_markers_in_code_and_quotes_are_text():
    original = b"```\n<!-- kept:begin 0 own 0 -->\n```\n> <!-- kept:end -->\n\n    <!-- kept:end -->\n"
    assert find_section(original) is None
    assert remove_section(place_section(original, TITLE, INSIDE)) == original


PIECES = (
    "## Memory Loop Insights",
    "## Memory Loop Insights  ",
    "## Other",
    "text",
    "- x",
    "  - y",
    "```",
    "~~~",
    "> q",
    "<!-- c -->",
    "<div>",
    "</div>",
    "---",
    "===",
    "# P",
    "",
    "    code",
    "\\",
    "| a |",
    "1. x",
    "é",
    "\u2028",
    "\x0b",
    "[a]: b",
    "\t",
)
ENDS = ("\n", "\n", "\r\n", "\r", "")


@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(ENDS)), max_size=12), st.booleans(), st.booleans())
def test_whatever_the_file_removing_the_section_gives_back_its_bytes(pieces, bom, latin):
    text = "".join(words + end for words, end in pieces)
    original = (b"\xef\xbb\xbf" if bom else b"") + (text.encode("latin-1", "ignore") if latin else text.encode())
    try:
        data = place_section(original, TITLE, INSIDE)
    except ChangedError:
        reject()
    block = find_section(data)
    assert block is not None
    assert block.inside.replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode() == OURS + "\n"
    other = place_section(data, TITLE, [])
    assert place_section(other, TITLE, INSIDE) == data
    assert remove_section(data) == remove_section(other) == original


@pytest.mark.shared
def test_no_byte_of_the_shared_shapes_changes(shared):
    for path in sorted((shared / "hostile" / "claude_md").glob("*.md")):
        original = path.read_bytes()
        data = place_section(original, TITLE, INSIDE)
        assert remove_section(data) == original, path.name
        assert blocks(data) == 1
        if not path.name.startswith(("c04", "c05")):
            assert data.startswith(original), path.name


def test_two_sections_of_kepts_are_refused_and_named():
    one = place_section(b"# Mine\n", "Remembered", ["- A fact."])
    with pytest.raises(ChangedError, match="2 sections of kept's"):
        find_section(one + one)


def test_a_file_that_was_empty_is_empty_again_and_one_that_kept_made_is_gone():
    for original, rest in ((b"", b""), (None, None)):
        once = place_section(original, TITLE, INSIDE)
        for data in (once, place_section(once, TITLE, ["- Something else."])):
            assert remove_section(data) == rest
            assert remove_section(b"# Mine\n" + data) == b"# Mine\n"
