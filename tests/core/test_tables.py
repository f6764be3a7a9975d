"""Tables of the program: what is cached is what the file says."""

import os
import sys
from pathlib import Path

import pytest

import kept
from cases import each_case
from kept.core.codec import load_table

SHIPPED = sorted(Path(kept.__file__).parent.rglob("*.toml"))


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    path = tmp_path / "words.toml"
    path.write_text("words = 'one two'", encoding="utf-8")
    return path


def test_a_table_is_read_from_its_cached_code(table, monkeypatch):
    assert load_table(table) == {"words": "one two"}
    monkeypatch.setattr("kept.core.codec.tomllib", None)
    assert load_table(table) == {"words": "one two"}


def test_a_table_that_changed_is_read_anew_though_its_size_and_time_are_the_same(table):
    load_table(table)
    before = table.stat()
    table.write_text("words = 'one six'", encoding="utf-8")
    os.utime(table, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load_table(table) == {"words": "one six"}


def test_the_cached_code_of_a_table_is_not_that_of_a_module_beside_it(table):
    load_table(table)
    assert [path.name for path in table.parent.joinpath("__pycache__").iterdir()] == [
        f"words.toml.{sys.implementation.cache_tag}.pyc"
    ]


@each_case("path", SHIPPED)
def test_every_table_of_the_program_can_be_compiled(path):
    assert load_table(path)
