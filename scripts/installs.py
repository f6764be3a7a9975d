"""Install a wheel in an empty environment of each available Python, use it there, and print the result and its size.

    python scripts/installs.py dist/kept-*.whl [--python PYTHON …] [--extras web mcp web,mcp …]

It needs a package index for kept's dependencies. ``--extras`` also measures these extras, with the first Python.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

TRIED = ("3.11", "3.12", "3.13", "3.14")
USES = (("--version",), ("run", "--no-llm"), ("search", "parquet"), ("check",))
HEAD = "| installed | Python | what was tried | MB | packages |\n|---|---|---|---|---|"


def list_pythons(env: dict[str, str], user: Path) -> list[Path]:
    """An interpreter of each supported Python version, from the PATH or else from pyenv or uv."""
    places = (user / ".pyenv" / "versions", user / ".local" / "share" / "uv" / "python")
    found = []
    for version in TRIED:
        there = [each for place in places for each in sorted(place.glob(f"*{version}.*/bin/python{version}"))]
        on_path = shutil.which(f"python{version}", path=env.get("PATH", ""))
        runs = (each for each in (*there, Path(on_path or "")) if each.is_file() and _prints(each, "-V").endswith("\n"))
        found += [next(runs, None)]
    return [each for each in found if each]


def install(python: Path, wheel: Path, extras: str, folder: Path) -> Path:
    """Install the wheel in an empty environment and return its interpreter. Raises CalledProcessError."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    made = folder / "bin" / "python"
    wanted = f"{wheel.resolve()}[{extras}]" if extras else str(wheel.resolve())
    subprocess.run([made, "-m", "pip", "--disable-pip-version-check", "-q", "install", wanted], check=True, capture_output=True)
    return made


def use(python: Path, home: Path) -> str:
    """Call kept as a module in an empty home; returns the first call that fails, or an empty text."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("KEPT_", "PYTHON", "CLAUDE"))}
    env |= {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    for words in USES:
        done = subprocess.run([python, "-m", "kept", *words], env=env, cwd=home, capture_output=True, text=True, check=False)
        if done.returncode or not done.stdout.strip():
            return f"kept {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()[-200:]}"
    return ""


def weigh(python: Path) -> tuple[int, int]:
    """The size in megabytes and the number of the packages of an environment, without pip."""
    packages = next((python.parents[1] / "lib").glob("python*")) / "site-packages"
    own = [each for each in packages.iterdir() if not each.name.startswith(("pip", "setuptools", "pkg_resources", "__pycache__"))]
    size = sum(file.stat().st_size for each in own for file in ([each] if each.is_file() else each.rglob("*")) if file.is_file())
    return round(size / 1e6), sum(each.name.endswith(".dist-info") for each in own)


def rows(wheel: Path, pythons: Sequence[Path], extras: Iterable[str]) -> Iterator[str]:
    """The rows of the table, one per environment."""
    for python, extra in [(each, "") for each in pythons] + [(pythons[0], each) for each in extras]:
        with tempfile.TemporaryDirectory() as folder:
            version = _prints(python, "-V").removeprefix("Python ").strip()
            name = f"kept[{extra}]" if extra else "kept"
            try:
                made = install(python, wheel, extra, Path(folder) / "venv")
            except subprocess.CalledProcessError as error:
                yield f"| `{name}` | {version} | not installed: {(error.stderr or b'').decode()[-200:].strip()} | | |"
                continue
            (home := Path(folder) / "home").mkdir()
            failed = use(made, home)
            size, count = weigh(made)
            yield f"| `{name}` | {version} | {failed or 'run, search, check'} | {size} | {count} |"


def _prints(python: Path, *words: str) -> str:
    return subprocess.run([python, *words], capture_output=True, text=True, check=False).stdout


def main() -> None:
    """Print the table row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", type=Path, nargs="*")
    parser.add_argument("--extras", nargs="*", default=())
    asked = parser.parse_args()
    pythons = asked.python or list_pythons(dict(os.environ), Path.home())
    print(HEAD)
    failed = False
    for row in rows(asked.wheel, pythons, asked.extras):
        print(row, flush=True)
        failed |= "run, search, check" not in row
    sys.exit(failed)


if __name__ == "__main__":
    main()
