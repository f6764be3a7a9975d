"""What pages are made of: nothing from elsewhere, nothing inline, and what was taken over is what it was."""

import hashlib
from importlib.resources import files

import pytest

from kept.web.render import asset_url, load_assets

WEB = files("kept.web")
OWN = {
    "kept.css",
    "kept.js",
    "kept.svg",
    "sign_in.js",
    "theme.js",
    "panes.css",
    "graph.css",
    "graph.js",
    "files.js",
    "prompt.js",
    "work.css",
    "settings.js",
    "memories.js",
    "review.js",
}


def test_every_file_taken_over_has_the_hash_it_had(served):
    rows = [line.split("  ", 2) for line in (WEB / "static" / "vendored.txt").read_text().splitlines() if not line.startswith("#")]
    for digest, name, what in rows:
        assert hashlib.sha256((WEB / "static" / name).read_bytes()).hexdigest() == digest, name
        assert "," in what
    assert "htmx.min.js" in {name for _, name, _ in rows}
    assert {each.name for each in (WEB / "static").iterdir()} >= {name for _, name, _ in rows} | OWN


def test_a_file_is_kept_for_good_under_its_hash_and_asked_for_again_without(served):
    status, headers, text = served.ask("GET", asset_url("kept.css"), key=False)
    assert (status, headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in headers["cache-control"]
    assert "--paper" in text
    mark = headers["etag"]
    status, headers, _ = served.ask("GET", "/static/kept.css", key=False, headers={"If-None-Match": mark})
    assert (status, headers["cache-control"]) == (304, "no-cache")
    assert mark.strip('"') == load_assets()["kept.css"].mark


def sources():
    yield from (each for each in (WEB / "templates").iterdir() if each.name.endswith(".html"))
    vendored = {
        line.split("  ")[1] for line in (WEB / "static" / "vendored.txt").read_text().splitlines() if not line.startswith("#")
    }
    yield from (each for each in (WEB / "static").iterdir() if each.name not in vendored | {"vendored.txt"})


@pytest.mark.parametrize("source", tuple(sources()), ids=lambda each: each.name)
def test_no_source_names_another_host_and_no_page_has_script_or_style_in_it(source):
    text = source.read_text().replace("http://www.w3.org/2000/svg", "")
    assert "://" not in text
    if source.name.endswith(".html"):
        for each in (' style="', "<style", " onclick", " onload", "javascript:", "hx-on", "js:", "|safe", "| safe", "hx-vals"):
            assert each not in text, each
        assert all(each.startswith(' src="') for each in text.split("<script")[1:])
