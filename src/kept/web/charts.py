"""Small charts, drawn on the server as SVG: bars over time, each with its words, scaled to the largest. Knows no page."""

from collections.abc import Sequence
from dataclasses import dataclass

from kept.pipeline.status import Point

WIDTH, HEIGHT = 600, 96
_GAP = 0.25  # of a bar's room
_STEPS = (0.25, 0.5)  # shares that a chart of small ones ends at


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """A rectangle in the units of the chart, and what it says."""

    x: float
    y: float
    width: float
    height: float
    told: str
    over: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """Bars, from ``first`` to ``last`` day; ``top`` is what the whole height means; ``line`` is where a target lies (below 0:
    nowhere).
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


def chart(title: str, told: str, points: Sequence[Point], *, share: bool, target: float = -1.0) -> Chart | None:
    """A chart of points, oldest first: of shares (0 to 1) up to the whole or a quarter or half of it, else up to the largest.

    None where there is nothing to see.
    """
    if not points or not any(each.value for each in points):
        return None
    top = max(each.value for each in points)
    if share:
        top = next((each for each in _STEPS if max(top, 2 * target) <= each), 1.0)
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
