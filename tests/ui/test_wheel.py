"""The wheel: everything that the package reads while it runs is in it, and what is installed from it works."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from kept.recall.embed import MANY_PACK, PACK

hatchling = pytest.importorskip("hatchling.builders.wheel")

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "kept"
MADE = {"__pycache__", ".mypy_cache", ".ruff_cache"}


def test_the_wheel_holds_every_file_of_the_package():
    there = {
        each.relative_to(ROOT / "src").as_posix()
        for each in PACKAGE.rglob("*")
        if each.is_file() and each not in (PACK, MANY_PACK) and not MADE & set(each.parts)
    }
    held = {each.distribution_path for each in hatchling.WheelBuilder(str(ROOT)).recurse_included_files()}
    assert there - held == set()
    kinds = {Path(each).suffix for each in held}
    assert {".sql", ".toml", ".md", ".jsonl", ".html", ".css", ".js", ".typed"} <= kinds


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of programs of a fresh environment with kept from a built wheel; what kept needs comes from this environment."""
    if not (PACK.exists() and MANY_PACK.exists()):
        pytest.skip("the model's pack was not made here (make run)")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True, capture_output=True
    )
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "-q", "install", "--no-index", "--no-deps", wheel], check=True, capture_output=True)
    packages = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
    (packages / "others.pth").write_text("".join(f"{each}\n" for each in sys.path if each.endswith("-packages")))
    return folder / "venv" / "bin"


@pytest.mark.slow
def test_what_is_installed_from_the_wheel_runs_searches_and_serves(installed, tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("KEPT_", "PYTHON"))}
    env |= {"HOME": str(tmp_path), "COLUMNS": "120"}

    def kept(*words):
        done = subprocess.run([installed / "kept", *words], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (sample,) = installed.parent.rglob("kept/sample/projects")  # what is read is in the wheel, too
    where = subprocess.run(
        [installed / "python", "-c", "import kept; print(kept.__file__)"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(installed.parent) in where.stdout
    assert json.loads(kept("run", "--no-llm", "--json", str(sample)))["sessions"] > 0
    assert "MiniLM" in (status := kept("status"))  # the models came with the wheel
    assert "universal" in status
    assert json.loads(kept("search", "parquet", "--json"))["hits"]
    assert "streamable" in kept("mcp", "--help").lower() or "--http" in kept("mcp", "--help")
    assert "extraction" in kept("prompt", "show").lower()
