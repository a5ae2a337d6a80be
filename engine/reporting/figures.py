"""The figures of a report: accuracy, graph growth, mastery and arms along the iterations, cost, effect sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from mage_es.engine.benchmarks.registry import title as titled
from mage_es.engine.reporting.accuracy import over_start, over_strongest
from mage_es.engine.reporting.cells import Cell, Gap
from mage_es.engine.reporting.charts import Bar, Mark, Series, bar_chart, line_chart, stacked_chart
from mage_es.engine.reporting.costs import TIER_NAMES
from mage_es.engine.reporting.recorded import Growth, Recorded
from mage_es.engine.reporting.statistics import cell_of, difference
from mage_es.engine.reporting.study import Measure, Study
from mage_es.engine.reporting.systems import FULL, NO_SUCCESS, Place
from mage_es.events.digests import sha256_text

T = TypeVar("T")

MOST_LINES = 8
"""Lines of a chart that can still be told apart."""

_MEMORIES: Mapping[str, Callable[[Growth], float]] = {
    "success memories": lambda grown: grown.memories.get("success_memory", 0),
    "failure memories": lambda grown: grown.memories.get("failure_memory", 0),
}
_FEW: Mapping[str, Callable[[Growth], float]] = {
    "skills": lambda grown: grown.skills,
    "principles": lambda grown: grown.memories.get("principle", 0),
    "task types": lambda grown: grown.task_types,
    "task types covered": lambda grown: grown.covered,
}
"""What there is little of has a chart of its own, since memories are a hundred times as many."""
LONGEST_NAME = 80
"""Characters of a place in a figure's name; file systems take 255 bytes in all."""


def figures(study: Study) -> dict[str, str]:
    """Return every figure that there is data for, as SVG by name; those along iterations once for each full system."""
    found: dict[str, str] = {}
    full = [place for place in study.full() if any(run.iterations for run in study.at(place).values())]
    for place in full:
        name = _slug(study, place)
        for kind, make in _ALONG.items():
            if svg := make(study, place):
                found[f"{kind}-{name}"] = svg
    if full and (cost := _cost(study)):
        found["cost"] = cost
    if gains := _gains(study, full):
        found["gains"] = gains
    return found


def _accuracy(study: Study, place: Place) -> str:
    """Return fresh accuracy by iteration of the full system and of those without a part, and the exams."""
    places = [p for p in study.places if p[:4] == place[:4] and study.at(p)][:MOST_LINES]
    measure: Measure = "score" if study.is_sequential(place.benchmark) else "accuracy"
    series = []
    for each in places:
        fresh = [run.series("fresh") for run in study.at(each).values()]
        line = _along(
            fresh,
            lambda answers: 100 * sum(a.score if measure == "score" else a.correct for a in answers) / len(answers),
        )
        exams = [
            (-1.0, study.reached(each, measure, at="start")),
            (line[-1].x if line else 0.0, study.reached(each, measure)),
        ]
        points = [_mark(x, cell) for x, cell in exams if isinstance(cell, Cell)] if each.system == FULL else []
        series.append(Series(each.system, line, points, banded=each.system == FULL))
    title = f"{_title(study, place)}: fresh questions by iteration"
    return line_chart(title, series, x="iteration", y="accuracy, %" if measure == "accuracy" else "score, %", high=100)


def _growth(study: Study, place: Place) -> str:
    return _sizes(study, place, "memories", _MEMORIES)


def _coverage(study: Study, place: Place) -> str:
    return _sizes(study, place, "skills, principles, coverage", _FEW)


def _sizes(study: Study, place: Place, what: str, sizes: Mapping[str, Callable[[Growth], float]]) -> str:
    runs = [{grown.iteration: grown for grown in run.growth} for run in study.at(place).values()]
    series = [Series(name, _along(runs, size), banded=True) for name, size in sizes.items()]
    return line_chart(f"{_title(study, place)}: {what}", series, x="iteration", y="nodes")


def _mastery(study: Study, place: Place) -> str:
    """Return the mean mastery of all skills, and that of the first few by name where seeds have them in common."""
    runs = [
        {grown.iteration: grown.mastery for grown in run.growth if grown.mastery} for run in study.at(place).values()
    ]
    common = set.intersection(*({skill for row in run.values() for skill in row} for run in runs)) if runs else set()
    series = [Series("all skills, mean", _along(runs, lambda row: sum(row.values()) / len(row)), banded=True)]
    for skill in sorted(common)[: MOST_LINES - 1]:
        having = [{k: row for k, row in run.items() if skill in row} for run in runs]
        series.append(Series(skill, _along(having, lambda row, skill=skill: row[skill])))  # type: ignore[misc]
    return line_chart(f"{_title(study, place)}: mastery", series, x="iteration", y="mastery", high=1.0)


def _arms(study: Study, place: Place) -> str:
    """Return how often each search arm and each route was planned, in percent of an iteration's questions."""
    runs = list(study.at(place).values())
    panels = {"search bandit": _shares(runs, "search"), "routing bandit": _shares(runs, "routing")}
    drawn = {name: layers for name, layers in panels.items() if layers}
    return stacked_chart(drawn, title=_title(study, place), x="iteration") if drawn else ""


def _shares(runs: Sequence[Recorded], bandit: str) -> dict[str, list[Mark]]:
    counts: dict[int, dict[str, int]] = {}
    for run in runs:
        for (name, iteration, arm), count in run.pulls.items():
            if name == bandit:
                at = counts.setdefault(iteration, {})
                at[arm] = at.get(arm, 0) + count
    arms = sorted({arm for at in counts.values() for arm in at})
    return {arm: [Mark(k, 100 * at.get(arm, 0) / sum(at.values())) for k, at in sorted(counts.items())] for arm in arms}


def _cost(study: Study) -> str:
    """Return the calls of each tier that was called at all; a mean of runs is rounded to whole calls."""
    runs = [run for run in study.counted if not run.baseline]
    benchmarks = sorted({run.begun.benchmark for run in runs})
    panels = {
        f"{tier} calls a run": [
            Bar(
                study.titles.get(name, name),
                _mean([run.ledger.total(tier).calls for run in runs if run.begun.benchmark == name]),
            )
            for name in benchmarks
        ]
        for tier in TIER_NAMES
        if any(run.ledger.total(tier).calls for run in runs)
    }
    return bar_chart(panels, title="Model calls by tier, mean over runs", digits=0) if panels else ""


def _gains(study: Study, full: Sequence[Place]) -> str:
    """Return the effect sizes: over the start, over the strongest baseline, and by success memories."""
    kinds: Mapping[str, Callable[[Place], Cell | Gap]] = {
        "over the exam before": lambda place: over_start(study, place),
        "over the strongest baseline": lambda place: over_strongest(study, place),
        "by success memories": lambda place: _by_success_memories(study, place),
    }
    panels = {}
    for kind, gain in kinds.items():
        found = [(place, gain(place)) for place in full]
        if any(isinstance(cell, Cell) for _, cell in found):
            panels[f"{kind}, points"] = [_bar(_title(study, place), cell) for place, cell in found]
    return bar_chart(panels, title="Effect sizes in exams, with 95 % intervals") if panels else ""


def _by_success_memories(study: Study, place: Place) -> Cell | Gap:
    return difference(study.scores(place), study.scores(place._replace(system=NO_SUCCESS))) or Gap()


def _bar(name: str, cell: Cell | Gap) -> Bar:
    if isinstance(cell, Gap):
        return Bar(name, None)
    return Bar(name, cell.mean, *((cell.interval.low, cell.interval.high) if cell.interval else ()))


def _along(runs: Sequence[Mapping[int, T]], value: Callable[[T], float]) -> list[Mark]:
    """Return mean and deviation over runs at each iteration that a run has."""
    marks = []
    for k in sorted({k for run in runs for k in run}):
        cell = cell_of(value(run[k]) for run in runs if k in run)
        if cell:
            marks.append(_mark(k, cell))
    return marks


def _mark(x: float, cell: Cell) -> Mark:
    return Mark(x, cell.mean, cell.sd or 0.0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _title(study: Study, place: Place) -> str:
    """Return the benchmark, and learner, teacher and setting where it has several."""
    full = [p for p in study.full() if p.benchmark == place.benchmark]
    varying = [name for name in ("learner", "teacher", "setting") if len({getattr(p, name) for p in full}) > 1]
    benchmark = study.titles.get(place.benchmark, place.benchmark)
    return ", ".join((benchmark, *(value for name in varying if (value := getattr(place, name)))))


def _slug(study: Study, place: Place) -> str:
    """Return a name for a file: the title, with a hash where that would be too long, or own tasks' names are alike."""
    title = _title(study, place)
    if place.benchmark not in study.titles and (brief := titled(place.benchmark)) != place.benchmark:
        title = title.replace(place.benchmark, f"{brief} {sha256_text(place.benchmark)[:8]}")
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", title).strip("-")
    return slug if len(slug) <= LONGEST_NAME else f"{slug[:LONGEST_NAME]}-{sha256_text(title)[:8]}"


_ALONG: Mapping[str, Callable[[Study, Place], str]] = {
    "accuracy": _accuracy,
    "growth": _growth,
    "coverage": _coverage,
    "mastery": _mastery,
    "arms": _arms,
}
