"""A clock for tests."""

from datetime import UTC, datetime, timedelta


class Clock:
    """A clock that advances one second with each call."""

    def __init__(self) -> None:
        self.parse_moment = datetime(2026, 10, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.parse_moment += timedelta(seconds=1)
        return self.parse_moment
