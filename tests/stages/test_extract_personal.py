"""What a person tells of themselves, and where profiles file it."""

import pytest
from talk import LEXICON, agent, talk, user

from kept.model.memory import Accepted
from kept.profiles import profile
from kept.stages.extract import extract
from kept.stages.gate import judge

COMPANION, VAULT, CODING = (profile(each) for each in ("companion", "vault", "coding"))


def told(text, way=COMPANION):
    events = talk(agent("How can I help?"), user(text))
    found = extract(events, 0, len(events), profile=way, lexicon=LEXICON, scope=lambda _: "project:x")
    return [each for each in found if isinstance(judge(each, way, lexicon=LEXICON), Accepted)]


@pytest.mark.parametrize(
    ("text", "category", "subject"),
    [
        ("I'm a nurse in Rotterdam and work nights.", "person", ""),
        ("I live in Lisbon and work as a translator.", "person", "home"),
        ("You can call me Sam.", "person", "name"),
        ("My sister Ana is a vet in Porto.", "people", "Ana"),
        ("My boss, Dr. Melo, wants the report on Fridays.", "people", "Melo"),
        ("My wife and I are vegetarian.", "people", "wife"),
        ("I love window seats on trains.", "preferences", "travel"),
        ("Please keep your answers short, I hate long explanations.", "preferences", "answers"),
        ("I use Arch Linux on a ThinkPad and Neovim.", "technical", ""),
        ("My laptop runs Fedora 41.", "technical", "laptop"),
        ("I want to finish the first draft of the book by May.", "projects", ""),
    ],
)
def test_a_companion_files_what_people_say_of_themselves(text, category, subject):
    (found,) = told(text)
    assert (found.category, found.subject) == (category, subject)
    assert found.evidence[0].quote in text


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("I have fifteen years of Go behind me.", "identity"),
        ("I want to learn Portuguese before the summer.", "goals"),
        ("I prefer Obsidian over Notion for notes.", "preferences"),
    ],
)
def test_a_vault_files_the_same_under_its_own_categories(text, category):
    (found,) = told(text, VAULT)
    assert found.category == category


@pytest.mark.parametrize(
    "text",
    [
        "I'm a bit confused by this error.",
        "I'm working on the login page today.",
        "I'd like it shorter.",
        "I like how this looks now.",
        "My code is broken again, can you fix it?",
        "Is my sister Ana allowed to park here?",
        "If I lived in Lisbon, what would the rent be?",
    ],
)
def test_what_is_of_the_moment_or_asked_tells_nothing_of_a_person(text):
    assert told(text) == []


def test_a_coding_agent_is_told_nothing_personal():
    assert told("My sister Ana is a vet in Porto.", CODING) == []


def test_identity_needs_no_artifact():
    (found,) = told("I'm a nurse and I work nights.")
    assert not found.artifacts
