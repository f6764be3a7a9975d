"""Render a turn of an earlier session as one dated line: the person's text, and the beginning of the assistant's reply.

It is imported only if there is such a turn, because separating typed words from pasted ones takes longer than a hook's search.
"""

import re
from collections.abc import Mapping

from kept.core.event import FORGOTTEN_MARK
from kept.core.fence import SAID, ContextPiece
from kept.core.sentences import sentence_texts
from kept.core.spans import find_spans
from kept.core.text import index_words, one_line, tokenize
from kept.recall.context_budget import contains_line
from kept.recall.nearby import ContextLookup
from kept.recall.question import telling_words
from kept.store.reader import RecallTurn

PREFIX = "turn:"  # distinguishes the key of a turn from the ids of memories
_PASSAGE, _REPLY = 280, 160  # maximum length in characters of the person's text and of the reply
_LEAST_WORDS = 4  # a passage with fewer says nothing outside of its conversation: "commit deploy", "the second one"
# Words by which the next prompt takes the passage back, in the languages of the lexicons that put spaces between words.
_OBJECTING_TEXT = """
    no not never dont instead stop undo revert forget actually wait
    nein ne nicht kein keine keinen statt stattdessen doch lieber vergiss pas plutôt finalement oublie mejor sino nunca olvida
    não melhor esquece invece piuttosto lascia dimentica нет не вместо лучше забудь
"""
_OBJECTING = frozenset(_OBJECTING_TEXT.split())
_HANDED_OVER = re.compile(r'(?m)^[*_`> \t]*kept: ".*$')  # lines of a reply that repeat what the person said


def turn_pieces(look: ContextLookup, near: Mapping[str, float]) -> list[ContextPiece]:
    """The lines for turns, as a :data:`kept.recall.context.TurnLookup` found them. A later turn stands behind the first one, or in
    its place if that is left out, and is not shown again.

    Erased, withdrawn and very short turns are left out.
    """
    pieces: list[ContextPiece] = []
    shown: set[str] = set()
    for place, (keys, close) in enumerate(near.items()):
        key, _, later = keys.partition(" ")
        since = _said_line(look, later) if later else ""
        text = "" if key in shown else _said_line(look, key, since, least=_LEAST_WORDS)
        if not text and since and later not in shown:
            key, text = later, _said_line(look, later, least=_LEAST_WORDS)
        shown |= {key, later}
        if text:
            pieces.append(
                ContextPiece(SAID, PREFIX + key, text, "", close, -place, "you said it in an earlier session of this project")
            )
    return pieces


def _said_line(look: ContextLookup, key: str, since: str = "", *, least: int = 1) -> str:
    """The line for a turn; empty if it is left out. ``since`` is the line for a later turn, ``least`` the minimum of words."""
    turn = look.reader.turn(key)
    passage = _typed_passage(turn, look.asked.message) if turn and turn.session != look.asked.session else ""
    if turn is not None and passage and not turn.ended:
        turn = _end_copy(look, turn, passage)
    if turn is None or len(tokenize(passage)) < least or (turn.ended and not turn.instead):
        return ""
    text = f'{look.local_day(turn.at)}, you: "{passage}"'
    if turn.instead:
        return f"{text} (replaced since: {one_line(turn.instead)})"
    if (then := _objection(turn, passage)) and then not in since:
        text += f' Then you: "{then}"'
    elif not since and (reply := _HANDED_OVER.sub("", turn.reply).strip()) and FORGOTTEN_MARK not in reply:
        text += f' Answer: "{_cut_passage(one_line(reply), _REPLY)}"'
    return f"{text}; {since}" if since else text


def _end_copy(look: ContextLookup, turn: RecallTurn, passage: str) -> RecallTurn:
    """The turn, marked as ended if its passage says what a memory said that ended after it, and not what replaced that memory."""
    words = tokenize(passage)
    for content, instead in look.reader.ended_memories(look.scopes, turn.at):
        if contains_line(words, tokenize(content)) and not (instead and contains_line(words, tokenize(instead))):
            return turn._replace(ended=True, instead=instead)
    return turn


def _typed_passage(turn: RecallTurn, message: str) -> str:
    """The person's text. A long text begins with the sentence that shares most words with the message, and is cut after 280
    characters. Empty if a part of the turn was forgotten.
    """
    if FORGOTTEN_MARK in turn.text:
        return ""
    typed = one_line(
        " ".join(turn.text[span.start : span.end] for span in find_spans(turn.text, repeated=turn.repeated) if span.is_typed)
    )
    if len(typed) <= _PASSAGE:
        return typed
    asked = tokenize(message)
    parts = list(sentence_texts(typed)) or [typed]
    best = max(range(len(parts)), key=lambda place: (len(tokenize(parts[place]) & asked), -place))
    return _cut_passage(one_line(" ".join(parts[best:])), _PASSAGE)


def _objection(turn: RecallTurn, passage: str) -> str:
    """The person's next words if they seem to take the passage back, because they object and share a word with it; else empty."""
    then = _typed_passage(turn._replace(text=turn.then, repeated=()), passage)
    objects = not _OBJECTING.isdisjoint(index_words(then).split()) and not {*telling_words(then)}.isdisjoint(telling_words(passage))
    return _cut_passage(then, _REPLY) if objects else ""


def _cut_passage(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"
