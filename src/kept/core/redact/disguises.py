"""Finds disguised secrets: escaped, written in lookalike letters, split by markup, broken over lines, or encoded in base64.

It does not find every disguise. It knows nothing of redaction marks.
"""

from bisect import bisect_right
from collections.abc import Iterator
from string import ascii_letters, digits

from kept.core.pattern import Pattern
from kept.core.redact.book import Finder, load_rule_book
from kept.core.redact.lookalikes import HEX_ROW, JOINT, LINE_BREAK, PLAIN
from kept.core.redact.places import SecretSpan, apply_rule, scan_secrets
from kept.core.redact.shape import compile_re2
from kept.core.redact.values import decode_base64
from kept.core.value import dataclass, replace

_ESCAPED = compile_re2(rb"%[0-9A-Fa-f]{2}")
_OCTETS = {b"%02x" % number: bytes([number]) for number in range(256)}
# Programs break base64 into lines of 64 or 76 characters.
_RUN64 = compile_re2(rb"(?:[A-Za-z0-9+/]{60,}\r?\n)+[A-Za-z0-9+/]+={0,2}|[A-Za-z0-9+/]{16,}={0,2}|[A-Za-z0-9_-]{16,}={0,2}")
_CONTINUATION = bytes(range(0x80, 0xC0))  # the bytes of a UTF-8 character except its first
_JOINT = compile_re2(JOINT)
_LINE_END = compile_re2(LINE_BREAK)
_BORDER = compile_re2(rb"[ \t]*(?:\||\xe2\x94\x82|\xe2\x94\x83)\z")
_ODD = compile_re2(rb"[0-9]|[a-z][A-Z]|[A-Z]{2}[a-z]")
_WORD = frozenset(char.encode() for char in ascii_letters + digits + "_-&\\<")


@dataclass(frozen=True, kw_only=True, slots=True)
class _DecodedView:
    """Decoded bytes, with the offset of each piece in the decoded and in the original bytes."""

    data: bytes
    starts: list[int]
    origins: list[int]

    def place(self, offset: int) -> int:
        index = bisect_right(self.starts, offset) - 1
        return self.origins[index] + offset - self.starts[index]


def find_disguised(data: bytes, called: frozenset[int]) -> Iterator[SecretSpan]:
    """The secrets that appear only after a text is decoded, with their ranges in the original text."""
    if b"%" in data and _ESCAPED.search(data):
        yield from _scan_view(_unescape(data, b"%"))
    if b"=3D" in data:
        yield from _scan_view(_unescape(data, b"="))
    if Finder.BROKEN in called and b"\n" in data:
        yield from _find_broken_tokens(data, called)
    if Finder.ENCODED in called:
        yield from _find_encoded(data)
    if Finder.HEX in called:
        yield from _find_hexadecimal(data)
    if Finder.LOOKALIKES in called:
        yield from _find_lookalikes(data)
    if Finder.SPLIT in called:
        yield from _scan_view(_join_split_tokens(data))


def _scan_view(view: _DecodedView) -> Iterator[SecretSpan]:
    """The secrets in a view, with their ranges in the original text."""
    for span in scan_secrets(view.data, load_rule_book().match_anchors(view.data)):
        yield replace(span, start=view.place(span.start), end=view.place(span.end))


def _unescape(data: bytes, sign: bytes) -> _DecodedView:
    """A view with ``%41`` or ``=41`` decoded. A sign before a line break is dropped with the line break."""
    first, *parts = data.split(sign)
    out, starts, origins = [first], [0], [0]
    length = at = len(first)
    for part in parts:
        octet = _OCTETS.get(part[:2].lower(), b"")
        if octet:
            piece, skipped = octet + part[2:], 3
        elif part.startswith((b"\n", b"\r\n")):
            piece = part.partition(b"\n")[2]
            skipped = len(part) - len(piece) + 1
        else:
            piece, skipped = sign + part, 0
        starts.append(length + len(octet))
        origins.append(at + skipped)
        out.append(piece)
        length += len(piece)
        at += 1 + len(part)
    return _DecodedView(data=b"".join(out), starts=starts, origins=origins)


def _find_lookalikes(data: bytes) -> Iterator[SecretSpan]:
    """The secrets that appear when lookalike letters are replaced by the letters that they resemble."""
    text = data.decode("utf-8", "surrogatepass")
    plain = text.translate(PLAIN).encode("utf-8", "surrogatepass")
    chars = at = place = 0
    for span in sorted(scan_secrets(plain, load_rule_book().match_anchors(plain)), key=lambda span: span.start):
        before, within = (
            len(plain[low:high].translate(None, _CONTINUATION)) for low, high in ((at, span.start), (span.start, span.end))
        )
        place += len(text[chars : chars + before].encode("utf-8", "surrogatepass"))
        chars, at = chars + before, span.start
        length = len(text[chars : chars + within].encode("utf-8", "surrogatepass"))
        yield replace(span, start=place, end=place + length)


def _join_split_tokens(data: bytes, joints: Pattern = _JOINT) -> _DecodedView:
    """A view with escapes decoded, and without the markup or line ends that split tokens."""
    out, starts, origins = [], [0], [0]
    length = at = 0
    for joint in joints.finditer(data):
        start, end = joint.span()
        written = joint.group(2) if joint.re.groups else b""
        if written is None and not (data[start - 1 : start] in _WORD and data[end : end + 1] in _WORD):
            continue
        piece = data[at:start]
        sign = _decode_character(written) if written else b""
        length += len(piece) + len(sign)
        starts.append(length)
        origins.append(end)
        out += [piece, sign]
        at = end
    out.append(data[at:])
    return _DecodedView(data=b"".join(out), starts=starts, origins=origins)


def _decode_character(written: bytes) -> bytes:
    """The character that an escape encodes."""
    if written in (b"&lowbar;", b"\\_"):
        return b"_"
    number = written.strip(b"&#;\\")
    hexadecimal = number[:1] in b"xXu"
    return bytes([int(number.lstrip(b"xXu"), 16 if hexadecimal else 10)])


def _find_broken_tokens(data: bytes, called: frozenset[int]) -> Iterator[SecretSpan]:
    """Tokens that a terminal or an editor broke over several lines."""
    rules = [index for index in called if index >= 0]
    for run in load_rule_book().broken.finditer(data):
        at = data.rfind(b"\n", 0, run.start()) + 1  # the token may contain its anchor
        view = _join_split_tokens(data[at : run.end()], _LINE_END)
        for index in rules:
            for span in apply_rule(load_rule_book().rules[index], view.data, index):
                start, end = at + view.place(span.start), at + view.place(span.end - 1) + 1
                end = _broken_token_end(data, start, end)
                whole = _LINE_END.sub(b"", data[start:end])
                if any(secret_span.secret == whole for secret_span in apply_rule(load_rule_book().rules[index], whole, index)):
                    yield SecretSpan(start=start, end=end, order=index, kind=span.kind, secret=whole)


def _broken_token_end(data: bytes, start: int, end: int) -> int:
    """The end of a broken token, without lines at its end that do not look like a part of it."""
    while (last := data.rfind(b"\n", start, end)) >= 0 and not _ODD.search(data, _LINE_END.match(data, last).end(), end):
        end = last - (data.endswith(b"\r", start, last))
        border = _BORDER.search(data[start:end])
        end = start + border.start() if border else end
    return end


_HEX_RUN = compile_re2(rb"(?i)(?:[0-9a-f]{2}){16,}|[0-9a-f]{2}(?::[0-9a-f]{2}){15,}")
_HEX_ROWS = compile_re2(rb"(?m)(?:^[ \t]*" + HEX_ROW + rb"[^\n]*\n?)+")
_HEX_ROW = compile_re2(HEX_ROW)


def _find_hexadecimal(data: bytes) -> Iterator[SecretSpan]:
    """Runs of hexadecimal digits and rows of hex dumps that contain a secret when decoded."""
    runs = [(run, run.group()) for run in _HEX_RUN.finditer(data)]
    runs += [(rows, b"".join(row.group(1) for row in _HEX_ROW.finditer(rows.group()))) for rows in _HEX_ROWS.finditer(data)]
    for run, written in runs:
        plain = bytes.fromhex(b"".join(written.replace(b":", b" ").split()).decode())
        yield from _find_inside(plain, run.start(), run.end() - run.group().endswith(b"\n"))


def _find_encoded(data: bytes) -> Iterator[SecretSpan]:
    """Runs of base64 that contain a secret when decoded."""
    for run in _RUN64.finditer(data):
        yield from _find_inside(decode_base64(b"".join(run.group().split())), run.start(), run.end())


def _find_inside(plain: bytes, start: int, end: int) -> Iterator[SecretSpan]:
    """The whole range of an encoded run, with the most specific kind of the secrets in ``plain``; nothing if there are none."""
    if inner := list(scan_secrets(plain, load_rule_book().match_anchors(plain))):
        yield replace(min(inner, key=lambda span: span.order), start=start, end=end)
