"""The documentation site: its reference pages are those of the code, its examples run, every page is reached."""

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

from cli_world import kept
from kept.local.settings import load_settings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = [
    page for page in sorted(DOCS.rglob("*.md")) if "\n$ kept " in page.read_text(encoding="utf-8") and page.name != "log.md"
]


def generator():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = generator()


@pytest.mark.parametrize("name", GENERATE.PAGES)
def test_a_reference_page_is_what_the_code_says(name):
    assert (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8") == GENERATE.page(name), "python docs/generate.py"


def fits(shown: str, printed: str) -> bool:
    """True if what a page shows is what was printed. An ellipsis stands for anything; on a line of its own for any lines."""
    lines = [r"(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in shown.splitlines()]
    return re.fullmatch("".join(lines), printed) is not None


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_what_a_page_shows_is_what_its_commands_print(page, home, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("KEPT_HOME", "")
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for call, shown in re.findall(r"^\$ kept (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            words = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', call)]
            code, out, err = kept(capsys, *words)
            printed = (out + err).replace(str(home), "~")
            assert code == 0, printed
            assert fits(shown, printed), f"kept {call}\n{printed}"


def test_every_page_is_reached_from_the_sites_contents():
    site = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=_Loose)

    def pages(entry):
        return [entry] if isinstance(entry, str) else [page for value in _values(entry) for page in pages(value)]

    listed = sorted(pages(site["nav"]))
    there = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if page.parent.name != "decisions")
    assert listed == sorted([*there, "decisions/README.md"])


def _values(entry):
    return entry.values() if isinstance(entry, dict) else entry


class _Loose(yaml.SafeLoader):
    """Takes what Python objects the site's settings name for nothing."""


_Loose.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def test_the_settings_that_pages_show_in_toml_are_settings_of_the_program(tmp_path):
    blocks = [
        block
        for page in DOCS.rglob("*.md")
        for block in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert blocks
    for block in blocks:
        (tmp_path / "config.toml").write_text(block)
        load_settings(tmp_path / "config.toml")
