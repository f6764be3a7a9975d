"""Decisions that a prompt makes by answering: the assistant's proposal, one of its options, or a question that its tool put."""

from collections.abc import Sequence

from kept.model.artifact import artifacts
from kept.model.event import Event
from kept.model.lexicon import Lexicon
from kept.model.memory import Candidate, Evidence
from kept.model.text import tokens
from kept.stages.extract.cues import has, specific, strip_first, strip_last
from kept.stages.extract.picks import pick, quoted
from kept.stages.extract.prose import Voice, passages
from kept.stages.extract.sentences import sentences
from kept.stages.extract.turn import READ, Turn, evidence_of, made
from kept.stages.extract.view import Before, is_file, short_place
from kept.stages.extract.writing import LONGEST, finish, plain, without_question

# Below this a decision waits for a person anyway.
_HELD = 0.7


def of_answer(turn: Turn) -> Candidate | None:
    """The decision an answer makes, in the words of the assistant's proposal with the question it settles."""
    event, seen, lexicon = turn.event, turn.seen, turn.lexicon
    if seen.question is not None:
        return _of_question(turn, seen.question)
    replies = (*seen.replies, *seen.older)
    texts = [reply.text[-READ:] for reply in replies]
    said = evidence_of(event, event.text.strip())
    chosen = pick(event.text[:READ], texts, lexicon) or quoted(event.text[:READ], texts[: len(seen.replies)], lexicon)
    if chosen is None or not chosen.content:
        return None
    evidence = [said, *(evidence_of(_holder(replies, each), each) for each in (chosen.quote, *chosen.more))]
    content = chosen.content
    question, asked, whole = _question(seen, lexicon)
    leans = asked is not None and not chosen.whole and not _names_any(question, content, lexicon)
    if asked and leans:
        content = led_by(question if whole else f"{lexicon.phrase('about')}: {question}", content, stop="?" if whole else ".")
        evidence.append(asked)
    # What only a request before it makes understood is for a person to word.
    sure = 0.75 if chosen.sure and (whole or not leans or chosen.told) else 0.55
    signals = ["agrees to the assistant's proposal"]
    changed = turn.applied.tool.target if turn.applied and turn.applied.tool else ""
    place = short_place(changed)
    if turn.applied and place and sure > _HELD and not any(_is_place(name) for name in artifacts(content)):
        placed = finish(f"{content.rstrip('.')} ({lexicon.phrase('in').lower()} `{place}`)")
        if len(placed) <= LONGEST and place.rpartition("/")[2] not in content:
            content, evidence = placed, [*evidence, evidence_of(turn.applied, changed)]
            signals.append("carried out in a file")
    return made(turn, ("decision", "agreement"), content, sure=sure, evidence=evidence, signals=signals)


def _is_place(name: str) -> bool:
    """Whether a name says where something is: a path, or a file by its name (".log" is a kind of file, "`queue.Add`" a call)."""
    stem, _, ending = name.rpartition(".")
    return "/" in name or (is_file(name) and bool(stem) and ending.islower())


def _of_question(turn: Turn, question: Event) -> Candidate | None:
    """The decision that a person made when the assistant's own tool put one question to them."""
    asked = plain(question.tool.target.strip().split("\n", 1)[0]) if question.tool else ""
    answer = plain(strip_last(turn.lexicon.recommended, turn.event.text.strip()))
    several = "\n" in answer or any(part[:1].isupper() for part in answer.split(", ")[1:])
    if not asked.endswith(("?", "？")) or asked[:-1].count("?") or several or "?" in answer or len(answer) > 160:
        return None
    points = has(turn.lexicon.pronoun, answer) or has(turn.lexicon.dangling, answer)
    if points or has(turn.lexicon.refusal, answer) or len(answer.split()) < 2 or not specific(f"{answer} {asked}", turn.lexicon):
        return None
    # What the question tells before it asks says what the answer is about.
    told = asked.rpartition(". ")[0]
    about, stop = (told, ".") if told else (asked.rstrip("?？ "), "?")
    answer = strip_first(turn.lexicon.opener, answer)
    # An answer that orders something settles what is done next, not what holds.
    ordered = has(turn.lexicon.task, answer)
    answer = f"{turn.lexicon.phrase('chose')} {answer[:1].lower()}{answer[1:]}" if ordered else answer
    content = led_by(about, finish(answer), stop=stop)
    lasting = has(turn.lexicon.generaliser, content) or has(turn.lexicon.versus, content) or bool(artifacts(content))
    evidence = [evidence_of(turn.event, turn.event.text.strip())]
    signals = ["answers the assistant's question", *(["names artifacts"] if lasting else [])]
    sure = 0.75 if lasting and not ordered else 0.6
    return (
        made(turn, ("decision", "agreement"), content, sure=sure, evidence=evidence, signals=signals)
        if len(content) <= LONGEST
        else None
    )


def _holder(replies: Sequence[Event], quote: str) -> Event:
    """The reply that holds a quote taken from one of them."""
    return next(reply for reply in replies if quote in reply.text)


def _names_any(question: str, content: str, lexicon: Lexicon) -> bool:
    """Whether the content has any of the telling words of a question, in whatever form."""
    telling = (word for word in tokens(question) if len(word) > 4 and not has(lexicon.question, word))
    return any(word[:4] in content.casefold() for word in telling)


def led_by(about: str, content: str, *, stop: str) -> str:
    """What was decided after the question, or the statement, that it answers."""
    return f"{about[:1].upper()}{about[1:].rstrip('.')}{stop} {content}"


def _question(seen: Before, lexicon: Lexicon) -> tuple[str, Evidence | None, bool]:
    """The question of the person's last prompt without its mark (then True), or what it asked for; empty where it asks nothing short."""
    for event in seen.asked[:1]:
        for passage in passages(event.text, lexicon):
            for span in sentences(event.text, passage.start, passage.end) if passage.voice is Voice.OWN else ():
                words = event.text[span.start : span.end]
                if not words.endswith("?") or not 4 <= len(words.split()) <= 24 or has(lexicon.profanity, words):
                    continue
                if not has(lexicon.request, words):
                    return plain(words).rstrip("? "), evidence_of(event, words), True
                order = strip_first(lexicon.request, without_question(words, lexicon)).rpartition(", ")
                asked_for = plain(strip_first(lexicon.task, (order[0] or order[2]))).rstrip("?. ")
                if len(asked_for.split()) >= 4 and not has(lexicon.deictic, asked_for) and not has(lexicon.pointer, asked_for):
                    return asked_for, evidence_of(event, words), False
    return "", None, False
