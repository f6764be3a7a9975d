"""Hostile transcripts, runs over them, and the content of a home afterwards."""

import json
import os
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from clock import Clock
from kept.cli import main
from kept.core.memory import Memory, Status
from kept.memories.browse import to_export
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.pipeline.run_report import RunReport
from kept.store.packing import unpack_text
from kept.workspace import Workspace, open_workspace

RULE = "In this project we always write dates as ISO 8601 in UTC, never in local time."
KEPT_OF_RULE = "ISO 8601"
OTHER = "Never use pip in this repo, always use `uv sync` instead."
KEPT_OF_OTHER = "uv sync"
CWD = "/home/u/harbor"
_NUMBERS = count(1)


def record(role, content, **fields):
    """A Claude Code record; a field given as None is left out."""
    number = next(_NUMBERS)
    message = {"role": role, "content": content} | ({"id": f"msg_{number}"} if role == "assistant" else {})
    value = {
        "type": role,
        "uuid": f"00000000-0000-4000-8000-{number:012x}",
        "parentUuid": None,
        "sessionId": "hostile",
        "cwd": CWD,
        "gitBranch": "main",
        "isSidechain": False,
        "userType": "external",
        "version": "2.1.0",
        "timestamp": f"2026-03-{1 + number // 1440 % 28:02}T{number // 60 % 24:02}:{number % 60:02}:00.000Z",
        "message": message,
    }
    return {name: each for name, each in (value | fields).items() if each is not None or name == "parentUuid"}


def human(words, **fields):
    return record("user", words, **fields)


def answer(words, **fields):
    return record("assistant", [{"type": "text", "text": words}], **fields)


def call(command, name="Bash", number="t1", **fields):
    return record("assistant", [{"type": "tool_use", "id": number, "name": name, "input": {"command": command}}], **fields)


def output(content, number="t1", **fields):
    return record("user", [{"type": "tool_result", "tool_use_id": number, "content": content}], **fields)


def lines(*records) -> bytes:
    """Records (or raw bytes), one per line."""
    return b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in records)


def among_friends(*records) -> bytes:
    """Hostile records between two good exchanges."""
    return lines(human(RULE), answer("Done."), *records, human(OTHER), answer("Done."))


@contextmanager
def desk_at(home: Path, zone: str = "UTC") -> Iterator[Workspace]:
    env = {"HOME": str(home), "KEPT_EMBEDDINGS": "hashing"}
    with open_workspace(find_paths(str(home), env), zone=zone, clock=Clock(), env=env) as workspace:
        yield workspace


def run_at(home: Path, *paths: Path, zone: str = "UTC") -> RunReport:
    with desk_at(home, zone) as workspace:
        report = run_pipeline(workspace, paths, RunOptions())
        assert workspace.store.find_damage() == ()
    return report


def sampled(values: Iterable[Any], every: int) -> list[Any]:
    """Values for a test, of which all but each third, fourth, … wait for `make torture`."""
    return [each if not number % every else pytest.param(each, marks=pytest.mark.slow) for number, each in enumerate(values)]


def write(folder: Path, data: bytes, name: str = "hostile.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def with_sections(home: Path) -> None:
    """Write settings that give each project below a home a section in its CLAUDE.md."""
    folder = home / ".config" / "kept"
    (folder / "profiles").mkdir(parents=True)
    text = (files("kept.profiles") / "coding.toml").read_text(encoding="utf-8")
    text = text.replace('id = "coding"', 'id = "sections"', 1).replace("project_section = false", "project_section = true")
    (folder / "profiles" / "sections.toml").write_text(text, encoding="utf-8")
    (folder / "config.toml").write_text('profile = "sections"\n')


def memory_file(home: Path) -> Path:
    return home / ".claude" / "rules" / "memory.md"


def memories(home: Path) -> tuple[Memory, ...]:
    with desk_at(home) as workspace:
        return workspace.store.log.memories()


def remembered(home: Path) -> str:
    """Everything that a model or a person is shown as true: the written files and all active memories."""
    with desk_at(home) as workspace:
        active = [to_export(workspace, each) for each in workspace.store.log.memories() if each.status is Status.ACTIVE]
    texts = [path.read_text(encoding="utf-8") for path in home.rglob("*.md")]
    return "\n".join([*texts, *(json.dumps(each, ensure_ascii=False) for each in active)])


def archived(home: Path) -> str:
    """The text of all archived turns."""
    with closing(sqlite3.connect(f"file:{home}/.local/share/kept/kept.db?mode=ro", uri=True)) as store:
        return "\n".join(unpack_text(body) for (body,) in store.execute("SELECT body FROM blocks"))


def snapshot(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
        if not path.is_symlink()
    }


def bytes_below(home: Path) -> bytes:
    """Everything in a home: file names, the bytes of files raw and decompressed, and for a database all values, also decompressed,
    and all indexed words.
    """
    found = [str(path).encode() for path in home.rglob("*")]
    for path in home.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found += [data, *_unpacked(data)]
            if data.startswith(b"SQLite format 3\0"):
                found += _values(path)
    return b"\n".join(found)


def _unpacked(data: bytes) -> Iterator[bytes]:
    """The content of bytes compressed by zlib or gzip, stream after stream."""
    if data.startswith(b"ids\n"):  # a block, whose ids come first
        data = data[8 + 16 * int.from_bytes(data[4:8], "big") :]
    with suppress(zlib.error):
        while data:
            stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
            yield stream.decompress(data)
            data = stream.unused_data


def _values(path: Path) -> Iterator[bytes]:
    with closing(sqlite3.connect(":memory:")) as copy:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            store.backup(copy)
        tables = [
            name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
        ]
        for table in tables:
            for row in copy.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    yield value if isinstance(value, bytes) else str(value).encode()
                    if isinstance(value, bytes):
                        yield from _unpacked(value)
        indexes = copy.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%USING fts5%'").fetchall()
        for (index,) in indexes:
            copy.execute(f"CREATE VIRTUAL TABLE temp.words_{index} USING fts5vocab('main', '{index}', 'row')")
            for (word,) in copy.execute(f"SELECT term FROM temp.words_{index}"):
                yield word.encode()


def leaked(secret: str, haystack: bytes) -> list[str]:
    """All substrings of 8 characters of a secret that the haystack contains, as written or in lower case.

    Substrings without a digit and in a single case count only if there are no others, because they may be words.
    """
    runs = {secret[at : at + 8] for at in range(len(secret) - 7)} or {secret}
    telling = {each for each in runs if any(map(str.isdigit, each)) or each not in (each.lower(), each.upper())} or runs
    parts = [secret[at : at + 5] for at in range(0, len(secret) - 4, 4)]  # each substring of 8 contains one of them
    there = [each for each in parts if each.encode() in haystack or each.lower().encode() in haystack]
    near = sorted(run for run in telling if any(part in run for part in there))
    return [each for each in near if each.encode() in haystack or each.lower().encode() in haystack]


@dataclass(frozen=True, kw_only=True)
class Result:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def told(self) -> str:
        return self.out + self.err


@cache
def unprivileged() -> tuple[str, ...] | None:
    """The prefix of a command with which file modes apply even if the tests run as root; None if this is not possible."""
    if os.geteuid():
        return ()
    prefix = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--inh-caps=-all")
    try:
        works = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        works = False
    return prefix if works else None


def kept(*arguments, home: Path, env=(), drop=(), prefix: Sequence[str] = (), cwd: Path | None = None, **options) -> Result:
    """Run kept in a separate process; ``drop`` names environment variables that it does not get."""
    full = {**os.environ, "HOME": str(home), "NO_COLOR": "1", "COLUMNS": "300", **dict(env)}
    full = {name: value for name, value in full.items() if name not in ("KEPT_HOME", *drop)}
    command = [*prefix, sys.executable, "-m", "kept", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=full, cwd=cwd or home.parent, **options)
    return Result(code=done.returncode, out=done.stdout, err=done.stderr)


def called(*arguments, home: Path, env=(), drop=(), cwd: Path | None = None) -> Result:
    """Run kept in this process, for tests that do not depend on the start or end of a process; as :func:`kept` otherwise."""
    out, err, code = StringIO(), StringIO(), None
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(cwd or home.parent)
        for name, value in {"HOME": str(home), "NO_COLOR": "1", "COLUMNS": "300", **dict(env)}.items():
            patch.setenv(name, value)
        for name in ("KEPT_HOME", *drop):
            patch.delenv(name, raising=False)
        try:
            main([str(each) for each in arguments])
        except SystemExit as ended:
            code = ended.code
    assert isinstance(code, int)
    return Result(code=code, out=out.getvalue(), err=err.getvalue())


def one_line(result: Result) -> str:
    """The only line that a command printed; fails if there are more."""
    (line,) = result.told.splitlines()
    assert "Traceback" not in line
    return line
