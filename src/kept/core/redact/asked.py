"""Finds the secret in a short answer to a question that asks for one by name. The words are in ``words.toml``."""

from functools import cache
from itertools import chain
from pathlib import Path

from kept.core.codec import load_table
from kept.core.pattern import Pattern, compile_late
from kept.core.redact.shape import looks_path, looks_placeholder, looks_random
from kept.core.redact.values import Setting, is_secret_value

_MOST_WORDS = 8  # a longer answer tells more than a secret, and the rules of ``secrets.toml`` read it
_MARKS = "\"'`“”„«»「」()[]<>,;:."
_CHOSEN = compile_late(r"[A-Za-z0-9!#$%^&*+=?~@]+")
_FILE = compile_late(r"^-|\.[A-Za-z]\w{0,4}$")  # also an option of a command
_LEAST = 6  # characters of a password that is a whole answer


def find_answered_secret(question: str, answer: str) -> str:
    """The word of an answer that is the secret. Empty if there is none, or if the question asks for none."""
    words = list_answer_words(answer)
    rank = _rank_question(question.casefold()) if words else 0
    return next((word for word in words if word and _is_told(word, rank, alone=len(words) == 1)), "") if rank else ""


def list_answer_words(answer: str) -> list[str]:
    """The words of an answer that may be a secret. Empty if it has too many words to be only an answer."""
    words = [word.strip(_MARKS) for word in answer.split() if "[redacted:" not in word]
    return words if len(words) <= _MOST_WORDS else []


def _rank_question(question: str) -> int:
    """3 if a sentence asks for a password, 2 if for a key or another secret, else 0."""
    if not _has("ask", question) or _has("about", question):
        return 0
    return 3 if _has("passwords", question) else 2 if _has("keys", question) else 0


def _has(name: str, text: str) -> bool:
    """True if a text has a word of a list. Those that are no plain ASCII word are found within words too."""
    return bool(_build_pattern(name).search(text))


@cache
def _build_pattern(name: str) -> Pattern:
    words = chain(*load_table(Path(__file__).with_name("words.toml"))["asked"][name].values())
    return Pattern("|".join(rf"\b{word}\b" if word.isascii() and word.isalpha() else word for word in words))


def _is_told(word: str, rank: int, *, alone: bool) -> bool:
    """True if a word of an answer is the secret that was asked for. ``alone``: it is the whole answer."""
    value = word.encode()
    if alone and rank == 3:
        typed = len(word) >= _LEAST and word.isascii() and any(map(str.isalpha, word)) and not _FILE.search(word)
        return typed and not (_has("no_password", word.casefold()) or looks_placeholder(value) or looks_path(value))
    if not alone and not _CHOSEN.fullmatch(word):
        return False
    return is_secret_value(Setting.TOLD, 2, value) or (looks_random(value, least=12) and is_secret_value(Setting.LITERAL, 2, value))
