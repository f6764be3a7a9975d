"""The documentation site: its reference pages are those of the code, its examples run, every page is reached."""

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cases import each_case
from cli_world import kept
from kept.cli.parsers import create_parser
from kept.cli.registry import COMMANDS
from kept.journal.entry import Slot
from kept.local.settings import load_settings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [page for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))) if page.name != "log.md"]
EXAMPLES = [
    page for page in sorted(DOCS.rglob("*.md")) if "\n$ kept " in page.read_text(encoding="utf-8") and page.name != "log.md"
]


def generator():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = generator()


@each_case("name", GENERATE.PAGES)
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
    for place, body in re.findall(r"^`~/(\S+)`\n\n```\w+\n(.*?)```", text, re.DOTALL | re.MULTILINE):  # the files it begins with
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text(body, encoding="utf-8")
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for call, shown in re.findall(r"^\$ kept (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            words = [quoted or re.sub("^~", str(home), plain) for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', call)]
            code, out, err = kept(capsys, *words)
            printed = (out + err).replace(str(home), "~")
            assert code == 0, printed
            assert fits(shown, printed), f"kept {call}\n{printed}"


def shell_calls(page: Path) -> Iterator[list[str]]:
    """The calls of kept in a page's shell examples, without comments, pipes and the options that every command takes."""
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for call in re.findall(r"(?m)(?:^|&& )[ \t]*kept ((?:\"[^\"\n]*\"|[^\n#&|<>])+)", block):
            yield shlex.split(re.sub(r"--(?:home|tz|profile) \S+|--(?:verbose|quiet)\b", "", call))


@each_case("page", [page for page in PAGES if next(shell_calls(page), None)])
def test_what_a_shell_example_calls_is_a_call_that_the_program_takes(page):
    for name, *words in shell_calls(page):
        made = create_parser(COMMANDS[name])
        if words and words[0] in (actions := getattr(made, "commands", {})):
            made = actions[words.pop(0)]
        made.make_context(name, words)  # raises where an argument is unknown, missing or of another kind


def test_every_page_is_reached_from_the_sites_contents():
    site = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=_Loose)

    def pages(entry):
        return [entry] if isinstance(entry, str) else [page for value in _values(entry) for page in pages(value)]

    listed = sorted(pages(site["nav"]))
    there = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if page.parent.name != "decisions")
    assert listed == sorted([*there, "decisions/README.md"])


def _values(entry):
    return entry.values() if isinstance(entry, dict) else entry


def test_every_slot_of_a_template_stands_on_the_page_about_entries():
    page = (DOCS / "how-to" / "journal.md").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^\| `{{(\w+)}}` \|", page) == [slot.value for slot in Slot]


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
