"""The memory file as lines, each tagged with what it is.

The form, a title, one sentence, and per scope and category a list of dated facts::

    # Memory
    Facts remembered from earlier sessions (newest evidence: 2026-02-13); what is said now outranks them. Edit freely.

    ## Everywhere

    ### Preferences
    - Explain the options and ask before changing anything. (2026-02-13)
    <!-- kept: user preference 3f2a9c91bc -->
    <!-- kept: end 1 -->

The first three lines never hold anything that was remembered. Knows nothing of the file on disk, nor of the user's lines in it.
"""

from itertools import groupby

from kept.core.document import CATEGORY_LEVEL, END, HEADER, Document, Line, Section, blank_key, heading_key, ids_key
from kept.core.markup import end_line, fact_line, header_lines, heading_line, ids_line


def render_file(document: Document) -> tuple[Line, ...]:
    """All lines of a file of kept's."""
    header = document.header or (() if document.bare else header_lines(document.newest))
    lines = [*_header_lines("", header), *document.told]
    named = (
        len({section.scope for section in document.sections}) > 1 or not document.header
    )  # one that is all there is needs no name
    for scope, sections in groupby(document.sections, key=lambda each: each.scope):
        group = tuple(sections)
        lines += _heading_lines(heading_key(scope), 2, group[0].name) if named else []
        for section in group:
            lines += _section_lines(section)
    facts = sum(len(section.facts) for section in document.sections)
    return (*lines, *_header_lines("footer:", document.footer), Line(key=END, text=end_line(facts)))


def render_section(document: Document) -> tuple[Line, ...]:
    """The lines of kept's section in a file of somebody else's: what :func:`render_file` gives without title, names of scopes,
    and the comments of ids, which the clients that read such files do not strip.
    """
    lines = [line for section in document.sections for line in _section_lines(section)[:-1]]
    above = (*_header_lines("", document.header), *document.told)
    return (*above, *(lines if above else lines[1:]))


def _header_lines(part: str, texts: tuple[str, ...]) -> list[Line]:
    keys = (f"{HEADER}:{part}{number}" for number in range(len(texts)))
    return [Line(key=key if text else blank_key(key), text=text) for key, text in zip(keys, texts, strict=True)]


def _section_lines(section: Section) -> list[Line]:
    key = heading_key(section.scope, section.category)
    facts = [Line(key=fact.id, text=fact_line(fact.text, fact.day)) for fact in section.facts]
    ids = ids_line(section.scope, section.category, [fact.id for fact in section.facts])
    return [
        *_heading_lines(key, CATEGORY_LEVEL, section.title),
        *facts,
        Line(key=ids_key(section.scope, section.category), text=ids),
    ]


def _heading_lines(key: str, level: int, text: str) -> list[Line]:
    return [Line(key=blank_key(key), text=""), Line(key=key, text=heading_line(level, text))]
