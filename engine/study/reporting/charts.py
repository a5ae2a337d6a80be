"""Charts of a report as Vega-Lite specifications: the file of a kind (lines, shares, bars), filled with words and rows.

vl-convert, which the extra `figures` installs, draws them without a browser and with the same bytes every time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mage_es.events.errors import PrerequisiteError

Chart = dict[str, Any]
ChartRow = dict[str, Any]

_COLOURS = ("#3b82f6", "#e08600", "#10a37f", "#d1495b", "#9b6dd6", "#7a8793", "#2aa7c9", "#a8900c")
"""Most colour-blind readers can tell them apart; with the dashes, everyone can."""
_DASHES = ((1, 0), (7, 3), (2, 3), (9, 3, 2, 3)) * 2


def chart(kind: str, title: str, rows: Sequence[ChartRow], **words: object) -> Chart:
    """Return a chart of rows. Those of lines have name, kind (line, band or point), x, y, low and high; those of shares
    panel, name, x and share; those of bars panel, name, value, low and high (None: not measured), text and end."""
    names = list(dict.fromkeys(row["name"] for row in rows))[: len(_COLOURS)]
    panels = list(dict.fromkeys(row["panel"] for row in rows if "panel" in row))
    styles = {"panels": panels, "names": names, "colours": _COLOURS[: len(names)], "dashes": _DASHES[: len(names)]}
    known = {"title": title, "rows": rows, **styles, **words}
    spec = msgspec.json.decode((Path(__file__).parent / f"{kind}.json").read_bytes(), type=Chart)
    return {name: _filled(part, {f"${name}": value for name, value in known.items()}) for name, part in spec.items()}


def _filled(part: Any, words: Mapping[str, object]) -> Any:
    """Return a part of a chart with its words, as far as an SVG may hold them; vl-convert ends the process for one that
    it may not hold."""
    if isinstance(part, str):
        if part in words:
            return _filled(words[part], {})
        return "".join(sign if sign.isprintable() else " " for sign in part)
    if isinstance(part, Mapping):
        return {name: _filled(value, words) for name, value in part.items()}
    return [_filled(each, words) for each in part] if isinstance(part, list | tuple) else part


def drawn(chart: Chart) -> dict[str, bytes]:
    """Return a chart as the files of a figure, by their endings. Raises `PrerequisiteError` without vl-convert."""
    try:
        import vl_convert
    except ImportError as error:
        raise PrerequisiteError("Figures need vl-convert: python -m pip install 'mage-es[figures]'") from error
    svg = vl_convert.vegalite_to_svg(chart)
    return {"svg": svg.encode(), "png": vl_convert.svg_to_png(svg, scale=2.0), "pdf": vl_convert.svg_to_pdf(svg)}
