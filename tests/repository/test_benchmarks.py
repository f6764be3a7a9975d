"""The scripts of measurements can be started: what they import, and what they name in strings, is there."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from kept.pipeline import run

FOLDER = Path(__file__).parents[2] / "benchmarks"
# What a program in a string imports: no linter reads it.
IN_STRINGS = re.compile(r"\bfrom (kept[\w.]*) import (\w+)")


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(FOLDER.parent / "tests"), *sys.path])


@pytest.mark.parametrize("name", sorted(each.stem for each in FOLDER.glob("*.py")))
def test_a_script_of_measurements_finds_all_that_it_names(name, monkeypatch):
    if name == "train_requests":
        pytest.importorskip("jax")
    for module in {each.stem for each in FOLDER.glob("*.py")} & sys.modules.keys():
        monkeypatch.delitem(sys.modules, module)
    script = importlib.import_module(name)
    for part in (*getattr(script, "PARTS", ()), *getattr(script, "STAGES", ())) if name in ("curation", "memory") else ():
        assert hasattr(run, part), part
    for module, member in IN_STRINGS.findall((FOLDER / f"{name}.py").read_text(encoding="utf-8")):
        assert hasattr(importlib.import_module(module), member), f"{module}.{member}"
