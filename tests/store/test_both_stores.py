"""Which tests that open a store do so for each kind of store, and which for one kind alone, and why.

``pytest tests/store --collect-only`` lists every test with the kind it runs on.
"""

import ast
from pathlib import Path

BOTH = frozenset({"store", "open_at", "opened", "kind"})  # fixtures of tests that run on each kind
FILES = {
    "test_both_stores.py": "a test of the tests",
    "test_database.py": "a file and its connection, whatever its rows mean",
    "test_backups.py": "files beside a store",
    "test_log.py": "what rows hold and say; a replica makes and reads its rows by the same code",
    "test_threads.py": "what a thread is follows from its events, without a store",
    "test_owners.py": "what only a server has: owners, several machines, faults and kills",
    "test_server_kills.py": "kills of the server",
    "test_shared_store.py": "homes that move to a server and back, and that take part in one memory",
}
_OLDER = "a file of an older format; of a server the rows are sent anew (test_shared_store.py)"
ALONE = {
    "test_what_was_said_is_found_after_migrating_whoever_said_it": _OLDER,
    "test_migrating_an_older_store_gives_the_newest_schema_and_loses_nothing": _OLDER,
    "test_a_migration_is_preceded_by_a_backup_in_the_old_format": _OLDER,
    "test_a_migration_that_fails_leaves_the_store_as_it_was": _OLDER,
    "test_a_store_is_not_migrated_where_no_backup_can_be_made": _OLDER,
}


def test_every_test_that_opens_a_store_does_so_for_each_kind_or_is_named_here_with_the_reason():
    alone = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body if path.name not in FILES else ():
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                opens = "SqliteStore(" in (ast.get_source_segment(text, node) or "")
                if opens and not BOTH & {argument.arg for argument in node.args.args}:
                    alone.add(node.name)
    assert alone == set(ALONE)
