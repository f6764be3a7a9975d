"""The pictures of the documentation show what kept shows today: their text and structure, not their pixels."""

import importlib.util
import shlex
from pathlib import Path

import pytest

from kept.cli import main

ROOT = Path(__file__).parents[2]
AGAIN = "make pictures"


def load_script():
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "scripts" / "pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PICTURES = load_script()


def play(home, capsys, command):
    """What a command prints."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[1:])
    assert ended.value.code == 0
    return capsys.readouterr().out.replace(str(home), "~").replace(f"{ROOT}/", "")


def words_of(text):
    """A text without its line breaks and margins."""
    return "".join(PICTURES.normalize(text).split())


def test_a_drawn_terminal_session_shows_what_its_commands_print(home, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("KEPT_HOME", "")
    for name, commands in PICTURES.SESSIONS.items():
        printed = "".join(f"$ {command}\n{play(home, capsys, command)}" for command in commands)
        drawn = PICTURES.read_drawn((PICTURES.FOLDER / f"{name}.svg").read_text(encoding="utf-8"))
        assert words_of(drawn) == words_of(printed), AGAIN


def test_a_screenshot_shows_the_text_and_structure_of_todays_page(served, home, capsys, chromium, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("KEPT_HOME", "")
    for commands in PICTURES.SESSIONS.values():
        for command in commands:
            play(home, capsys, command)
    for name in PICTURES.PAGES:
        page = PICTURES.open_page(chromium, served.url, served.key, name)
        assert PICTURES.describe_page(page) == (PICTURES.FOLDER / f"{name}.yml").read_text(encoding="utf-8"), AGAIN
        page.context.close()


def test_no_picture_is_large_or_fetches_anything():
    pictures = [each for each in PICTURES.FOLDER.iterdir() if each.suffix in (".png", ".svg")]
    assert {each.stem for each in pictures} == {*PICTURES.SESSIONS, *PICTURES.PAGES}
    assert max(each.stat().st_size for each in pictures) < 150_000
    for each in pictures:
        if each.suffix == ".svg":
            assert "url(http" not in (text := each.read_text(encoding="utf-8"))
            assert "href" not in text
