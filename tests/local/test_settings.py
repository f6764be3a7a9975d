"""Settings in tables: read strictly, written by their dotted names."""

from pathlib import Path

import pytest

from kept.core.errors import ConfigError
from kept.local.settings import LlmSettings, Settings, flatten_settings, load_settings
from kept.memories.configure import edit_setting_text


def test_no_model_is_asked_by_default(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "config.toml").llm == LlmSettings(adapter="none")


def test_a_setting_of_a_table_is_written_by_its_dotted_name_beside_what_stands_there(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('profile = "coding"  # mine\n\n[llm]\n# the small one\nmodel = "m"\n', encoding="utf-8")
    for name, value in (("adapter", "command"), ("concurrency", "2"), ("timeout", "30"), ("batch", "true"), ("env", "A, B")):
        path.write_text(edit_setting_text(path, f"llm.{name}", value), encoding="utf-8")
    made = load_settings(path).llm
    assert (made.adapter, made.model, made.concurrency, made.timeout, made.batch) == ("command", "m", 2, 30.0, True)
    assert made.env == ("A", "B")
    assert "# the small one" in path.read_text(encoding="utf-8")
    path.write_text(edit_setting_text(path, "llm.model", ""), encoding="utf-8")
    assert load_settings(path).llm.model == ""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('adapter = "telepathy"', "llm.adapter cannot be 'telepathy' "),
        ('modell = "m"', "unknown setting 'modell'"),
        ("month_cals = 5", "did you mean month_calls"),
        ("model = 3", "model must be a text"),
        ('model = "--yes"', "llm.model '--yes' is not the name of a model"),
        ("concurrency = 2.5", "concurrency must be a whole number"),
        ("day_usd = -1", "day_usd must be a number from 0 on"),
        ("day_usd = nan", "day_usd must be a number from 0 on"),
        (f"day_usd = 1{'0' * 400}", "day_usd must be a number from 0 on"),
        (f"day_usd = 1{'0' * 5_000}", "not valid TOML"),
        (f"env = {'[' * 10_000}", "not valid TOML"),
        ('base_url = "http://[::1"', "llm.base_url is not the address of a server"),
        ("concurrency = true", "concurrency must be a whole number"),
        ('batch = "yes"', "batch must be a switch"),
        ('env = "A"', "env must be a list"),
    ],
)
def test_what_a_table_cannot_mean_is_refused_and_named(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[llm]\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert told in str(caught.value)


def test_a_setting_of_a_table_takes_one_of_its_choices_only(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[recall]\nmodel = "big"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"recall.model cannot be 'big' .*one of: multilingual, small"):
        load_settings(path)


@pytest.mark.parametrize(
    ("name", "value"), [("llm.concurrency", "many"), ("llm.nothing", "1"), ("llm", "x"), ("llm.batch", "perhaps")]
)
def test_a_value_of_the_wrong_kind_is_not_written(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigError):
        edit_setting_text(tmp_path / "config.toml", name, value)


def test_every_setting_has_a_name() -> None:
    assert {"timezone", "llm.adapter", "llm.day_usd"} <= flatten_settings(Settings()).keys()


@pytest.mark.parametrize(
    "text",
    [
        '[journal]\nfolder = "/etc"',
        '[journal]\nfolder = "../x"',
        '[journal]\nfolder = ""',
        "[journal]\noutside = 1.5",
        "[journal]\nspam = 1",
        '[[feed]]\nkind = "telepathy"\npath = "x"',
        '[[feed]]\nkind = "rss"',
        '[[feed]]\nkind = "rss"\npath = "x"\nurl = "https://example.org"',
        '[[feed]]\nkind = "git"\nurl = "https://example.org"',
        '[[feed]]\nkind = "rss"\nurl = "file:///etc/passwd"',
        "feed = 1",
        "feed = [1]",
    ],
)
def test_a_journal_or_a_feed_that_cannot_be_followed_is_refused(tmp_path, text):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError):
        load_settings(path)


def test_a_feed_is_a_table_of_its_own(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('[journal]\nfolder = "diary"\n[[feed]]\nkind = "rss"\nurl = "https://example.org"\nshare = 2\n')
    made = load_settings(path)
    assert made.journal.folder == "diary"
    assert (made.feed[0].kind, made.feed[0].share) == ("rss", 2.0)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b'profile = "coding"\nexclud = ["a"]\n', "unknown setting 'exclud' (PATH:2) → did you mean exclude?"),
        (
            b'timezone = "UTC"\n\n[llm]\r\n# a model\r\n\tbatch = 1\r\n',
            "llm.batch must be a switch (true or false) (PATH:5, [llm])",
        ),
        (b'[[root]]\npath = "/a"\n[[root]]\npath = "b"\n', "the path of a root must be absolute (PATH:4, [[root]] number 2)"),
        (b'llm.modell = "x"\n', "unknown setting 'modell' (PATH:1, [llm])"),
        (b'[archive]\nkeep = "2 years"\n', "'2 years' is not a span of time (PATH:2, [archive])"),
        (b'timezone = "Mars/X"\n', "there is no time zone 'Mars/X' (PATH:1)"),
        (b'[profile]\nname = "x"\n', "profile must be a text (PATH:1)"),
        (b'sections = ["emacs"]\n', "sections must be a list of texts (PATH:1) → possible: codex, gemini"),
        (b"[llm]\n[llm]\n", "not valid TOML: Cannot declare ('llm',) twice (at line 2, column 5) (PATH)"),
        ("\ufefftimezone = 'UTC'".encode("utf-16-le"), "the settings are not UTF-8 text (PATH)"),
        (b"a = " + b"[" * 3_000, "not valid TOML: maximum recursion depth exceeded"),
    ],
)
def test_an_error_in_the_settings_names_its_line(tmp_path: Path, raw: bytes, told: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(raw)
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert told.replace("PATH", str(path)) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_settings_that_an_editor_of_windows_saved_are_read_and_changed(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b'\xef\xbb\xbfprofile = "vault"\r\n')
    assert load_settings(path).profile == "vault"
    assert 'timezone = "UTC"' in edit_setting_text(path, "timezone", "UTC")
