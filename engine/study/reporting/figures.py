"""The figures of a report: accuracy, graph growth, mastery and arms along the iterations, cost, effect sizes.

Each is a Vega-Lite specification: the file of a kind (lines, shares, bars), filled with words and rows. vl-convert,
which the extra `figures` installs, draws them without a browser and with the same bytes every time.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
import polars as pl

from mage_es.engine.benchmarks.registry import title as titled
from mage_es.engine.study.reporting.cells import Cell
from mage_es.engine.study.reporting.places import FULL, WITHOUT, Placement
from mage_es.engine.study.reporting.recorded import ExamState
from mage_es.engine.study.reporting.study import MEASURED, Measure, Study
from mage_es.engine.study.reporting.tables import TIER_NAMES, VARYING
from mage_es.events.digests import sha256_text
from mage_es.events.errors import PrerequisiteError

Chart = dict[str, Any]
ChartRow = dict[str, Any]

MOST_LINES = 8
"""How many lines of a chart remain distinguishable."""
LONGEST_NAME = 80
"""Most characters of a title in a file name; file systems allow 255 bytes in all."""
SIZES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "growth": ("memories", ("success memories", "failure memories")),
    # Small counts have a separate chart: there are a hundred times as many memories.
    "coverage": ("skills, principles, coverage", ("skills", "principles", "task types", "task types covered")),
}
"""The title and the lines of each chart of sizes."""
_COLOURS = ("#3b82f6", "#e08600", "#10a37f", "#d1495b", "#9b6dd6", "#7a8793", "#2aa7c9", "#a8900c")
"""Most colour-blind readers can tell them apart; with the dashes, everyone can."""
_DASHES = ((1, 0), (7, 3), (2, 3), (9, 3, 2, 3)) * 2


def figures(study: Study) -> dict[str, Chart]:
    """Return every figure that has data, by name; those along iterations once for each full system.

    [tables, figures]
    """
    full = [place for place in study.full() if any(run.iterations for run in study.at(place).values())]
    charts: dict[str, Chart | None] = {}
    for place in full:
        title, slug, runs = _title(study, place), _slug(study, place), study.at(place).values()
        charts[f"accuracy-{slug}"] = _accuracy(study, place, title)
        for kind, (what, sizes) in SIZES.items():
            rows = [row for size in sizes for row in _line(size, (run.growth for run in runs), size)]
            charts[f"{kind}-{slug}"] = _lines(f"{title}: {what}", rows, "nodes")
        mastery = list(_mastery([run.mastery for run in runs]))
        charts[f"mastery-{slug}"] = _lines(f"{title}: mastery", mastery, "mastery", 1.0)
        charts[f"arms-{slug}"] = chart("shares", title, list(_arms(pl.concat(run.planned for run in runs))))
    if full:
        charts["cost"] = chart("bars", "Model calls by tier, mean over runs", list(_cost(study)))
    charts["gains"] = chart("bars", "Effect sizes in exams, with 95 % intervals", list(_gains(study, full)))
    return {name: made for name, made in charts.items() if made}


def _accuracy(study: Study, place: Placement, title: str) -> Chart | None:
    """Return the accuracy of the anchors by iteration and of the held-out questions in exams, for each system.

    Fresh questions are left out: the frontier chooses them for being hard.
    """
    measure: Measure = "score" if study.is_sequential(place.benchmark) else "accuracy"
    rows = list[ChartRow]()
    for each in [p for p in study.places if p[:4] == place[:4]][:MOST_LINES]:
        if runs := [run for run in study.at(each).values() if run.iterations]:
            anchors = (run.anchors(MEASURED[measure]) for run in runs)
            rows += _line(each.system, anchors, "value", 100, banded=each.system == FULL)
            ends = min(run.iterations[0] for run in runs) - 1, max(run.iterations[-1] for run in runs)
            for x, at in zip(ends, get_args(ExamState), strict=True):
                if cell := study.reached(each, measure, at):
                    rows.append(_mark(each.system, "point", x, cell.mean, cell.sd or 0.0, 100))
    return _lines(f"{title}: anchors (lines) and held-out questions (◆)", rows, f"{measure}, %", 100)


def _mastery(runs: Sequence[pl.DataFrame]) -> Iterator[ChartRow]:
    """Yield the mean mastery of all skills, and that of the first few skills that all seeds have."""
    means = [run.group_by("iteration").agg(pl.col("mastery").mean()) for run in runs]
    yield from _line("all skills, mean", means, "mastery")
    for skill in sorted(set.intersection(*(set(run["skill"]) for run in runs)))[: MOST_LINES - 1]:
        yield from _line(skill, [run.filter(skill=skill) for run in runs], "mastery", banded=False)


def _arms(planned: pl.DataFrame) -> Iterator[ChartRow]:
    """Yield how often each search arm and each route was planned, in percent of an iteration's questions."""
    for bandit in ("search", "routing"):
        counts = planned.group_by(x="iteration", name=f"{bandit}_arm").len().sort("x", "name")
        shares = counts.select("x", "name", share=100 * pl.col("len") / pl.col("len").sum().over("x"))
        yield from ({"panel": f"{bandit} bandit", **row} for row in shares.iter_rows(named=True))


def _cost(study: Study) -> Iterator[ChartRow]:
    """Yield the mean calls of each tier that has any, rounded to whole calls."""
    for tier in TIER_NAMES:
        calls = pl.col("calls").filter(tier=tier).sum() / pl.col("log").n_unique()
        means = study.booked.filter(part="evolution").group_by("benchmark").agg(calls).sort("benchmark")
        for name, mean in means.iter_rows() if means["calls"].sum() else ():
            yield _bar(f"{tier} calls a run", study.titles.get(name, name), mean, digits=0)


def _gains(study: Study, full: Sequence[Placement]) -> Iterator[ChartRow]:
    without = WITHOUT["success_memories"]
    kinds: Mapping[str, Callable[[Placement], Cell | None]] = {
        "over the exam before": study.over_start,
        "over the strongest baseline": study.over_strongest,
        "by success memories": lambda place: study.gain(place, place._replace(system=without)),
    }
    for kind, gain in kinds.items():
        cells = {_title(study, place): gain(place) for place in full}
        for name, cell in cells.items() if any(cells.values()) else ():
            between = cell.interval if cell else None
            ends = (between.low, between.high) if between else (None, None)
            yield _bar(f"{kind}, points", name, cell.mean if cell else None, *ends)


def _bar(
    panel: str, name: str, value: float | None, low: float | None = None, high: float | None = None, *, digits: int = 1
) -> ChartRow:
    text = "-" if value is None else f"{value:,.{digits}f}"
    return {"panel": panel, "name": name, "value": value, "low": low, "high": high, "text": text, "end": value or 0}


def _lines(title: str, rows: Sequence[ChartRow], y: str, high: float | None = None) -> Chart | None:
    """Return lines over iterations (-1: the start); the y axis ends at `high` or the largest."""
    subtitle = "Band and bars: ± sd over seeds." if any(row["high"] != row["y"] for row in rows) else ""
    scale = {"domainMin": 0} | ({"domainMax": high} if high else {})
    return chart("lines", title, rows, y=y, subtitle=subtitle, scale=scale)


def _line(
    name: str, runs: Iterable[pl.DataFrame], column: str, high: float | None = None, *, banded: bool = True
) -> list[ChartRow]:
    """Return mean and deviation over runs of a column, at each iteration that a run has: a line, and its band."""
    along = pl.concat(run.select("iteration", y=column) for run in runs).group_by("iteration")
    marks = along.agg(pl.col("y").mean(), sd=pl.col("y").std().fill_null(0.0)).sort("iteration")
    kinds = ("line", "band") if banded else ("line",)
    return [_mark(name, kind, x, y, sd, high) for kind in kinds for x, y, sd in marks.iter_rows()]


def _mark(name: str, kind: str, x: float, y: float, sd: float, high: float | None) -> ChartRow:
    top = y + sd if high is None else min(high, y + sd)
    return {"name": name, "kind": kind, "x": x, "y": y, "low": max(0.0, y - sd), "high": top}


def _title(study: Study, place: Placement) -> str:
    """Return the benchmark, and learner, teacher and setting if it has several."""
    full = [p for p in study.full() if p.benchmark == place.benchmark]
    varying = [name for name in VARYING if len({getattr(p, name) for p in full}) > 1]
    benchmark = study.titles.get(place.benchmark, place.benchmark)
    return ", ".join((benchmark, *(value for name in varying if (value := getattr(place, name)))))


def _slug(study: Study, place: Placement) -> str:
    """Return a file name: the title, with a hash if it would be too long, or if tasks of the user's own have equal
    names."""
    title = _title(study, place)
    if place.benchmark not in study.titles and (brief := titled(place.benchmark)) != place.benchmark:
        title = title.replace(place.benchmark, f"{brief} {sha256_text(place.benchmark)[:8]}")
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", title).strip("-")
    return slug if len(slug) <= LONGEST_NAME else f"{slug[:LONGEST_NAME]}-{sha256_text(title)[:8]}"


def chart(kind: str, title: str, rows: Sequence[ChartRow], **words: object) -> Chart | None:
    """Return a chart of rows, None without any. Those of lines have name, kind (line, band or point), x, y, low and
    high; those of shares panel, name, x and share; those of bars panel, name, value, low and high (None: not measured),
    text and end."""
    if not rows:
        return None
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
