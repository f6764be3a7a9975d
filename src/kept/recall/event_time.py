"""Parse a time that a question bounds by an event ("before the big release").

This is not in :mod:`kept.recall.question`, which hooks import: importing the words for times takes longer than a hook's search.
"""

from kept.core.dates.when import OPEN, TimeSpan, split_question_words
from kept.recall.question import telling_words


def parse_event_bound(question: str) -> TimeSpan | None:
    """The time before, after or since an event that the question names; None if it names none."""
    raw, words = split_question_words(question)
    for place, word in enumerate(words[:-2]):
        if word in ("before", "after", "since") and words[place + 1] in ("the", "our", "my", "that"):
            event = telling_words(" ".join(words[place + 2 : place + 5]))
            if event:
                label = " ".join(words[place : place + 3])
                return TimeSpan(None, None, label, event, OPEN[word], " ".join(raw[:place]))
    return None
