"""Clean an event: remove invisible text, binary data, secrets, and the bulk of tool output.

Invisible characters, kept's own blocks, blobs and secrets are removed from the whole text before it is truncated, so that no secret
is cut in half. Text of people and assistants is truncated only above a high limit. A tool's output keeps its beginning, its end and
its lines about errors. The redactor finds secrets. This module also recognizes prompts that consist only of a password.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from operator import eq, itemgetter
from typing import NamedTuple

from kept.core.event import Author, Event, EventKind, ToolUse
from kept.core.fence import FENCE, NOTICE, TAG
from kept.core.invisible import strip_invisible
from kept.core.pattern import Pattern, compile_late
from kept.core.redact import RedactionResult
from kept.core.redact.asked import find_answered_secret, list_answer_words
from kept.core.sentences import sentence_texts
from kept.core.text import word_set
from kept.core.value import dataclass, replace
from kept.intake.envelopes import unwrap_result
from kept.profiles.lexicons import common_words, join_alternatives

Redact = Callable[[str], RedactionResult]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits in characters.

    ``said`` is for prompts and responses, ``injected`` for injected text. ``output`` is for a call, and for the output of a tool
    that failed or does not report its status. ``passed`` is for the output of a tool that succeeded, ``dump`` for a file that a
    tool showed, ``errors`` for the lines about errors in an output. ``target`` is for what a call acts on, ``detail`` for its
    arguments, ``place`` for a path, a branch or a tool's name.
    """

    said: int = 32_000
    injected: int = 2_000
    output: int = 2_000
    passed: int = 800
    dump: int = 300
    errors: int = 600
    target: int = 2_000
    detail: int = 2_000
    place: int = 1_000


class CleanedEvent(NamedTuple):
    """The cleaned event, the number of removed bytes (UTF-8) by reason, and the number of secrets found.

    The sum of ``removed`` is the difference in size. ``removed["secrets"]`` is negative if the redaction marks are longer than the
    secrets.
    """

    event: Event
    removed: dict[str, int]
    secrets: int


def clean_all(events: Iterable[Event], *, redact: Redact, limits: Limits, said: dict[str, str]) -> Iterator[CleanedEvent]:
    """Yield the cleaned events of a file. A prompt may answer the assistant's previous text in its session: ``said`` has these
    texts, and gets those of the events.
    """
    for event in events:
        cleaned = clean(event, redact=redact, limits=limits, said=said.get(event.session, ""))
        if event.kind is EventKind.RESPONSE:
            said[event.session] = cleaned.event.text
        yield cleaned


def clean(event: Event, *, redact: Redact, limits: Limits, said: str = "") -> CleanedEvent:
    """Clean an event so that it may be stored and shown to a model. ``said`` is the cleaned text that a prompt may answer.

    The function is pure and idempotent.
    """
    cleaner = _TextCleaner()
    text, tool = event.text, event.tool
    if event.kind is EventKind.PROMPT:
        text = cleaner.purge(cleaner.shorten("invisible", text, _keep_paste_marks(text)), redact)
        text = cleaner.hide_answer(cleaner.hide_password(text, redact), redact, said)
    else:
        text = cleaner.purge(text, redact)
    if event.kind is EventKind.TOOL_OUTPUT:
        text = cleaner.shorten("envelope", text, unwrap_result(text))
    shorter, reason = _shorten(event, text, limits)
    cleaner.shorten(reason, text, shorter)
    project, branch = event.project, event.branch
    if not _are_clean_names((project, branch, tool.name if tool else ""), redact, limits.place):
        project, branch = (cleaner.clean_name(name, redact, limits.place) for name in (project, branch))
        if tool:
            tool = replace(tool, name=cleaner.clean_name(tool.name, redact, limits.place))
    if tool:
        tool = cleaner.clean_call(tool, redact, limits)
    named = _redact_names(event, redact)
    if shorter is not event.text or tool is not event.tool or project is not event.project or branch is not event.branch:
        named = replace(named, text=shorter, tool=tool, project=project, branch=branch)
    removed = {reason: count for reason, count in cleaner.removed.items() if count} if cleaner.removed else {}
    return CleanedEvent(event=named, removed=removed, secrets=cleaner.secrets)


def _redact_names(event: Event, redact: Redact) -> Event:
    """Redact the event's ids and path, because names that a client chose may contain a secret.

    Equal names stay equal after redaction, so records, threads and files still belong together.
    """
    own, shared = (event.key, event.record, event.parent, event.turn), (event.session, event.label_reason, event.pointer.path)
    odd = tuple([name for name in own if name and not _is_made_id(name)])
    if not (odd and _holds_secret(odd, redact)) and not _holds_secret(shared, redact):
        return event
    key, record, parent, turn, session, reason, path = (redact(name).text for name in (*own, *shared))
    pointer = replace(event.pointer, path=path)
    return replace(event, key=key, session=session, record=record, parent=parent, turn=turn, label_reason=reason, pointer=pointer)


# The form of ids that clients and models' servers generate. Nearly all ids have it, and they are not searched for secrets.
_MADE_ID = compile_late(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?:#[0-9.]{1,9})?|(?:toolu|msg)_01[0-9A-Za-z]{22}")


@lru_cache(maxsize=1024)  # an event's id is often also the parent id of the next event
def _is_made_id(name: str) -> bool:
    return _MADE_ID.fullmatch(name) is not None


@lru_cache(maxsize=256)
def _holds_secret(names: tuple[str, ...], redact: Redact) -> bool:
    """True if any of the names contains a secret. Cached, because many events share names."""
    return bool(redact(" ".join(names)).found)


class _TextCleaner:
    """Removes text from an event and counts it by reason."""

    __slots__ = ("removed", "secrets")

    def __init__(self) -> None:
        self.removed: dict[str, int] = {}
        self.secrets = 0

    def shorten(self, reason: str, before: str, after: str) -> str:
        """Count the bytes that a step removed from a text, and return the text after the step."""
        if before is not after:
            self.removed[reason] = self.removed.get(reason, 0) + _count_bytes(before) - _count_bytes(after)
        return after

    def purge(self, text: str, redact: Redact) -> str:
        """Remove invisible characters, binary data, secrets, and kept's own blocks."""
        purged = _purge_again(text, redact) if len(text) <= _REMEMBERED else _purge(text, redact)
        if purged is None:
            return text
        *steps, secrets = purged
        self.secrets += secrets
        for reason, after in zip(("invisible", "kept's own", "blobs", "secrets"), steps, strict=True):
            text = self.shorten(reason, text, after)
        return text

    def hide_password(self, text: str, redact: Redact) -> str:
        """Redact a prompt that consists only of a password."""
        word = text.strip()
        kinds = sum(kind.search(word) is not None for kind in _KINDS_OF_CHARACTERS)
        if not _LONE_PASSWORD.fullmatch(word) or kinds < _LEAST_KINDS or not any(map(str.isdigit, word)):
            return text
        return self._hide_behind("password: ", text, redact)

    def hide_answer(self, text: str, redact: Redact, said: str) -> str:
        """Redact a prompt if it is the secret that the assistant asked for.

        A prompt of one word, groups of digits or several words (also after "it's") is checked together with the question as one
        text.
        """
        if not said or len(text) > _LONGEST_ANSWER:
            return text
        answer = _OPENING.sub("", text.strip())
        before = text.strip().removesuffix(answer)
        is_bare = _ANSWER.fullmatch(answer) and common_words().isdisjoint(answer.casefold().split())
        if not (is_bare or list_answer_words(answer)):
            return text
        questions = tuple(sentence_texts(said[-_ASKED:]))[-_SENTENCES_ASKED:]
        if is_bare:
            word = ("" if answer[0].isdigit() else "-").join(answer.split())
            for question in questions:
                hidden = self._hide_behind(f"{question.rstrip(_END_SIGNS)}: ", word, redact)
                if hidden is not word:
                    return f"{before}{hidden}"
        for question in questions:
            if secret := find_answered_secret(question, answer):
                return text.replace(secret, self._hide_behind("ASKED_PASSWORD=", secret, redact))
        return text

    def _hide_behind(self, lead: str, text: str, redact: Redact) -> str:
        """Redact a one-word text if it is a secret when preceded by ``lead``."""
        redacted = redact(lead + text.strip())
        if not redacted.text.startswith(lead) or redacted.text == lead + text.strip():
            return text
        self.secrets += len(redacted.found)
        return self.shorten("secrets", text, redacted.text.removeprefix(lead))

    def cut(self, text: str, redact: Redact, most: int) -> str:
        """Purge a text and remove its middle if it is long. If it is an edit, the old and new text get half of ``most`` each."""
        purged = self.purge(text, redact)
        halves = purged.split(_BECAME) if len(purged) > most else ()
        if len(halves) == 2:
            return self.shorten("long", purged, _BECAME.join(_cut_middle(half, most // 2 - len(_BECAME)) for half in halves))
        return self.shorten("long", purged, _cut_middle(purged, most))

    def clean_call(self, tool: ToolUse, redact: Redact, limits: Limits) -> ToolUse:
        """Clean the target, the change and the id of a tool call."""
        target = self.cut(tool.target, redact, limits.target)
        detail = self.cut(tool.detail, redact, limits.detail) if tool.detail else ""
        call = tool.call if _is_made_id(tool.call) else self.clean_name(tool.call, redact, limits.place)
        if target is tool.target and detail is tool.detail and call is tool.call:
            return tool
        return replace(tool, call=call, target=target, detail=detail)

    def clean_name(self, text: str, redact: Redact, most: int) -> str:
        """Purge a path or name: one line, truncated at the end."""
        purged = self.purge(text, redact)
        if len(purged) <= most and purged.isprintable():
            return purged
        return self.shorten("long", purged, purged.replace("\n", " ").replace("\t", " ")[:most])


def _count_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _purge(text: str, redact: Redact) -> tuple[str, str, str, str, int] | None:
    """Return the text after each of the four purging steps, and the number of secrets. None if nothing was removed."""
    visible, _ = strip_invisible(text)
    foreign = _remove_kept_blocks(visible)
    plain = _without_blobs(foreign)
    redacted = redact(plain)
    return None if redacted.text is text else (visible, foreign, plain, redacted.text, len(redacted.found))


# A terminal puts these codes around pasted text. If they were removed as invisible text, the paste would look typed.
_PASTE = Pattern(r"(?s)(?:\x1b|\^\[)?\[200~(.*?)(?:(?:\x1b|\^\[)?\[201~|\z)")


def _keep_paste_marks(text: str) -> str:
    """Replace a terminal's codes around pasted text by tags."""
    return _PASTE.sub(r"<pasted-text>\n\1\n</pasted-text>", text) if "[200~" in text else text


# The form of a password. It must also have a digit, and at least two of lower case, upper case and signs. The signs of paths and
# names (``/ . - _ : @``) are excluded.
_LONE_PASSWORD = compile_late(r"[A-Za-z0-9!#$%&*+?^~=]{8,64}")
_KINDS_OF_CHARACTERS = tuple(map(compile_late, ("[a-z]", "[A-Z]", "[^A-Za-z0-9]")))
_LEAST_KINDS = 2
_OPENING = compile_late(rf"^(?i:{join_alternatives('assertion', 'answers', spaced=True)}) ")
_ANSWER = compile_late(
    r"(?=[^0-9]{0,63}[0-9])[^\s\[\]]{4,64}|[0-9]{2,8}(?:[ -][0-9]{2,8}){1,7}|[^\W\d_]{3,12}(?: [^\W\d_]{3,12}){2,11}"
)
_END_SIGNS = " \t\n.?!:*_`。？！："
_ASKED, _SENTENCES_ASKED = 400, 3  # limits in characters and sentences for the assistant's question, at the end of its text
_LONGEST_ANSWER = 200  # characters
_REMEMBERED = 8_000  # texts of fewer characters are cached
# Cached, because events repeat directories, branches and tools, and a call's target occurs again in its text and output.
_purge_again = lru_cache(maxsize=1024)(_purge)


@lru_cache(maxsize=256)
def _are_clean_names(names: tuple[str, ...], redact: Redact, most: int) -> bool:
    """True if :meth:`_TextCleaner.clean_name` changes none of the names. Cached, because many events share names."""
    return all(len(name) <= most and name.isprintable() and _purge(name, redact) is None for name in names)


# Blocks that kept added to a session or returned from a tool. They are found wherever they occur again: verbatim, quoted or in
# JSON. A block with the notice is also found if it is truncated.
_OWN = Pattern(rf"(?s)<{TAG}>(?:\s|\\n|>)*{re.escape(NOTICE[:30])}.*?(?:<\\?/{TAG}>|\z)")
_OWN_TAG, _REMINDER_TAG = f"<{TAG}>", f"<{FENCE}>"
_REMINDER = Pattern(rf"(?s)<{FENCE}>.+?<\\?/{FENCE}>")


def _remove_kept_blocks(text: str) -> str:
    """Remove kept's own blocks, so that memories are not extracted again."""
    text = _OWN.sub("", text) if _OWN_TAG in text else text
    return _REMINDER.sub("", text) if _REMINDER_TAG in text else text


_BECAME = "\n→\n"


# --- what is cut ---------------------------------------------------------------------------------------------------------------

_SHOWS_FILES = word_set(
    "read readfile readfiles readmanyfiles view viewfile notebookread fileread openfile open cat fsread write writefile edit "
    "multiedit notebookedit editfile strreplace replace createfile applypatch"
)
_LISTS = word_set(
    "grep glob ls search searchfiles searchfilecontent listdir listdirectory listfiles findfiles codebasesearch websearch"
)
_SHOWING = Pattern(
    r"^\s*(?:cd\s+\S+\s*(?:&&|;)\s*)?(?:cat|head|tail|less|more|bat|nl|sed -n|type|Get-Content)\s[^|;&><]*(?:\|\s*(?:head"
    r"|tail|nl|cat)[^|;&><]*)?$"
)


def _shorten(event: Event, text: str, limits: Limits) -> tuple[str, str]:
    """Shorten a text according to the event's kind. Returns the text and the reason."""
    match event.kind:
        case EventKind.PROMPT | EventKind.RESPONSE:
            if event.author in (Author.INJECTED, Author.COMPACTION):
                return _cut_middle(text, limits.injected), "injected"
            return _cut_middle(text, limits.said), "long"
        case EventKind.TOOL_CALL:
            return _cut_middle(text, limits.output), "long"
        case EventKind.TOOL_OUTPUT:
            short = _without_repeats(text)
            name = _plain_name(event.tool.name) if event.tool else ""
            if _is_file_content(event.tool, name):
                return _cut_middle(short, limits.dump), "dump"
            lists = name in _LISTS
            most = limits.passed if _has_passed(event.tool, lists=lists) else limits.output
            return _cut_middle(short, most, errors=0 if lists else limits.errors), "output"


def _is_file_content(tool: ToolUse | None, name: str) -> bool:
    """True if a tool showed or changed a file. Its content can still be read in the file."""
    if tool is None or tool.ok is False or tool.exit_code:
        return False
    return name in _SHOWS_FILES or bool(_SHOWING.search(tool.target[:1000]))


def _has_passed(tool: ToolUse | None, *, lists: bool) -> bool:
    """True if a tool succeeded: it reports success, or (if it only ``lists``) it reports no failure."""
    return tool is not None and tool.ok is not False and not tool.exit_code and (lists or tool.ok is True or tool.exit_code == 0)


@lru_cache(maxsize=256)
def _plain_name(name: str) -> str:
    """Normalize a tool's name: letters and digits in lower case, without the MCP server's prefix."""
    return "".join(filter(str.isalnum, name.rsplit("__", 1)[-1].lower()))


def _cut_middle(text: str, most: int, *, errors: int = 0) -> str:
    """If a text is longer than ``most`` characters, keep its beginning, its end and, between them, its lines about errors."""
    if len(text) <= most:
        return text
    mark = f"\n[… {len(text) - most:,} characters cut …]\n"
    limit = max(0, most - len(mark))
    least = max(0, limit - errors - 1)
    middle = _select_error_lines(text[least - least // 3 : len(text) - least // 3], errors) if errors else ""
    limit -= len(middle) + 1 if middle else 0
    head = _cut_at_boundary(text[: limit - limit // 3])
    tail = _cut_at_boundary(text[len(text) - limit // 3 :][::-1])[::-1] if limit // 3 else ""
    return strip_invisible(head.rstrip() + mark + (middle + "\n" if middle else "") + tail.lstrip())[0]


def _cut_at_boundary(text: str) -> str:
    """Cut a text after its last line end, or else after its last space, unless that removes a quarter or more."""
    for end in ("\n", " "):
        at = text.rfind(end)
        if at * 4 > len(text) * 3:
            return text[:at]
    return text


_ERROR = Pattern(
    r"(?im)\b(?:\w*error|failed|failures?|fail|fatal|panic(?:ked)?|\w*exception|traceback|assert(?:ion)?\w*|denied|refused"
    r"|rejected|not found|no such"
    r"|undefined|unresolved|unknown|invalid|missing|cannot|can't|could not|couldn't|unable to|timed out|segmentation fault"
    r"|aborted|killed|conflict"
    r"|exit(?:ed)?(?: with)?(?: code| status)?[ :=]{1,2}[1-9]\d*)\b|^[ \t]*E\s{2,}|[✗✘✖✕❌]"
)
_NO_ERROR = Pattern(r"(?i)\b(?:0|no) (?:errors?|fail\w*)\b")
_DIGITS = Pattern(r"\d+")
_LONGEST_ERROR = 200


def _select_error_lines(text: str, most: int) -> str:
    """Return the lines about errors in order, each kind once, at most ``most`` characters in total."""
    kept: list[str] = []
    seen: set[str] = set()
    room, end = most, -1
    for hit in _ERROR.finditer(text):
        if hit.start() < end:
            continue  # this match is in a line that was already checked
        start, end = text.rfind("\n", 0, hit.start()) + 1, text.find("\n", hit.start())
        end = end if end >= 0 else len(text)
        short = text[start:end].strip()[:_LONGEST_ERROR].rstrip()
        if len(short) >= room or not _ERROR.search(short) or _NO_ERROR.search(short):
            continue
        kind = _DIGITS.sub("0", short)
        if kind not in seen:
            seen.add(kind)
            kept.append(short)
            room -= len(short) + 1
            if room < 20:
                break
    return "\n".join(kept)


_PROGRESS = Pattern(r"(?m)\d%|[█▉▊▋▌▍▎▏▓▒░⣿⠿━╸╺]|[=#\-.>]{8,}|\d ?/ ?\d|\d ?[kKMG]i?B\b|^[⠀-⣿|/\\-] ".encode())
_LONGEST_PROGRESS = 400
_VARYING = Pattern(r"[\d\s█▉▊▋▌▍▎▏▓▒░━╸╺=#>.|/\\⠀-⣿-]+|\b[kKMG]i?B(?:/s)?\b")


def _without_repeats(text: str) -> str:
    """Replace each run of three or more equal lines by their number and the last one. Progress lines that differ only in their
    values count as equal.
    """
    telling = _find_progress_lines(text)
    lines = text.split("\n")
    runs = any(place + 1 in telling and place + 2 in telling for place in telling)
    if not runs and not any(map(eq, lines, lines[1:])):
        return text
    forms = (
        "\0" + _VARYING.sub(" ", line) if place in telling and len(line) <= _LONGEST_PROGRESS else line
        for place, line in enumerate(lines)
    )
    return "\n".join(_shorten_runs(zip(forms, lines, strict=True)))


def _shorten_runs(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    for form, group in groupby(lines, key=itemgetter(0)):
        run = [line for _, line in group]
        if len(run) < 3:
            yield from run
        elif not form.strip():
            yield ""
        else:
            yield f"[… {len(run) - 1:,} lines like the next …]"
            yield run[-1]


def _find_progress_lines(text: str) -> set[int]:
    """Return the line numbers of progress lines. One pattern searches the whole text, which is fast for a text without any."""
    data = text.encode("utf-8", "surrogatepass")
    found: set[int] = set()
    number = start = 0
    while start < len(data) and (hit := _PROGRESS.search(data, start)):
        number += data.count(b"\n", start, hit.start())
        found.add(number)
        start = data.find(b"\n", hit.start()) + 1
        number += 1
        if start == 0:
            break
    return found


# --- what is binary ------------------------------------------------------------------------------------------------------------

_BLOB = Pattern(
    rb"data:(?P<type>[\w.+-]{1,40}/[\w.+-]{1,80})(?:;[\w=-]{1,40}){0,4};base64,(?:[A-Za-z0-9+/=_-]|%2[BFbf]|%3[Dd]|\\?[\r\n])+"
    rb"|(?:[A-Za-z0-9+/_-]{60,100}\n){8,}[A-Za-z0-9+/_-]{0,100}={0,2}"
    rb"|[A-Za-z0-9+/_-]{512,}={0,2}"
    rb"|(?:\xef\xbf\xbd[^\n\xef]{0,4}){24,}"
)
# Every blob without a type contains a run of 512 characters, or eight lines of 60 to 100.
_LONG_RUN = Pattern(r"[A-Za-z0-9+/_-]{60,100}\n[A-Za-z0-9+/_-]{60}|[A-Za-z0-9+/_-]{120}")
_MIXED = (range(48, 58), range(65, 91), range(97, 123))


def _without_blobs(text: str) -> str:
    """Replace each data URI, long base64 text and broken binary text by a mark with its kind and size."""
    if len(text) < 64 or not (_may_hold_blobs(text)):
        return text
    data = text.encode("utf-8", "surrogatepass")
    out: list[bytes] = []
    at = 0
    for match in _BLOB.finditer(data):
        start, end = match.span()
        run = data[start:end]
        kind = match.group(1)
        if kind is None and not run.startswith(b"\xef") and not _is_dense(run):
            continue
        what = kind or (b"binary" if run.startswith(b"\xef") else b"base64")
        out += [data[at:start], b"[blob:%s:%d bytes]" % (what, end - start)]
        at = end
    return b"".join([*out, data[at:]]).decode("utf-8", "surrogatepass") if at else text


def _may_hold_blobs(text: str) -> bool:
    return ";base64," in text or "\ufffd" in text or (len(text) >= 512 and bool(_LONG_RUN.search(text)))


def _is_dense(run: bytes) -> bool:
    """True if bytes without a space are encoded data rather than a line of dashes, a path or one long word."""
    sample = run[:512]
    return all(any(byte in letters for byte in sample) for letters in _MIXED) or all(
        byte in b"0123456789abcdef\n" for byte in sample
    )
