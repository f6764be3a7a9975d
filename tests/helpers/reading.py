"""Read a file with a reader, at once and in pieces."""

import json
from dataclasses import replace
from pathlib import Path

from kept.core.event import Author, Cursor, EventKind, RecordAccount
from kept.store.threads import Tree, find_abandoned


def lines(*records):
    """Records as JSON Lines; a string is one raw line."""
    return b"".join((each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)).encode() + b"\n" for each in records)


def read(reader, path, cursor=None):
    """The events, the account and the final cursor of all slices; the account must add up."""
    cursor, events, account = cursor or Cursor(), [], RecordAccount()
    for part in reader.read(path, cursor):
        events += part.events
        account += part.account
        cursor = part.cursor
    assert account.records == account.kept + sum(account.dropped.values())
    assert account.events == len(events)
    return events, account, cursor


def read_bytes(reader, path, data):
    """Write a file with these bytes, and return its events."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return read(reader, path)[0]


def read_in_pieces(reader, path, data, ends):
    """Read a growing file at each of these lengths."""
    events, account, cursor = [], RecordAccount(), Cursor()
    for end in [*ends, len(data)]:
        path.write_bytes(data[:end])
        more, part, cursor = read(reader, path, cursor)
        events += more
        account += part
    return events, account, replace(cursor, inode=0)


def at_once(reader, path, data):
    path.write_bytes(data)
    events, account, cursor = read(reader, path)
    return events, account, replace(cursor, inode=0)


def said(events):
    """The author and text of each event."""
    return [(event.author.value, event.text) for event in events]


def human(events):
    return [event.text for event in events if event.author is Author.HUMAN]


def files(folder: Path, pattern: str) -> list[Path]:
    found = sorted(path for path in folder.rglob(pattern) if path.is_file())
    assert found
    return found


def abandoned_texts(events):
    """The texts of the events on branches that the user abandoned by going back."""
    tree = Tree()
    for event in events:
        human = event.kind is EventKind.PROMPT and event.author in (Author.HUMAN, Author.ABANDONED)
        tree.append(event.record, event.parent, event.turn, human=human, output=event.kind is EventKind.TOOL_OUTPUT)
    return [event.text for event, gone in zip(events, find_abandoned(tree), strict=True) if gone]
