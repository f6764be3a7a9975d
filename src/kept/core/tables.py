"""Tables in TOML files that are part of the program.

Parsing TOML takes fifty times as long as loading byte code, and the lexicons alone are 190 KB. So a table is compiled as a literal,
and Python caches its byte code in ``__pycache__`` as it does for modules, if it may write there.
"""

import tomllib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any
from zlib import crc32

_CACHED_AS = ".table"  # replaced in the name of the cached file, so that ``words.toml`` and ``words.py`` have different ones


class _TableLoader(SourceFileLoader):
    """Compiles a TOML file. The cached byte code is valid for the bytes of the file, whatever its time is."""

    def path_stats(self, path: str) -> dict[str, int]:
        source = self.get_data(path)
        return {"mtime": crc32(source), "size": len(source)}

    def get_data(self, path: str) -> bytes:
        return super().get_data(path.removesuffix(_CACHED_AS))

    def source_to_code(self, data: bytes, path: str, *, _optimization: int = -1) -> CodeType:  # type: ignore[override]
        return compile(repr(tomllib.loads(data.decode())), path, "eval")


def load_table(path: Path) -> dict[str, Any]:
    """The content of a TOML file of the program. Raises TOMLDecodeError or OSError."""
    code: Any = _TableLoader(path.name, f"{path}{_CACHED_AS}").get_code(path.name)
    table: dict[str, Any] = eval(code)  # noqa: S307 - a literal
    return table
