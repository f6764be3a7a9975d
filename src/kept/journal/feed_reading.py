"""Read external sources and store their items redacted. A backfill can then use items that a feed no longer has.

Each source has a file in kept's state folder, which has the cursor in the first line and one item in each other line. Items are
untrusted text; entries may describe them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kept.core.codec import dump, load
from kept.core.digest import digest
from kept.core.errors import ChangedError, SourceError
from kept.core.fingerprint import mark_known_statements
from kept.core.redact import load_scanner, redact
from kept.core.value import dataclass, replace
from kept.journal.entry import FeedItem
from kept.local import files
from kept.local.settings.tables import FeedSettings
from kept.workspace import Workspace

if TYPE_CHECKING:
    from kept.journal.feeds import Fetch

_ITEMS_KEPT = 50_000  # maximum number of items stored for a source, the newest ones


def collect_feeds(workspace: Workspace, *, fetching: "Fetch | None" = None) -> tuple[str, ...]:
    """Store the new items of all external sources in the settings.

    Returns a message for each source that could not be read or of which items were skipped.
    """
    problems: list[str] = []
    for feed in workspace.settings.feed:
        try:
            problems += _collect_feed(workspace, feed, fetching)
        except (SourceError, ChangedError) as error:
            problems.append(f"{feed_name(feed)}: {error}")
    return tuple(problems)


def feed_name(feed: FeedSettings) -> str:
    """The name by which entries refer to a source."""
    return feed.name or feed.kind


def _collect_feed(workspace: Workspace, feed: FeedSettings, fetching: "Fetch | None") -> Iterator[str]:
    from kept.journal.feeds import fetch_address, read_new_items  # noqa: PLC0415 - a run without feeds does not need e-mail and XML

    path = _feed_path(workspace, feed)
    stamp, cursor, known = _load_stored_items(path)
    result = read_new_items(
        feed.kind,
        name=feed_name(feed),
        place=feed.url or feed.path,
        cursor=cursor,
        zone=workspace.zone,
        now=workspace.clock(),
        fetching=fetching or fetch_address,
    )
    prints, secret = workspace.store.log.forgotten_fingerprints(), workspace.store.key("forget")

    def is_forgotten(text: str) -> bool:
        return bool(prints) and mark_known_statements(text, prints, secret, "") != text

    redacted = [_redact_item(workspace, item) for item in result.items if item.key not in known]
    fresh = {item.key: _empty_item(item) if _has_match(item, is_forgotten) else item for item in redacted}
    if fresh or dict(result.cursor) != dict(cursor):
        items = sorted({**known, **fresh}.values(), key=_sort_key)[-_ITEMS_KEPT:]
        _store_items(workspace, path, stamp, result.cursor, items)
    if result.skipped:
        counts = ", ".join(f"{count} {reason}" for reason, count in sorted(result.skipped.items()))
        yield f"{feed_name(feed)}: skipped {counts}"


def _sort_key(item: FeedItem) -> tuple[str, str]:
    return str(item.at), item.key


def _store_items(
    workspace: Workspace, path: Path, stamp: files.FileStamp, cursor: Mapping[str, str], items: Iterable[FeedItem]
) -> None:
    lines = [json.dumps({"cursor": dict(cursor)}), *(json.dumps(dump(item), ensure_ascii=False) for item in items)]
    files.write_if_unchanged(path, ("\n".join(lines) + "\n").encode("utf-8", "replace"), expect=stamp, root=workspace.paths.root)


def _redact_item(workspace: Workspace, item: FeedItem) -> FeedItem:
    key, scanner = workspace.store.key("redaction"), load_scanner()
    title, text, link = (redact(part, key=key, more=scanner).text for part in (item.title, item.text, item.link))
    return replace(item, title=title, text=text, link=link)


def _feed_path(workspace: Workspace, feed: FeedSettings) -> Path:
    return workspace.paths.state / "feeds" / f"{digest(feed.kind, feed.url or feed.path, feed_name(feed), size=8)}.jsonl"


def _load_stored_items(path: Path) -> tuple[files.FileStamp, Mapping[str, str], dict[str, FeedItem]]:
    """Load the stored items of a source: the stamp of the file, the cursor, and the items by key.

    If a line is damaged, the cursor is empty, so that the whole source is read again.
    """
    content = files.read_file(path)
    lines = content.data.decode("utf-8", "replace").splitlines()
    items: dict[str, FeedItem] = {}
    cursor: Mapping[str, str] = {}
    damaged = False
    for number, line in enumerate(lines):
        try:
            body = json.loads(line)
            if number == 0:
                cursor = {str(name): str(value) for name, value in body["cursor"].items()}
            else:
                item = load(FeedItem, body)
                items[item.key] = item
        except (ValueError, KeyError, TypeError, AttributeError):
            damaged = True
    return content.stamp, {} if damaged else cursor, items


def items_between(workspace: Workspace, start: datetime, stop: datetime) -> tuple[FeedItem, ...]:
    """The stored items of a time span, by source and time. The sources themselves are not read. Raises KeptError."""
    feed_items: list[FeedItem] = []
    for feed in workspace.settings.feed:
        _, _, items = _load_stored_items(_feed_path(workspace, feed))
        within = [item for item in items.values() if item.at is not None and start <= item.at < stop]
        feed_items += sorted(within, key=_sort_key)
    return tuple(feed_items)


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedErasure:
    """The result of erasing a source: its name, the number of erased items, and their texts, which may also occur elsewhere."""

    name: str
    items: int
    texts: tuple[str, ...]


def find_items(workspace: Workspace, matches: Callable[[str], bool]) -> Iterator[FeedItem]:
    """Yield the stored items of all sources that have a text for which ``matches`` returns True."""
    for path in _feed_paths(workspace):
        yield from (item for item in _load_stored_items(path)[2].values() if item.at is not None and _has_match(item, matches))


def erase_items(workspace: Workspace, matches: Callable[[str], bool]) -> int:
    """Blank the matching items of all sources, including sources that are no longer in the settings.

    Returns the number of blanked items. Raises KeptError.
    """
    return sum(len(_erase_items(workspace, path, lambda item: _has_match(item, matches))) for path in _feed_paths(workspace))


def erase_source(workspace: Workspace, source: str) -> FeedErasure:
    """Blank all items of a source. ``source`` is its name, path or URL. Raises KeptError."""
    named = {feed for feed in workspace.settings.feed if source in (feed_name(feed), feed.path, feed.url)}
    own, name = {_feed_path(workspace, feed) for feed in named}, next((feed_name(feed) for feed in named), source)
    erased: list[FeedItem] = []
    for path in _feed_paths(workspace):
        erased += _erase_items(workspace, path, (lambda _: True) if path in own else (lambda item: item.source == source))
    texts = tuple(dict.fromkeys(text for item in erased for text in (item.title, item.text) if text))
    return FeedErasure(name=name, items=len(erased), texts=texts)


def _feed_paths(workspace: Workspace) -> tuple[Path, ...]:
    return tuple(sorted((workspace.paths.state / "feeds").glob("*.jsonl")))


def _erase_items(workspace: Workspace, path: Path, wanted: Callable[[FeedItem], bool]) -> list[FeedItem]:
    """Blank the items of a file for which ``wanted`` returns True. Returns them as they were.

    Damaged lines are dropped; their items are read from the source again.
    """
    stamp, cursor, known = _load_stored_items(path)
    erased = [item for item in known.values() if item.at is not None and wanted(item)]
    gone = {item.key for item in erased}
    if erased or not cursor:
        _store_items(workspace, path, stamp, cursor, [_empty_item(item) if item.key in gone else item for item in known.values()])
    return erased


def _empty_item(item: FeedItem) -> FeedItem:
    """A copy of an item without its content. Its key stays, so that the item is not stored again."""
    return replace(item, title="", text="", link="", at=None)


def _has_match(item: FeedItem, matches: Callable[[str], bool]) -> bool:
    return any(matches(entry) for entry in (item.title, item.text, f"{item.title} {item.text}", item.link) if entry)
