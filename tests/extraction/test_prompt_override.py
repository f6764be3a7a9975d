"""Prompts and the categories they declare, changed as text: bound to what was seen, and never saved so that nothing can be read."""

import pytest

from kept.core.errors import ConfigError, StaleError, UsageError
from kept.extraction.prompt_override import (
    diff_prompt,
    load_prompt_state,
    remove_own_prompt,
    save_own_prompt,
)
from kept.paths import find_paths
from kept.profiles.prompts import default_prompt_text
from kept.workspace import open_workspace

OWN = """\
---
# what I care about
categories:
  health: What concerns my health.   # mine

  # people come last
  people:
    title: People
    belongs: "Who: somebody is to me."
model: none
---
Read on.
"""


@pytest.fixture
def place(home):
    return find_paths(str(home), {"HOME": str(home)})


def test_the_first_save_creates_the_override_and_it_is_told(place):
    draft = load_prompt_state(place)
    assert not draft.overridden
    saved = save_own_prompt(place, "", f"Calmly now.\n{draft.text}", if_match=draft.revision)
    assert saved.overridden
    assert saved.own.is_file()
    assert any(each.startswith("+Calmly now.") for each in diff_prompt(saved))


def test_a_text_with_a_secret_is_refused_before_the_old_text_is_copied(place):
    draft = load_prompt_state(place)
    saved = save_own_prompt(place, "", draft.text + "one\n", if_match=draft.revision)
    with pytest.raises(UsageError):
        save_own_prompt(place, "", f"{saved.text}ghp_{'a1B2' * 9}\n", if_match=saved.revision)
    assert load_prompt_state(place).text == saved.text
    assert not (place.state / "prompts").exists()


def test_a_text_for_a_prompt_that_changed_meanwhile_is_refused(place):
    draft = load_prompt_state(place)
    save_own_prompt(place, "", draft.text + "one\n", if_match=draft.revision)
    with pytest.raises(StaleError):
        save_own_prompt(place, "", draft.text + "two\n", if_match=draft.revision)
    with pytest.raises(StaleError):
        remove_own_prompt(place, if_match=draft.revision)
    assert load_prompt_state(place).text.endswith("one\n")


def test_what_is_saved_over_or_reset_is_put_aside(place):
    saved = save_own_prompt(place, "", default_prompt_text() + "one\n", if_match=load_prompt_state(place).revision)
    saved = save_own_prompt(place, "", default_prompt_text() + "two\n", if_match=saved.revision)
    remove_own_prompt(place, if_match=saved.revision)
    aside = {each.read_text()[-4:] for each in (place.state / "prompts").iterdir()}
    assert aside == {"one\n", "two\n"}
    assert not load_prompt_state(place).overridden


@pytest.mark.parametrize("text", ["", "---\ncategories: [\n---\nx", "---\ncategories:\n  a b: c\n---\nx"])
def test_a_text_that_cannot_be_followed_is_not_saved(place, text):
    draft = load_prompt_state(place)
    with pytest.raises(ConfigError):
        save_own_prompt(place, "", text, if_match=draft.revision)
    assert load_prompt_state(place) == draft


def test_a_prompt_broken_on_disk_is_shown_with_what_is_wrong_and_can_be_mended(place):
    draft = load_prompt_state(place)
    draft.own.parent.mkdir(parents=True)
    draft.own.write_text("---\ncategories:\n  a b: c\n---\nx")
    broken = load_prompt_state(place)
    assert broken.prompt is None
    assert "letters, digits" in broken.problem
    assert save_own_prompt(place, "", "Read on.", if_match=broken.revision).prompt is not None


def test_a_declared_category_is_one_of_the_profiles(place):
    draft = save_own_prompt(place, "", OWN, if_match=load_prompt_state(place).revision)
    assert [each.id for each in draft.prompt.declared] == ["health", "people"]
    with open_workspace(place) as workspace:
        assert workspace.kind("health")[1].belongs == "What concerns my health."
