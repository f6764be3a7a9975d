"""Read the subjects of commits from a git repository, or from a file with the output of ``git log``."""

import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from kept.core.errors import SourceError
from kept.core.pattern import Pattern
from kept.core.times import parse_instant
from kept.core.value import replace
from kept.journal.entry import FeedItem
from kept.journal.feeds.base import MOST_ITEMS, FeedRequest, FeedResult, parse_mail_date, read_data

_TIMEOUT = 60  # seconds
_HASH = Pattern(r"^[0-9a-f]{7,64}$")
_SAFE = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false", "--no-pager")
_FORM = "--format=commit %H%ndate %cI%nsubject %s"
_DATE = Pattern(r"(?i)^(?:commit)?date:?\s+(.+)$")
_SUBJECT = Pattern(r"^(?:subject:? |    )(.*\S)")


def read_commits(request: FeedRequest) -> FeedResult:
    """Read the commits since the last reading. Raises SourceError if there is no repository or git cannot be run."""
    if request.path.is_file():
        data, cursor = read_data(request)
        text = "" if data is None else data.decode("utf-8", "replace")
    else:
        head = _run_git(request, "rev-parse", "--verify", "HEAD").strip()
        before = request.cursor.get("head", "")
        if head == before:
            return FeedResult(cursor=request.cursor)
        known = _HASH.match(before) and _has_commit(request, before)
        text = _run_git(
            request, "log", "--no-show-signature", f"--max-count={MOST_ITEMS}", _FORM, f"{before}..{head}" if known else head
        )
        cursor = {"head": head}
    skipped = Counter[str]()
    items = tuple(_parse_commits(text, request, skipped))
    return FeedResult(items=items[:MOST_ITEMS], cursor=cursor, skipped=skipped)


def _parse_commits(text: str, request: FeedRequest, skipped: Counter[str]) -> Iterator[FeedItem]:
    number, at, subject = "", None, ""
    for line in (*text.splitlines(), "commit 0000000"):
        word, _, rest = line.partition(" ")
        if word == "commit" and _HASH.match(rest.split(" ", 1)[0]):
            if number and at is not None and subject:
                made = request.make_item(request.item_key(number), subject, at=at)
                yield replace(made, title=f"{made.title} ({number[:8]})")
            elif number:
                skipped["without a date or a subject"] += 1
            number, at, subject = rest.split(" ", 1)[0], None, ""
        elif number and at is None and (found := _DATE.match(line)):
            at = _parse_commit_time(found[1])
        elif number and not subject and (found := _SUBJECT.match(line)):
            subject = found[1]


def _parse_commit_time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text.strip(), "%a %b %d %H:%M:%S %Y %z").astimezone(UTC)  # the default date format of git
    except (ValueError, OverflowError):
        return parse_instant(text.strip()) or parse_mail_date(text)


def _has_commit(request: FeedRequest, number: str) -> bool:
    try:
        _run_git(request, "cat-file", "-e", f"{number}^{{commit}}")
    except SourceError:
        return False  # the history was rewritten, so all of it is read again; known commits keep their keys
    return True


def _run_git(request: FeedRequest, *arguments: str) -> str:
    """Run git and return its output. Settings of the repository that would run a program are overridden. Raises SourceError."""
    try:
        done = subprocess.run(  # noqa: S603 - the program is fixed, and the user named the folder
            (*_SAFE, "-C", str(request.path), *arguments),
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceError(f"git cannot be run: {type(error).__name__}", where=request.place) from error
    if done.returncode:
        raise SourceError(
            "is not a git repository with commits",
            where=request.place,
            hint="give the folder of a repository, or a file with its `git log`",
        )
    return done.stdout.decode("utf-8", "replace")
