"""What each list of words in the rules for tellings and wishes is worth: annotated turns are read again without it.

Nothing is trained, so what a list is worth on one source does not depend on the others. Checks that keep an attacker's words out
are worth nothing here, where nobody attacks.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import groupby
from typing import Any

from kept.core.event import Author, Event, EventKind, Pointer, Precision
from kept.core.lexicon import Lexicon, TellingPatterns
from kept.core.memory import SAID_ONCE, Accepted
from kept.evaluation.turns import AnnotatedTurn
from kept.extraction.gate import judge
from kept.extraction.rules.prompts import propose_prompt_tellings
from kept.profiles import load_profile
from kept.profiles.lexicons import load_lexicon

_NEEDED = frozenset(("language", "words"))  # names the language; any word of a telling, without which nothing is read
Counts = Mapping[str, Mapping[str, int]]


def run_ablations(turns: Sequence[AnnotatedTurn]) -> dict[str, Counts]:
    """For each list of words, what is lost (negative) and gained without it: by source, how many passages that are active, wait or
    were said once are right, and how many wrong. Lists without any effect have no sources.
    """
    rules = load_profile("coding")
    whole = load_lexicon(rules.languages)
    names = [field.name for field in fields(TellingPatterns) if field.name not in _NEEDED and field.type in (str, "str")]
    before = _count_outcomes(turns, whole)
    found: dict[str, Counts] = {}
    for name in names:
        empty: dict[str, Any] = {name: ""}
        after = _count_outcomes(turns, replace(whole, tellings=tuple(replace(telling, **empty) for telling in whole.tellings)))
        after.subtract(before)
        found[name] = {
            source: {kind: count for (_, kind), count in group}
            for source, group in groupby(sorted((key, n) for key, n in after.items() if n), key=lambda item: item[0][0])
        }
    return found


def _count_outcomes(turns: Sequence[AnnotatedTurn], words: Lexicon) -> Counter[tuple[str, str]]:
    rules, counts = load_profile("coding"), Counter[tuple[str, str]]()
    for turn in turns:
        events = tuple(_to_session(turn))
        for candidate in propose_prompt_tellings(
            events, 0, len(events), profile=rules, lexicon=words, scope=lambda _: "project:turns"
        ):
            status = "active" if isinstance(judge(candidate, rules, lexicon=words), Accepted) else "waiting"
            status = SAID_ONCE if candidate.doubt == SAID_ONCE else status
            counts[turn.source, f"{status} {'right' if turn.is_worth_keeping(candidate.evidence[0].quote) else 'wrong'}"] += 1
    return counts


def _to_session(turn: AnnotatedTurn) -> Iterator[Event]:
    """A turn as a session: the assistant's last words, and the prompt."""
    said = ((EventKind.RESPONSE, Author.ASSISTANT, turn.before), (EventKind.PROMPT, Author.HUMAN, turn.text))
    for place, (kind, author, text) in enumerate(said):
        yield Event(
            key=f"{turn.id}-{place}",
            twin="",
            session=turn.session,
            record="",
            parent="",
            turn="",
            kind=kind,
            author=author,
            label_reason="",
            text=text,
            at=None,
            precision=Precision.NONE,
            project="",
            branch="",
            tool=None,
            pointer=Pointer(path="", line=place, start=0, end=0),
        )


__all__ = ["run_ablations"]
