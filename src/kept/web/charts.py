"""Compute small charts that templates render as SVG: bars, stacked bars and the calendar of a year, with their labels."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from datetime import date, timedelta
from typing import TypeVar

from kept.core.value import dataclass
from kept.pipeline.status import ChartPoint

WIDTH, HEIGHT = 600, 96
_GAP = 0.25  # share of a bar's width that is left empty
T = TypeVar("T", bound=Hashable)
_STEPS = (0.25, 0.5)  # upper ends of the axis for small shares; else it ends at 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """A rectangle in the units of the chart, with its text; ``over`` is True above the target."""

    x: float
    y: float
    width: float
    height: float
    told: str
    over: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A bar chart from the day ``first`` to ``last``. ``top`` labels the upper end of the axis, ``line`` is the y coordinate of a
    target (-1: none).
    """

    title: str
    told: str
    top: str
    first: str
    last: str
    bars: tuple[Bar, ...]
    line: float = -1.0
    width: int = WIDTH
    height: int = HEIGHT


def build_chart(title: str, told: str, points: Sequence[ChartPoint], *, share: bool, target: float = -1.0) -> Chart | None:
    """Build a bar chart of points, oldest first; None if there are no points or all are 0.

    With ``share``, values are from 0 to 1 and the axis ends at 0.25, 0.5 or 1; otherwise it ends at the largest value, in USD.
    """
    if not points or not any(point.value for point in points):
        return None
    top = max(point.value for point in points)
    if share:
        top = next((step for step in _STEPS if max(top, 2 * target) <= step), 1.0)
    room = WIDTH / max(len(points), 12)
    bars = []
    for number, each in enumerate(points):
        size = round(HEIGHT * min(1.0, each.value / top), 1)
        over = target >= 0 and each.value > target
        height = max(size, 1.0)
        bars.append(
            Bar(
                x=round(number * room, 1),
                y=round(HEIGHT - height, 1),
                width=round(room * (1 - _GAP), 1),
                height=height,
                told=each.told,
                over=over,
            )
        )
    line = round(HEIGHT * (1 - target / top), 1) if 0 <= target <= top else -1.0
    return Chart(
        title=title,
        told=told,
        top=f"{top:.0%}" if share else f"{top:.2f} USD",
        first=points[0].day.isoformat(),
        last=points[-1].day.isoformat(),
        bars=tuple(bars),
        line=line,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class StackedChart:
    """A stacked bar chart. ``rects`` holds each rectangle with the index of its series, ``table`` a row per bar: its label, and its
    value in each series.
    """

    title: str
    told: str
    series: tuple[str, ...]
    rects: tuple[tuple[int, Bar], ...]
    table: tuple[tuple[str, tuple[int, ...]], ...]
    width: int = WIDTH
    height: int = HEIGHT


def build_stacked_chart(
    title: str, told: str, places: Mapping[T, str], series: Mapping[str, Counter[T]], most: int
) -> StackedChart | None:
    """Build a stacked bar chart with a bar for each key of ``places``, which maps it to its label; None if all values are 0.

    The ``most`` largest series are shown; all others are added up as one more.
    """
    ranked = sorted(series, key=lambda name: (-series[name].total(), name))
    shown: dict[str, Counter[T]] = {name: series[name] for name in ranked[:most]}
    if ranked[most:]:
        shown["others"] = sum((series[name] for name in ranked[most:]), Counter[T]())
    table = tuple((label, tuple(shown[name][place] for name in shown)) for place, label in places.items())
    top = max((sum(row) for _, row in table), default=0)
    if not top:
        return None
    room, rects = WIDTH / max(len(table), 6), []
    for at, (label, row) in enumerate(table):
        below = 0
        for number, (name, count) in enumerate(zip(shown, row, strict=True)):
            if count:
                below += count
                box = Bar(
                    x=round(at * room, 1),
                    y=round(HEIGHT * (1 - below / top), 1),
                    width=round(room * (1 - _GAP), 1),
                    height=round(HEIGHT * count / top, 1),
                    told=f"{label}: {count:,} {name}",
                    over=False,
                )
                rects.append((number, box))
    return StackedChart(title=title, told=told, series=tuple(shown), rects=tuple(rects), table=table)


def year_squares(activity: Mapping[date, int], today: date) -> tuple[tuple[int, int, int, date, int], ...]:
    """The days of the last year as squares: column (week), row (weekday), level of activity (0 to 4), the day, and its minutes."""
    first = today - timedelta(days=364 + today.weekday())
    busiest = max((count for day, count in activity.items() if day >= first), default=0) or 1
    days = [first + timedelta(days=number) for number in range((today - first).days + 1)]
    return tuple(
        ((day - first).days // 7, day.weekday(), -(-4 * activity.get(day, 0) // busiest), day, activity.get(day, 0)) for day in days
    )
