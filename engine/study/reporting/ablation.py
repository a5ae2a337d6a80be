"""Tables of what a part of the system is worth: with success memories or another part off, and the cascade's A to D."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mage_es.engine.study.reporting.accuracy import EXAM
from mage_es.engine.study.reporting.cells import Cell, Entry, Row, columns
from mage_es.engine.study.reporting.statistics import cell_of
from mage_es.engine.study.reporting.study import VARYING, Measure, Study, TableBody, percent, table
from mage_es.engine.study.reporting.systems import FULL, NO_CASCADE, NO_SUCCESS, Placement, cascade_of

ALL = "all, mean"
"""The row of the means over benchmarks."""


_DIFFERENCE = "full minus without, in points, on the same seeds"


@table("ablation", "Ablation: the full system less one part", "tab:ablation_success", f"{EXAM}; {_DIFFERENCE}")
def ablation(study: Study) -> TableBody:
    """Return each system with a part switched off beside the full one: benchmarks of single questions.

    [tables, ablation] All other settings that affect the result must agree, and both sides must have common seeds.
    """
    return _switched_off(study, {"accuracy": ""})


@table(
    "ablation-sequential",
    "Ablation in sequential environments: the full system less one part",
    "appendix, success-memory ablation on sequential environments",
    f"task score and strict success in percent, otherwise as in `main`; {_DIFFERENCE}",
)
def sequential_ablation(study: Study) -> TableBody:
    """Return the same for sequential environments, by task score and by strict success. [tables, ablation]"""
    return _switched_off(study, {"score": "task score, ", "strict": "strict success, "})


def _switched_off(study: Study, measures: Mapping[Measure, str]) -> TableBody:
    """Return the pairs by measures, each with what its columns begin with; environments are measured by score."""
    full = [place for place in study.full() if study.is_sequential(place.benchmark) == ("score" in measures)]
    head = study.head(full, *VARYING)
    parts = {p.system for p in study.places if p.teacher and p.system != FULL and "cascade" not in p.system}
    body = list[Row]()
    means = list[Row]()
    for part in sorted(parts, key=lambda part: (part != NO_SUCCESS, part)):
        pairs = {each: _pair(study, each, part, measures) for each in full}
        body += [
            (*head.cells(each), part, *pair) for each, pair in pairs.items() if study.at(each._replace(system=part))
        ]
        if any(mean := _mean_differences([*pairs.values()])):
            means.append((ALL, *[""] * (len(head.columns) - 1), part, *mean))
    several = len({each.benchmark for each in full}) > 1
    shown = [f"{kind}{side}" for kind in measures.values() for side in ("full", "without", "difference")]
    rows = [*body, *means] if several else body
    return TableBody((*head.columns, *columns("Part switched off", *shown)), rows, head.notes)


def _pair(study: Study, full: Placement, part: str, measures: Iterable[Measure]) -> Row:
    """Return the full system, the one without a part (both on their common seeds), and their paired difference."""
    cells: list[Entry] = []
    without = full._replace(system=part)
    for measure in measures:
        one, other = study.scores(full, measure), study.scores(without, measure)
        if common := sorted(one.keys() & other.keys()):
            cells += [cell_of(percent(side[seed]) for seed in common) for side in (one, other)]
            cells.append(study.gain(full, without, measure))
        else:
            cells += [study.reached(full, measure), study.reached(without, measure), None]
    return tuple(cells)


def _mean_differences(pairs: Sequence[Row]) -> Row:
    """Return the mean of each column of differences, every third, that has more than one; all else is blank."""
    mean: list[Entry] = []
    for column in list(zip(*pairs, strict=True))[2::3]:
        found = [entry.mean for entry in column if isinstance(entry, Cell)]
        points = Cell(mean=statistics.fmean(found), sd=None, n=len(found), unit="points") if len(found) > 1 else ""
        mean += ["", "", points]
    return tuple(mean)


@table(
    "cascade", "Cascade retrieval: parts A to D", "tab:cascade", f"{EXAM}; A-D minus base, in points, on the same seeds"
)
def cascade(study: Study) -> TableBody:
    """Return base retrieval (no part of the cascade), some parts if there are such runs, and A to D. Only if runs have
    all of these, as with the preset `paper`.

    [tables, cascade]
    """
    full = [place for place in study.full() if cascade_of(next(iter(study.at(place).values())).config) == "ABCD"]
    some = sorted({p.system for p in study.places if p.system.startswith("cascade ")})
    sequential = any(study.is_sequential(place.benchmark) for place in full)

    def rows(place: Placement) -> Iterator[Row]:
        measures: Sequence[Measure] = ("score", "strict") if study.is_sequential(place.benchmark) else ("accuracy",)
        base = place._replace(system=NO_CASCADE)
        for measure in measures:
            systems = (base, *(place._replace(system=name) for name in some), place)
            reached = (study.reached(each, measure) for each in systems)
            yield *((measure,) if sequential else ()), *reached, study.gain(place, base, measure)

    names = ("base", *(name.removeprefix("cascade ") for name in some), "A-D", "difference")
    note = "A: principles of prerequisites; B: action recipes; C: the plan of sub-skills; D: the frontier skill."
    return study.by_place(full, columns(*(("Measure",) if sequential else ()), *names), rows, [note])
