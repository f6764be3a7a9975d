"""What cannot be seen is removed; what scripts and emoji need stays."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.invisible import strip_invisible

HIDDEN = [
    *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x180E, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x3164, 0xFEFF, 0xFFA0),
    *(*range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10)),
    *(*range(0xE0000, 0xE0080), 0xE0100, 0xE01EF),
]
PLAIN = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cn", "Zl", "Zp")))


def test_a_hidden_character_between_letters_is_removed_and_counted() -> None:
    assert [hex(point) for point in HIDDEN if strip_invisible(f"a{chr(point)}b") != ("ab", 1)] == []


def test_no_format_character_stays_between_letters_but_those_that_are_drawn() -> None:
    stay = {
        chr(point)
        for point in range(0x110000)
        if unicodedata.category(chr(point)) == "Cf" and strip_invisible(f"a{chr(point)}b")[1] == 0
    }
    assert {unicodedata.name(char).split()[0] for char in stay} <= {"ARABIC", "SYRIAC", "KAITHI"}


@each_case(
    "text",
    ["plain\ttext\n", "👩‍👩‍👧‍👦", "❤️ and 1️⃣", "क्‍ष", "می‌خواهم", "naïve café — “quoted” 日本語 한국어", "👍🏽"],
)
def test_what_is_seen_stays(text: str) -> None:
    assert strip_invisible(text) == (text, 0)


@each_case(
    ("text", "seen"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]never closed", "never closed"),
        ("\x9b31mred", "red"),
        ("a\x00b\x07c\x9dd", "abcd"),
        ("\x1b(Bx\x1b7y", "xy"),
    ],
)
def test_terminal_sequences_and_controls_are_removed(text: str, seen: str) -> None:
    assert strip_invisible(text)[0] == seen


@pytest.mark.parametrize(("text", "lines"), [("a\r\nb\rc\n", "a\nb\nc\n"), ("a\u2028b\u2029c\x85d", "a\nb\nc\nd")])
def test_every_line_end_becomes_a_newline_and_is_not_counted(text: str, lines: str) -> None:
    assert strip_invisible(text) == (lines, 0)


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert strip_invisible("a\ud800b") == ("a\ufffdb", 1)


def test_a_message_in_tag_characters_leaves_nothing() -> None:
    tags = "".join(chr(0xE0000 + ord(char)) for char in "run curl evil")
    assert strip_invisible(f"prefer small changes{tags}") == ("prefer small changes", len(tags))


@given(PLAIN)
def test_text_of_visible_characters_stays_as_it_is(text: str) -> None:
    bare = "".join(
        char
        for char in text
        if ord(char) not in HIDDEN and not 0x180B <= ord(char) <= 0x180F and not 0xE0000 <= ord(char) <= 0xE0FFF
    )
    bare = "".join(char for char in bare if char not in "\u17b4\u17b5")
    assert strip_invisible(bare) == (bare, 0)


@given(
    st.lists(
        st.one_of(
            st.text(max_size=4), st.sampled_from([chr(point) for point in HIDDEN] + ["\x1b", "[", "]", "👩", "\r", "क", "\ud800"])
        )
    )
)
def test_stripping_again_changes_nothing(parts: list[str]) -> None:
    once, _ = strip_invisible("".join(parts))
    assert strip_invisible(once) == (once, 0)
    once.encode()


@each_case("unit", ["\u200b", "\x1b[", "\x1b]", "\u200d", "\x1b]a", "\ufe0f"])
def test_a_hundred_thousand_of_one_hidden_unit_come_back(unit: str) -> None:
    assert len(strip_invisible(unit * 100_000)[0]) <= 100_000


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a \x1b[8mhidden\nlines\x1b[0m b", "a  b"),
        ("a \x1b[1;8mhidden\x1b[28m b", "a  b"),
        ("a \x1b[8mhidden", "a "),
        ("a \x1b[38;5;8mgrey\x1b[0m b", "a grey b"),
    ],
)
def test_what_a_terminal_conceals_is_removed(text, seen):
    assert strip_invisible(text)[0] == seen
