"""The figures of a report: accuracy, graph growth, mastery and arms along the iterations, cost, effect sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import get_args

import polars as pl

from mage_es.engine.benchmarks.registry import title as titled
from mage_es.engine.study.reporting.cells import Cell
from mage_es.engine.study.reporting.charts import Chart, ChartRow, chart
from mage_es.engine.study.reporting.places import FULL, NO_SUCCESS, Placement
from mage_es.engine.study.reporting.recorded import ExamState
from mage_es.engine.study.reporting.study import MEASURED, VARYING, Measure, Study
from mage_es.engine.study.reporting.tables import TIER_NAMES, over_start, over_strongest
from mage_es.events.digests import sha256_text

MOST_LINES = 8
"""How many lines of a chart remain distinguishable."""
LONGEST_NAME = 80
"""Most characters of a title in a file name; file systems allow 255 bytes in all."""


def figures(study: Study) -> dict[str, Chart]:
    """Return every figure that has data, by name; those along iterations once for each full system.

    [tables, figures]
    """
    full = [place for place in study.full() if any(run.iterations for run in study.at(place).values())]
    found = {f"{kind}-{_slug(study, place)}": make(study, place) for place in full for kind, make in _ALONG.items()}
    found |= {"cost": _cost(study) if full else None, "gains": _gains(study, full)}
    return {name: made for name, made in found.items() if made}


def _accuracy(study: Study, place: Placement) -> Chart | None:
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
    title = f"{_title(study, place)}: anchors (lines) and held-out questions (◆)"
    return _lines(title, rows, "accuracy, %" if measure == "accuracy" else "score, %", 100)


def _sizes(what: str, *sizes: str) -> Callable[[Study, Placement], Chart | None]:
    def draw(study: Study, place: Placement) -> Chart | None:
        runs = [run.growth for run in study.at(place).values()]
        rows = [row for size in sizes for row in _line(size, runs, size)]
        return _lines(f"{_title(study, place)}: {what}", rows, "nodes")

    return draw


def _mastery(study: Study, place: Placement) -> Chart | None:
    """Return the mean mastery of all skills, and that of the first few skills that all seeds have."""
    runs = [run.mastery for run in study.at(place).values()]
    common = set.intersection(*(set(run["skill"]) for run in runs))
    rows = _line(
        "all skills, mean", (run.group_by("iteration").agg(pl.col("mastery").mean()) for run in runs), "mastery"
    )
    for skill in sorted(common)[: MOST_LINES - 1]:
        rows += _line(skill, (run.filter(skill=skill) for run in runs), "mastery", banded=False)
    return _lines(f"{_title(study, place)}: mastery", rows, "mastery", 1.0)


def _arms(study: Study, place: Placement) -> Chart | None:
    """Return how often each search arm and each route was planned, in percent of an iteration's questions."""
    planned, rows = pl.concat(run.planned for run in study.at(place).values()), list[ChartRow]()
    for bandit in ("search", "routing"):
        counts = planned.group_by(x="iteration", name=f"{bandit}_arm").len().sort("x", "name")
        shares = counts.select("x", "name", share=100 * pl.col("len") / pl.col("len").sum().over("x"))
        rows += [{"panel": f"{bandit} bandit", **row} for row in shares.iter_rows(named=True)]
    return chart("shares", _title(study, place), rows) if rows else None


def _cost(study: Study) -> Chart | None:
    """Return the mean calls of each tier that has any, rounded to whole calls."""
    evolved, rows = study.booked.filter(part="evolution"), list[ChartRow]()
    for tier in TIER_NAMES:
        calls = pl.col("calls").filter(pl.col("tier") == tier).sum() / pl.col("log").n_unique()
        means = evolved.group_by("benchmark").agg(calls).sort("benchmark")
        if means["calls"].sum():
            bars = ((study.titles.get(name, name), calls, None, None) for name, calls in means.iter_rows())
            rows += [_bar(f"{tier} calls a run", *bar, digits=0) for bar in bars]
    return chart("bars", "Model calls by tier, mean over runs", rows) if rows else None


def _gains(study: Study, full: Sequence[Placement]) -> Chart | None:
    kinds: Mapping[str, Callable[[Placement], Cell | None]] = {
        "over the exam before": lambda place: over_start(study, place),
        "over the strongest baseline": lambda place: over_strongest(study, place),
        "by success memories": lambda place: study.gain(place, place._replace(system=NO_SUCCESS)),
    }
    rows = list[ChartRow]()
    for kind, gain in kinds.items():
        cells = {_title(study, place): gain(place) for place in full}
        for name, cell in cells.items() if any(cells.values()) else ():
            between = cell.interval if cell else None
            ends = (between.low, between.high) if between else (None, None)
            rows.append(_bar(f"{kind}, points", name, cell.mean if cell else None, *ends, digits=1))
    return chart("bars", "Effect sizes in exams, with 95 % intervals", rows) if rows else None


def _bar(panel: str, name: str, value: float | None, low: float | None, high: float | None, *, digits: int) -> ChartRow:
    text = "-" if value is None else f"{value:,.{digits}f}"
    return {"panel": panel, "name": name, "value": value, "low": low, "high": high, "text": text, "end": value or 0}


def _lines(title: str, rows: Sequence[ChartRow], y: str, high: float | None = None) -> Chart | None:
    """Return lines over iterations (-1: the start), None without rows; the y axis ends at `high` or the largest."""
    subtitle = "Band and bars: ± sd over seeds." if any(row["high"] != row["y"] for row in rows) else ""
    scale = {"domainMin": 0} | ({"domainMax": high} if high else {})
    return chart("lines", title, rows, y=y, subtitle=subtitle, scale=scale) if rows else None


def _line(
    name: str, runs: Iterable[pl.DataFrame], column: str, high: float | None = None, *, banded: bool = True
) -> list[ChartRow]:
    """Return mean and deviation over runs of a column, at each iteration that a run has: a line, and its band."""
    along = pl.concat(run.select("iteration", column) for run in runs).group_by("iteration")
    marks = along.agg(pl.col(column).mean().alias("y"), pl.col(column).std().fill_null(0.0).alias("sd")).sort(
        "iteration"
    )
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


_ALONG: Mapping[str, Callable[[Study, Placement], Chart | None]] = {
    "accuracy": _accuracy,
    "growth": _sizes("memories", "success memories", "failure memories"),
    # Small counts have a separate chart: there are a hundred times as many memories.
    "coverage": _sizes("skills, principles, coverage", "skills", "principles", "task types", "task types covered"),
    "mastery": _mastery,
    "arms": _arms,
}
