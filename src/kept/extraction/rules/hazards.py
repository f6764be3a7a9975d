"""What may stand in the slots of a fix: an error without anybody's prose, and a command that a later agent may run unasked.

What a tool printed and what an agent ran are shown to later sessions as they stand, so a sentence in them would be an order, and a
command that destroys or opens something would be repeated. Decided by form: names are one token, and words in a row are prose.
"""

import re
from itertools import pairwise

from kept.core.memory import DANGEROUS
from kept.core.pattern import Pattern
from kept.core.text import NEGATIONS
from kept.extraction.rules.commands import Step, steps_of, unquote_word
from kept.extraction.rules.toolwords import DESTROYS, INTERPRETERS, MAKERS, NAMES, RUNS, WEAKENS
from kept.profiles.lexicons import word_list

# A quotation mark that opens, and behind it the one token and the mark that closes, where it names one thing.
_QUOTED = Pattern(
    r"(?:^|[\s(\[{=:,])(?:'([^\s'\"`<>*]*['’])?|\"([^\s\"`<>*]*\")?|`([^\s'\"`<>*]*[`'])?|“([^\s”<>*]*”)?|‘([^\s’<>*]*’)?|«([^»<>*]*»)?)"
)
_MARKUP = Pattern(r"<[/!A-Za-z]|\*\*|\]\(|&[a-z]+;")
_LABEL = Pattern(r"^\S+ ERR! ")  # of npm: no end of a sentence
_NEXT = Pattern(r"[.!?;。！？]\s+\S|\s[-–—]\s")
_BINDS = "|".join(sorted(map(re.escape, word_list("assertion", "binds") - NEGATIONS - {"only"})))
_ORDER = Pattern(rf"(?i)(?:^|[,;:(]\s)[^,;:(]*\b(?:{_BINDS})\b(?:\s+\S+){{4}}")
_TOLD = Pattern(rf"(?i)(?:^|[\s'\"=:,(])(?:{_BINDS})(?:\s+[^\W\d_]+){{2}}")
_IN_A_ROW = Pattern(r"(?:(?:^|[\s'\"=:,(])[^\W\d_]+(?:['’][^\W\d_]+)?[,.:;!?]?){7}(?:$|[\s'\"),])")
_ARGUMENT = Pattern(r"\"[^\"]*\"?|'[^']*'?")
_SPOKEN = Pattern(r"[^\W\d_]{2,}[,.:;]?\s+[^\W\d_]{2,}[,.:;]?\s+[^\W\d_]{2,}")
_REMARK = Pattern(r"(?:^|\s)(?:#|//|/\*|<!--)")

_HERE = Pattern(r"^(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d+)?(?:/|$)")
_ADDRESS = Pattern(r"(?:\w+\+)?\w+://[^\s'\"]+")
_INNER = Pattern(r"(?:[$<]\(|`)([^()`]+)")
_ACTS = frozenset({"-delete", "-exec", "-execdir", "-ok", "-okdir"})  # of find
_PICKS = frozenset({"-name", "-iname", "-path", "-ipath"})
_INLINE = Pattern(r"-[A-Za-z]{0,3}[ceE]|-[ce]\w*\W.*|--eval.*|--print.*")
_ALSO_INLINE = {"php": "-r", "node": "-p"}
_INLINE_SHELL = Pattern(r"-[A-Za-z]{0,3}c")
_OUTSIDE = Pattern(r"^(?:/|~|\$|\.\.|\.$|\./?\*?$|\*|[A-Za-z]:\\)")
_OPENED = Pattern(
    r"[0-7]?[0-7]{2}[2367]|[augo]*[ao][augo]*[+=][rx]*w[rx]*|[+=][rx]*w[rx]*|0?[2-7][0-7]{3}|[ugoa]*[+=][rwxX]*s[rwxXst]*"
)
_PIECES = Pattern(r"[A-Za-z]+")


def named_error(line: str) -> str:
    """The part of an error line that holds no prose of a tool's: up to the first quoted text that is no name, the first markup and
    the end of its first sentence.
    """
    label = _LABEL.match(line)
    head = label[0] if label else ""
    rest = line[len(head) :]
    ends = [found.start() for pattern in (_MARKUP, _NEXT, _ORDER) if (found := pattern.search(rest))]
    ends += [match.start() for match in _QUOTED.finditer(rest) if not any(match.groups())][:1]
    return f"{head}{rest[: min(ends, default=len(rest))]}".rstrip(" .:,;=([{")


def plain_command(command: str) -> str:
    """A command up to the first thing in it that speaks to somebody: a remark, markup, or words in a row."""
    ends = [match.start() for match in _ARGUMENT.finditer(command) if _SPOKEN.search(match[0])][:1]
    ends += [found.start() for pattern in (_REMARK, _MARKUP, _TOLD, _IN_A_ROW) if (found := pattern.search(command))]
    return command[: min(ends, default=len(command))].rstrip()


def is_spoken(passage: str) -> bool:
    """Whether a command, or a line that was changed, holds a remark or words that speak to somebody."""
    return plain_command(passage) != passage.rstrip()


def is_harmful_command(command: str) -> bool:
    """Whether a command destroys, opens, loads from elsewhere or switches a check off, so that only a person may pass it on."""
    return bool(
        WEAKENS.search(command)
        or DESTROYS.search(command)
        or any(not _HERE.match(address) for address in _ADDRESS.findall(command))
        or any(map(_is_harmful, steps_of(command)))
        or any(_is_harmful(step) for inner in _INNER.findall(command) for step in steps_of(inner))
    )


def _is_harmful(step: Step) -> bool:
    words = [unquote_word(word) for word in step.words]
    if "sudo" in (*step.settings, *words) or "doas" in words:
        return True
    if step.program == "find" and _ACTS & set(words):
        return _is_wide_delete(words) or any(_is_harmful_call(words[place:], "") for place in range(1, len(words)))
    if step.program in NAMES["wrappers"]:
        reads_names = step.program in ("xargs", "parallel")
        return (
            (reads_names and bool(NAMES["removers"] & set(words)))
            or (not reads_names and _destroys(words))
            or any(_is_harmful_call(words[place:], "" if reads_names else step.joint) for place in range(1, len(words)))
        )
    return _destroys(words) or _is_harmful_call(words, step.joint)


def _is_wide_delete(words: list[str]) -> bool:
    """Whether a ``find`` that acts on what it finds looks outside of the current folder or for files of any name."""
    first = next(place for place, word in enumerate(words) if place and word[:1] in ("-", "(", "!"))
    picked = any(word in _PICKS and name.strip("*?./") for word, name in pairwise(words))
    return not picked or any(_OUTSIDE.match(root) and root not in (".", "./") for root in words[1:first])


def _is_harmful_call(words: list[str], joint: str) -> bool:
    """Whether a command of some words, behind an operator, does harm by itself."""
    if not words:
        return False
    program, operands = words[0].rsplit("/", 1)[-1], [word for word in words[1:] if not word.startswith("-")]
    if operands[:1] and (operands[0] in NAMES["trusts"] or ("config" in words[1:3] and any(map(RUNS.search, words[2:])))):
        return True
    if program in NAMES["removers"]:
        return any(_OUTSIDE.match(word) for word in operands)
    if program == "chmod":
        return any(_OPENED.fullmatch(word) for word in operands)
    if INTERPRETERS.fullmatch(program):
        inline = _INLINE_SHELL if program.endswith("sh") else _INLINE
        options = words[1 : words.index("-m")] if "-m" in words else words[1:]
        return joint == "|" or any(inline.fullmatch(word) for word in options) or _ALSO_INLINE.get(program) in options
    return program in NAMES["loaders"] and not (operands and all(_HERE.match(word) for word in operands))


def _destroys(words: list[str]) -> bool:
    """Whether a program, subcommand or long option says that something goes that no command brings back. No cache counts."""
    said = [word for word in words if "/" not in word and (word.startswith("--") or not word.startswith("-"))][:6]
    pieces = {piece.lower() for word in said for piece in _PIECES.findall(word.partition("=")[0])} - {words[0] if words else ""}
    if "dropdb" in words or "cache" in pieces or (words[:1] == ["git"] and "reset" in pieces):  # `reset --hard` is told apart above
        return "dropdb" in words
    return bool(pieces & NAMES["destroyers"]) or (bool(pieces & NAMES["cleans"]) and not any(map(MAKERS.fullmatch, words[:1])))


__all__ = ["DANGEROUS", "is_harmful_command", "is_spoken", "named_error", "plain_command"]
