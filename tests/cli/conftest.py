"""A home after one run, made once for each module and copied for each test."""

import pytest

from cli_world import run_once
from prepared import Prepared


@pytest.fixture(scope="module")
def made_by_one_run(tmp_path_factory):
    return Prepared(tmp_path_factory, run_once)


@pytest.fixture
def ran(made_by_one_run, monkeypatch):
    """A home after one run over one session."""
    return made_by_one_run.again(monkeypatch)
