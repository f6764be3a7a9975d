"""The memory file as lines: what it looks like, and that reading it gives back what was written."""

from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from kept.core.document import Document, Fact, Layout, Section
from kept.core.markup import encode, sentence
from kept.outputs.render import parse, render, render_section


def written(document):
    return encode(render(document), Layout()).decode()


FACTS = (
    Fact(id="3f2a9c91bc", text="Explain the options and ask before changing anything.", day=date(2026, 2, 13)),
    Fact(id="91bc040000", text="Small pull requests.", day=None),
)
ONE = Section(scope="user", category="preference", name="Everywhere", title="Preferences", facts=FACTS)


def test_the_file_is_a_title_a_sentence_and_dated_facts_under_their_headings():
    other = Section(scope="project:web-aaaaaa", category="decision", name="web", title="Decisions", facts=FACTS[1:])
    assert written(Document(sections=(ONE, other))) == (
        "# Memory\n"
        "Facts remembered from earlier sessions (newest evidence: 2026-02-13); what is said now outranks them. Edit freely.\n"
        "\n"
        "## Everywhere\n"
        "\n"
        "### Preferences\n"
        "- Explain the options and ask before changing anything. (2026-02-13)\n"
        "- Small pull requests.\n"
        "<!-- kept: user preference 3f2a9c91bc 91bc040000 -->\n"
        "\n"
        "## web\n"
        "\n"
        "### Decisions\n"
        "- Small pull requests.\n"
        "<!-- kept: project:web-aaaaaa decision 91bc040000 -->\n"
    )


def test_the_section_in_a_projects_file_has_neither_title_nor_names():
    assert render_section(Document(sections=(ONE,)))[0].text == "### Preferences"


def test_every_line_is_tagged_with_what_it_is():
    lines = render(Document(sections=(ONE,)))
    assert [line.key for line in lines] == [
        "header:0",
        "header:1",
        "blank:heading:user",
        "heading:user",
        "blank:heading:user:preference",
        "heading:user:preference",
        "3f2a9c91bc",
        "91bc040000",
        "ids:user:preference",
    ]


WORDS = st.text(min_size=1, max_size=80).map(sentence).filter(bool)
DAYS = st.none() | st.dates(min_value=date(2000, 1, 1), max_value=date(2099, 1, 1))


@st.composite
def documents(draw):
    sections = []
    for scope in draw(st.lists(st.sampled_from(["user", "project:a-1", "project:b-2"]), unique=True)):
        name = draw(WORDS)
        for category in draw(st.lists(st.sampled_from(["x", "y_z"]), unique=True, min_size=1)):
            facts = draw(st.lists(st.tuples(WORDS, DAYS), min_size=1, max_size=4))
            numbered = tuple(Fact(id=f"{scope[-1]}{category}{at}", text=words, day=day) for at, (words, day) in enumerate(facts))
            sections.append(Section(scope=scope, category=category, name=name, title=draw(WORDS), facts=numbered))
    return Document(sections=tuple(sections))


@settings(max_examples=300, deadline=None)
@given(documents())
def test_what_was_rendered_reads_back_the_same(document):
    text = written(document)
    assert parse(text) == document
    assert parse(text.replace("\n", "\r\n")) == document
    first = text.split("\n")[:3]
    assert first[0] == "# Memory"
    assert first[1].startswith("Facts remembered")
    assert first[2] == ""
