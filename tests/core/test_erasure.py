"""Where words that are to be forgotten stand in a text, and what is left of the text without them."""

from base64 import b64encode

import pytest

from cases import each_case
from kept.core import erasure
from kept.core.erasure import RUN, ErasureMatch, ErasureWords

SAID = "the vault code of the lighthouse is under the third blue mat"
WORDS = ErasureWords(sentences=(SAID,))
WINDOW, REACH = 4_096, 2_048  # characters that are looked at together, and how far a run that begins in them may go on


@pytest.mark.parametrize("before", ["y" * WINDOW, "y" * (WINDOW - 1) + "Z", "ab " * 1_364 + "abcd"])
def test_words_that_begin_inside_of_another_word_are_none_wherever_a_text_is_cut(before):
    assert not WORDS.is_in_text(before + "the vault code of the lighthouse")
    assert WORDS.is_in_text(f"{before} {SAID}")


@each_case("shift", range(-90, 60, 7))
def test_words_are_found_and_taken_out_across_every_cut_of_a_long_text(shift):
    text = f"{'y ' * ((WINDOW + shift) // 2)}{SAID} {'z ' * WINDOW}"
    left = WORDS.remove_from(text)
    assert (WORDS.is_in_text(text), WORDS.is_in_text(left)) == (True, False)
    assert left.count("y ") == (WINDOW + shift) // 2
    assert left.count("z ") == WINDOW


def test_the_longer_of_two_quotes_of_an_event_goes_first():
    words = ErasureWords(sentences=(), cited=(("k", "the code"), ("k", "the code of the vault"), ("m", "x")))
    assert words.quotes == {"k": ("the code of the vault", "the code"), "m": ("x",)}


def test_an_echo_is_part_of_a_line_however_its_words_are_wrapped_and_an_empty_quote_is_none():
    words = ErasureWords(sentences=(), cited=(("k", "- the code\n  of the vault"),), echoes=frozenset({"k"}))
    assert [words.is_echo("k", quote) for quote in ("code\n  of the", "code of", "", " \n", "code of a")] == [
        True,
        True,
        *[False] * 3,
    ]


def test_an_excerpt_shows_the_words_with_what_stands_around_them_and_no_more():
    around = WORDS.excerpt(f"{'y ' * 5_000}{SAID} {'z ' * 5_000}")
    assert SAID in around
    assert len(around) <= 400
    assert around.startswith("y")
    assert around.endswith("z")
    assert WORDS.excerpt("w" * 5_000) == "w" * 400


@pytest.mark.parametrize(
    "escaped",
    [
        r"ana\u00efs k\u00e4mpft f\u00fcr die \u00c4pfel im \u00d6lberg",
        "ana%C3%AFs k%C3%A4mpft f%C3%BCr die %C3%84pfel im %C3%96lberg",
    ],
)
def test_letters_that_are_escaped_are_the_letters_they_stand_for(escaped):
    words = ErasureWords(sentences=("anaïs kämpft für die äpfel im ölberg",))
    assert words.is_in_text(f"x {escaped} x")
    assert not words.is_in_text("x anas kmpft fr die pfel im lberg x")


def test_the_lines_that_words_stand_in_are_flagged_and_no_others():
    assert WORDS.flag_lines("before\nthe vault code of the lighthouse\nis under the third blue mat\nbehind") == [
        False,
        True,
        True,
        False,
    ]
    assert WORDS.flag_lines("before\nbehind") == [False, False]


def test_a_line_is_flagged_where_it_stands_however_many_lines_are_before_it():
    assert WORDS.flag_lines("\n".join(["a"] * 200 + [SAID] + ["b"] * 5)) == [False] * 200 + [True] + [False] * 5


def test_words_of_a_script_without_spaces_are_found_inside_of_other_words():
    words = ErasureWords(sentences=("金庫的密碼寫在藍色地毯下面",))
    assert words.is_in_text("昨天他說金庫的密碼寫在藍色地毯下面對嗎")
    assert not words.is_in_text("昨天他說地毯是藍色的對嗎")


def test_words_are_found_where_numbered_lines_cut_them_into_narrow_columns():
    sentence = "never deploy the harbour service on fridays"
    numbered = "".join(f"\n{number:>4}  {sentence[at : at + 7]}" for number, at in enumerate(range(0, len(sentence), 7), 1))
    assert ErasureWords(sentences=(sentence,)).is_in_text(numbered)


def test_what_another_statement_has_of_at_most_half_of_a_sentence_is_a_turn_of_phrase_and_stays():
    half = ErasureWords(sentences=("one grey heron stands in the canal",), spared=("one grey heron stands in the mud",))
    assert not half.is_in_text("one grey heron stands in the")
    assert half.is_in_text("grey heron stands in the canal")
    whole = ErasureWords(sentences=("one grey heron stands in the canal",), spared=("one grey heron stands in the canal today",))
    assert whole.is_in_text("one grey heron stands in the canal")


@each_case(
    "some",
    [
        {"sentences": (SAID,)},
        {"cited": (("k", "the code"),)},
        {"memories": frozenset({"m"})},
        {"events": frozenset({"k"})},
        {"sessions": frozenset({"s"})},
    ],
)
def test_words_quotes_memories_events_or_sessions_alone_are_something_to_forget(some):
    assert not ErasureWords(sentences=())
    assert ErasureWords(**{"sentences": (), **some})


@each_case(
    "written",
    [
        "the vault <b>co</b>de of the light<i>house</i> is un<br/>der the third blue mat",
        "the vault c&#111;de &ofr; &#x6f;f the lighthouse is under the third blue mat".replace("&ofr; ", ""),
        "the vault co&shy;de of the light&shy;house is under the third blue mat",
        "the vault co\\u0064e of the lighthouse is under the third blue mat",
        "the vault <b>c</b>o\\u0064e of the lighthouse is under the third blue mat",
        "the vault <b>c</b>o\\u0064e of the light%68ouse is under the third blue mat",
    ],
)
def test_words_with_tags_entities_or_escapes_inside_are_the_same_words(written):
    assert WORDS.is_in_text(written)
    assert "vault" not in WORDS.remove_from(f"before {written} behind")


def test_a_word_that_goes_on_before_or_behind_makes_other_words_of_a_short_sentence():
    words = ErasureWords(sentences=("grey heron stands in the canal",))
    assert words.is_in_text("a grey heron stands in the canal")
    assert not words.is_in_text("a grey heron stands in the canals")
    assert not words.is_in_text("a tagrey heron stands in the canal")
    assert not words.is_in_text("xgrey heron stands in the canal")


def test_a_passage_counts_from_as_many_words_as_a_run_has():
    six = "one grey heron stands in water"
    assert len(six.split()) == RUN
    assert ErasureWords(sentences=(), passages=(six,)).is_in_text(f"there {six} still")
    assert not ErasureWords(sentences=(), passages=(six.removesuffix(" water"),))


@pytest.mark.parametrize(
    ("sentence", "text", "left"),
    [
        (
            "From now on all tests must run with `--slow`.",
            "From now on all tests must run with `--slow`. A lamp.",
            "[forgotten]. A lamp.",
        ),
        ("all tests must run with `--slow`", "From now on all tests must run with `--slow`.", "From now on [forgotten]."),
        ("all tests must run with **slow**!", "all tests must run with slow", "[forgotten]"),
    ],
)
def test_a_sentence_that_stands_whole_goes_to_its_end_whatever_others_share_of_it(sentence, text, left):
    words = ErasureWords(sentences=(sentence,), spared=("All tests must run with `--slow` before a release",))
    assert words.remove_from(text) == left


@pytest.mark.parametrize("cut", [WINDOW + REACH, 2 * WINDOW + REACH])
def test_words_that_go_on_behind_the_end_of_a_window_are_other_words(cut):
    words = "the vault code of the lighthouse"
    before = "y " * ((cut - len(words)) // 2)
    assert not WORDS.is_in_text(f"{before}{words}keeper{' z' * WINDOW}")
    assert WORDS.is_in_text(f"{before}{words} keeper{' z' * WINDOW}")


def test_words_go_from_their_first_letter_to_their_last():
    chinese = "金庫的密碼寫在藍色地毯下面"
    assert WORDS.remove_from(SAID) == "[forgotten]"
    assert WORDS.remove_from(f"a. {SAID}. b") == "a. [forgotten]. b"
    assert ErasureWords(sentences=(chinese,)).remove_from(f"昨天他說{chinese}對嗎") == "昨天他說[forgotten]對嗎"


def test_what_is_forgotten_twice_in_a_row_leaves_one_mark_and_two_where_a_word_stands_between():
    assert WORDS.remove_from(f"{SAID}, {SAID}") == "[forgotten]"
    assert WORDS.remove_from(f"{SAID} or {SAID}") == "[forgotten] or [forgotten]"


@pytest.mark.parametrize("before", ["", "\n", "a\n"])
def test_the_first_and_the_last_line_of_words_are_flagged_wherever_they_begin_and_end(before):
    lines = [False] * before.count("\n")
    assert WORDS.flag_lines(f"{before}{SAID}\nb") == [*lines, True, False]
    assert WORDS.flag_lines(f"{before}{SAID.replace(' ', chr(10), 1)}") == [*lines, True, True]


def test_an_excerpt_has_two_hundred_characters_around_the_words_and_begins_where_a_short_text_does():
    assert len(WORDS.excerpt(f"{'y' * 5_000} {SAID} {'z' * 5_000}")) == 200
    assert WORDS.excerpt(f"{SAID} b") == f"{SAID} b"
    assert WORDS.excerpt(f"v{'w' * 5_000}") == f"v{'w' * 399}"
    long = " ".join(["the vault code of the lighthouse is under the mat"] * 6)
    assert ErasureWords(sentences=(long,)).excerpt(f"x {long} y") == long


def test_words_in_base64_are_found_wherever_its_groups_begin():
    for before in ("", "a", "ab", "abc"):
        packed = b64encode(f"{before} {SAID}, he said".encode()).decode()
        assert WORDS.is_in_text(f"payload {packed} end")
        assert "payload" in WORDS.remove_from(f"payload {packed} end")
        assert not WORDS.is_in_text(WORDS.remove_from(f"payload {packed} end"))
    assert not WORDS.is_in_text(f"payload {b64encode(b'something else that was said on another day').decode()} end")


def test_words_in_hexadecimal_digits_or_a_hex_dump_are_found():
    data = f"note: {SAID}, he said".encode()
    rows = (data[at : at + 16] for at in range(0, len(data), 16))
    dump = "\n".join(f"{place * 16:08x}: {row.hex(' ', 2):<39}  {row.decode()}" for place, row in enumerate(rows))
    for written in (data.hex(), data.hex().upper(), dump):
        assert WORDS.is_in_text(f"payload\n{written}\nend")
        left = WORDS.remove_from(f"payload\n{written}\nend")
        assert left.startswith("payload\n")
        assert left.endswith("end")
        assert not WORDS.is_in_text(left)
    assert not WORDS.is_in_text(b"something else that was said on another day".hex())


@pytest.mark.parametrize("space", ["=20", "\\xa0", "\\\\xc2\\\\xa0"])
def test_words_in_the_escapes_of_a_mail_or_a_program_are_found(space):
    written = f"before\n{SAID.replace(' ', space)}\nbehind"
    assert WORDS.is_in_text(written)
    assert WORDS.remove_from(written).startswith("before\n")
    assert not WORDS.is_in_text(WORDS.remove_from(written))


@pytest.mark.parametrize(
    "written", ["K=E4se =FCber der T=FCr", "K=C3=A4se =C3=BCber der T=C3=BCr", "K\\xe4se \\xfcber der T\\xfcr"]
)
def test_letters_with_accents_are_read_in_utf_8_and_in_latin_1(written):
    words = ErasureWords(sentences=("Käse über der Tür",))
    assert words.remove_from(f"der {written} steht") == "der [forgotten] steht"


@pytest.mark.parametrize("line_end", ["\\n", "\n  12: "])
def test_a_number_behind_an_equals_sign_is_read_as_it_is_written(line_end):
    words = ErasureWords(sentences=("upload it with retries=20 from this server",))
    written = f"before upload{line_end}it with{line_end}retries=20{line_end}from this{line_end}server behind"
    assert words.is_in_text(written)
    assert not words.is_in_text(words.remove_from(written))


def test_letters_of_any_alphabet_are_compared():
    words = ErasureWords(sentences=("むかし むかし ある ところに おじいさんが いました",))
    assert words.is_in_text("「むかし むかし ある ところに おじいさんが いました」と")
    assert not words.is_in_text("むかし話")


def test_a_single_letter_or_none_is_nothing_to_look_for():
    for nothing in ("x", "...", "é"):
        words = ErasureWords(sentences=(nothing,))
        assert not words
        assert not words.is_in_text(f"a {nothing} b")
    assert ErasureWords(sentences=("no",)).is_in_text("I said no.")


def test_a_path_counts_as_one_word_of_a_passage():
    assert not ErasureWords(sentences=(), passages=("see src/of/the/oldest/mill.py and all tests",))
    assert ErasureWords(sentences=(), passages=("see src/of/the/oldest/mill.py and all tests too",))


def test_a_run_that_a_longer_word_begins_like_is_found_right_behind_it():
    assert ErasureWords(sentences=("5 5",)).is_in_text("25 5 5")


def test_a_statement_that_is_nearly_the_sentence_spares_nothing_beside_one_that_shares_a_turn_of_phrase():
    sentence = "one grey heron stands in the canal behind the mill"
    words = ErasureWords(sentences=(sentence,), spared=(f"{sentence} today", "one grey heron stands in the mud"))
    assert not words.is_in_text("one grey heron stands in the")
    assert words.is_in_text("grey heron stands in the canal")


def near(sentence, text):
    return list(ErasureWords(sentences=(sentence,)).find_near_copies(text))


def test_a_near_copy_shares_half_of_all_words_and_does_not_hold_the_words_themselves():
    sentence = "grey herons watch canals"
    assert near(sentence, "A start. herons watch grey. An end.") == ["herons watch grey"]
    assert near(sentence, "A start. Grey herons love trains. An end.") == []
    assert near(sentence, "grey herons watch boats, trains") == ["grey herons watch boats, trains"]
    assert near(sentence, "Herons watch. Nothing else") == ["Herons watch"]
    assert near(sentence, f"{sentence}. Nothing else") == []


def test_a_sentence_of_three_words_has_no_near_copies():
    assert near("herons watch canals", "canals watch herons") == []
    assert near("grey herons watch canals", "canals watch grey herons") == ["canals watch grey herons"]


def test_a_sentence_that_is_added_is_looked_for_and_none_changes_nothing():
    assert WORDS.with_sentences(["no pets"]).is_in_text("no pets!")
    assert WORDS.with_sentences([]) is WORDS


def test_equal_blocks_are_unpacked_once():
    words, unpacked = ErasureWords(sentences=(SAID,)), []

    def unpack(packed):
        unpacked.append(packed)
        return packed.decode()

    assert [words.may_be_in_packed(block, unpack) for block in (SAID.encode(), b"other", SAID.encode())] == [True, False, True]
    assert unpacked == [SAID.encode(), b"other"]


def test_a_word_that_another_statement_shares_with_a_passage_stays_and_the_rest_of_the_passage_goes():
    words = ErasureWords(sentences=(), passages=(f"{SAID} today",), spared=("the vault code of the lighthouse is old",))
    assert not words.is_in_text("the vault code of the lighthouse")
    assert words.is_in_text("lighthouse is under the third blue")


def test_tags_escapes_addresses_and_numbered_lines_are_read_together():
    written = "\\n 1 the vault <b>co</b>de \\n 2 of%20the%20lighth\\u006fuse is \\n 3 under the third blue mat"
    assert WORDS.is_in_text(written)


def test_words_that_marks_join_are_words_of_their_own():
    words = ErasureWords(sentences=("grey-heron-stands in-the-canal behind-the mill",))
    assert words.is_in_text("a grey heron stands in the canal")


def test_a_place_is_exact_unless_it_says_otherwise_and_its_id_is_that_of_its_words_however_they_are_written():
    place = ErasureMatch(holder="the store", where="memory 1", text="Herons watch canals.")
    assert not place.near
    assert place.id == ErasureMatch(holder="x", where="y", text="herons  watch canals").id
    assert place.id != ErasureMatch(holder="x", where="y", text="herons watch trains").id
    assert len(bytes.fromhex(place.id)) == 4


@each_case("mark", [chr(code) for code in range(128) if not chr(code).isalnum()])
def test_no_mark_of_ascii_inside_of_words_hides_them(mark):
    assert WORDS.is_in_text(f"the vault co{mark}de of the light{mark}house is under the third blue mat")


def test_characters_whose_bytes_are_like_those_of_marks_are_found():
    words = ErasureWords(sentences=("一座灯塔一直在一个小岛上",))
    assert words.is_in_text("那里一座灯塔一直在一个小岛上吗")
    assert not words.is_in_text("那里一座灯塔一直在一个小镇上吗")


def test_a_sentence_without_spaces_is_cut_into_runs_whatever_marks_stand_in_it():
    words = ErasureWords(sentences=("金庫的密碼，寫在「藍色地毯」下面的盒子裡。",))
    assert words.is_in_text("他說金庫的密碼寫在藍色地毯下嗎")
    assert not words.is_in_text("他說金庫的密碼寫在藍色地毯上嗎")


def test_tags_in_a_sentence_part_its_words():
    words = ErasureWords(sentences=("grey<br>heron stands in the<br>canal<br>behind",))
    assert words.is_in_text("heron stands in the canal behind")


def test_every_run_of_a_very_long_sentence_is_looked_for_and_nothing_else():
    said = [f"word{number}" for number in range(905)]
    words = ErasureWords(sentences=(" ".join(said),))
    for start in (0, 1, 399, 400, 401, 799, 899):
        assert words.may_be_in_text(f"so {' '.join(said[start : start + RUN])} it is")
    assert not words.may_be_in_text(f"so {' '.join(said[7:12])} it is")
    assert not words.may_be_in_text("something else")


def test_what_statements_share_of_a_sentence_goes_where_it_is_more_than_half_together():
    sentence = "one grey heron stands in the canal"
    words = ErasureWords(sentences=(sentence,), spared=("one grey heron stands in the mud", "a grey heron stands in the canal"))
    assert words.is_in_text("one grey heron stands in the")
    assert words.is_in_text("grey heron stands in the canal")


def test_a_short_sentence_is_looked_for_whole():
    words = ErasureWords(sentences=("herons watch grey canals",), spared=("herons watch grey canals at dawn",))
    assert words.is_in_text("so herons watch grey canals")
    assert not words.is_in_text("herons watch grey")
    assert not words.is_in_text("watch grey canals")


def test_a_near_copy_of_any_one_sentence_counts_and_two_fifths_of_the_words_do_not():
    words = ErasureWords(sentences=("grey herons watch canals", "old pilots repair brass lanterns slowly"))
    assert list(words.find_near_copies("pilots  repair brass\tlanterns")) == ["pilots repair brass lanterns"]
    assert list(words.find_near_copies("herons watch grey")) == ["herons watch grey"]
    assert list(words.find_near_copies("Grey herons love")) == []


def test_a_store_is_asked_for_half_of_the_words_of_each_sentence_that_may_have_near_copies():
    words = ErasureWords(sentences=("grey herons watch canals", "no pets", "old pilots repair brass lanterns"))
    assert words.near_queries == (
        (("canals", "grey", "herons", "watch"), 2),
        (("brass", "lanterns", "old", "pilots", "repair"), 3),
    )


@pytest.mark.parametrize("before", ["", "/", "//", "///"])
def test_base64_is_read_wherever_it_begins_behind_letters_that_belong_to_it(before):
    packed = b64encode(f"He said: {SAID}, and left".encode()).decode()
    assert WORDS.is_in_text(f"payload {before}{packed} end")


def test_a_path_is_not_read_as_base64_beside_what_is():
    packed = b64encode(b"the tide is low today and more of it").decode()
    path = "/src/lib/bm/xarchive/notes/files"
    assert not ErasureWords(sentences=("no",)).is_in_text(f"see {path} and {packed}")
    assert ErasureWords(sentences=("low",)).is_in_text(f"see {path} and {packed}")


def test_half_of_a_pair_of_surrogates_and_octets_that_are_no_text_are_nothing():
    for nothing in ("\\ud800", "%FF"):
        assert WORDS.is_in_text(f"{nothing} the vault code of the light{nothing}house is under the third blue mat")


def test_a_text_is_read_once_more_for_each_kind_of_mark_that_it_has():
    def count(text):
        return len(erasure._reading_variants(text))

    assert [count(text) for text in ("plain text, 100 % of it", "2024: all", "a <b> c", "a &amp; c", "a \\n b", "a %20 b")] == [
        *(1, 1, 2, 2, 2, 2)
    ]
    assert [count(text) for text in ("a\n 1 b", "a\n b", "a\\n 1 b", "x" * 24, "f" * 64, "deep/er/than/any/folder/is/now")] == [
        *(2, 1, 3, 2, 1, 1)
    ]


def test_letters_are_located_in_the_windows_that_hold_them_and_a_text_without_them_is_looked_at_once(monkeypatch):
    located, looked = [], []
    locate, look = erasure._locate_letters, ErasureWords.may_be_in_text
    monkeypatch.setattr(erasure, "_locate_letters", lambda text, marks: located.append(text) or locate(text, marks))
    monkeypatch.setattr(ErasureWords, "may_be_in_text", lambda self, text: looked.append(text) or look(self, text))
    assert not WORDS.is_in_text("z " * 3 * WINDOW)
    assert (len(looked), len(located)) == (1, 0)
    assert WORDS.is_in_text(f"{SAID} {'z ' * 3 * WINDOW}")
    assert len(located) == 1


def test_a_run_as_long_as_the_reach_of_a_window_is_found_where_it_begins_at_its_end():
    long = f"a{'b' * (REACH - 3)}c"
    words = ErasureWords(sentences=(long,))
    assert words.is_in_text(f"{'y' * (WINDOW - 2)} {long} {'z ' * WINDOW}")
    assert not words.is_in_text(f"{'y' * (WINDOW - 2)} {long}d {'z ' * WINDOW}")


def test_what_is_forgotten_again_behind_another_word_joins_what_stands_right_behind_it():
    assert WORDS.remove_from(f"{SAID} or {SAID}, {SAID}") == "[forgotten] or [forgotten]"


@each_case("before", [0, 1, WINDOW, 3 * WINDOW])
@each_case("behind", [0, 1, REACH, 3 * WINDOW])
@each_case("said", ["no pets", SAID])
def test_words_are_found_whole_however_many_marks_stand_before_and_behind_them(said, before, behind):
    text = f"a{'-' * before} {said} {'-' * behind}z"
    assert ErasureWords(sentences=(said,)).remove_from(text) == text.replace(said, "[forgotten]")
