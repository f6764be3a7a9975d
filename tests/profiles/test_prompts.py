"""Extraction prompts: the default, a user's own, and the categories it declares."""

from dataclasses import replace

import pytest

from cases import each_case
from kept.core.errors import ConfigError
from kept.extraction.questions.question import SCHEMA, Excerpt, build_question_ask
from kept.extraction.questions.turns import Chunk
from kept.llm.adapter import estimate_ask_tokens
from kept.llm.reply import parse_reply
from kept.profiles import list_profiles, load_profile
from kept.profiles.prompts import BUILT_IN, compose_prompt, default_prompt_text, load_prompt, with_declared_categories

CODING = load_profile("coding")


def made(text):
    return compose_prompt(CODING, text, "mine.md")


@each_case("name", list_profiles())
def test_every_profile_has_its_categories_in_its_prompt_and_that_is_short(name):
    by = load_profile(name)
    prompt = compose_prompt(by, default_prompt_text(), BUILT_IN)
    text = prompt.system
    for each in by.categories:
        assert f"- {each.id}: {each.belongs}" in text
    ask = build_question_ask([Excerpt(chunk=Chunk(start=0, stop=0, closed=True, turns=()))], prompt)
    assert estimate_ask_tokens(ask) <= 1_000  # counted high: three characters each


def test_a_changed_prompt_or_profile_is_another_version():
    assert made("One.").version != made("Two.").version
    assert compose_prompt(replace(CODING, categories=CODING.categories[:3]), "One.", "").version != made("One.").version
    assert made("One.").version == made("One.").version


def test_the_worked_example_of_the_prompt_is_a_reply_that_is_understood_whole():
    text = compose_prompt(CODING, default_prompt_text(), BUILT_IN).system
    conversation, reply = text.rpartition("\nanswer\n")[::2]
    body = parse_reply(reply, SCHEMA)
    kept = [(claim["passage"], claim["worth"]) for claim in body["memories"] if claim["category"] != "task"]
    assert kept == [("never edit schema.sql by hand.", 3), ("queue, cron lost runs.", 3)]
    assert all(claim["passage"] in conversation for claim in body["memories"])


def test_a_text_without_a_place_for_categories_gets_them_at_its_end():
    assert made("Only remember birds.").system.startswith("Only remember birds.\n\n# What to keep\n\n- preference")


def test_categories_of_the_front_matter_join_the_profile():
    text = (
        "---\ncategories:\n  birds: Which birds were seen, and where.\n  goal:\n    floor: 0.9\n    examples: [See a "
        "kingfisher.]\n---\nLook.\n"
    )
    declared = made(text).declared
    by = with_declared_categories(CODING, declared)
    assert by.category("birds").title == "Birds"
    assert not by.category("birds").specific
    assert (by.category("goal").floor, by.category("goal").examples) == (0.9, ("See a kingfisher.",))
    assert by.category("goal").belongs == CODING.category("goal").belongs
    assert len(by.categories) == len(CODING.categories) + 1
    assert "- birds: Which birds were seen, and where." in made(text).system


def test_categories_may_be_a_list():
    assert [
        each.id for each in made("---\ncategories:\n  - id: birds\n    belongs: Birds.\n    users_words: no\n---\nLook.").declared
    ] == ["birds"]


@each_case(
    ("head", "said"),
    [
        ("categories: {../x: Something.}", "letters, digits"),
        ("categories: {birds: {belongs: x, wings: 2}}", "unknown setting 'wings'"),
        ("categories: {birds: {belongs: x, floor: high}}", "wrong kind"),
        ("categories: {birds: {title: Birds}}", "needs a sentence"),
        ("categories: [birds]", "mapping"),
        ("categories: {birds: [1", "not YAML"),
        ("- a\n- b", "not a table of settings"),
        ("categories: !!python/object/apply:os.system [ls]", "mapping"),
    ],
)
def test_front_matter_that_cannot_be_followed_is_an_error_that_names_the_file(head, said):
    with pytest.raises(ConfigError, match=said) as caught:
        made(f"---\n{head}\n---\nLook.\n")
    assert caught.value.where.startswith("mine.md")


def at(home, name="coding"):
    return load_prompt(load_profile(name), root=home, config=home / ".config/kept", default_profile="coding")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_users_own_prompt_wins_over_memory_loops_and_that_over_the_built_in_one(home):
    assert (at(home).origin, at(home).overridden) == (BUILT_IN, False)
    write(home / ".config/memory-loop/extraction-prompt.md", "From Memory Loop.")
    assert at(home).origin == str(home / ".config/memory-loop/extraction-prompt.md")
    write(home / ".config/kept/extraction-prompt.md", "My own.")
    assert at(home).text == "My own."


def test_a_profile_that_is_not_the_default_has_a_prompt_of_its_own(home):
    other = replace(CODING, id="work")
    write(home / ".config/kept/extraction-prompt.md", "Default.")
    write(home / ".config/kept/extraction-prompt.work.md", "Work.")
    assert load_prompt(other, root=home, config=home / ".config/kept", default_profile="coding").text == "Work."
    assert at(home).text == "Default."


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xff\xfe\x00", b"x" * 300_000])
def test_a_prompt_that_cannot_be_used_is_an_error_and_never_silently_the_default(home, data):
    path = home / ".config/kept/extraction-prompt.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        at(home)
    assert caught.value.where == str(path)
