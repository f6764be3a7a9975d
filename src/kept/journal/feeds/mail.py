"""Read newsletters from a mailbox file (mbox) or a folder of messages (maildir).

The subject and main text of each message are read. Quoted lines, signatures and attachments are left out.
"""

import os
from collections import Counter
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from hashlib import blake2b
from itertools import takewhile

from kept.core.errors import SourceError
from kept.journal.entry import FeedItem
from kept.journal.feeds.base import MOST_BYTES, MOST_ITEMS, FeedRequest, FeedResult, html_to_text, parse_mail_date
from kept.journal.feeds.folders import read_changed_files
from kept.sources.records import open_source

_MESSAGE_BYTES = 2_000_000  # maximum bytes read of a message
_START_BYTES = 512  # bytes at the start of a mailbox that identify it
# The parser raises these errors for malformed headers and deeply nested parts.
_HEADER_ERRORS = (ValueError, LookupError, TypeError, AttributeError, AssertionError, OverflowError, RecursionError)


def read_mail(request: FeedRequest) -> FeedResult:
    """Read the messages that arrived since the last reading. Raises SourceError."""
    skipped = Counter[str]()
    if request.path.is_dir():
        newest = request.since
        found = []
        for path, stamp, data in read_changed_files(request, (), skipped):
            newest = max(newest, stamp)
            if path.parent.name in ("cur", "new"):
                found.append(data)
        cursor = {"since": str(newest)}
    else:
        found, cursor = _read_mailbox(request)
    items = (_message_item(data, request, skipped) for data in found[:MOST_ITEMS])
    return FeedResult(items=tuple(item for item in items if item is not None), cursor=cursor, skipped=skipped)


def _read_mailbox(request: FeedRequest) -> tuple[list[bytes], dict[str, str]]:
    """Read at most 16 MB of messages after the cursor. Reading begins at the start if the file was replaced.

    Returns the messages and the new cursor. Raises SourceError.
    """
    with open_source(request.path) as file:
        start = file.read(_START_BYTES)
        if start and not start.startswith(b"From "):
            raise SourceError("is no mailbox", where=request.place, hint="give an mbox file or a maildir folder")
        offset, (size, _, _) = request.cursor.get("offset", "0"), request.cursor.get("head", "").partition(":")
        same = size.isdecimal() and request.cursor.get("head") == _start_digest(start[: int(size)])
        place = int(offset) if same and offset.isdecimal() and int(offset) <= os.fstat(file.fileno()).st_size else 0
        file.seek(place)
        data = file.read(MOST_BYTES)
    messages = list(_split_mailbox(data))
    cut = len(data) == MOST_BYTES and len(messages) > 1
    reached = place + len(data) - (len(messages.pop()) if cut else 0)
    return messages, {"offset": str(reached), "head": _start_digest(start)}


def _start_digest(start: bytes) -> str:
    return f"{len(start)}:{blake2b(start, digest_size=8).hexdigest()}"


def _split_mailbox(data: bytes) -> Iterator[bytes]:
    begin = 0 if data.startswith(b"From ") else data.find(b"\nFrom ") + 1
    if not data.startswith(b"From ") and begin == 0:
        return
    while begin < len(data):
        end = data.find(b"\n\nFrom ", begin)
        end = len(data) if end < 0 else end + 2
        yield data[begin:end]
        begin = end


def _message_item(data: bytes, request: FeedRequest, skipped: Counter[str]) -> FeedItem | None:
    if data.startswith(b"From "):
        data = data.partition(b"\n")[2]
    try:
        message = message_from_bytes(data[:_MESSAGE_BYTES], policy=policy.default)
        head, number = str(message.get("Subject", "")), str(message.get("Message-ID", ""))
        at = parse_mail_date(str(message.get("Date", "")))
        text = _message_text(message)
    except _HEADER_ERRORS:
        skipped["unreadable"] += 1
        return None
    if at is None or not (head.strip() or text.strip()):
        skipped["without a date or a subject"] += 1
        return None
    return request.make_item(request.item_key(number or f"{at}{head}"), head, text=text, at=at)


def _message_text(message: EmailMessage) -> str:
    body = message.get_body(("plain", "html"))
    if body is None:
        return ""
    content = body.get_content()
    text = content if isinstance(content, str) else ""
    if body.get_content_subtype() == "html":
        return html_to_text(text)
    lines = takewhile(lambda line: line != "-- ", text.splitlines())
    return "\n".join(line for line in lines if not line.startswith(">"))
