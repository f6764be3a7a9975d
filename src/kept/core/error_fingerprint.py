"""Finds the lines of a program's output that state an error, and computes a fingerprint that recognises the same error again.

Also finds errors that a person quotes in a message. Covers the messages of shells, compilers, linters, interpreters and servers.
Knows nothing of events, commands or fixes.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from kept.core.digest import digest
from kept.core.pattern import Pattern, compile_late
from kept.core.text import one_line
from kept.core.words import fill_pattern, list_shapes

LINES_KEPT = 6
LINE_CHARS = 300
_LEAST_CHARS = 8
_READ_CHARS = 12_000

# Each pattern below runs on one line of at most LINE_CHARS characters, in linear time: none reads the same text twice.
_POSITION = compile_late(r"[:(]\d")
_BRACKETS = compile_late(r"^\s*+(?:\[[\w:. -]{1,40}\]\s*+)++")
_ANSI = compile_late(r"\x1b\[[0-9;?]*[A-Za-z]")
_TYPED = Pattern(
    r"(?:^|[\s(\[.:])[A-Z]\w*?(?:Error|Exception|Failure|Panic)\b\)?(?: \[\w+\])?: +\S|\((?:\w+::|\w+\.)*[A-Z]\w*(?:Error"
    r"|Exception)\)$"
)
_TAGGED = compile_late(
    r"^[^\w]{0,4}(?:\S{1,24} )??(?:error|fatal|panic|err!|fehler|erreur|erro)(?:\[[\w-]+\]"
    r"| [A-Z]{1,4}\d{2,5}| in [^\s:][^:]{0,60}?(?=: | : ?))?(?: response from \w+)?(?: ?:|!|(?<=!)) *\S",
    re.IGNORECASE,
)
_PLACED = compile_late(r"^\s*+(?:[A-Za-z]:)?(?:[\w.@~+ -]*+[\\/])*+[\w.@~+-]+\.\w{1,8}[:(]\d+(?:[:,]\d+)?\)?:? +\S")
_RULED = compile_late(r"\(([a-z][\w-]*(?:/[\w-]+)*)\)$|^(?:error: +|warning: +)?([A-Z]{1,5}\d{3,5}):? ")
_COLUMNS = compile_late(r"^\s*\d+:\d+\s+(?:error|warning)\s+\S.*?\s{2,}([@\w/-]+)$")
_SHELL = compile_late(r"^\s*(?:\(eval\):|[\w.+~/-]{1,80}: )")
_STATUS = Pattern(
    r"(?i)(?:\bHTTP(?:/[\d.]+)?|\bstatus(?: code)?:?|\breturned error:|\berror:?|\bresponse:?)[ :=]+\(?([45]\d\d)\b"
    rf"|\b[45]\d\d (?:{'|'.join(list_shapes('errors', 'statuses'))})"
)
_PLAINT = fill_pattern(r"(?i)‹shapes:errors.complaints›")
_SIGN = fill_pattern(r"(?i)‹shapes:errors.signs›")
_FRAME = compile_late(
    r'^\s*(?:at \S|={3}|-{3}|(?:FAIL|PASS|ok)\b|File "|from \S+:\d|\^+~*$|[+-]{1,3}(?: |$|\t)|@@|>{1,3} |\||#\d+ )'
)
_CODE = Pattern(
    r"(?:\b(?:return|throw|raise|catch|func|def|const|let|var|console\.\w+|slog\.\w+|fmt\.\w+)\b.*[({])|[{;]\s*$"
    r"|^\s*\d+[→:]\s|^\s*(?://|/\*|\*)"
)
_LEAD = compile_late(
    r"^(?:\s|E (?=[\w.]*(?:Error|Exception|assert))|\[[\w:. -]{1,40}\]\s*|\d{4}[-/]\d\d[-/]\d\d[T ]?[\d:.,]*(?:Z"
    r"|[+-]\d\d:?\d\d)?\s+|(?:Uncaught(?: \(in promise\))?|##\[error\]|[⨯✗✘×❌•>])\s*"
    r"|\(eval\):(?:\w+:)?\d+:\s*|(?:/(?:usr/)?bin/)?(?:ba|z|da|k)?sh: (?:line \d+: |\d+: )?"
    r"|(?:[A-Za-z]:)?(?:[\w.@~+-]*[\\/])*[\w.@~+-]+\.\w{1,8}(?:: line \d+:|:\d+(?::\d+)?|\(\d+(?:,\d+)?\)):?\s+)"
)
_GENERIC = frozenset(list_shapes("errors", "generic"))
_UUID = compile_late(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_HEX = compile_late(r"\b(?:0x[0-9a-f]+|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64})\b")
_PATH = compile_late(r"(?:[a-z]{1,10}://|[a-z]:|(?<![\w.@+~-]))(?:[\w.@+~-]*+[\\/])+")
_DIGITS = compile_late(r"\b[a-z]{1,5}\d{3,5}\b|\d+")  # the first alternative keeps codes such as TS2345, which are not numbers
_WORD = compile_late(r"[^\W_]+(?:[.'_-][^\W_]+)*")


def _head_and_tail(text: str) -> str:
    """The first and last 12,000 characters of a text, cut at line ends if there are any."""
    if len(text) <= 2 * _READ_CHARS:
        return text
    head, tail = text[:_READ_CHARS].rpartition("\n"), text[-_READ_CHARS:].partition("\n")
    return f"{head[0] or head[2]}\n{tail[2]}"


def score_error_line(line: str) -> int:
    """How specific a line is as an error, from 0 (none) to 6 (a typed error with its message). Reads its first 300 characters."""
    if len(line) < _LEAST_CHARS:
        return 0
    line = _strip_prefixes(line)
    if _FRAME.match(line):
        return 0
    message = error_message(line)
    specific = {word for word in _WORD.findall(message.casefold()) if word not in _GENERIC and not word.isdigit()}
    if not specific:
        return 0
    placed = _PLACED.match(line)
    if (placed and _RULED.search(message)) or _COLUMNS.match(line):
        return 6
    if _CODE.search(line):
        return 0
    if _TYPED.search(line) and len(specific) > 1:
        return 6
    if _STATUS.search(line):
        return 5
    if placed:
        return 4 if _PLAINT.search(message) or _TAGGED.match(message) else 3
    if _SHELL.match(line) and _PLAINT.search(line):
        return 5
    if _TAGGED.match(line):
        return 5 if len(specific) > 1 else 1
    return 2 if _PLAINT.search(line) and len(line) < 200 else 0


def find_error_lines(text: str) -> tuple[str, ...]:
    """The lines that state an error, most specific first. They are verbatim, stripped, and cut at 300 characters.

    Returns at most ``LINES_KEPT`` lines, without repeated errors; empty if no line states one. Reads the first and last 12,000
    characters.
    """
    return _rank_error_lines(_head_and_tail(text))


def _find_signed_lines(text: str) -> Iterator[str]:
    """Yield the lines with a sign of an error, and those that only other line ends separate from them."""
    data, at = text.encode(), 0
    while at < len(data) and (sign := _SIGN.search(data, at)):  # no sign has a line end
        start, at = data.rfind(b"\n", at, sign.start()) + 1 or at, (data.find(b"\n", sign.end()) + 1 or len(data))
        yield from data[start:at].decode().splitlines()


@lru_cache(maxsize=512)
def _rank_error_lines(text: str) -> tuple[str, ...]:
    ranked: dict[str, tuple[int, int, str]] = {}
    for place, whole in enumerate(_find_signed_lines(text)):
        line = whole[:LINE_CHARS].strip()
        score = score_error_line(line) if _SIGN.search(line) else 0
        if score:
            ranked.setdefault(_normalize_line(line), (-score, place, line))
    return tuple(line for _, _, line in sorted(ranked.values())[:LINES_KEPT])


def linter_rule(line: str) -> str:
    """The name of the linter rule that a line reports; empty if it reports none. Error codes of compilers are not rules."""
    line = _strip_prefixes(line)
    if columns := _COLUMNS.match(line):
        return columns[1]
    match = _RULED.search(error_message(line)) if _PLACED.match(line) else None
    return (match[1] or match[2] or "") if match else ""


def error_location(line: str) -> str:
    """The file that an error line names, in its notation; empty if it names none."""
    line = _strip_prefixes(line)
    return _POSITION.split(line, maxsplit=1)[0].strip() if _PLACED.match(line) else ""


def error_message(line: str) -> str:
    """The message of an error line, without colours, log prefixes, time stamps and location, on one line."""
    rest = one_line(_ANSI.sub("", line[:LINE_CHARS]))
    for _ in range(4):
        shorter = _LEAD.sub("", rest, count=1)
        if shorter == rest or len(shorter) < 6:
            break
        rest = shorter
    return rest.strip()


def fingerprint_error(text: str) -> str:
    """A hash of the most specific error line of a text. It ignores directories, numbers, ids, quotation marks and times.

    A text of one line always counts as an error. For a longer text without an error line, the result is empty.
    """
    whole = text.strip()
    lines = find_error_lines(text) or ((whole[:LINE_CHARS],) if whole and "\n" not in whole else ())
    return _hash_lines(lines[:1])[0] if lines else ""


def fingerprint_errors(text: str) -> tuple[str, ...]:
    """The fingerprints of the error lines of a text, most specific first."""
    return _hash_lines(find_error_lines(text))


@lru_cache(maxsize=512)
def _hash_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(digest("failure", _normalize_line(line), size=8) for line in lines)


def _strip_prefixes(line: str) -> str:
    """The first 300 characters of a line without colours and leading brackets (a time, a level)."""
    return _BRACKETS.sub("", _ANSI.sub("", line[:LINE_CHARS]))


def _normalize_line(line: str) -> str:
    text = _HEX.sub("0", _UUID.sub("0", error_message(line).casefold()))
    text = _DIGITS.sub(lambda found: found[0] if found[0][0].isalpha() else "0", _PATH.sub("", text))
    return " ".join(_WORD.findall(text))


_LINES = 40  # lines at the start of a message in which quoted errors are searched
_LEAST = 12  # minimum characters of a quoted error
_PARTS = 4  # maximum texts per line of each kind: after a colon, in backticks, in double quotes


def message_fingerprints(message: str) -> tuple[str, ...]:
    """The distinct fingerprints of the errors in a message. That of the most specific error line comes first."""
    parts: list[str] = []
    for line in message[:4_000].splitlines()[:_LINES]:
        rest = line
        for _ in range(_PARTS):
            rest = rest.partition(": ")[2]
            parts.append(rest)
        parts += line.split("`")[1::2][:_PARTS]
        parts += line.split('"')[1::2][:_PARTS]
    quoted = (fingerprint_error(part.strip()) for part in parts if len(part.strip()) >= _LEAST)
    return tuple(dict.fromkeys(item for item in (*fingerprint_errors(message), fingerprint_error(message), *quoted) if item))
