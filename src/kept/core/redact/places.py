"""Finds secrets in a text: by the rules, by the names of values, in tables, and as whole blocks. Knows no disguises or marks."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from kept.core.redact.book import Finder, Rule, load_rule_book
from kept.core.redact.shape import compile_re2, looks_mixed, looks_placeholder, looks_random, looks_token
from kept.core.redact.sql_dumps import find_dumped_values
from kept.core.redact.values import (
    Setting,
    find_cookie_values,
    is_card,
    is_code,
    is_grouped,
    is_recovery_code,
    is_secret_value,
    is_userpass,
    names_no_secret,
    rank_name,
)
from kept.core.value import dataclass

_IN_SENTENCES = frozenset((Setting.PROSE, Setting.NEAR, Setting.TOLD, Setting.SPOKEN, Setting.REMEMBERED, Setting.CHOSEN))
_KINDS = {3: "password", 2: "secret", 1: "token"}


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretSpan:
    """A secret in bytes [start, end) of a text. If two overlap, the kind of the one with the lower ``order`` counts."""

    start: int
    end: int
    order: int
    kind: str
    secret: bytes


def scan_secrets(data: bytes, called: frozenset[int]) -> Iterator[SecretSpan]:
    """The secrets that the called rules and finders find, in no order. They may overlap."""
    rules = load_rule_book().rules
    last = len(rules)
    for index in called:
        if index >= 0:
            rule = rules[index]
            if (not rule.needs or compile_re2(rule.needs).search(data)) and compile_re2(rule.pattern).search(data):
                yield from apply_rule(rule, data, index)
            continue
        match index:
            case Finder.ASSIGNMENTS:
                yield from _find_assignments(data, last)
            case Finder.TOKENS:
                yield from _find_tokens(data, last)
            case Finder.PRIVATE_KEYS:
                yield from _find_private_keys(data)
            case Finder.PRIVATE_BLOCKS:
                yield from _find_private_blocks(data)
            case Finder.MANIFESTS:
                yield from _find_manifest_secrets(data, last)
            case Finder.TABLES | Finder.DUMPS:
                for start, end in find_table_values(data) if index == Finder.TABLES else find_dumped_values(data):
                    yield SecretSpan(start=start, end=end, order=last, kind="password", secret=data[start:end])


def apply_rule(rule: Rule, data: bytes, order: int) -> Iterator[SecretSpan]:
    """The secrets that one rule finds."""
    shape = compile_re2(rule.pattern)
    group, beside = shape.groupindex.get(b"s", 0), shape.groupindex.get(b"n", 0)
    reached = 0  # end of the last list of codes or shell word; a match that begins within it was read with it
    for match in shape.finditer(data):
        start, end = match.span(group)
        name = (match.group(beside) if beside else None) or b""
        begins = _is_token_start(data, match.start()) or _is_token_start(data, start)
        kind = rule.kind if rule.rank else _KINDS.get(rank_name(name), rule.kind)
        for low, high in _find_secret_parts(rule, name, data[start:end], begins=begins):
            first, last = start + low, start + high
            yield SecretSpan(start=first, end=last, order=order, kind=kind, secret=data[first:last])
            if first < reached:
                continue
            if rule.setting is Setting.CODES:
                for code in _find_listed_codes(data, last, order, kind):
                    reached = code.end
                    yield code
            elif rule.setting is Setting.LITERAL and (word := _join_word(data, first, last)):
                reached = word.end
                yield SecretSpan(start=word.start, end=word.end, order=order, kind=kind, secret=word.text)


_TOKEN = compile_re2(rb"(?:^|\\[nrt]|[^\w.~|!/@+#%$\\-])([A-Za-z0-9][\w.:~|-]*[_.:~|-][A-Za-z0-9]{16,}[\w.:~|=-]*)")
_NAMED = compile_re2(rb"(?i)\b((?:\w+[ _-])?(?:keys?|tokens?|secrets?|credentials?|apikey|pat|bearer)\b[^\n]{0,40})\z")
_NAME_BEFORE = 60


def _find_tokens(data: bytes, order: int) -> Iterator[SecretSpan]:
    """Tokens of vendors that no rule knows. Their shape identifies them."""
    for match in _TOKEN.finditer(data):
        start, end = match.span(1)
        value = data[start:end].rstrip(b".:-_~|")
        named = _NAMED.search(data[max(0, start - _NAME_BEFORE) : start])
        if looks_token(value, named=bool(named and not names_no_secret(named.group(1)))):
            yield SecretSpan(start=start, end=start + len(value), order=order, kind="token", secret=value)


_LISTED_CODE = compile_re2(
    rb"[\"'`*)\]]{0,4}[\s,;|/]{1,12}(?:\d{1,3}[.):][ \t]+)?(?:[-*\"'`\[( ]|\xe2\x80\xa2){0,6}"
    rb"([A-Za-z0-9]{4,12}(?:-[A-Za-z0-9]{4,12}){1,5}|[0-9]{6,8})(?:[\s\"'`.,;!?)\]*|/]|$)"
)


def _find_listed_codes(data: bytes, at: int, order: int, kind: str) -> Iterator[SecretSpan]:
    """The recovery codes that follow one in the same list."""
    while match := _LISTED_CODE.match(data, at):
        start, at = match.span(1)
        if not is_recovery_code(data[start:at]):
            return
        yield SecretSpan(start=start, end=at, order=order, kind=kind, secret=data[start:at])


def _is_token_start(data: bytes, at: int) -> bool:
    """True if a token may begin at ``at``: no letter or digit precedes it, except as a part of an escape."""
    return not data[at - 1 : at].isalnum() or data[max(0, at - 2) : at] in (b"\\n", b"\\r", b"\\t")


def _find_secret_parts(rule: Rule, name: bytes, value: bytes, *, begins: bool) -> Iterator[tuple[int, int]]:
    """The ranges of a matched value that are secret."""
    match rule.setting:
        case Setting.SHAPE:
            made_up = looks_placeholder(value, password=True) and not _ends_in_token(value)
            secret = begins and not made_up and (not rule.mixed or looks_mixed(value))
        case Setting.TOKEN:
            value = value.rstrip(b".:-_~|")
            secret = looks_token(value, named=True) and not names_no_secret(name)
        case Setting.USERPASS:
            secret = is_userpass(value)
        case Setting.COOKIES:
            yield from find_cookie_values(value)
            return
        case Setting.CARD:
            secret = is_card(value)
        case Setting.GROUPED:
            secret = is_grouped(value, letters=rule.rank > 0)
        case Setting.DIGITS:
            secret = is_code(value)
        case Setting.CODES:
            secret = is_recovery_code(value)
        case _:
            value = _strip_ending(value) if rule.setting in _IN_SENTENCES else value
            rank = rule.rank or rank_name(name)
            secret = rank > 0 and not (rule.rank and _is_public(name, value)) and is_secret_value(rule.setting, rank, value)
    if secret:
        yield 0, len(value)


def _ends_in_token(value: bytes) -> bool:
    """True if the last part of a token looks random although an earlier part is a placeholder, such as the id ``T00000000``."""
    last = max(value.rfind(sign) for sign in (b"-", b"/", b":", b".")) + 1
    part = value[last:]
    return last > 0 and len(part) >= 20 and looks_random(part) and looks_mixed(part)


def _strip_ending(value: bytes) -> bytes:
    """A value without the punctuation that ends a sentence. An exclamation mark after a digit belongs to the value."""
    bare = value.rstrip(b".,;:!?)*_]}")
    return value[: len(bare) + 1] if bare[-1:].isdigit() and value[len(bare) :][:1] == b"!" else bare


def _is_public(name: bytes, value: bytes) -> bool:
    """True if a name and value in a URL are not credentials: a port and a path, or a value equal to the user name."""
    port = value.partition(b"/")[0]
    return (b"/" in value and port.isdigit()) or value == name


_ASSIGNMENT = compile_re2(
    rb"(?i)(?:pass(?:word|wd|phrase|code|wort)?|pwd|secret|token|key|auth|credentials?|jwt|[_-]pat|[_-]dsn|[_-]pw)[\w-]{0,40}"
    rb"([\\\"'`\]]{0,6}[ \t]{0,8})(:[ \t]{0,3}&?'?[a-z_.|<\[\]>]{1,40}[ \t]{0,3}=[ \t]{0,3}\b?|:=|=>|===?|\+?=|:)"
    rb"([ \t]{0,8})([bru@$]?\\{0,6}[\"'`])?"
)
_GAP, _SEP, _SPACE, _OPEN = 1, 2, 3, 4
_MOST_NESTED = 4  # maximum assignments within another's word whose words are read
_MOST_DENIED = 16  # maximum names to check whose values end at the same place
_LINE_END = compile_re2(rb"\n")
_BARE_END = compile_re2(rb"[\s\"'`,;<>(){}\[\]|&\\]")
# A backslash before a special character of the shell belongs to the value.
_LITERAL_END = compile_re2(rb"[\s\"'`]|\\(?:[^!#$&*()|;<>]|$)|[;,)\]}]+(?:[\s\"'`\\]|$)")
_QUERY_END = compile_re2(rb"[\s\"'`\\&;,)<>#]")
_CALL = compile_re2(rb"^[A-Za-z_][\w.:>-]*[(\[]")
_NAME_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_LONGEST = 4096


def _find_assignments(data: bytes, order: int) -> Iterator[SecretSpan]:
    """Values whose name says that they are secret, in code, JSON, YAML, TOML, shells, environments, queries, flags and headers."""
    ends: dict[Any, int] = {}
    denied: Counter[int] = Counter()
    joined = nested = 0  # end of the shell words read so far; number of earlier assignments that begin within them
    for match in _ASSIGNMENT.finditer(data):
        left = match.start()
        floor = max(0, left - 60)
        while left > floor and data[left - 1] in _NAME_BYTES:
            left -= 1
        before = data[max(0, left - 1) : left]
        left += before == b"\\"  # an escape such as \n or \t precedes the name
        name = data[left : match.start(_GAP)]
        rank = rank_name(name)
        start = match.end()
        paired = match.group(_SEP) == b"=>" and match.group(_OPEN)  # a symbol of Ruby; else, a colon begins a parameter
        if not rank or (before == b":" and name[:1] != b"_" and data[max(0, left - 5) : left].lower() != b"$env:" and not paired):
            continue
        setting, end = _find_value_end(data, match, name, before, ends)
        value = data[start:end]
        nested = nested + 1 if start < joined else 0
        if nested <= _MOST_NESTED and (word := _join_assigned_word(data, match, before, end)):
            joined = max(joined, word.end)
            setting, start, end, value = Setting.LITERAL, word.start, word.end, word.text
        denied[end] += 1
        if denied[end] > _MOST_DENIED:
            continue
        if is_secret_value(setting, rank, value) and not (
            setting is not Setting.QUOTED and _CALL.search(data[start : start + 128])
        ):
            yield SecretSpan(start=start, end=end, order=order, kind=_KINDS[rank], secret=value)


def _find_value_end(data: bytes, match: Any, name: bytes, before: bytes, ends: dict[Any, int]) -> tuple[Setting, int]:
    """Return the setting of the value after an assignment operator, and the end of the value.

    ``ends`` caches the end of the last run for each end pattern. A name within that run has the same end, without another search.
    """
    start = match.end()
    stop = min(len(data), start + _LONGEST)
    opened = match.group(_OPEN)
    if opened:
        line = _find_first_end(_LINE_END, data, start, stop, ends)
        end = data.find(opened.lstrip(b"bru@BRU$"), start, line)
        if end >= 0:
            certain = _is_tight(match) and _is_variable(name) and b" " not in data[start:end] and opened[-1:] != b"`"
            return Setting.LITERAL if certain or before == b":" else Setting.QUOTED, end
    tight = _is_tight(match)
    if tight and before in (b"?", b"&"):
        return Setting.LITERAL, _find_first_end(_QUERY_END, data, start, stop, ends)
    if tight and (_is_variable(name) or before in (b"", b"\n")):
        return Setting.LITERAL, _find_first_end(_LITERAL_END, data, start, stop, ends)
    return Setting.BARE, _find_first_end(_BARE_END, data, start, stop, ends)


def _is_tight(match: Any) -> bool:
    """True if an assignment is ``name=value`` (or ``+=``) without spaces or quotation marks, as in a shell."""
    return match.group(_SEP) in (b"=", b"+=") and not match.group(_SPACE) and not match.group(_GAP)


def _is_variable(name: bytes) -> bool:
    """True if a name may be an environment variable, with or without the flag ``-e`` directly before it."""
    return name.removeprefix(b"-e").isupper()


@dataclass(frozen=True, kw_only=True, slots=True)
class _ShellWord:
    """A word of a shell: its range in the text, and its text without quotes, variables and commands."""

    start: int
    end: int
    text: bytes


_QUOTES = b"\"'"
_SPACED = b"\\ "  # a space within a bare word
_WORD_PART = compile_re2(
    rb"\$?'([^'\n]*)'|\$?\"((?:[^\"\\\n]|\\[^\n])*)\"|((?:\$\{[^}\n]*\}|[\w$!#%@^*~\x80-\xff])"
    rb"(?:\$\{[^}\n]*\}|\\[^\n]|[^\s\"'`;|&<>()\\,\]}])*)"
)
_EXPANSION = compile_re2(rb"\$(?:\w+|\{[^}\n]*\}|\([^)\n]*\))|`[^`\n]*`")


def _join_assigned_word(data: bytes, match: Any, before: bytes, end: int) -> _ShellWord | None:
    """The value of an assignment, if it is a shell word of several parts (``''word``, ``pre"mid"post``) or has escaped spaces."""
    opened = match.group(_OPEN) or b""
    if not _is_tight(match) or (opened and (opened.lstrip(b"$") not in (b"'", b'"') or before == opened[-1:])):
        return None
    if not opened and data[end : end + 1] not in (b"'", b'"') and data[end : end + 2] != _SPACED:
        return None  # the usual case: a bare word
    return _read_shell_word(data, match.end(_SPACE))


def _join_word(data: bytes, start: int, end: int) -> _ShellWord | None:
    """The shell word of several parts that contains the value from ``start`` to ``end``. The value may follow its first quotes."""
    if data[end : end + 1] not in (b"'", b'"'):
        return None
    while start and data[start - 1] in _QUOTES:
        start -= 1
    return _read_shell_word(data, start)


def _read_shell_word(data: bytes, start: int) -> _ShellWord | None:
    """The shell word of several parts, quoted or bare, that begins at ``start``. None for one part without escaped spaces."""
    parts: list[bytes] = []
    used, end, stop = b"", start, min(len(data), start + _LONGEST)
    while part := _WORD_PART.match(data, end, stop):
        quote = part.group().lstrip(b"$")[:1]
        if quote in (b"'", b'"'):
            if parts and quote not in used and _is_inside(data, end, quote):
                break  # this mark ends the quotation around the whole word
            used += quote
        literal = part.group(1)
        parts.append(literal if literal is not None else _EXPANSION.sub(b"", part.group(2) or part.group(3) or b""))
        end = part.end()
    return _ShellWord(start=start, end=end, text=b"".join(parts)) if len(parts) > 1 or _SPACED in b"".join(parts) else None


def _is_inside(data: bytes, at: int, quote: bytes) -> bool:
    """True if a quotation began earlier on the same line and is still open."""
    floor = max(0, at - _LONGEST)
    line = data[max(data.rfind(b"\n", floor, at) + 1, floor) : at]
    return bool((line.count(quote) - line.count(b"\\" + quote)) % 2)


def _find_first_end(shape: Any, data: bytes, start: int, stop: int, ends: dict[Any, int]) -> int:
    if start <= ends.get(shape, -1):
        return ends[shape]
    found = shape.search(data, start, stop)
    ends[shape] = found.start() if found else stop
    return ends[shape]


_KEY_HEAD = compile_re2(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d+")
_KEY_TAIL = compile_re2(rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: [0-9a-f]+")
_KEY_BODY = compile_re2(
    rb"(?:[^A-Za-z0-9+/=]{0,12}(?:\\r)?(?:\\n)?(?:[ \t]{0,8}\d{1,6})?[^A-Za-z0-9+/=]{0,12}[A-Za-z0-9+/=]{16,})+"
)
_KEY_RUN = compile_re2(rb"[A-Za-z0-9+/=]{16,}")
_LONGEST_KEY = 16_384
# Lines of a key's body before its tail, without a head, as ``tail`` prints them: numbered, quoted or with escaped line ends.
_KEY_REST = compile_re2(
    rb"(?:[^A-Za-z0-9+/=\n]{0,12}(?:\d{1,6}[^A-Za-z0-9+/=\n]{1,12})?[A-Za-z0-9+/=]{4,}[ \t]{0,4}(?:\\r|\r)?(?:\\n"
    rb"|\n))+[^A-Za-z0-9+/=\n]{0,12}\z"
)
_LEAST_REST = 24
_TAG = compile_re2(rb"(?i)<(/?)private\s{0,4}>")
_SECRET_KIND = compile_re2(rb"(?im)^[ \t]*[\"']?kind[\"']?:[ \t]*[\"']?secret\b")
_DATA_HEAD = compile_re2(rb"(?m)^([ \t]*)(?:data|stringData):[ \t]*\n((?:[ \t]+[\w.-]+:[^\n]*\n?)+)")
_DATA_LINE = compile_re2(rb"(?m)^[ \t]+[\w.-]+:[ \t]*[\"']?([^\s\"']{4,})")


def _find_private_keys(data: bytes) -> Iterator[SecretSpan]:
    """Private key blocks from head to tail. Without a tail they end with the body; without a head they begin with it."""
    end = 0
    for span in _find_headed_keys(data):
        yield from _find_headless_keys(data, end, span.start)
        yield span
        end = span.end
    yield from _find_headless_keys(data, end, len(data))


def _find_headless_keys(data: bytes, start: int, stop: int) -> Iterator[SecretSpan]:
    """The ends of private keys in a part of the text without a head."""
    for tail in _KEY_TAIL.finditer(data[start:stop]):
        floor, foot = max(start, start + tail.start() - _LONGEST_KEY), start + tail.start()
        for rest in _KEY_REST.finditer(data[floor:foot]):
            secret, end = b"".join(_KEY_RUN.findall(rest.group())), start + tail.end()
            if len(secret) >= _LEAST_REST and looks_mixed(secret):
                yield SecretSpan(start=floor + rest.start(), end=end, order=Finder.PRIVATE_KEYS, kind="private-key", secret=secret)


def _find_headed_keys(data: bytes) -> Iterator[SecretSpan]:
    at = 0
    while head := _KEY_HEAD.search(data, at):
        at = head.end()
        tail = _KEY_TAIL.search(data, at, min(len(data), at + _LONGEST_KEY))
        between = data[at : tail.start()] if tail else b""
        encoded = sum(map(len, _KEY_RUN.findall(between)))
        if tail and encoded >= 40 and encoded * 2 > len(between):
            at = tail.end()
        elif body := _KEY_BODY.match(data, at, min(len(data), at + _LONGEST_KEY)):
            at = body.end()
        else:
            continue
        secret = b"".join(_KEY_RUN.findall(data[head.end() : at]))
        yield SecretSpan(start=head.start(), end=at, order=Finder.PRIVATE_KEYS, kind="private-key", secret=secret)


def _find_private_blocks(data: bytes) -> Iterator[SecretSpan]:
    """Text between ``<private>`` tags that a person put around it. A tag that is never closed does not count."""
    depth = start = 0
    for tag in _TAG.finditer(data):
        if not tag.group(1):
            start = tag.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield SecretSpan(
                    start=start, end=tag.end(), order=Finder.PRIVATE_BLOCKS, kind="private", secret=data[start : tag.end()]
                )


def _find_manifest_secrets(data: bytes, order: int) -> Iterator[SecretSpan]:
    """The values in a Kubernetes Secret manifest, whatever their keys are."""
    if not _SECRET_KIND.search(data):
        return
    for block in _DATA_HEAD.finditer(data):
        for line in _DATA_LINE.finditer(data, block.start(2), block.end(2)):
            if not looks_placeholder(line.group(1)):
                yield SecretSpan(start=line.start(1), end=line.end(1), order=order, kind="secret", secret=line.group(1))


_HEADING = compile_re2(rb"(?i)passw(?:or[dt]|d)\b")
_CELLS = {b"|": compile_re2(rb"[^|]+"), b",": compile_re2(rb"[^,]+"), b"": compile_re2(rb"\S+(?: \S+)*")}
_HEADING_SIDE, _LONGEST_ROW = 300, 1000  # bytes beside the word in a heading; maximum bytes of a row
_TRIMMED = b" \t\"'`*"


def find_table_values(data: bytes) -> Iterator[tuple[int, int]]:
    """The ranges of passwords below headings. A row with a different number of cells ends a table."""
    stop = 0
    for word in _HEADING.finditer(data):
        low, high = max(0, word.start() - _HEADING_SIDE - 1), word.end() + _HEADING_SIDE + 1
        start, end = data.rfind(b"\n", low, word.start()) + 1 or low, _line_end(data, word.end(), high)
        if start < stop or word.start() - start > _HEADING_SIDE or end - word.end() > _HEADING_SIDE:
            continue  # a line already read, a row of the table above, or no heading
        heading, stop = data[start:end], end + 1
        sign = next((sign for sign in (b"|", b",") if sign in heading), b"")
        names = [cell for _, _, cell in _split_row(data, start, end, sign)]
        columns = [place for place, name in enumerate(names) if rank_name(name) == 3 and len(name.split()) <= 3]
        while columns and len(names) > 1 and stop <= len(data):
            end = _line_end(data, stop, len(data))
            cells = _split_row(data, stop, min(end, stop + _LONGEST_ROW), sign)
            if len(cells) != len(names):
                break
            stop = end + 1
            yield from (cell[:2] for cell in (cells[column] for column in columns) if is_secret_value(Setting.QUOTED, 3, cell[2]))


def _line_end(data: bytes, at: int, most: int) -> int:
    end = data.find(b"\n", at, most)
    return min(len(data), most) if end < 0 else end


def _split_row(data: bytes, start: int, stop: int, sign: bytes) -> list[tuple[int, int, bytes]]:
    """The non-empty cells of a line: start, end and content of each."""
    cells: list[tuple[int, int, bytes]] = []
    for cell in _CELLS[sign].finditer(data, start, stop):
        words = cell.group().strip(_TRIMMED + b"\r")
        if words:
            low = cell.start() + cell.group().index(words)
            cells.append((low, low + len(words), words))
    return cells
