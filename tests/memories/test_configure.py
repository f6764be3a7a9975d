"""Settings as a person sees them: every one is explained, changed by name with its comments kept, and never against what was
seen.
"""

import pytest

from kept.core.errors import ConfigError, StaleError
from kept.local import settings
from kept.memories import configure
from kept.paths import find_paths


@pytest.fixture
def own(home):
    """The home, with a settings file of a few lines."""
    found = find_paths(str(home), {"HOME": str(home)})
    found.settings.parent.mkdir(parents=True)
    found.settings.write_text('profile = "coding"  # mine\n\n# what is dear\n[llm]\nday_usd = 3.0\n')
    return found


def test_every_setting_is_explained_once_and_nothing_else_is():
    names = [name for _, _, own in settings.load_meanings() for name in own]
    assert sorted(names) == sorted(settings.flatten_settings(settings.Settings()))
    assert all(text.endswith(".") for _, _, own in settings.load_meanings() for _, text in own.values())
    titles = [title for _, _, own in settings.load_meanings() for title, _ in own.values()]
    assert len(set(titles)) == len(titles), "each setting is called something else"


def test_the_list_tells_kind_default_value_and_whether_the_file_says_it(own):
    found = {each.name: each for each in configure.describe_settings(own)}
    assert (found["llm.day_usd"].value, found["llm.day_usd"].default, found["llm.day_usd"].given) == (3.0, 2.0, True)
    assert (found["llm.adapter"].kind, found["llm.adapter"].given) == ("text", False)
    assert "command" in found["llm.adapter"].choices
    assert (found["use"].kind, found["exclude"].kind, found["llm.batch"].kind) == ("table", "list", "switch")


def test_a_change_keeps_the_comments_and_holds_only_against_what_was_seen(own):
    seen = configure.describe_setting(own, "llm.day_usd").revision
    assert configure.change_setting(own, "llm.day_usd", "5", if_match=seen) == 5.0
    assert "# mine" in own.settings.read_text()
    assert "# what is dear" in own.settings.read_text()
    with pytest.raises(StaleError):
        configure.change_setting(own, "llm.day_usd", "7", if_match=seen)
    assert configure.load_setting(own, "llm.day_usd") == 5.0
    configure.change_setting(own, "timezone", "Europe/Berlin", if_match=configure.describe_setting(own, "timezone").revision)


def test_a_profile_that_is_not_there_is_not_put_to_work(own):
    before = own.settings.read_text()
    for act in (
        lambda: configure.change_setting(own, "profile", "nosuch"),
        lambda: configure.save_table_item(own, "use", {"profile": "nosuch", "sources": ("vault",)}),
        lambda: configure.rewrite_settings(own, 'profiles = ["nosuch"]\n'),
    ):
        with pytest.raises(ConfigError, match="nosuch"):
            act()
    assert own.settings.read_text() == before


def test_rules_and_sources_are_added_and_taken_out_beside_what_stands_there(own):
    assert configure.save_table_item(own, "use", {"profile": "vault", "sources": ("vault",), "projects": ()}) == [
        {"profile": "vault", "sources": ["vault"]}
    ]
    configure.save_table_item(own, "feed", {"kind": "rss", "url": "https://example.org/f", "name": "", "path": ""})
    assert len(configure.save_table_item(own, "use", {"profile": "coding", "projects": ("~/work/*",)})) == 2
    (left,) = configure.remove_table_item(own, "use", 0)
    assert left["profile"] == "coding"
    assert configure.remove_table_item(own, "use", 0) == []
    assert configure.load_setting(own, "feed")[0]["url"] == "https://example.org/f"
    assert "# what is dear" in own.settings.read_text()
    for act in (
        lambda: configure.remove_table_item(own, "use", 0),
        lambda: configure.save_table_item(own, "llm", {}),
        lambda: configure.save_table_item(own, "feed", {"kind": "x"}),
    ):
        with pytest.raises(ConfigError):
            act()


def test_the_file_can_be_written_as_text_where_it_is_what_was_seen_and_says_settings(own):
    text, revision = configure.load_settings_text(own)
    configure.rewrite_settings(own, text + "\n[recall]\nmost = 3\n", if_match=revision)
    assert configure.load_setting(own, "recall.most") == 3
    with pytest.raises(StaleError):
        configure.rewrite_settings(own, text, if_match=revision)
    for wrong in ("[recall]\nmost = 'x'\n", "not toml", 'spam = "x"'):
        with pytest.raises(ConfigError):
            configure.rewrite_settings(own, wrong)
    assert configure.load_setting(own, "recall.most") == 3


def test_a_broken_setting_can_be_mended_by_its_name(own):
    own.settings.write_text('profile = "coding"  # mine\n[llm]\nadapter = "telepathy"\n')
    with pytest.raises(ConfigError):
        configure.describe_settings(own)
    configure.change_setting(own, "llm.adapter", "none")
    assert configure.load_setting(own, "llm.adapter") == "none"


LOGIN = """[llm]
adapter = "openai"
model = "m"
base_url = "http://me:Pw1@127.0.0.1:9/v1"  # mine

[[feed]]
kind = "rss"
url = "https://Tok2@example.org/feed.xml"
"""


def test_a_password_that_was_written_into_the_file_is_shown_nowhere(own):
    own.settings.write_text(LOGIN)
    text, _ = configure.load_settings_text(own)
    shown = repr((configure.show_settings(own), configure.describe_settings(own), configure.show_setting(own, "feed"), text))
    assert not any(secret in shown for secret in ("Pw1", "Tok2"))
    assert configure.show_setting(own, "llm.base_url") == "http://me:***@127.0.0.1:9/v1"
    assert configure.load_setting(own, "llm.base_url") == "http://me:Pw1@127.0.0.1:9/v1"


def test_a_text_that_was_shown_without_its_passwords_is_saved_with_them(own):
    own.settings.write_text(LOGIN)
    text, revision = configure.load_settings_text(own)
    configure.rewrite_settings(own, text.replace('model = "m"', 'model = "n"'), if_match=revision, remote=True)
    assert own.settings.read_text() == LOGIN.replace('model = "m"', 'model = "n"')
