"""Text of any length costs little: every cue is a linear pattern, and what cues are asked about is cut short before."""

from dataclasses import fields, replace
from functools import cache

import pytest
import re2
from talk import LEXICON, agent, edit, output, talk, user

from kept.model.lexicon import Lexicon
from kept.profiles import profile
from kept.profiles.lexicons import LANGUAGES, lexicon
from kept.stages.extract import cues, extract
from kept.stages.extract.prose import LONGEST

# How often cues may be asked about two prompts or sections, whatever stands in them.
QUESTIONS = 60_000
compiled = cache(re2.compile)
SEEDS = ("We never use `x.py` here. ", "- always ask me before y\n", "(((", "我们从不", "a" * 50 + " ", "# we never use x, ")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_pattern_of_a_language_is_one_that_needs_no_going_back(language):
    words = lexicon((language,))
    sources = [getattr(words, each.name) for each in fields(Lexicon) if isinstance(getattr(words, each.name), str)]
    sources += [source for _, source in (*words.slots, *words.themes)] + [source for source, _ in words.softer]
    assert all(isinstance(re2.compile(source), re2._Regexp) for source in sources)


class Counting:
    """A pattern that notes how long the texts are that it is asked about."""

    def __init__(self, source, lengths):
        self.pattern, self.lengths = compiled(source), lengths

    def __getattr__(self, name):
        def ask(*args):
            self.lengths.append(len(args[-1]))
            return getattr(self.pattern, name)(*args)

        return ask


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("way", ["coding", "journal"])
def test_cues_are_asked_about_bounded_text_and_a_bounded_number_of_times(monkeypatch, seed, way):
    lengths = []
    monkeypatch.setattr(cues, "compiled", lambda source: Counting(source, lengths))
    vast = seed * (60_000 // len(seed))
    events = talk(user(vast), agent(vast), edit("src/a.py"), output(vast), user("yes"))
    events = [replace(each, label_reason="memory-folder") for each in events] if way == "journal" else events
    extract(events, 0, len(events), profile=profile(way), lexicon=LEXICON, scope=lambda _: "project:x")
    assert max(lengths, default=0) <= 2 * LONGEST
    assert len(lengths) <= QUESTIONS, len(lengths)
