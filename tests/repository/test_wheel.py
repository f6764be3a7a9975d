"""What is built and installed: the wheel holds everything that the package reads, two builds are equal, what is installed works."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tarfile
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


@pytest.mark.slow
def test_importing_any_module_reaches_for_no_network_and_starts_no_program():
    program = """
import importlib, pkgutil, sys
import kept
def refuse(event, args):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto", "subprocess.Popen", "os.exec", "os.fork"}:
        raise SystemExit(f"{event} {args}")
sys.addaudithook(refuse)
count = 0
for each in pkgutil.walk_packages(kept.__path__, "kept."):
    if not each.name.endswith("__main__"):
        try:
            importlib.import_module(each.name)
            count += 1
        except ModuleNotFoundError as error:
            assert not error.name.startswith("kept"), error  # a framework that is not installed
print(count)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300


def test_the_bill_of_materials_names_every_pinned_package_the_models_and_the_scripts_of_the_page():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "sbom.py"], capture_output=True, text=True, check=True)
    components = json.loads(done.stdout)["components"]
    named = {f"{each['name']}=={each['version']}" for each in components}
    files = (ROOT / "requirements.txt", ROOT / "requirements-model.txt")
    pinned = {each for file in files for each in re.findall(r"^[\w.-]+==[^\s;]+", file.read_text(encoding="utf-8"), re.MULTILINE)}
    assert named - pinned == {"htmx.org==4.0.1", "cytoscape==3.34.4"}
    assert pinned - named == set()
    assert all(each["hashes"] for each in components)


def installs():
    spec = importlib.util.spec_from_file_location("installs", ROOT / "scripts" / "installs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_interpreter_of_each_version_that_kept_is_for_is_tried(tmp_path):
    for version in ("3.10.1", "3.12.1", "3.13.0"):
        python = tmp_path / ".pyenv" / "versions" / version / "bin" / f"python{version.rpartition('.')[0]}"
        python.parent.mkdir(parents=True)
        python.write_text(f"#!/bin/sh\necho Python {version}\n")
        python.chmod(0o755)
    assert [each.name for each in installs().list_pythons({}, tmp_path)] == ["python3.12", "python3.13"]


def test_an_environment_weighs_what_was_installed_pip_aside(tmp_path):
    packages = tmp_path / "lib" / "python3.12" / "site-packages"
    for name, size in (("kept/model.pack", 3_000_000), ("kept-0.1.0.dist-info/RECORD", 10), ("pip/big", 9_000_000), ("one.py", 10)):
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_bytes(bytes(size))
    assert installs().weigh(tmp_path / "bin" / "python") == (3, 1)


def test_what_is_installed_is_used_as_a_module_and_the_first_call_that_fails_is_named(tmp_path):
    python = tmp_path / "python"
    for fails, expected in (("search", "kept search parquet: exit 3: no such thing"), ("nothing", "")):
        python.write_text(f'#!/bin/sh\necho "$3"\nif [ "$3" = {fails} ]; then echo no such thing >&2; exit 3; fi\n')
        python.chmod(0o755)
        assert installs().use(python, tmp_path) == expected


def build(folder, *, root=ROOT, **env):
    """What is built in a folder: the sdist and the wheel."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder],
        cwd=root,
        env={**os.environ, **env},
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist and the wheel of this checkout."""
    if not (PACK.exists() and MANY_PACK.exists()):
        pytest.skip("the model's pack was not made here (make run)")
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def installed(built):
    """The folder of programs of a fresh environment with kept from a built wheel; what kept needs comes from this environment."""
    _, wheel = built
    folder = wheel.parent
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "-q", "install", "--no-index", "--no-deps", wheel], check=True, capture_output=True)
    packages = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
    (packages / "others.pth").write_text("".join(f"{each}\n" for each in sys.path if each.endswith("-packages")))
    return folder / "venv" / "bin"


@pytest.mark.slow
def test_a_build_from_the_unpacked_sdist_is_the_same_byte_for_byte(built, tmp_path):
    with tarfile.open(built[0]) as packed:
        packed.extractall(tmp_path, filter="data")
    (root,) = tmp_path.iterdir()
    (root / "PKG-INFO").unlink()  # the build's own; no checkout has it
    before = os.umask(0o077)
    try:
        again = build(tmp_path / "again", root=root, TZ="Asia/Tokyo", LC_ALL="C", PYTHONHASHSEED="7")
    finally:
        os.umask(before)
    assert [each.read_bytes() == other.read_bytes() for each, other in zip(built, again, strict=True)] == [True, True]


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
    for command in ([installed / "kept"], [installed / "python", "-m", "kept"]):
        assert subprocess.run([*command, "--version"], env=env, capture_output=True, text=True, check=True).stdout.startswith(
            "kept "
        )
    assert json.loads(kept("run", "--no-llm", "--json", str(sample)))["sessions"] > 0
    assert "MiniLM" in (status := kept("status"))  # the models came with the wheel
    assert "universal" in status
    assert json.loads(kept("search", "parquet", "--json"))["hits"]
    assert "streamable" in kept("mcp", "--help").lower() or "--http" in kept("mcp", "--help")
    assert "extraction" in kept("prompt", "show").lower()


@pytest.mark.slow
def test_uninstalling_leaves_nothing_of_the_package(installed, tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("KEPT_", "PYTHON"))} | {"HOME": str(tmp_path)}
    subprocess.run([installed / "kept", "run", "--sample", "--no-llm"], env=env, cwd=tmp_path, capture_output=True, check=False)
    (package,) = installed.parent.glob("lib/*/site-packages/kept")
    assert list(package.rglob("*.toml.*.pyc")) != []
    pip = [installed / "python", "-m", "pip", "-q", "uninstall", "-y", "kept"]
    subprocess.run(pip, env=env, check=True, capture_output=True)
    assert [each.name for each in package.rglob("*")] == []
