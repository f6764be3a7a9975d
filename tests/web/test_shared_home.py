"""The page of a home whose memory lies on a server."""

import pytest

from conftest import serving
from kept.memories.configure import change_setting
from kept.paths import Paths
from kept.workspace import open_workspace

pytest.importorskip("psycopg")


def test_the_page_shows_and_changes_what_another_machine_shares(home, tmp_path, postgres):
    url = postgres()
    other = tmp_path / "other"
    other.mkdir()
    for folder in (home, other):
        change_setting(Paths(root=folder, user=folder), "store.url", url)
    with serving(home) as page:
        page.add("We deploy with blue-green releases.")
        assert "blue-green" in str(page.ask("GET", "/api/memories")[2])
        with open_workspace(Paths(root=other, user=other)) as workspace:
            workspace.store.refresh()
            assert [memory.content for memory in workspace.store.log.memories()] == ["We deploy with blue-green releases."]
