"""SQL files of named queries."""

from kept.store.reader import parse_queries


def test_a_query_is_found_by_its_name_without_its_description():
    text = "-- The file.\n\n-- name: one\n-- The first.\nSELECT 1\nFROM a;\n\n-- name: two\nSELECT '{}';\n"
    assert parse_queries(text) == {"one": "SELECT 1\nFROM a;", "two": "SELECT '{}';"}


def test_a_part_stands_in_every_query_that_names_it_and_is_no_query():
    text = "-- part: rows\nSELECT id\nFROM a\n\n-- name: all\n{rows};\n-- name: some\n{rows} WHERE id > :id;\n"
    assert parse_queries(text) == {"all": "SELECT id\nFROM a;", "some": "SELECT id\nFROM a WHERE id > :id;"}
