"""Statements that kept must not make active by itself: what is left of a secret, and numbers of accounts and cards.

The number of an account opens nothing by itself and stands in many tests, so it is not redacted. It is a person's own affair, so a
person decides about it.
"""

from functools import cache

from kept.core.pattern import Pattern
from kept.core.redact.shape import load_words
from kept.core.redact.values import is_card

_MARK = Pattern(r"\[redacted:[a-z0-9-]{1,40}:[0-9a-f]{8}\]")
# Not within an id: no letter, digit or hyphen beside it.
_IBAN = Pattern(r"(?i)(?:^|[^\w-])([A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)(?:[^\w-]|$)")
_CARD = Pattern(
    r"(?:^|[^\w-])([3-6][0-9]{3}(?: ?[0-9]{4}){3}|[3-6][0-9]{3}(?:-[0-9]{4}){3}|3[47][0-9]{2} ?[0-9]{6} ?[0-9]{5})(?:[^\w-]|$)"
)
_LEAST_DIGITS = 10  # of an account number; words and names have fewer


@cache
def _unsaid() -> Pattern:
    """Matches a text that asks to remember a secret and does not say it: an owner, at most two words, the name of the secret."""
    words = load_words()["unsaid"]
    names, owners, whose = ("|".join(words[name]) for name in ("names", "owners", "whose"))
    return Pattern(
        rf"(?i)^(?:[^\s:]+[ \t]+){{0,2}}?(?:{owners})[ \t]+(?:[\w.-]+[ \t]+){{0,2}}?(?:{names})"
        rf"(?:[ \t]+(?:{whose})[ \t]+[^.,;:!?]{{1,30}})?[ \t]*[.!]?$|{'|'.join(words['dense'])}"
    )


def is_redacted(text: str) -> bool:
    """True if a secret was taken out of a text. What is left says that there is a secret, or how it was used, but not which."""
    return "[redacted:" in text and _MARK.search(text) is not None


def names_unsaid_secret(text: str) -> bool:
    """True if a text to remember only names a secret: "my openai key"."""
    return _unsaid().search(text) is not None


def has_account_number(text: str) -> bool:
    """True if a text has the number of a bank account (IBAN) or of a payment card with valid check digits."""
    return any(map(_is_iban, _find_words(_IBAN, text))) or any(is_card(word.encode()) for word in _find_words(_CARD, text))


def _find_words(pattern: Pattern, text: str) -> list[str]:
    return [match.group(1) for match in pattern.finditer(text)]


def _is_iban(text: str) -> bool:
    """True if the digits of an account number give the rest 1 (ISO 7064), letters counted from 10."""
    number = "".join(filter(str.isalnum, text))
    if sum(map(str.isdigit, number)) < _LEAST_DIGITS or not 15 <= len(number) <= 34:
        return False
    return int("".join(str(int(char, 36)) for char in number[4:] + number[:4])) % 97 == 1
