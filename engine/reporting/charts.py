"""Charts of a report: lines with bands and points along the iterations, stacked shares, bars with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple

from mage_es.engine.reporting.svg import DASHES, PALETTE, Drawing, Scale, label, ticks

WIDTH, HEIGHT = 760.0, 400.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 210.0, 48.0, 48.0
_ROW = 20.0
_BAR = 16.0
"""Pixels of a line of the legend, and of a bar."""
_BAND = "▒ ± sd over seeds"
_LETTER, _TITLE_LETTER, _WIDE_LETTER = 7.0, 8.5, 8.0
"""Pixels of a letter, estimated high: in a text, in a title, and in a word with many wide letters."""
_LEGEND_LETTERS, _BAR_LETTERS = int((_RIGHT - 44) / _LETTER), 28
"""Letters of a line of the legend, and of one beside a bar: longer names are folded, so that they take no plot away."""


class ChartMark(NamedTuple):
    """A value along the x axis, with its standard deviation (0: none)."""

    x: float
    value: float
    sd: float = 0.0


class Series(NamedTuple):
    """A line, with a band of one deviation on both sides if `banded`, and single points (exams) beside it."""

    name: str
    line: Sequence[ChartMark]
    points: Sequence[ChartMark] = ()
    banded: bool = False


class Bar(NamedTuple):
    """A named value (None: not measured), and the ends of its interval, if it has one."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


def line_chart(
    title: str, series: Sequence[Series], *, x: str, y: str, low: float = 0.0, high: float | None = None
) -> str:
    """Return lines over iterations (-1: the start), "" of no marks; the y axis ends at `high` or the largest mark."""
    marks = [mark for each in series for mark in (*each.line, *each.points)]
    if not marks:
        return ""
    top = high if high is not None else max((mark.value + mark.sd for mark in marks), default=1.0) or 1.0
    has_band = any(each.banded and any(mark.sd for mark in each.line) for each in series)
    keys = [*(["◆ held-out exam, ± sd"] if any(each.points for each in series) else []), *([_BAND] if has_band else [])]
    lines = sum(len(_folded(each.name)) for each in series) + len(keys)
    height = max(HEIGHT, _TOP + _BOTTOM + _ROW * lines)
    drawing = Drawing(WIDTH, height, title=title, description=f"{y} by {x}")
    across = Scale(min(m.x for m in marks), max(m.x for m in marks), _LEFT, WIDTH - _RIGHT)
    upwards = Scale(low, top, HEIGHT - _BOTTOM, _TOP)
    _frame(drawing, title, across, upwards, x=x, y=y)
    for number, each in enumerate(series):
        if each.banded:
            above = [(across(m.x), upwards(min(m.value + m.sd, top))) for m in each.line]
            below = [(across(m.x), upwards(max(m.value - m.sd, low))) for m in reversed(each.line)]
            drawing.area([*above, *below], colour=_colour(number), opacity=0.18)
    for number, each in enumerate(series):
        path = [(across(m.x), upwards(m.value)) for m in each.line]
        if len(path) == 1:
            drawing.dot(*path[0], colour=_colour(number))
        drawing.line(path, colour=_colour(number), dash=_dash(number))
        for point in each.points:
            _point(drawing, point, across, upwards, colour=_colour(number))
    _legend(drawing, [each.name for each in series])
    for number, words in enumerate(keys, start=lines - len(keys)):
        drawing.text(WIDTH - _RIGHT + 16, _TOP + _ROW * number + 16, words, kind="s")
    return str(drawing)


def _folded(name: str, letters: int = _LEGEND_LETTERS) -> list[str]:
    return wrap(name, letters) or [""]


def _shortened(text: str, letters: int) -> str:
    """Return a text without its middle where it is longer; a drawing's <title> has all of its own."""
    half = (letters - 1) // 2
    return text if len(text) <= letters else f"{text[:half].rstrip()}…{text[-half:].lstrip()}"


def stacked_chart(panels: Mapping[str, Mapping[str, Sequence[ChartMark]]], *, title: str, x: str) -> str:
    """Return one panel below another, each with the shares (in percent, adding up to 100) of its layers."""
    drawing = Drawing(WIDTH, HEIGHT * len(panels), title=title, description=f"shares by {x}")
    for place, (name, layers) in enumerate(panels.items()):
        xs = sorted({mark.x for marks in layers.values() for mark in marks})
        across = Scale(xs[0], xs[-1], _LEFT, WIDTH - _RIGHT)
        upwards = Scale(0, 100, (place + 1) * HEIGHT - _BOTTOM, place * HEIGHT + _TOP)
        base = dict.fromkeys(xs, 0.0)
        for number, marks in enumerate(layers.values()):
            top = {mark.x: base[mark.x] + mark.value for mark in marks}
            # A single iteration is drawn as a bar: an area between two equal points would be empty.
            ends = [(across(at), at) for at in xs] if len(xs) > 1 else [(_LEFT, xs[0]), (_LEFT + _BAR, xs[0])]
            edge = [(place_x, upwards(top[at])) for place_x, at in ends]
            drawing.area([*edge, *((px, upwards(base[at])) for px, at in reversed(ends))], colour=_colour(number))
            base = top
        _frame(drawing, f"{title}: {name}", across, upwards, x=x, y="share, %")
        _legend(drawing, list(layers), top=place * HEIGHT + _TOP, is_stacked=True)
    return str(drawing)


def bar_chart(panels: Mapping[str, Sequence[Bar]], *, title: str, digits: int = 1) -> str:
    """Return one panel of horizontal bars for each name, side by side, each with a scale of its own.

    Values have so many `digits` after the point.
    """
    rows = max(len(bars) for bars in panels.values())
    height = _TOP + 28 + (_BAR + 10) * rows + 16
    longest = max(len(bar.name) for bars in panels.values() for bar in bars)
    left = 24 + _WIDE_LETTER * min(longest, _BAR_LETTERS)
    room = max(200.0, 24 + _LETTER * max(map(len, panels)))
    width = max(WIDTH, left + room * len(panels))
    each = (width - left - 16) / len(panels)
    drawing = Drawing(width, height, title=title, description=", ".join(panels))
    drawing.text(16, 24, title, kind="t")
    for row, bar in enumerate(next(iter(panels.values()))):
        names = _folded(_shortened(bar.name, 2 * _BAR_LETTERS - 12), _BAR_LETTERS)
        for number, words in enumerate(names):
            below = 12 * number - 6 * (len(names) - 1)
            drawing.text(left - 10, _TOP + 28 + (_BAR + 10) * row + 12 + below, words, anchor="end")
    for place, (name, bars) in enumerate(panels.items()):
        ends = (left + each * place, left + each * (place + 1) - 16)
        _bars(drawing, name, bars, ends, colour=_colour(place), digits=digits)
    return str(drawing)


def _bars(
    drawing: Drawing, name: str, bars: Sequence[Bar], panel: tuple[float, float], *, colour: str, digits: int
) -> None:
    """Draw a panel between two places across; right of its longest bar there is room for the longest value."""
    start, end = panel
    values = ["-" if bar.value is None else f"{bar.value:,.{digits}f}" for bar in bars]
    ends = [end for bar in bars for end in (bar.value, bar.low, bar.high) if end is not None]
    across = Scale(min(0.0, *ends), max(0.0, *ends), start, end - 10 - _LETTER * max(map(len, values)))
    drawing.text(start, _TOP + 12, name, kind="s")
    for row, bar in enumerate(bars):
        y = _TOP + 28 + (_BAR + 10) * row
        if bar.value is None:
            drawing.text(across(0) + 5, y + 12, values[row], kind="s")
            continue
        zero, tip = across(0), across(bar.value)
        drawing.box(min(zero, tip), y, abs(tip - zero), _BAR, colour=colour)
        if bar.low is not None and bar.high is not None:
            drawing.line([(across(bar.low), y + _BAR / 2), (across(bar.high), y + _BAR / 2)], kind="a")
        furthest = max(tip, zero, across(bar.high) if bar.high is not None else tip)
        drawing.text(furthest + 5, y + 12, values[row], kind="s")
    drawing.line([(across(0), _TOP + 22), (across(0), _TOP + 28 + (_BAR + 10) * len(bars))], kind="a")


def _frame(drawing: Drawing, title: str, across: Scale, upwards: Scale, *, x: str, y: str) -> None:
    drawing.text(_LEFT, upwards.end - 20, _shortened(title, int((WIDTH - _LEFT) / _TITLE_LETTER)), kind="t")
    for value in ticks(upwards.low, upwards.high):
        drawing.line([(_LEFT, upwards(value)), (across.end, upwards(value))], kind="g")
        drawing.text(_LEFT - 8, upwards(value) + 4, label(value), anchor="end", kind="s")
    for value in ticks(max(across.low, 0.0), across.high, most=10):
        if value == int(value):
            drawing.text(across(value), upwards.start + 18, label(value), anchor="middle", kind="s")
    if across.low < 0:
        drawing.text(across(across.low), upwards.start + 18, "start", anchor="middle", kind="s")
    drawing.line([(_LEFT, upwards.end), (_LEFT, upwards.start), (across.end, upwards.start)], kind="a")
    drawing.text((_LEFT + across.end) / 2, upwards.start + 36, x, anchor="middle", kind="s")
    drawing.text(18, (upwards.start + upwards.end) / 2, y, anchor="middle", kind="s", turned=True)


def _point(drawing: Drawing, point: ChartMark, across: Scale, upwards: Scale, *, colour: str) -> None:
    x = across(point.x)
    if point.sd:
        ends = (upwards(point.value - point.sd), upwards(point.value + point.sd))
        drawing.line([(x, ends[0]), (x, ends[1])], colour=colour, width=1.5)
    drawing.diamond(x, upwards(point.value), colour=colour)


def _legend(drawing: Drawing, names: Sequence[str], *, top: float = _TOP, is_stacked: bool = False) -> None:
    left, row = WIDTH - _RIGHT + 16, 0
    for number, name in reversed(list(enumerate(names))) if is_stacked else enumerate(names):
        y = top + _ROW * row + 6
        if is_stacked:
            drawing.box(left, y - 6, 22, 12, colour=_colour(number))
        else:
            drawing.line([(left, y), (left + 22, y)], colour=_colour(number), dash=_dash(number), width=3)
        for words in _folded(name):
            drawing.text(left + 28, top + _ROW * row + 10, words)
            row += 1


def _colour(number: int) -> str:
    return PALETTE[number % len(PALETTE)]


def _dash(number: int) -> str:
    return DASHES[number % len(DASHES)]
