"""Which tests of the store hold for each kind of store, and which are of one kind alone, and why.

``pytest tests/store --collect-only`` lists every test with the kind it runs on.
"""

import ast
from pathlib import Path

BOTH = frozenset({"store", "open_at", "opened", "kind"})  # fixtures of tests that run on each kind
FILES = {
    "test_both_stores.py": "a test of the tests",
    "test_threads.py": "what a thread is follows from its events, without a store",
    "test_owners.py": "what only a server has: owners, several machines, faults and kills",
    "test_server_kills.py": "kills of the server",
    "test_shared_store.py": "homes that move to a server and back, and that take part in one memory",
}
ALONE = {
    "test_a_statement_file_names_each_statement_once": "the text of a file",
    "test_what_was_said_is_found_after_migrating_whoever_said_it": "a file of an older format; a server gets its rows anew",
    "test_migrating_an_older_store_gives_the_newest_schema_and_loses_nothing": "the same; test_shared_store.py has the server",
    "test_a_migration_is_preceded_by_a_backup_in_the_old_format": "the same",
    "test_a_migration_that_fails_leaves_the_store_as_it_was": "the same",
    "test_a_store_is_not_migrated_where_no_backup_can_be_made": "the same",
    "test_lines_appended_to_a_spool_are_taken_once_and_never_torn": "files of hooks, without a store",
    "test_the_log_of_the_hooks_is_bounded_and_keeps_the_newest": "the same",
    "test_the_hooks_know_where_the_store_lies": "a path",
}


def test_every_test_of_the_store_runs_on_each_kind_of_store_or_is_named_here_with_the_reason():
    alone = {
        node.name
        for path in Path(__file__).parent.glob("test_*.py")
        if path.name not in FILES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if not BOTH & {argument.arg for argument in node.args.args}
    }
    assert alone == set(ALONE)
