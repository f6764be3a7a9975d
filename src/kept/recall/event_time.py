"""A time that a question bounds by something that happened. Apart from the words of a question, which a hook waits for: the words
of time take longer to import than a hook's whole search.
"""

from kept.core.dates.when import OPEN, TimeSpan, split_question_words
from kept.recall.question import telling_words


def parse_event_bound(question: str) -> TimeSpan | None:
    """The time before or after something that happened ("before the big release"), where a question names it."""
    raw, words = split_question_words(question)
    for place, word in enumerate(words[:-2]):
        if word in ("before", "after", "since") and words[place + 1] in ("the", "our", "my", "that"):
            event = telling_words(" ".join(words[place + 2 : place + 5]))
            if event:
                label = " ".join(words[place : place + 3])
                return TimeSpan(None, None, label, event, OPEN[word], " ".join(raw[:place]))
    return None
