"""The rows of one owner in PostgreSQL, through a connection with that owner's role.

Knows tables, keys and versions, but not the meaning of rows.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict

from kept.core.codec import to_canonical_json
from kept.core.errors import StoreError, UnreachableError
from kept.store.database import FORMAT
from kept.store.postgres import Found, Head, Key, Row, SharedLine, Table

_FILES = files("kept.store.postgres")
_NEWEST = 6  # number of the last migration
_LOCK = 7_225_608_014  # id of the advisory lock, under which one process at a time creates or migrates the schema
_ROWS, _BYTES = 2_000, 8 * 2**20  # maximum rows, and approximate maximum bytes, of a statement
_KINDS = {"INTEGER": "bigint", "TEXT": "text", "BLOB": "bytea"}
_ESCAPE = "\U0010ffff"  # a noncharacter that escapes NUL
_GONE = "the server went away"
_NO_NEAR = "SELECT NULL::bigint AS memory, NULL::float8 AS cosine, false AS half WHERE false"
_HEAD = "SELECT store, version, base, format FROM kept.owners WHERE role = current_user"


class PostgresServer:
    """A connection to PostgreSQL with an owner's role. If ``create``, it creates a missing schema.

    Raises StoreError if the server, database or role does not exist, or if there is no schema or one of a newer version.
    """

    def __init__(self, url: str, *, create: bool = False) -> None:
        self.where = describe_url(url)
        with self._explain_errors():
            self._connection: Any = psycopg.connect(
                url, autocommit=True, connect_timeout=10, application_name="kept", prepare_threshold=2
            )
        try:
            with self._explain_errors():
                self._connection.execute("SET lock_timeout = '30s'; SET client_min_messages = warning")
                self._prepare(create=create)
        except BaseException:
            self.close()
            raise

    def _prepare(self, *, create: bool) -> None:
        version = self._version()
        if not version and not create:
            raise StoreError("this database contains no store of kept", where=self.where, hint="make it one: kept migrate --to URL")
        if version > _NEWEST:
            raise StoreError("the tables on the server are from a newer kept", where=self.where, hint="install a newer kept")
        if create or version < _NEWEST:
            with self._connection.transaction():
                self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                for number in range(self._version() + 1, _NEWEST + 1):  # another process may have migrated it
                    self._connection.execute(_read(f"migrations/{number}.sql"))
                    self._connection.execute("INSERT INTO kept.migrations (version) VALUES (%s)", (number,))
                if create:
                    self._connection.execute(_read("vectors.sql"))

    def _version(self) -> int:
        """The number of the last applied migration; 0 if kept has no tables in this database."""
        there = self._connection.execute("SELECT to_regclass('kept.migrations') IS NOT NULL").fetchone()[0]
        return int(self._connection.execute("SELECT max(version) FROM kept.migrations").fetchone()[0]) if there else 0

    @property
    def owner(self) -> str:
        """The role that owns the rows."""
        with self._explain_errors():
            return str(self._connection.execute("SELECT current_user").fetchone()[0])

    @property
    def sees_all(self) -> bool:
        """True if row-level security does not apply to this role, because it is an administrator's and not an owner's."""
        query = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
        with self._explain_errors():
            return bool(self._connection.execute(query).fetchone()[0])

    @property
    def is_lost(self) -> bool:
        """True if the connection ended without :meth:`close`, for example because the server restarted."""
        return bool(self._connection.broken)

    def lock(self) -> Head:
        """Begin a write transaction. It excludes other writers of this owner's rows until :meth:`commit` or :meth:`rollback`."""
        with self._explain_errors():
            self._connection.execute("BEGIN")
            row = self._connection.execute(f"{_HEAD} FOR UPDATE").fetchone()
            if row is None:
                self._connection.execute(
                    "INSERT INTO kept.owners (store, format, version, base) VALUES ('', %s, 0, 0) ON CONFLICT DO NOTHING", (FORMAT,)
                )
                row = self._connection.execute(f"{_HEAD} FOR UPDATE").fetchone()
        return self._head(row, renews=True)

    def look(self) -> Head:
        """Begin a read transaction, with a consistent view of the rows until :meth:`rollback`."""
        with self._explain_errors():
            self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return self._head(self._connection.execute(_HEAD).fetchone())

    def _head(self, row: Any, *, renews: bool = False) -> Head:
        if row is None:
            return Head()
        store, version, base, form = row
        if form > FORMAT or (form < FORMAT and not renews):
            self.rollback()
            which, hint = ("a newer", "install a newer kept") if form > FORMAT else ("an older", "kept run renews them")
            raise StoreError(f"the rows on the server are of {which} kept (format {form})", where=self.where, hint=hint)
        return Head(store=store, version=version, base=base, outdated=bool(store) and form < FORMAT)

    def changed(self, tables: Sequence[Table], since: int) -> Collection[str]:
        """The names of the tables with rows that were changed or deleted after a version."""
        with self._explain_errors():
            return {row[0] for row in self._connection.execute(_changed(tuple(tables)), {"since": since}).fetchall()}

    def rows(self, table: Table, since: int) -> Iterator[Row]:
        """The rows of a table that were changed after a version, one at a time, in the order of their keys."""
        with self._explain_errors(), self._connection.cursor(name="rows", binary=True) as cursor:
            cursor.itersize = 500
            cursor.execute(_select(table), (since,))
            yield from (tuple(map(_unescape, row)) for row in cursor)

    def gone(self, table: Table, since: int) -> Sequence[Key]:
        """The keys of the rows of a table that were deleted after a version."""
        query = "SELECT key::json FROM kept.gone AS g WHERE role = current_user AND name = %s AND version > %s ORDER BY g.key"
        with self._explain_errors():
            return [row[0] for row in self._connection.execute(query, (table.name, since)).fetchall()]

    def put(self, table: Table, rows: Sequence[Row], version: int) -> None:
        """Insert rows, which replace rows with the same keys."""
        with self._explain_errors():
            for some in _portions(rows):
                self._connection.execute(_upsert(table), (version, *_columns(some)))

    def drop(self, table: Table, keys: Sequence[Key], version: int) -> None:
        """Delete the rows with these keys."""
        note = (
            "INSERT INTO kept.gone (name, key, version) SELECT %s, key, %s FROM unnest(%s::text[]) AS key"
            " ON CONFLICT (role, name, key) DO UPDATE SET version = excluded.version"
        )
        with self._explain_errors():
            for some in _portions(keys):
                self._connection.execute(_delete(table), _columns(some))
                self._connection.execute(note, (table.name, version, [to_canonical_json(list(key)) for key in some]))

    def clear(self, *, shared: bool = True) -> None:
        """Delete all rows of this owner and the head. If ``shared``, also delete the lines shared with teams."""
        tables = "SELECT table_name FROM information_schema.columns WHERE table_schema = 'kept' AND column_name = 'role'"
        with self._explain_errors():
            for row in self._connection.execute(tables).fetchall():
                self._connection.execute(sql.SQL("DELETE FROM kept.{} WHERE role = current_user").format(sql.Identifier(row[0])))
            if shared:
                self._connection.execute("DELETE FROM kept.shared WHERE owner = current_user")

    def shared(self, team: str) -> list[SharedLine]:
        """The lines that members of a team's role share, by owner and time. Empty if this role is not a member."""
        query = "SELECT owner, id, category, content, quote, at FROM kept.shared WHERE team = %s ORDER BY owner, at, id"
        names = ("owner", "id", "category", "content", "quote", "at")
        with self._explain_errors():
            rows = self._connection.execute(query, (team,)).fetchall()
        return [SharedLine(**dict(zip(names, map(_unescape, row), strict=True))) for row in rows]

    def share(self, team: str, lines: Sequence[SharedLine]) -> None:
        """Share these lines with a team. They replace all lines that this owner shared with it before."""
        rows = [tuple(map(_escape, (team, line.id, line.category, line.content, line.quote, line.at))) for line in lines]
        query = (
            "INSERT INTO kept.shared (team, id, category, content, quote, at) VALUES (%s, %s, %s, %s, %s, %s)"
            " ON CONFLICT (team, owner, id) DO UPDATE SET category = excluded.category, content = excluded.content,"
            " quote = excluded.quote, at = excluded.at"
        )
        gone = "DELETE FROM kept.shared WHERE owner = current_user AND team = %s AND id <> ALL(%s)"
        with self._explain_errors(), self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(gone, (team, [line.id for line in lines]))
            cursor.executemany(query, rows)

    @property
    def has_vectors(self) -> bool:
        """True if the server stores vectors, because it has pgvector."""
        with self._explain_errors():
            return bool(self._connection.execute("SELECT to_regclass('kept.vectors') IS NOT NULL").fetchone()[0])

    def memories_without_vector(self, model: str) -> Sequence[tuple[int, int, str]]:
        """The memories without a vector of ``model``: number, checksum and body of each."""
        query = (
            "SELECT rowid, checksum, body FROM kept.memories AS m WHERE role = current_user AND NOT EXISTS"
            " (SELECT FROM kept.vectors AS v WHERE v.role = m.role AND v.memory = m.rowid AND v.model = %s)"
        )
        with self._explain_errors():
            return [
                (number, known, _unescape(body)) for number, known, body in self._connection.execute(query, (model,)).fetchall()
            ]

    def put_vectors(self, model: str, vectors: Sequence[tuple[int, int, Sequence[float]]]) -> None:
        """Store the vectors of memories, given as (number, checksum, vector). Skips memories whose checksum has changed."""
        query = (
            "INSERT INTO kept.vectors (memory, model, vector) SELECT rowid, %s, v::halfvec"
            " FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS t (number, known, v)"
            " JOIN kept.memories ON role = current_user AND rowid = number AND checksum = known"
            " ON CONFLICT (role, memory) DO UPDATE SET model = excluded.model, vector = excluded.vector"
        )
        with self._explain_errors():
            for some in _portions([(number, known, _vector(vector)) for number, known, vector in vectors]):
                self._connection.execute(query, (model, *_columns(some)))

    def search_rows(self, question: str, model: str, vector: Sequence[float], most: int) -> Sequence[Found]:
        """At most ``most`` rows with any of a question's words, and the hundred rows nearest to ``vector`` (none if it is empty).

        The caller must check the checksums of memories.
        """
        near, size = _read("near.sql") if len(vector) and self.has_vectors else _NO_NEAR, str(len(vector))
        query = _read("search.sql").replace("{near}", near.replace("{size}", size))
        values = {"question": _escape(question), "model": model, "vector": _vector(vector), "most": most}
        with self._explain_errors(), self._connection.transaction():
            if near is not _NO_NEAR:
                self._connection.execute("SET LOCAL hnsw.ef_search = 100; SET LOCAL hnsw.iterative_scan = strict_order")
            return [Found._make(map(_unescape, row)) for row in self._connection.execute(query, values).fetchall()]

    def commit(self, head: Head) -> None:
        """Commit everything written since :meth:`lock` atomically, with this head."""
        query = (
            "INSERT INTO kept.owners (store, format, version, base) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (role) DO UPDATE SET store = excluded.store, version = excluded.version, base = excluded.base"
        )
        with self._explain_errors():
            if head.store:
                self._connection.execute(query, (head.store, FORMAT, head.version, head.base))
            self._connection.execute("COMMIT")

    def rollback(self) -> None:
        """Roll back everything written since :meth:`lock`, and release the lock. Never raises."""
        with suppress(psycopg.Error):
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection. Never raises."""
        with suppress(psycopg.Error):
            self._connection.close()

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise _to_store_error(error, self.where) from error


def describe_url(url: str) -> str:
    """Role, host and database of a PostgreSQL URL for messages, without the password. Raises StoreError for other URLs."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error as error:
        raise StoreError(f"store.url is not an address of PostgreSQL: {error}", hint="postgresql://ROLE@HOST/DATABASE") from error
    return f"{parts.get('user', '')}@{parts.get('host', '')}/{parts.get('dbname', '')}"


@cache
def _changed(tables: tuple[Table, ...]) -> bytes:
    parts = (
        sql.SQL("SELECT {} WHERE EXISTS (SELECT 1 FROM kept.{} WHERE role = current_user AND version > %(since)s)").format(
            sql.Literal(table.name), sql.Identifier(table.name)
        )
        for table in tables
    )
    gone = sql.SQL("SELECT DISTINCT name FROM kept.gone WHERE role = current_user AND version > %(since)s")
    return _to_bytes(sql.SQL(" UNION ALL ").join((*parts, gone)))


@cache
def _select(table: Table) -> bytes:
    query = sql.SQL("SELECT {} FROM kept.{} WHERE role = current_user AND version > %s ORDER BY {}")
    return _to_bytes(query.format(_names(table.names), sql.Identifier(table.name), _names(table.key)))


@cache
def _upsert(table: Table) -> bytes:
    others = [name for name in (*table.names, "version") if name not in table.key]
    query = sql.SQL(
        "INSERT INTO kept.{table} (role, version, {names}) SELECT current_user, %s, * FROM unnest({values})"
        " ON CONFLICT (role, {key}) DO UPDATE SET {changed}"
    )
    changed = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in others)
    names, key, values = _names(table.names), _names(table.key), _arrays(table, table.names)
    return _to_bytes(query.format(table=sql.Identifier(table.name), names=names, values=values, key=key, changed=changed))


@cache
def _delete(table: Table) -> bytes:
    query = sql.SQL("DELETE FROM kept.{} WHERE role = current_user AND ({}) IN (SELECT * FROM unnest({}))")
    return _to_bytes(query.format(sql.Identifier(table.name), _names(table.key), _arrays(table, table.key)))


def _to_bytes(query: sql.Composed) -> bytes:
    made: bytes = query.as_bytes(None)
    return made


@cache
def _read(name: str) -> str:
    return _FILES.joinpath(name).read_text(encoding="utf-8")


def _vector(values: Sequence[float]) -> str:
    return f"[{','.join(f'{value:.4g}' for value in values)}]"


def _names(names: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _arrays(table: Table, names: Sequence[str]) -> sql.Composed:
    """A typed array placeholder for each of these columns."""
    kinds = dict(table.columns)
    return sql.SQL(", ").join(sql.SQL(f"%b::{_KINDS[kinds[name]]}[]") for name in names)


def _columns(rows: Sequence[Row]) -> tuple[list[Any], ...]:
    """The values of rows by column, escaped."""
    return tuple(list(map(_escape, column)) for column in zip(*rows, strict=True))


def _escape(value: Any) -> Any:
    """A value with NUL escaped, because transcripts may contain NUL and PostgreSQL texts may not."""
    if isinstance(value, str) and ("\0" in value or _ESCAPE in value):
        return value.replace(_ESCAPE, f"{_ESCAPE}1").replace("\0", f"{_ESCAPE}0")
    return value


def _unescape(value: Any) -> Any:
    if isinstance(value, str) and _ESCAPE in value:
        return value.replace(f"{_ESCAPE}0", "\0").replace(f"{_ESCAPE}1", _ESCAPE)
    return value


def _portions(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Split rows into portions that one statement can take."""
    rest = iter(rows)
    while some := list(islice(rest, _ROWS)):
        size = sum(len(value) for row in some for value in row if isinstance(value, bytes | str))
        step = max(1, len(some) * _BYTES // max(size, 1))
        yield from (some[start : start + step] for start in range(0, len(some), step))


def _to_store_error(error: psycopg.Error, where: str) -> StoreError:
    text = str(error).strip().partition("\n")[0]
    match error:
        case errors.DiskFull():
            what, hint = "the server's disk is full", "ask its administrator; nothing was changed"
        case errors.LockNotAvailable():
            what, hint = "another process kept these rows locked for 30 seconds", "run again when it has finished"
        case errors.InsufficientPrivilege():
            what, hint = f"the server does not allow it: {text}", "ask its administrator (docs/team.md)"
        case errors.ReadOnlySqlTransaction():
            what, hint = "the server is read-only", "name the primary one in store.url"
        case errors.OperationalError() if error.sqlstate is None:
            hint = "memories can still be read; run again when the server is back"
            return UnreachableError(f"the server cannot be reached: {text}", where=where, hint=hint)
        case errors.OperationalError():
            what, hint = f"{_GONE}: {text}", "run again; unconfirmed changes are repeated"
        case _:
            what, hint = f"the server answered: {text}", "run `kept check`"
    return StoreError(what, where=where, hint=hint)
