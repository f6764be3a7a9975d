"""Text of any length costs little: every cue is a linear pattern, and what cues are asked about is cut short before."""

from dataclasses import replace
from functools import cache

import pytest
import re2

from kept.core.spans import LONGEST
from kept.extraction.rules import candidates, patterns, tellings
from kept.extraction.rules.candidates import extract_candidates
from kept.profiles import load_profile
from talk import LEXICON, agent, edit, output, talk, user

# How often cues may be asked about two prompts or sections, whatever stands in them.
QUESTIONS = 60_000
compiled = cache(re2.compile)
SEEDS = ("We never use `x.py` here. ", "- always ask me before y\n", "(((", "我们从不", "a" * 50 + " ", "# we never use x, ")


class Counting:
    """A pattern that notes how long the texts are that it is asked about."""

    def __init__(self, source, lengths):
        self.pattern, self.lengths = compiled(source), lengths

    def __getattr__(self, name):
        def ask(*args):
            self.lengths.append(len(args[-1]))
            return getattr(self.pattern, name)(*args)

        return ask


@pytest.mark.parametrize(("seed", "way"), [(seed, "journal" if seed.startswith("-") else "coding") for seed in SEEDS])
def test_cues_are_asked_about_bounded_text_and_a_bounded_number_of_times(monkeypatch, seed, way):
    lengths = []
    for module in (candidates, patterns, tellings):
        monkeypatch.setattr(module, "compile_pattern", lambda source: Counting(source, lengths))
    vast = seed * (60_000 // len(seed))
    events = talk(user(vast), agent(vast), edit("src/a.py"), output(vast), user("yes"))
    events = [replace(each, label_reason="memory-folder") for each in events] if way == "journal" else events
    extract_candidates(events, 0, len(events), profile=load_profile(way), lexicon=LEXICON, scope="project:x")
    assert max(lengths, default=0) <= 2 * LONGEST
    assert len(lengths) <= QUESTIONS, len(lengths)
