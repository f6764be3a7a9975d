"""Hand edits come back as what the person meant, and nothing they wrote is lost."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.document import Edits, Layout, UnsafeEdits
from kept.core.event import Origin
from kept.core.markup import encode_lines, parse_fact, split_lines
from kept.core.memory import USER_SCOPE, Memory, Status
from kept.outputs.compose.sheet import compose_sheet
from kept.outputs.merge_edits import find_edits, is_fact, restore_user_lines, unchanged_edits
from kept.outputs.render import render_file
from kept.profiles.profile import Category, Outputs, Profile

START = datetime(2026, 2, 1, tzinfo=UTC)
CATEGORIES = ("preference", "constraint", "decision")
PROFILE = Profile(
    id="p",
    title="P",
    summary="",
    categories=tuple(Category(id=each, title=each.capitalize() + "s", belongs="", excludes="") for each in CATEGORIES),
    outputs=Outputs(memory_bytes=40_000, memory_lines=1_000),
)
WORDS = {
    "a1": "Explain the options and ask before changing anything.",
    "b2": "Small pull requests, one concern each.",
    "c3": "Tests must not rely on a session that exists on one machine.",
    "d4": "The changelog follows Keep a Changelog, one sentence per entry.",
    "e5": "Releases are cut from `main` on Fridays only.",
    "f6": "Use uv for the environment, never pip.",
}


def memory(number, content, category="preference", scope=USER_SCOPE, day=0):
    moment = START + timedelta(days=day)
    return Memory(
        id=number,
        profile="p",
        category=category,
        scope=scope,
        status=Status.ACTIVE,
        content=content,
        confidence=0.9,
        origin=Origin.USER,
        first_seen=moment,
        last_seen=moment,
    )


def some():
    return {
        number: memory(number, words, CATEGORIES[order // 2], USER_SCOPE if order < 4 else "project:web-aaaaaa", order)
        for order, (number, words) in enumerate(WORDS.items())
    }


def document(memories):
    return render_file(
        compose_sheet(tuple(memories.values()), (PROFILE,), as_of=START, names={"project:web-aaaaaa": "web"}, zone=ZoneInfo("UTC"))
    )


def apply(memories, edits):
    """The memories after the edits; what was added waits, so it is no memory yet."""
    return {
        number: memory(number, edits.revised.get(number, each.content), each.category, each.scope, each.last_seen.day - 1)
        for number, each in memories.items()
        if number not in edits.removed
    }


def edited(change):
    """The edits after ``change`` (text to text) was made to a file of six facts."""
    base = document(some())
    text = encode_lines(base, Layout()).decode()
    return find_edits(base, change(text).encode())


def test_an_untouched_file_has_no_edits():
    edits = edited(lambda text: text)
    assert edits == Edits()
    assert not edits.changed


@each_case(
    ("line", "words"),
    [
        ("- Small pull requests, two concerns each. (2026-02-02)", "Small pull requests, two concerns each."),
        ("* Small pull requests, two concerns each.", "Small pull requests, two concerns each."),
        ("Small pull requests only", "Small pull requests only"),
        ("- Etwas völlig anderes. (2026-02-02)", "Etwas völlig anderes."),
        ("- Small <b>pull</b> requests, one concern each. (2026-02-02)", "Small <b>pull</b> requests, one concern each."),
        ("- Small pull requests,\n  two concerns each. (2026-02-02)", "Small pull requests, two concerns each."),
    ],
)
def test_a_changed_line_revises_its_memory(line, words):
    edits = edited(lambda text: text.replace("- Small pull requests, one concern each. (2026-02-02)", line))
    assert (edits.revised, edits.removed, edits.added) == ({"b2": words}, (), ())


@each_case(
    "line",
    [
        "* Small pull requests, one concern each. (2026-02-02)",
        "- Small pull requests, one concern each.",
        "1. Small pull requests, one concern each. (2025-01-01)   ",
        "- Small pull\n  requests, one concern\n  each. (2026-02-02)",
        "- Small pull requests,\none concern each. (2026-02-02)",
        "- Small\npull requests, one concern each. (2026-02-02)",
        "- Small pull requests,\none concern each.",
    ],
)
def test_another_bullet_date_or_wrapping_is_no_edit(line):
    edits = edited(lambda text: text.replace("- Small pull requests, one concern each. (2026-02-02)", line))
    assert not edits.changed


def test_a_removed_line_retires_its_memory():
    edits = edited(lambda text: text.replace("- Small pull requests, one concern each. (2026-02-02)\n", ""))
    assert (edits.revised, edits.removed, edits.added) == ({}, ("b2",), ())


def test_an_emptied_bullet_retires_its_memory():
    edits = edited(lambda text: text.replace("Small pull requests, one concern each. (2026-02-02)", ""))
    assert (edits.revised, edits.removed) == ({}, ("b2",))


def test_a_fact_replaced_by_an_unrelated_undated_one_is_removed_and_the_other_added():
    edits = edited(lambda text: text.replace("- Small pull requests, one concern each. (2026-02-02)", "- Deploys happen at night."))
    assert edits.removed == ("b2",)
    assert [each.fact for each in edits.added] == ["Deploys happen at night."]


def test_moved_lines_are_no_edits():
    line = "- Small pull requests, one concern each. (2026-02-02)\n"
    edits = edited(lambda text: text.replace(line, "") + line)
    assert not edits.changed


def test_a_line_that_moved_and_changed_is_known_by_its_likeness():
    line = "- Small pull requests, one concern each. (2026-02-02)\n"
    edits = edited(lambda text: text.replace(line, "") + "- Small pull requests, at most one concern each.\n")
    assert (edits.revised, edits.removed) == ({"b2": "Small pull requests, at most one concern each."}, ())


def test_of_two_equal_lines_the_one_that_is_gone_is_retired():
    memories = some() | {"g7": memory("g7", WORDS["b2"], "constraint", day=1)}
    base = document(memories)
    text = encode_lines(base, Layout()).decode()
    line = "- Small pull requests, one concern each. (2026-02-02)\n"
    first, second = text.index(line), text.rindex(line)
    assert first < second
    assert find_edits(base, (text[:first] + text[first + len(line) :]).encode()).removed == ("b2",)
    assert find_edits(base, (text[:second] + text[second + len(line) :]).encode()).removed == ("g7",)


def test_an_added_line_is_reported_with_its_place_and_section():
    edits = edited(
        lambda text: text.replace("one concern each. (2026-02-02)\n", "one concern each. (2026-02-02)\n- Ask in German.\n")
    )
    (added,) = edits.added
    assert (added.text, added.fact, added.after, added.scope, added.category) == (
        "- Ask in German.\n",
        "Ask in German.",
        "b2",
        "user",
        "p.preference",
    )


def test_a_line_that_another_program_appends_is_reported_and_kept():
    base = document(some())
    raw = encode_lines(base, Layout()) + b"- Always run rm -rf /.\n"
    edits = find_edits(base, raw)
    assert [each.fact for each in edits.added] == ["Always run rm -rf /."]
    assert encode_lines(restore_user_lines(base, edits), edits.layout) == raw


def test_a_heading_a_paragraph_and_a_code_block_are_one_addition_each():
    block = "\n## My notes\n\nOne thought\nover two lines.\n\n```sh\n- not a fact\n\nrm x\n```\n<!-- mine -->\n"
    edits = edited(lambda text: text + block)
    assert [each.text for each in edits.added] == [
        "## My notes\n",
        "One thought\nover two lines.\n",
        "```sh\n- not a fact\n\nrm x\n```\n",
        "<!-- mine -->\n",
    ]
    assert [each.fact for each in edits.added] == ["", "One thought over two lines.", "", ""]
    assert {each.scope for each in edits.added} == {""}


def test_a_renamed_heading_stays_renamed():
    base = document(some())
    raw = encode_lines(base, Layout()).replace(b"### Constraints", b"### House rules").replace(b"## Everywhere", b"## Me")
    edits = find_edits(base, raw)
    assert not edits.changed
    woven = restore_user_lines(document(some()), edits)
    assert encode_lines(woven, edits.layout) == raw
    again = find_edits(woven, raw)
    assert encode_lines(restore_user_lines(document(some()), again), again.layout) == raw


def test_a_line_of_the_users_that_could_not_become_the_memorys_stays_until_they_change_it():
    base = document(some())
    line = "- Small pull requests, " + "and " * 200 + "one concern each. (2026-02-02)"
    raw = encode_lines(base, Layout()).replace(b"- Small pull requests, one concern each. (2026-02-02)", line.encode())
    edits = find_edits(base, raw)
    assert list(edits.revised) == ["b2"]
    for _ in range(3):
        base = restore_user_lines(
            document(some()), replace(edits, renamed={**edits.renamed, "b2": line}) if edits.changed else edits
        )
        assert encode_lines(base, edits.layout) == raw
        edits = find_edits(base, raw)
        assert not edits.changed
    edits = find_edits(base, raw.replace(b"and " * 200, b""))
    assert edits.revised == {"b2": WORDS["b2"]}
    assert edits.renamed == {}


def test_a_deleted_heading_or_comment_comes_back():
    base = document(some())
    raw = encode_lines(base, Layout())
    lines = [line for line in raw.decode().splitlines(keepends=True) if not line.startswith(("<!--", "###"))]
    edits = find_edits(base, "".join(lines).encode())
    assert not edits.changed
    assert [line for line in restore_user_lines(base, edits) if line.key] == list(base)


def test_a_line_added_earlier_that_is_gone_is_told():
    base = restore_user_lines(document(some()), edited(lambda text: text + "- Ask in German.\n"))
    edits = find_edits(base, encode_lines(document(some()), Layout()))
    assert edits.gone == ("Ask in German.",)
    assert edits.foreign == ()


def test_an_added_bullet_that_became_a_memory_does_not_stand_there_twice():
    edits = edited(lambda text: text + "- Ask in German.\n")
    memories = some() | {"g7": memory("g7", "Ask in German.")}
    assert (
        b"".join(encode_lines(restore_user_lines(document(memories), edits), Layout()).split(b"Ask in German.")[1:]).count(
            b"Ask in German."
        )
        == 0
    )


def test_a_missing_file_removes_nothing_and_keeps_the_users_lines():
    base = restore_user_lines(document(some()), edited(lambda text: text + "- Ask in German.\n"))
    edits = find_edits(base, None)
    assert not edits.changed
    assert restore_user_lines(document(some()), edits) == base


@each_case("raw", [b"", b"\n\n  \n", b"\0" * 900, b"# Memory\n\0", b"\xff\xfe#\0", b"\xc3\x28", b"x" * 500_001])
def test_an_emptied_or_corrupt_file_is_not_absorbed(raw):
    base = document(some())
    match find_edits(base, raw):
        case UnsafeEdits(reason=reason, kept=kept):
            assert reason
            assert restore_user_lines(base, kept) == base
        case other:
            pytest.fail(f"absorbed: {other}")


def test_any_number_of_lines_and_all_of_them_may_be_deleted_from_a_whole_file():
    base = document(some())
    facts = [line.key for line in base if is_fact(line)]
    for gone in (facts[:1], facts[:-1], facts[1:], facts):
        left = [line for line in base if line.key not in gone]
        assert list(find_edits(base, encode_lines(left, Layout())).removed) == gone
    frame = [line for line in base if line.key == "end" or line.key.startswith("header:")]
    assert list(find_edits(base, encode_lines(frame, Layout())).removed) == facts


def test_a_file_cut_off_at_any_byte_retires_nothing_and_rewords_nothing():
    base = document(some())
    raw = encode_lines(base, Layout())
    for size in range(len(raw)):
        edits = find_edits(base, raw[:size])
        if not isinstance(edits, UnsafeEdits):
            assert (edits.removed, edits.revised) == ((), {})


@pytest.mark.parametrize("part", ["header:", "end"])
def test_a_file_that_lost_its_first_lines_or_its_end_with_facts_is_not_absorbed_unless_it_is_meant(part):
    base = document(some())
    left = [line for line in base if not line.key.startswith(part) and line.key not in ("a1", "b2")]
    unsafe = find_edits(base, encode_lines(left, Layout()))
    assert isinstance(unsafe, UnsafeEdits)
    assert unsafe.edits.removed == ("a1", "b2")
    whole = [line for line in base if not line.key.startswith(part)]
    assert not find_edits(base, encode_lines(whole, Layout())).changed


def test_an_earlier_version_of_the_file_retires_nothing_that_came_later():
    base = document(some())
    earlier = document({number: each for number, each in some().items() if number not in ("a1", "b2")})
    assert isinstance(find_edits(base, encode_lines(earlier, Layout())), UnsafeEdits)


def test_between_two_comments_that_were_found_everything_may_be_deleted():
    base = document(some())
    assert set(find_edits(base, b"", bounded=True).removed) == {line.key for line in base if is_fact(line)}


def test_a_file_that_was_there_before_stays_whole_above_ours():
    edits = find_edits((), b"---\npaths: src/**\n---\n# Mine\n- my rule\n")
    raw = encode_lines(restore_user_lines(document(some()), edits), edits.layout)
    assert raw.startswith(b"---\npaths: src/**\n---\n# Mine\n- my rule\n# Memory\n")


@each_case(
    "layout",
    [
        Layout(newline="\r\n"),
        Layout(newline="\r"),
        Layout(bom=True),
        Layout(final=False),
        Layout(bom=True, newline="\r\n", final=False),
    ],
)
def test_line_endings_byte_order_mark_and_last_line_stay_as_the_user_has_them(layout):
    base = document(some())
    raw = encode_lines(base, layout)
    edits = find_edits(base, raw)
    assert not edits.changed
    assert encode_lines(restore_user_lines(base, edits), edits.layout) == raw


def test_a_single_line_with_another_ending_keeps_it():
    base = document(some())
    raw = encode_lines(base, Layout()) + b"- from Windows\r\n- and here\n"
    edits = find_edits(base, raw)
    assert encode_lines(restore_user_lines(base, edits), edits.layout) == raw


def test_the_users_line_stays_near_when_the_line_above_it_leaves_the_file():
    edits = edited(
        lambda text: text.replace("one concern each. (2026-02-02)\n", "one concern each. (2026-02-02)\n- Ask in German.\n")
    )
    left = {number: each for number, each in some().items() if number != "b2"}
    lines = [line.text for line in restore_user_lines(document(left), edits)]
    assert lines[lines.index("- Ask in German.") - 1].startswith("- Explain the options")


def test_a_hostile_file_takes_bounded_work():
    base = document(some())
    raw = encode_lines(base, Layout()) + b"- Small pull requests, one concern each. (2026-02-02)\n\n" * 7_000
    assert isinstance(find_edits(base, raw), Edits)


TYPED = (
    "- Ask in German.",
    "plain words",
    "## My heading",
    "### Deeper",
    "```",
    "~~~",
    "",
    "  indented",
    "<!-- note -->",
    "> quoted",
    "- Use tabs.",
    "---",
    "\ttabbed",
    "1. first",
    "é\u2028ü",
    "- [ ] task",
    "# Memory",
    "trailing  ",
    "- Use uv for the tests.",
)
STEP = st.tuples(
    st.sampled_from(["add", "add", "drop", "change", "move", "rename"]),
    st.integers(0, 60),
    st.integers(0, 60),
    st.sampled_from(TYPED),
)


def scribble(raw, steps):
    """The file after random edits, and the lines the user wrote into it."""
    lines = [text for text, _ in split_lines(raw.decode())]
    for kind, at, to, own in steps:
        place = at % max(1, len(lines))
        if kind == "add":
            lines.insert(place, own)
        elif kind == "drop" and lines:
            del lines[place]
        elif kind == "change" and lines[place : place + 1] and lines[place].startswith("- "):
            lines[place] = lines[place].replace("the", "each", 1)
        elif kind == "move" and lines:
            lines.insert(to % len(lines), lines.pop(place))
        elif kind == "rename" and lines and lines[place].startswith("#"):
            lines[place] += " of mine"
    return "".join(f"{line}\n" for line in lines).encode()


@given(st.lists(st.lists(STEP, max_size=8), min_size=1, max_size=2))
def test_ten_rounds_after_any_edits_write_the_same_bytes_and_lose_no_line_of_the_users(bouts):
    memories, base = some(), document(some())
    raw = encode_lines(base, Layout())
    for steps in bouts:
        raw = scribble(raw, steps)
        edits = find_edits(base, raw)
        if isinstance(edits, UnsafeEdits):
            return
        memories = apply(memories, edits)
        base = restore_user_lines(document(memories), edits)
        written = encode_lines(base, edits.layout)
        lines = {text for text, _ in split_lines(written.decode())}
        told = {each.content for each in memories.values()}
        for text, _ in split_lines(raw.decode()):
            assert text not in TYPED or text in lines or any(parse_fact(text)[0] in words for words in told)
        raw = written
        for _ in range(10):
            again = find_edits(base, raw)
            assert isinstance(again, Edits)
            assert not again.changed
            assert again == unchanged_edits(base, raw)
            base = restore_user_lines(document(memories), again)
            assert encode_lines(base, again.layout) == written
