"""Front matter is read as plain text values, and a block that is not plain is refused whole."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.sources.documents import split_rows
from kept.sources.markdown import NODES_LIMIT, FrontMatter, read_front_matter


def front(text):
    return read_front_matter(split_rows(text.encode(), Path("a.md")))


def block(inner):
    return front(f"---\n{inner}\n---\nbody\n")


def test_no_value_is_given_a_type():
    found = block('norway: no\ntime: 23:52\nday: 2026-01-17\nnumber: 1e3\nnothing: ~\nempty:\nquoted: "a \\"b\\""')
    assert found.values == {
        "norway": "no",
        "time": "23:52",
        "day": "2026-01-17",
        "number": "1e3",
        "nothing": "~",
        "empty": "",
        "quoted": 'a "b"',
    }


def test_names_are_lower_case_lists_are_tuples_and_deeper_structures_are_left_out():
    found = block("Title: T\ntags:\n  - a\n  - b\nflow: [x, y]\nfiles:\n  - Path: p\n    Note: n\nmap: {a: b}\nlast: z")
    assert found.values["title"] == "T"
    assert found.values["tags"] == ("a", "b")
    assert found.values["flow"] == ("x", "y")
    assert found.values["last"] == "z"
    assert "map" not in found.values
    assert "path" not in found.values


def test_a_structure_as_a_key_hides_neither_what_stands_before_it_nor_after_it():
    found = block("a: 1\n? [complex]\n: {x: y}\n? {m: n}\n: value\nb: 2")
    assert found.values == {"a": "1", "b": "2"}


def test_only_a_block_in_the_first_byte_counts():
    assert front("\n---\na: 1\n---\n") == FrontMatter()
    assert front("text\n---\na: 1\n---\n") == FrontMatter()
    assert front("\ufeff---\na: 1\n---\n").values == {"a": "1"}
    assert front("---\ra: 1\r---\rbody\r").values == {"a": "1"}


@each_case(
    ("inner", "fault"),
    [
        ("a: &x [1]\nb: *x", "alias"),
        ('a: !!python/object/apply:os.system ["true"]', "tag"),
        ("a: !thing b", "tag"),
        ("author: me\nAuthor: you", "duplicate-key"),
        ("a: [1, 2", "not-yaml"),
        ("title: one: two", "not-yaml"),
        ("a: " + "[" * 40 + "]" * 40, "nested-too-deep"),
        ("a: [" + "1, " * (NODES_LIMIT + 1) + "]", "too-many-values"),
        ('a: "\\UFFFFFFFF"', "not-yaml"),
    ],
)
def test_a_block_that_is_not_plain_is_refused_whole_and_says_why(inner, fault):
    found = block(inner)
    assert (found.values, found.fault) == ({}, fault)
    assert found.fault_counts() == {f"front-matter:{fault}": 1}
    assert found.rows > 0


def test_a_block_without_end_is_text_whose_fields_still_count():
    found = front("---\nauthor: Ada\nno field\nagent: x\n")
    assert (found.rows, found.values, found.fault) == (0, {"author": "Ada"}, "unclosed")
    assert front("---\n" + "a" * 70_000 + "\n---\n").fault == "too-long"


def test_an_alias_bomb_costs_nothing():
    levels = "\n".join(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]" for n in range(1, 30))
    assert block("k0: &k0 [x]\n" + levels).fault == "alias"


@given(st.text(alphabet=st.sampled_from(list("ab:-? {}[]&*!'\"|>\n#~%@`,\t\\0é\u2028")), max_size=200))
def test_no_text_raises(text):
    found = block(text)
    assert all(isinstance(value, str | tuple) for value in found.values.values())
