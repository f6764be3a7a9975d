"""Over every corpus: what rules make of a person's prompt is one contiguous passage of words that the person typed."""

from itertools import islice

import pytest

from kept.core.event import Cursor
from kept.core.spans import typed_spans
from kept.core.text import one_line
from kept.extraction.rules.candidates import extract_candidates, propose_prompt_tellings
from kept.extraction.rules.list_items import HEADING
from kept.local.files.walking import find_files
from kept.profiles import load_profile
from kept.profiles.lexicons import load_lexicon
from kept.sources.registry import SkippedFile, identify_file

pytestmark = pytest.mark.shared


SOME = pytest.mark.parametrize("every", [60, pytest.param(1, marks=pytest.mark.slow)])


@SOME
def test_every_memory_of_a_telling_stands_verbatim_in_one_typed_span_of_its_event(shared, every):
    rules, words, found = load_profile("coding"), load_lexicon(("en", "zh")), 0
    for path in islice(find_files(shared / "transcripts" / "inputs"), 0, None, every):
        source = identify_file(path)
        if isinstance(source, SkippedFile):
            continue
        events = [event for piece in source.read(path, Cursor()) for event in piece.events]
        by_key = {event.key: event for event in events}
        for candidate in propose_prompt_tellings(events, 0, len(events), profile=rules, lexicon=words, scope="project:x"):
            event = by_key[candidate.evidence[0].event]
            spans = [one_line(event.text[span.start : span.end]) for span in typed_spans(event)]
            whole = one_line(event.text) if candidate.trigger == "command" else ""
            assert any(one_line(candidate.content) in each for each in (*spans, whole)), (path, candidate.content)
            found += 1
    assert found


@SOME
def test_every_listed_item_stands_verbatim_in_its_note(shared, every):
    rules = load_profile("journal")
    for path in islice(find_files(shared / "transcripts" / "inputs" / "journal-md"), 0, None, every):
        source = identify_file(path)
        if isinstance(source, SkippedFile):
            continue
        events = [event for piece in source.read(path, Cursor()) for event in piece.events]
        by_key = {event.key: event for event in events}
        made = extract_candidates(events, 0, len(events), profile=rules, lexicon=load_lexicon(("en",)), scope="project:x")
        for candidate in made:
            if candidate.trigger == HEADING:
                assert candidate.content in by_key[candidate.evidence[0].event].text
