"""Compute small charts that templates render as SVG: bars and the calendar of a year, with their labels."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from kept.core.value import dataclass
from kept.pipeline.status import ChartPoint

WIDTH, HEIGHT = 600, 96
_GAP = 0.25  # share of a bar's width that is left empty
_STEPS = (0.25, 0.5)  # upper ends of the axis for small shares; else it ends at 1


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle in the units of the chart, with its label; ``over`` is True above the target."""

    x: float
    y: float
    width: float
    height: float
    label: str
    over: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A bar chart from the day ``first`` to ``last``. ``top`` labels the upper end of the axis, ``line`` is the y coordinate of a
    target (-1: none).
    """

    title: str
    subtitle: str
    top: str
    first: str
    last: str
    bars: tuple[Bar, ...]
    line: float = -1.0
    width: int = WIDTH
    height: int = HEIGHT


def build_chart(
    title: str, subtitle: str, points: Sequence[ChartPoint], unit: str = "", *, share: bool = False, target: float = -1.0
) -> Chart | None:
    """Build a bar chart of points, oldest first; None if there are no points or all are 0.

    With ``share``, values are from 0 to 1 and the axis ends at 0.25, 0.5 or 1; otherwise it ends at the largest value, in ``unit``.
    """
    if not points or not any(point.value for point in points):
        return None
    top = max(point.value for point in points)
    if share:
        top = next((step for step in _STEPS if max(top, 2 * target) <= step), 1.0)
    step = WIDTH / max(len(points), 12)
    bars = []
    for number, point in enumerate(points):
        height = max(round(HEIGHT * min(1.0, point.value / top), 1), 1.0)
        corner = (round(number * step, 1), round(HEIGHT - height, 1))
        bars.append(
            Bar(*corner, width=round(step * (1 - _GAP), 1), height=height, label=point.label, over=0 <= target < point.value)
        )
    line = round(HEIGHT * (1 - target / top), 1) if 0 <= target <= top else -1.0
    return Chart(
        title=title,
        subtitle=subtitle,
        top=f"{top:.0%}" if share else f"{top:.2f} {unit}" if unit else f"{top:,.0f}",
        first=points[0].day.isoformat(),
        last=points[-1].day.isoformat(),
        bars=tuple(bars),
        line=line,
    )


def year_squares(activity: Mapping[date, int], today: date) -> tuple[tuple[int, int, int, date, int], ...]:
    """The days of the last year as squares: column (week), row (weekday), level of activity (0 to 4), the day, and its minutes."""
    first = today - timedelta(days=364 + today.weekday())
    busiest = max((count for day, count in activity.items() if day >= first), default=0) or 1
    days = [first + timedelta(days=number) for number in range((today - first).days + 1)]
    return tuple(
        ((day - first).days // 7, day.weekday(), -(-4 * activity.get(day, 0) // busiest), day, activity.get(day, 0)) for day in days
    )
