"""How the memories of a category live: which rules a profile states for them, how a dossier is put together, what stands on the same ground.

Pure rules over statements; knows no candidates, no memories and no store.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kept.model.profile import Profile, Shape
from kept.model.statement import Statement, replaces, same
from kept.model.text import likeness

GROUND = 0.5  # likeness of their content words from which two themes stand on the same ground
CONDENSING = 0.25  # from which likeness on two entries may become one (:func:`alike`)
_ASKED = 4  # content words that a question has at least, to be recognised in an answer
_ANSWERED = 0.8  # share of its content words that an answer has
_NAMED_ANSWER = 0.6  # the same where both name the same artifact
_SHARED_NAME = 0.1
_NAMES = 2
_NAMED_GROUND = 0.3  # the same where they name the same artifact


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """How the categories of a profile are curated.

    ``promotions`` says what a category becomes once the same was said often; of ``lasting`` ones several can hold at once, so that
    none replaces another; ``gathered`` ones have one memory for each subject; of ``themes`` the latest on the same ground stands;
    of ``condensed`` ones, past so many of a scope, the most alike become one entry; ``questions`` are closed by what answers them.
    """

    promotions: Mapping[str, str] = field(default_factory=dict)
    lasting: frozenset[str] = frozenset()
    gathered: frozenset[str] = frozenset()
    themes: frozenset[str] = frozenset()
    condensed: Mapping[str, int] = field(default_factory=dict)
    questions: frozenset[str] = frozenset()


def rules_of(profile: Profile) -> Rules:
    """The rules that a profile's categories state."""
    kinds = profile.categories
    return Rules(
        promotions={each.id: each.promotes_to for each in kinds if each.promotes_to},
        lasting=frozenset(each.id for each in kinds if each.lasting),
        gathered=frozenset(each.id for each in kinds if each.shape in (Shape.DOSSIER, Shape.COLLECTION)),
        themes=frozenset(each.id for each in kinds if each.shape is Shape.THEME),
        condensed={each.id: each.condense for each in kinds if each.condense},
        questions=frozenset(
            found.id for each in ("open_question", "noted_question") if (found := profile.category_for(each)) is not None
        ),
    )


def same_ground(left: Statement, right: Statement) -> bool:
    """Whether two themes are about the same: their words, or fewer of them and the same artifact."""
    alike = likeness(left.content, right.content)
    return alike >= GROUND or (alike >= _NAMED_GROUND and bool(left.artifacts & right.artifacts))


def answers(answer: Statement, question: Statement) -> bool:
    """Whether a statement says what became of a question: nearly all of its matter, or most of it and the thing that it names."""
    if len(question.content) < _ASKED:
        return False
    share = len(answer.content & question.content) / len(question.content)
    return share >= _ANSWERED or (share >= _NAMED_ANSWER and bool(answer.artifacts & question.artifacts))


def alike(left: Statement, right: Statement) -> float:
    """How much two entries are about one matter: the likeness of their content words, and a tenth for each of two names they share."""
    return likeness(left.content, right.content) + _SHARED_NAME * min(_NAMES, len(left.artifacts & right.artifacts))


def in_short(texts: Sequence[str], most: int) -> str:
    """Several sentences as one text of at most ``most`` characters, in their order; the longest are cut, each keeps its beginning.

    ``most`` is at least some 40 characters for each.
    """
    room, lengths = most - len(texts), sorted(len(each) for each in texts)
    share = room // len(texts)
    for place, length in enumerate(lengths):  # what the short ones leave, the long ones have
        share = room // (len(texts) - place)
        room -= min(length, share)
    return " ".join(_shortened(each, share) for each in texts)


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head = text[: most - 1]
    ends = [at for mark in ("; ", ": ", ", ", " (", " — ") if (at := head.rfind(mark)) > most // 2]
    head = head[: max(ends, default=head.rfind(" ") if " " in head[most // 2 :] else len(head))]
    if head.count("`") % 2:
        head = head[: head.rfind("`")] or head
    return f"{head.rstrip(' ,;:(')}…"


def gather(parts: Sequence[tuple[datetime | None, str, Statement]], subject: str, most: int) -> str:
    """The text of a dossier: what its parts say, in their order, each thing once, a changed one with what it was before.

    ``parts`` are (when, text, statement), the earliest first. At most ``most`` characters: what was said first goes first.
    """
    said: list[tuple[str, Statement, str]] = []
    for at, text, statement in parts:
        was = ""
        for before in tuple(said):
            if same(before[1], statement):
                said.remove(before)
            elif replaces(statement, before[1]):
                said.remove(before)
                was = f"until {at:%Y-%m-%d}: {before[0]}" if at else ""
        said.append((text.rstrip("."), statement, was))
    while len(said) > 1 and len(_joined(said, subject)) > most:
        said.pop(0)
    return _joined(said, subject)


def _joined(said: Sequence[tuple[str, Statement, str]], subject: str) -> str:
    """The sentences as one; one that begins with the subject as the first does goes on where that is named."""
    first = said[0][0]
    end = first.casefold().find(subject.casefold())
    opening = first[: end + len(subject)].casefold() + " " if subject and end >= 0 else ""
    whole = ""
    for text, _, was in said:
        goes_on = bool(whole) and not _ends(whole)
        short = text[len(opening) :] if goes_on and opening and text.casefold().startswith(opening) else text
        piece = f"{short} ({was})" if was else short
        whole = f"{whole}{'; ' if goes_on else ' ' if whole else ''}{piece}"
    return whole if _ends(whole) else f"{whole}."


def _ends(text: str) -> bool:
    """Whether a text ends as a sentence does, a quotation's own end included."""
    return text.rstrip("\"'”’»)`").endswith((".", "!", "?", "…", "。", "！", "？"))
