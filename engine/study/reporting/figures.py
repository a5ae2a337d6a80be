"""The figures of a report: accuracy, graph growth, mastery and arms along the iterations, cost, effect sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import get_args

import polars as pl

from mage_es.engine.benchmarks.registry import title as titled
from mage_es.engine.study.reporting.accuracy import over_start, over_strongest
from mage_es.engine.study.reporting.cells import Cell, cell_of
from mage_es.engine.study.reporting.charts import Bar, Chart, ChartMark, Series, bar_chart, line_chart, stacked_chart
from mage_es.engine.study.reporting.costs import TIER_NAMES
from mage_es.engine.study.reporting.places import FULL, NO_SUCCESS, Placement
from mage_es.engine.study.reporting.recorded import ExamState
from mage_es.engine.study.reporting.study import MEASURED, Measure, Study
from mage_es.events.digests import sha256_text

MOST_LINES = 8
"""How many lines of a chart remain distinguishable."""

_FEW = ("skills", "principles", "task types", "task types covered")
"""Small counts have a separate chart: there are a hundred times as many memories."""
LONGEST_NAME = 80
"""Most characters of a title in a file name; file systems allow 255 bytes in all."""


def figures(study: Study) -> dict[str, Chart]:
    """Return every figure that has data, by name; those along iterations once for each full system.

    [tables, figures]
    """
    found: dict[str, Chart] = {}
    full = [place for place in study.full() if any(run.iterations for run in study.at(place).values())]
    for place in full:
        name = _slug(study, place)
        for kind, make in _ALONG.items():
            if chart := make(study, place):
                found[f"{kind}-{name}"] = chart
    if full and (cost := _cost(study)):
        found["cost"] = cost
    if gains := _gains(study, full):
        found["gains"] = gains
    return found


def _accuracy(study: Study, place: Placement) -> Chart | None:
    """Return the accuracy of the anchors by iteration and of the held-out questions in exams, for each system.

    Fresh questions are left out: the frontier chooses them for being hard.
    """
    places = [p for p in study.places if p[:4] == place[:4] and study.at(p)][:MOST_LINES]
    measure: Measure = "score" if study.is_sequential(place.benchmark) else "accuracy"
    series = []
    for each in places:
        if runs := [run for run in study.at(each).values() if run.iterations]:
            line = _along([run.anchors(MEASURED[measure]) for run in runs], "value")
            ends = min(run.iterations[0] for run in runs) - 1.0, max(run.iterations[-1] for run in runs)
            exams = (study.reached(each, measure, at) for at in get_args(ExamState))
            points = [_mark(x, cell) for x, cell in zip(ends, exams, strict=True) if cell]
            series.append(Series(each.system, line, points, banded=each.system == FULL))
    title = f"{_title(study, place)}: anchors (lines) and held-out questions (◆)"
    return line_chart(title, series, x="iteration", y="accuracy, %" if measure == "accuracy" else "score, %", high=100)


def _sizes(study: Study, place: Placement, what: str, sizes: Sequence[str]) -> Chart | None:
    runs = [run.growth for run in study.at(place).values()]
    series = [Series(size, _along(runs, size), banded=True) for size in sizes]
    return line_chart(f"{_title(study, place)}: {what}", series, x="iteration", y="nodes")


def _mastery(study: Study, place: Placement) -> Chart | None:
    """Return the mean mastery of all skills, and that of the first few skills that all seeds have."""
    runs = [run.mastery for run in study.at(place).values()]
    common = set.intersection(*(set(run["skill"]) for run in runs))
    means = [run.group_by("iteration").agg(pl.col("mastery").sum() / pl.len()) for run in runs]
    series = [Series("all skills, mean", _along(means, "mastery"), banded=True)]
    for skill in sorted(common)[: MOST_LINES - 1]:
        series.append(Series(skill, _along([run.filter(skill=skill) for run in runs], "mastery")))
    return line_chart(f"{_title(study, place)}: mastery", series, x="iteration", y="mastery", high=1.0)


def _arms(study: Study, place: Placement) -> Chart | None:
    """Return how often each search arm and each route was planned, in percent of an iteration's questions."""
    planned = pl.concat([run.planned for run in study.at(place).values()])
    if planned.is_empty():
        return None
    panels = {f"{bandit} bandit": _shares(planned, f"{bandit}_arm") for bandit in ("search", "routing")}
    return stacked_chart(panels, title=_title(study, place), x="iteration")


def _shares(planned: pl.DataFrame, arm: str) -> dict[str, list[ChartMark]]:
    counts = planned.group_by("iteration", arm).len()
    shares = counts.with_columns(share=100 * pl.col("len") / pl.col("len").sum().over("iteration"))
    wide = shares.pivot(arm, index="iteration", values="share").fill_null(0).sort("iteration")
    return {
        name: [ChartMark(k, share) for k, share in wide.select("iteration", name).iter_rows()]
        for name in sorted(wide.columns[1:])
    }


def _cost(study: Study) -> Chart | None:
    """Return the mean calls of each tier that has any, rounded to whole calls."""
    panels: dict[str, list[Bar]] = {}
    for tier in TIER_NAMES:
        calls: dict[str, list[int]] = {}
        for run in sorted(study.learning, key=lambda run: run.begun.benchmark):
            calls.setdefault(run.begun.benchmark, []).append(run.ledger.total(tier).calls)
        if any(map(any, calls.values())):
            panels[f"{tier} calls a run"] = [Bar(study.titles.get(name, name), fmean(n)) for name, n in calls.items()]
    return bar_chart(panels, title="Model calls by tier, mean over runs", digits=0) if panels else None


def _gains(study: Study, full: Sequence[Placement]) -> Chart | None:
    kinds: Mapping[str, Callable[[Placement], Cell | None]] = {
        "over the exam before": lambda place: over_start(study, place),
        "over the strongest baseline": lambda place: over_strongest(study, place),
        "by success memories": lambda place: study.gain(place, place._replace(system=NO_SUCCESS)),
    }
    panels = {}
    for kind, gain in kinds.items():
        bars = []
        for name, cell in ((_title(study, place), gain(place)) for place in full):
            ends = (cell.interval.low, cell.interval.high) if cell and cell.interval else ()
            bars.append(Bar(name, cell.mean if cell else None, *ends))
        if any(bar.value is not None for bar in bars):
            panels[f"{kind}, points"] = bars
    return bar_chart(panels, title="Effect sizes in exams, with 95 % intervals") if panels else None


def _along(runs: Sequence[pl.DataFrame], column: str) -> list[ChartMark]:
    """Return mean and deviation over runs of a column, at each iteration that a run has."""
    rows = pl.concat([run.select("iteration", column) for run in runs]).sort("iteration")
    marks = rows.group_by("iteration", maintain_order=True).agg(column).iter_rows()
    return [_mark(k, cell) for k, values in marks if (cell := cell_of(values))]


def _mark(x: float, cell: Cell) -> ChartMark:
    return ChartMark(x, cell.mean, cell.sd or 0.0)


def _title(study: Study, place: Placement) -> str:
    """Return the benchmark, and learner, teacher and setting if it has several."""
    full = [p for p in study.full() if p.benchmark == place.benchmark]
    varying = [name for name in ("learner", "teacher", "setting") if len({getattr(p, name) for p in full}) > 1]
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
    "growth": lambda study, place: _sizes(study, place, "memories", ("success memories", "failure memories")),
    "coverage": lambda study, place: _sizes(study, place, "skills, principles, coverage", _FEW),
    "mastery": _mastery,
    "arms": _arms,
}
