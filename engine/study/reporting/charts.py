"""Charts of a report as Vega-Lite specifications: lines with bands and points, stacked shares, bars with intervals.

vl-convert, which the extra `figures` installs, draws them without a browser and with the same bytes every time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mage_es.events.errors import PrerequisiteError

Chart = dict[str, Any]

_WIDTH, _HEIGHT = 480, 300
_ROW, _PANEL = 26, 220
"""Pixels of a bar with its gap, and width of a panel of bars."""
_LONGEST_NAME = 260
"""Most pixels of a name beside a bar or in a legend; a longer one is cut."""
_COLOURS = ("#3b82f6", "#e08600", "#10a37f", "#d1495b", "#9b6dd6", "#7a8793", "#2aa7c9", "#a8900c")
"""Most colour-blind readers can tell them apart; with the dashes, everyone can."""
_DASHES = ((1, 0), (7, 3), (2, 3), (9, 3, 2, 3))


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


def drawn(chart: Chart) -> dict[str, bytes]:
    """Return a chart as the files of a figure, by their endings. Raises `PrerequisiteError` without vl-convert."""
    try:
        import vl_convert
    except ImportError as error:
        raise PrerequisiteError("Figures need vl-convert: python -m pip install 'mage-es[figures]'") from error
    svg = vl_convert.vegalite_to_svg(_printable(chart))
    return {"svg": svg.encode(), "png": vl_convert.svg_to_png(svg, scale=2.0), "pdf": vl_convert.svg_to_pdf(svg)}


def _printable(part: Any) -> Any:
    """Return a part of a chart whose texts an SVG may hold; vl-convert ends the process for one that it may not
    hold."""
    if isinstance(part, Mapping):
        return {_printable(name): _printable(value) for name, value in part.items()}
    if isinstance(part, str):
        return "".join(sign if sign.isprintable() else " " for sign in part)
    return list(map(_printable, part)) if isinstance(part, list | tuple) else part


def line_chart(title: str, series: Sequence[Series], *, x: str, y: str, high: float | None = None) -> Chart | None:
    """Return lines over iterations (-1: the start), None without marks; the y axis ends at `high` or the largest
    mark."""
    top = math.inf if high is None else high
    rows = [
        {"name": each.name, "kind": kind, "x": at, "y": value, "low": max(0, value - sd), "high": min(top, value + sd)}
        for each in series
        for kind, marks in (("line", each.line), ("band", each.line if each.banded else ()), ("point", each.points))
        for at, value, sd in marks
    ]
    if not rows:
        return None
    names = [each.name for each in series]
    colour = _colour(names, symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=3)
    dashes = [_DASHES[place % len(_DASHES)] for place in range(len(names))]
    iterations = {"tickMinStep": 1, "grid": False, "labelExpr": "datum.value < 0 ? 'start' : datum.label"}
    size = _number("", title=y, scale={"domainMin": 0} | ({"domainMax": high} if high else {}))
    span, middle = {"y": {**size, "field": "low"}, "y2": {"field": "high"}}, {**size, "field": "y"}
    dash = {"field": "name", "sort": None, "scale": {"domain": names, "range": dashes}, "legend": colour["legend"]}

    def layer(kind: str, encoding: Chart, **mark: Any) -> Chart:
        return {"transform": [{"filter": f"datum.kind == '{kind}'"}], "mark": mark, "encoding": encoding}

    return {
        **_titled(title, "Band and bars: ± sd over seeds." if any(row["high"] != row["y"] for row in rows) else ""),
        **_sized(rows),
        "encoding": {
            "x": _number("x", title=x, scale={"nice": False, "zero": False}, axis=iterations),
            "color": colour,
        },
        "layer": [
            layer("band", span, type="area", opacity=0.18),
            layer("line", {"y": middle, "strokeDash": dash}, type="line", point={"size": 15}),
            layer("point", span, type="rule"),
            layer("point", {"y": middle}, type="point", shape="diamond", filled=True, size=90, opacity=1),
        ],
    }


def stacked_chart(panels: Mapping[str, Mapping[str, Sequence[ChartMark]]], *, title: str, x: str) -> Chart:
    """Return one panel below another, each with the shares of its layers (in percent, adding up to 100)."""

    def panel(name: str, layers: Mapping[str, Sequence[ChartMark]]) -> Chart:
        rows = [{"name": layer, "x": mark.x, "share": mark.value} for layer, marks in layers.items() for mark in marks]
        across = {"field": "x", "type": "ordinal", "title": x, "axis": {"labelAngle": 0, "labelOverlap": True}}
        share = _number("share", title="share, %", scale={"domain": [0, 100]})
        encoding = {"x": across, "y": share, "color": _colour(list(layers))}
        return {**_titled(name), **_sized(rows), "mark": "bar", "encoding": encoding}

    below = [panel(name, layers) for name, layers in panels.items()]
    return {**_titled(title), "vconcat": below, "resolve": {"scale": {"color": "independent"}}}


def bar_chart(panels: Mapping[str, Sequence[Bar]], *, title: str, digits: int = 1) -> Chart:
    """Return a panel of horizontal bars for each name, side by side, each with its own scale. Values have `digits`
    decimals; one that was not measured is a dash."""

    def panel(name: str, bars: Sequence[Bar], axis: Chart | None) -> Chart:
        rows = [
            {**bar._asdict(), "end": bar.value or 0, "text": "-" if bar.value is None else f"{bar.value:,.{digits}f}"}
            for bar in bars
        ]
        words = {"x": _number("end"), "text": {"field": "text"}}
        return {
            **_titled(name),
            **_sized(rows, width=_PANEL, height={"step": _ROW}),
            "encoding": {"y": {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": axis}},
            "layer": [
                {"mark": {"type": "bar", "height": 14, "color": _COLOURS[0]}, "encoding": {"x": _number("value")}},
                {"mark": "rule", "encoding": {"x": _number("low"), "x2": {"field": "high"}}},
                {"mark": {"type": "text", "align": "left", "dx": 5, "dy": -8}, "encoding": words},
            ],
        }

    names = {"labelLimit": _LONGEST_NAME, "domain": False, "ticks": False}
    beside = [panel(name, bars, None if at else names) for at, (name, bars) in enumerate(panels.items())]
    return {**_titled(title), "hconcat": beside}


def _titled(title: str, subtitle: str = "") -> Chart:
    return {"title": {"text": title, "subtitle": subtitle, "anchor": "start", "limit": _WIDTH + _LONGEST_NAME}}


def _sized(rows: Sequence[Chart], *, width: int = _WIDTH, height: object = _HEIGHT) -> Chart:
    return {"width": width, "height": height, "data": {"values": rows}}


def _number(field: str, *, title: str | None = None, **how: Chart) -> Chart:
    return {"field": field, "type": "quantitative", "title": title, **how}


def _colour(names: Sequence[str], **legend: object) -> Chart:
    shown = {"title": None, "labelLimit": _LONGEST_NAME, **legend}
    colours = [_COLOURS[place % len(_COLOURS)] for place in range(len(names))]
    scale = {"domain": names, "range": colours}
    return {"field": "name", "type": "nominal", "sort": None, "scale": scale, "legend": shown}
