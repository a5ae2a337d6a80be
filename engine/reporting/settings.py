"""The table of hyperparameters: the paper's value of each setting beside what the runs had, and what they were told.

Rules
    - What counts is what was done: questions that were taken, iterations that were closed, a floor that was measured.
      Where that is not what was asked for, both stand there.
    - Values that differ between benchmarks say whose they are; those of several runs go from the least to the most.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mage_es.engine.config import canonical
from mage_es.engine.presets import PAPER
from mage_es.engine.reporting.cells import Table, columns
from mage_es.engine.reporting.recorded import Recorded
from mage_es.engine.reporting.study import Study

Value = bool | int | float | str


def settings(study: Study) -> Table:
    """Return every setting on which the paper has a word; values that differ between runs stand side by side."""
    runs = [run for run in study.counted if not run.baseline]
    body = []
    for name, wanted in PAPER.items() if runs else ():
        values = _side_by_side(runs, name)
        body.append((name, _shown(wanted), values, "" if values == _shown(wanted) else "differs"))
    return Table(
        name="settings",
        title="Hyperparameters",
        place="tab:hyperparams",
        measure="what the runs had; in brackets what they were told, where that is something else",
        columns=columns("Setting", "Paper", "These runs", ""),
        rows=tuple(body),
        notes=tuple(_shorter(study)),
    )


def _side_by_side(runs: Sequence[Recorded], name: str) -> str:
    """Return the values that runs had of a setting, each with its benchmarks where there is more than one."""
    owners: dict[str, list[str]] = {}
    for benchmark in sorted({run.begun.benchmark for run in runs}):
        values = _values([run for run in runs if run.begun.benchmark == benchmark], name)
        owners.setdefault(values, []).append(benchmark)
    if len(owners) == 1:
        return next(iter(owners))
    return "; ".join(f"{', '.join(benchmarks)}: {values}" for values, benchmarks in owners.items())


def _values(runs: Sequence[Recorded], name: str) -> str:
    """Return what the runs of a benchmark had for each value that they were told: sizes from the least to the most."""
    had: dict[Value, set[Value]] = {}
    for run in runs:
        told = msgspec.json.decode(canonical(run.config))[name]
        had.setdefault(told, set()).add(_done(run, name, told))
    return ", ".join(
        " to ".join(dict.fromkeys(_shown(end) for end in (min(found), max(found))))
        + ("" if found == {told} else f" ({_shown(told)})")
        for told, found in sorted(had.items())
    )


def _done(run: Recorded, name: str, told: Value) -> Value:
    """Return what became of a setting, as the run's own events say; what nothing becomes of is as it was told."""
    match name:
        case "iterations":
            return len(run.iterations)
        case "strategy_floor":
            return round(run.begun.strategy_floor, 3)
        case "task_types":
            return run.begun.task_type_source
        case "warmup" if told == 0:
            return "by expected pulls"
    return run.taken.get(name, told)


def _shorter(study: Study) -> list[str]:
    """Return a note on every exam that left held-out questions out."""
    notes = []
    for place in study.places:
        for seed, exam in study.exams(place).items():
            run = study.at(place)[seed]
            there = run.taken.get("held_out", 0)
            if len(exam.answers) < there:
                notes.append(f"The exam of {run.run.id} has answers to {len(exam.answers)} of {there} questions.")
    return notes


def _shown(value: object) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)
