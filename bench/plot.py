"""Line charts as SVG, written by hand: two logarithmic axes, a few lines, a legend."""

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10
from typing import NamedTuple

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 240, 40, 50
COLOURS = ("#0b62a4", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be123c")


class Line(NamedTuple):
    """Points in ascending order of x; every x and y above 0."""

    name: str
    points: Sequence[tuple[float, float]]
    is_dashed: bool = False


class _Axis(NamedTuple):
    """Whole decades from 10^low to 10^high onto pixels."""

    low: int
    high: int
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def line_chart(title: str, x_label: str, y_label: str, lines: Sequence[Line]) -> str:
    """The chart as an SVG document. Raises ValueError without any point."""
    points = [point for line in lines for point in line.points]
    if not points:
        raise ValueError("a chart needs a point")
    across = _axis([x for x, _ in points], LEFT, WIDTH - RIGHT)
    upwards = _axis([y for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
        *_grid(across, upwards),
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text transform="translate(18 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">',
        f"{escape(y_label)}</text>",
    ]
    for number, line in enumerate(lines):
        parts += _drawn(line, COLOURS[number % len(COLOURS)], number, across, upwards)
    return "\n".join([*parts, "</svg>", ""])


def _axis(values: Sequence[float], start: float, end: float) -> _Axis:
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return _Axis(low, max(high, low + 1), start, end)


def _grid(across: _Axis, upwards: _Axis) -> list[str]:
    parts = []
    for tick in across.ticks():
        x = across.at(tick)
        parts.append(f'<path d="M{x} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{_label(tick)}</text>')
    for tick in upwards.ticks():
        y = upwards.at(tick)
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{_label(tick)}</text>')
    return parts


def _drawn(line: Line, colour: str, number: int, across: _Axis, upwards: _Axis) -> list[str]:
    places = [(across.at(x), upwards.at(y)) for x, y in line.points]
    dash = ' stroke-dasharray="5 4"' if line.is_dashed else ""
    path = "M" + "L".join(f"{x} {y}" for x, y in places)
    y_legend = TOP + 10 + 20 * number
    x_legend = WIDTH - RIGHT + 16
    return [
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>',
        *(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places),
        f'<path d="M{x_legend} {y_legend}h22" stroke="{colour}" stroke-width="2"{dash}/>',
        f'<text x="{x_legend + 28}" y="{y_legend + 4}">{escape(line.name)}</text>',
    ]


def _label(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
