"""Tables of what a part of the system is worth: with success memories or another part off, and the cascade's A to D."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from mage_es.engine.study.reporting.accuracy import EXAM
from mage_es.engine.study.reporting.cells import Cell, Entry, StudyTable, columns
from mage_es.engine.study.reporting.statistics import cell_of
from mage_es.engine.study.reporting.study import Measure, Study, percent
from mage_es.engine.study.reporting.systems import FULL, NO_CASCADE, NO_SUCCESS, Placement, cascade_of

ALL = "all, mean"
"""The row of the means over benchmarks."""


def ablation(study: Study) -> StudyTable:
    """Return each system with a part switched off beside the full one: benchmarks of single questions.

    [tables, ablation] All other settings that affect the result must agree, and both sides must have common seeds.
    """
    return _switched_off(
        study,
        name="ablation",
        title="Ablation: the full system less one part",
        place="tab:ablation_success",
        measures=("accuracy",),
        wanted=lambda place: not study.is_sequential(place.benchmark),
    )


def sequential_ablation(study: Study) -> StudyTable:
    """Return the same for sequential environments, by task score and by strict success. [tables, ablation]"""
    return _switched_off(
        study,
        name="ablation-sequential",
        title="Ablation in sequential environments: the full system less one part",
        place="appendix, success-memory ablation on sequential environments",
        measures=("score", "strict"),
        wanted=lambda place: study.is_sequential(place.benchmark),
    )


def _switched_off(
    study: Study, *, name: str, title: str, place: str, measures: Sequence[Measure], wanted: Callable[[Placement], bool]
) -> StudyTable:
    full = [each for each in study.full() if wanted(each)]
    head = study.head(full, "learner", "teacher", "setting")
    parts = {p.system for p in study.places if p.teacher and p.system != FULL and "cascade" not in p.system}
    names = sorted(parts, key=lambda part: (part != NO_SUCCESS, part))
    body = [
        (*head.cells(each), part, *_pair(study, each, part, measures))
        for part in names
        for each in full
        if study.at(each._replace(system=part))
    ]
    if len({each.benchmark for each in full}) > 1:
        body += _means(study, full, names, measures, width=len(head.columns))
    kinds = {"accuracy": "", "score": "task score, ", "strict": "strict success, "}
    shown = [f"{kinds[measure]}{side}" for measure in measures for side in ("full", "without", "difference")]
    what = EXAM if measures == ("accuracy",) else "task score and strict success in percent, otherwise as in `main`"
    return StudyTable(
        name=name,
        title=title,
        place=place,
        measure=f"{what}; full minus without, in points, on the same seeds",
        columns=(*head.columns, *columns("Part switched off", *shown)),
        rows=tuple(body),
        notes=head.notes,
    )


def _pair(study: Study, full: Placement, part: str, measures: Sequence[Measure]) -> list[Entry]:
    """Return the full system, the one without a part (both on their common seeds), and their paired difference."""
    cells: list[Entry] = []
    without = full._replace(system=part)
    for measure in measures:
        one, other = study.scores(full, measure), study.scores(without, measure)
        common = sorted(one.keys() & other.keys())
        if not common:
            cells += [study.reached(full, measure), study.reached(without, measure), None]
            continue
        cells += [cell_of(percent(side[seed]) for seed in common) for side in (one, other)]
        cells.append(study.gain(full, without, measure))
    return cells


def _means(
    study: Study, full: Sequence[Placement], names: Sequence[str], measures: Sequence[Measure], *, width: int
) -> list[tuple[Entry, ...]]:
    """Return a row of mean differences over all rows of each part that has more than one."""
    rows = []
    for part in names:
        cells: list[Entry] = []
        for at in range(len(measures)):
            pairs = (_pair(study, each, part, measures)[3 * at + 2] for each in full)
            found = [entry.mean for entry in pairs if isinstance(entry, Cell)]
            mean = Cell(mean=statistics.fmean(found), sd=None, n=len(found), unit="points") if len(found) > 1 else ""
            cells += ["", "", mean]
        if any(cells):
            rows.append((ALL, *("" for _ in range(width - 1)), part, *cells))
    return rows


def cascade(study: Study) -> StudyTable:
    """Return base retrieval (no part of the cascade), some parts if there are such runs, and A to D. Only if runs have
    all of these, as with the preset `paper`.

    [tables, cascade]
    """
    full = [place for place in study.full() if cascade_of(next(iter(study.at(place).values())).config) == "ABCD"]
    head = study.head(full, "learner", "teacher", "setting")
    some = sorted({p.system for p in study.places if p.system.startswith("cascade ")})
    sequential = any(study.is_sequential(place.benchmark) for place in full)
    body = []
    for place in full:
        for measure in _measures(study, place):
            base = place._replace(system=NO_CASCADE)
            row: list[Entry] = [*head.cells(place), *((measure,) if sequential else ())]
            row += [study.reached(base, measure)]
            row += [study.reached(place._replace(system=name), measure) for name in some]
            row += [study.reached(place, measure), study.gain(place, base, measure)]
            body.append(tuple(row))
    return StudyTable(
        name="cascade",
        title="Cascade retrieval: parts A to D",
        place="tab:cascade",
        measure=f"{EXAM}; A-D minus base, in points, on the same seeds",
        columns=(
            *head.columns,
            *(columns("Measure") if sequential else ()),
            *columns("base", *(name.removeprefix("cascade ") for name in some), "A-D", "difference"),
        ),
        rows=tuple(body),
        notes=(
            *head.notes,
            "A: principles of prerequisites; B: action recipes; C: the plan of sub-skills; D: the frontier skill.",
        ),
    )


def _measures(study: Study, place: Placement) -> Sequence[Measure]:
    return ("score", "strict") if study.is_sequential(place.benchmark) else ("accuracy",)
