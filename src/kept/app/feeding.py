"""Feeding: what external sources bring is put by, without secrets, so that a backfill sees what a feed has long dropped.

One file a source below kept's own folder: its cursor, then an item a line. Items are untrusted text; entries may describe them.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from kept.adapters import files
from kept.adapters.feeds import Fetch, bring, fetch
from kept.adapters.scanner import scanner
from kept.adapters.settings import Feed
from kept.app.desk import Desk
from kept.model.codec import digest, dump, load
from kept.model.entry import Item
from kept.model.errors import ChangedError, SourceError
from kept.stages.redact import redact

_MOST = 50_000  # items of a source that are kept, the newest


def collect(desk: Desk, *, fetching: Fetch = fetch) -> tuple[str, ...]:
    """Put by what is new in every external source of the settings. Returns what could not be read or was skipped, in words."""
    told: list[str] = []
    for each in desk.settings.feed:
        try:
            told += _collect(desk, each, fetching)
        except (SourceError, ChangedError) as error:
            told.append(f"{name_of(each)}: {error}")
    return tuple(told)


def name_of(feed: Feed) -> str:
    """What entries call a source."""
    return feed.name or feed.kind


def _collect(desk: Desk, feed: Feed, fetching: Fetch) -> Iterator[str]:
    path = _path(desk, feed)
    stamp, cursor, known = _stored(path)
    found = bring(
        feed.kind, name=name_of(feed), place=feed.url or feed.path, cursor=cursor, zone=desk.zone, now=desk.clock(), fetching=fetching
    )  # fmt: skip
    fresh = {each.key: _safe(desk, each) for each in found.items if each.key not in known}
    if fresh or dict(found.cursor) != dict(cursor):
        items = sorted({**known, **fresh}.values(), key=lambda each: (str(each.at), each.key))[-_MOST:]
        lines = [json.dumps({"cursor": dict(found.cursor)}), *(json.dumps(dump(each), ensure_ascii=False) for each in items)]
        files.write(path, ("\n".join(lines) + "\n").encode("utf-8", "replace"), expect=stamp, root=desk.home.root)
    if found.skipped:
        yield f"{name_of(feed)}: skipped " + ", ".join(f"{count} {reason}" for reason, count in sorted(found.skipped.items()))


def _safe(desk: Desk, item: Item) -> Item:
    def without(text: str) -> str:
        return redact(text, key=desk.store.key("redaction"), more=scanner()).text

    return Item(
        key=item.key, source=item.source, title=without(item.title), text=without(item.text), at=item.at, link=without(item.link)
    )


def _path(desk: Desk, feed: Feed) -> Path:
    return desk.home.state / "feeds" / f"{digest(feed.kind, feed.url or feed.path, name_of(feed), size=8)}.jsonl"


def _stored(path: Path) -> tuple[files.Stamp, Mapping[str, str], dict[str, Item]]:
    """What was put by of a source: the file's stamp, the cursor, the items by key. A damaged line is passed over and read again."""
    content = files.read(path)
    lines = content.data.decode("utf-8", "replace").splitlines()
    items: dict[str, Item] = {}
    cursor: Mapping[str, str] = {}
    damaged = False
    for number, line in enumerate(lines):
        try:
            body = json.loads(line)
            if number == 0:
                cursor = {str(name): str(value) for name, value in body["cursor"].items()}
            else:
                made = load(Item, body)
                items[made.key] = made
        except (ValueError, KeyError, TypeError, AttributeError):
            damaged = True
    return content.stamp, {} if damaged else cursor, items


def items_between(desk: Desk, start: datetime, stop: datetime) -> tuple[Item, ...]:
    """What external sources brought of a span of time, by source and time. Reads nothing but what was put by. Raises KeptError."""
    found: list[Item] = []
    for each in desk.settings.feed:
        _, _, items = _stored(_path(desk, each))
        within = [one for one in items.values() if one.at is not None and start <= one.at < stop]
        found += sorted(within, key=lambda one: (str(one.at), one.key))
    return tuple(found)
