"""The table of hyperparameters: the paper's value of each setting beside the actual and the configured ones.

Rules
    - The actual value counts: questions taken, iterations closed, a floor as it was measured. If the configured value
      differs, both are shown.
    - Values that differ between benchmarks are labelled; those of several runs are a range.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mage_es.engine.config import PAPER, canonical
from mage_es.engine.study.reporting.cells import columns
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.engine.study.reporting.study import Study, TableBody, table

SettingValue = bool | int | float | str


@table(
    "settings",
    "Hyperparameters",
    "tab:hyperparams",
    "actual values of the runs; configured values, if different, in brackets",
)
def settings(study: Study) -> TableBody:
    runs = study.learning
    body = []
    for name, wanted in PAPER.items() if runs else ():
        values = _side_by_side(runs, name)
        body.append((name, _text_of_value(wanted), values, "" if values == _text_of_value(wanted) else "differs"))
    return TableBody(columns("Setting", "Paper", "These runs", ""), body, study.shortfalls(study.places))


def _side_by_side(runs: Sequence[RecordedRun], name: str) -> str:
    """Return the values of a setting, each with its benchmarks if there are several."""
    owners: dict[str, list[str]] = {}
    for benchmark in sorted({run.begun.benchmark for run in runs}):
        values = _values([run for run in runs if run.begun.benchmark == benchmark], name)
        owners.setdefault(values, []).append(benchmark)
    if len(owners) == 1:
        return next(iter(owners))
    return "; ".join(f"{', '.join(benchmarks)}: {values}" for values, benchmarks in owners.items())


def _values(runs: Sequence[RecordedRun], name: str) -> str:
    """Return the actual values of a benchmark's runs, as a range, for each configured value."""
    had: dict[SettingValue, set[SettingValue]] = {}
    for run in runs:
        configured = msgspec.json.decode(canonical(run.config))[name]
        had.setdefault(configured, set()).add(_done(run, name, configured))
    return ", ".join(
        " to ".join(dict.fromkeys(_text_of_value(end) for end in (min(found), max(found))))
        + ("" if found == {configured} else f" ({_text_of_value(configured)})")
        for configured, found in sorted(had.items())
    )


def _done(run: RecordedRun, name: str, configured: SettingValue) -> SettingValue:
    """Return the actual value of a setting according to the run's events, else the configured one."""
    match name:
        case "iterations":
            return len(run.iterations)
        case "task_types":
            return run.begun.task_type_source
        case "warmup" if configured == 0:
            return "by expected pulls"
    return run.taken.get(name, configured)


def _text_of_value(value: object) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)
