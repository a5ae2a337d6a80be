"""SVG drawings as text: a few kinds of marks, the same bytes for the same data, no fonts, light and dark.

Why no plotting library: the smallest takes 0.8 s to import and 100 MB with what turns its charts into files, and its
bytes change between releases; a report needs lines, bars and areas. vl-convert makes PNG and PDF of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

FORMATS = ("png", "pdf")
"""What a drawing can be converted to."""


def converted(svg: str) -> dict[str, bytes]:
    """Return a drawing in each of `FORMATS`, on white and with twice the pixels; {} without vl-convert."""
    try:
        import vl_convert
    except ImportError:
        return {}
    paper = svg.replace("</style>", '</style><rect width="100%" height="100%" fill="#ffffff"/>', 1)
    return {"png": vl_convert.svg_to_png(paper, scale=2.0), "pdf": vl_convert.svg_to_pdf(paper)}


PALETTE = ("#3b82f6", "#e08600", "#10a37f", "#d1495b", "#9b6dd6", "#7a8793", "#2aa7c9", "#a8900c")
"""Colours that are distinct on white and on black, and with the dashes also for most colour-blind readers."""
DASHES = ("", "7 3", "2 3", "9 3 2 3")

_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#24292f}.t{font-weight:600;font-size:14px}.s{fill:#57606a}"
    ".a{stroke:#57606a;fill:none}.g{stroke:#d0d7de;fill:none}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9ba5b0}.a{stroke:#9ba5b0}.g{stroke:#30363d}}"
)

Point = tuple[float, float]


class Scale(NamedTuple):
    """A linear map of data in [low, high] to pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = self.high - self.low or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)


def ticks(low: float, high: float, *, most: int = 6) -> list[float]:
    """Return round numbers in [low, high], at most `most` + 1 of them, in steps of 1, 2 or 5 times a power of ten."""
    span, step = high - low or 1.0, 1.0
    while step * most < span:
        step *= 10
    while step * most / 10 >= span:
        step /= 10
    step = next(step * part for part in (0.1, 0.2, 0.5, 1.0) if step * part * most >= span)
    first = -int(-low // step) if low >= 0 else int(low // step)
    return [
        round(place * step, 10)
        for place in range(first, int(high / step + 1e-9) + 1)
        if low - 1e-9 <= place * step <= high + 1e-9
    ]


def number(value: float) -> str:
    """Return a coordinate with at most two digits after the point, and no minus before zero."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def label(value: float) -> str:
    """Return a number of an axis: 5, 0.25, 12k, 3.5M."""
    for unit, sign in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= unit * 10 or (abs(value) >= unit and value % (unit / 10) == 0):
            return f"{number(value / unit)}{sign}"
    return number(value)


class Drawing:
    """A drawing of a width and height in pixels; elements are drawn in the order of their addition."""

    def __init__(self, width: float, height: float, *, title: str, description: str) -> None:
        self._size = (width, height)
        self._head = (title, description)
        self._elements: list[str] = []

    def text(
        self, x: float, y: float, words: str, *, anchor: str = "start", kind: str = "", turned: bool = False
    ) -> None:
        """Add a text whose baseline begins, is centred or ends at a point; `turned`: reading upwards."""
        turn = f' transform="rotate(-90 {number(x)} {number(y)})"' if turned else ""
        style = f' class="{kind}"' if kind else ""
        place = f'x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"'
        self._elements.append(f"<text {place}{style}{turn}>{escape(words)}</text>")

    def line(
        self, points: Iterable[Point], *, colour: str = "", dash: str = "", kind: str = "", width: float = 2
    ) -> None:
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        look = f'class="{kind}"' if kind else f'fill="none" stroke="{colour}" stroke-width="{number(width)}"'
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self._elements.append(f'<polyline points="{path}" {look}{dashed}/>')

    def area(self, points: Sequence[Point], *, colour: str, opacity: float = 1.0) -> None:
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self._elements.append(f'<polygon points="{path}" fill="{colour}" fill-opacity="{number(opacity)}"/>')

    def box(self, x: float, y: float, width: float, height: float, *, colour: str) -> None:
        size = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
        self._elements.append(f'<rect {size} fill="{colour}"/>')

    def diamond(self, x: float, y: float, *, colour: str, size: float = 6) -> None:
        self.area([(x - size, y), (x, y - size), (x + size, y), (x, y + size)], colour=colour)

    def dot(self, x: float, y: float, *, colour: str, size: float = 3) -> None:
        self._elements.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(size)}" fill="{colour}"/>')

    def __str__(self) -> str:
        width, height = map(number, self._size)
        title, description = map(escape, self._head)
        frame = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
        lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {frame}>', f"<title>{title}</title>"]
        lines += [f"<desc>{description}</desc>", f"<style>{_STYLE}</style>", *self._elements, "</svg>"]
        return "\n".join(lines) + "\n"
