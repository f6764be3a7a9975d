"""What a sentence points at without saying it: a flag or a file that its prompt names, a place that the assistant then finds, what it limits,
what it undoes. Each gives the sentence with the name in it, and the words that name it as evidence.
"""

import re2

from kept.model.artifact import artifacts
from kept.model.lexicon import Lexicon
from kept.model.memory import Evidence
from kept.stages.extract.cues import has, places, split_at, strip_first
from kept.stages.extract.prose import Passage
from kept.stages.extract.sentences import Span, sentences
from kept.stages.extract.turn import READ, Turn, evidence_of
from kept.stages.extract.view import Before, is_file
from kept.stages.extract.writing import LONGEST, finish, plain

_MATTER = 14  # words of what a caution limits
_QUOTE = 400
# What follows a noun within a few words, in code marks: what it is.
_IS_AT = r"(?i)\b{noun}\b[^`\n.]{{0,20}}`((?:[~.]?/|[\w.-]+/)[^`\n]+)`"
_CLAUSE_END = re2.compile(r",\s|[.;]\s|$")


def named(words: str, text: str, lexicon: Lexicon) -> str:
    """A sentence that says of what kind something is ("this is an internal flag"), with the only flag or file that the prompt names for its
    "this"; the sentence itself where there is none, or several.
    """
    at = places(lexicon.this_is, words)
    kind = words[at[0][1] :] if len(at) == 1 else ""
    if not kind:
        return words
    flag, file = (has(cue, kind) for cue in (lexicon.flag_noun, lexicon.file_noun))
    names = [name for name in artifacts(text) if (flag and name.startswith("--")) or (file and not flag and is_file(name))]
    return f"`{names[0]}` {lexicon.phrase('is')} {kind.strip(' )')}" if len(names) == 1 and lexicon.phrase("is") else words


def placed(content: str, turn: Turn) -> tuple[str, list[Evidence]]:
    """A correction without a name, with the place that the assistant then finds for a thing that it speaks of."""
    if artifacts(content):
        return content, []
    noun = next((content[low:high].casefold() for low, high in places(turn.lexicon.technical, content)), "")
    pattern = re2.compile(_IS_AT.format(noun=re2.escape(noun))) if len(noun) > 3 else None
    found = {match[1]: event for event in turn.replied[::-1] if pattern for match in pattern.finditer(event.text[:READ])}
    if len(found) != 1:
        return content, []
    place, event = next(iter(found.items()))
    low = content.casefold().index(noun)
    end = low + _CLAUSE_END.search(content[low:]).start()
    head = content[:end].rstrip(". ")
    if len(content) + len(place) + 5 > LONGEST:
        return content, []
    rest, _, last = content[end:].rstrip(". ").rpartition(" ")
    # Behind the name of the place a last "there" means it.
    points = "," in rest and has(turn.lexicon.dangling, f"{last}.")
    tail = f"{rest} {turn.lexicon.phrase('in it')}" if points else content[end:].rstrip(". ")
    line = next(each for each in event.text.splitlines() if f"`{place}`" in each)
    return finish(f"{head} (`{place}`){tail}"), [evidence_of(event, line.strip()[:_QUOTE])]


def limiting(content: str, said: tuple[Passage, Span], turn: Turn) -> tuple[str, list[Evidence]]:
    """A sentence that opens with a "but" after a question whether something could be done, with what it limits before it."""
    (passage, span), text, lexicon = said, turn.event.text, turn.lexicon
    words = text[span.start : span.end]
    before_it = next((each for each in sentences(text, passage.start, span.start)[::-1] if not each.aside), None)
    if before_it is None or not has(lexicon.but, words) or not text[before_it.start : before_it.end].endswith(("?", "？")):
        return content, []
    asked = plain(text[before_it.start : before_it.end]).rstrip("?？ ")
    at = max((high for _, high in places(lexicon.whether, asked)), default=len(asked))
    matter = asked[at:].strip()
    if not 4 <= len(matter.split()) <= _MATTER or not has(lexicon.technical, matter) or len(content) + len(matter) + 12 > LONGEST:
        return content, []
    content = f"{content[:1].lower() if content[1:2].islower() else content[:1]}{content[1:]}"
    return finish(f"{lexicon.phrase('whether')} {matter}: {content}"), [
        evidence_of(turn.event, text[before_it.start : before_it.end])
    ]


def after_symptom(content: str, seen: Before, lexicon: Lexicon) -> tuple[str, list[Evidence]]:
    """A told cause after the symptom that the person's prompt before named."""
    if not has(lexicon.cause_told, content) or not seen.asked:
        return content, []
    asked = seen.asked[0]
    for span in sentences(asked.text, 0, min(len(asked.text), READ)):
        words = asked.text[span.start : span.end]
        _, seen_then = split_at(lexicon.symptom, words)
        told = plain(seen_then).strip(" .,!?:")
        if 2 <= len(told.split()) <= 12 and not words.endswith("?") and len(content) + len(told) + 4 <= LONGEST:
            return finish(f"{told[:1].upper()}{told[1:]}: {content[:1].lower()}{content[1:]}"), [evidence_of(asked, words)]
    return content, []


def undoing(content: str, seen: Before, lexicon: Lexicon) -> tuple[str, list[Evidence]]:
    """A reason for taking something back with what was taken back, in the assistant's words and in brackets."""
    for event in seen.replies[:3]:
        for span in sentences(event.text, 0, min(len(event.text), READ)):
            words = event.text[span.start : span.end]
            done = plain(strip_first(lexicon.person, words)).rstrip(" .:!")
            if has(lexicon.did, words) and 4 <= len(done.split()) <= 25 and len(content) + len(done) + 12 <= LONGEST:
                return finish(f"{content.rstrip('.')} ({lexicon.phrase('undone')}: {done})"), [evidence_of(event, words)]
    return content, []


def naming(name: str, seen: Before) -> list[Evidence]:
    """The assistant's words that name an artifact, where it was a message that did."""
    for event in seen.replies:
        at = event.text.find(name)
        if at >= 0:
            low = event.text.rfind("\n", 0, at) + 1
            high = event.text.find("\n", at)
            low = max(low, at - 200)
            return [evidence_of(event, event.text[low : high if 0 <= high <= low + _QUOTE else low + _QUOTE].strip())]
    return []
