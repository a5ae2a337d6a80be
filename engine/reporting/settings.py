"""The table of hyperparameters: the paper's value of each setting beside those that the runs had."""

from __future__ import annotations

import msgspec

from mage_es.engine.config import canonical
from mage_es.engine.presets import PAPER
from mage_es.engine.reporting.cells import Table, columns
from mage_es.engine.reporting.study import Study


def settings(study: Study) -> Table:
    """Return every setting on which the paper has a word; values that differ between runs stand side by side."""
    recorded = [msgspec.json.decode(canonical(run.config)) for run in study.counted if not run.baseline]
    body = []
    for name, wanted in PAPER.items() if recorded else ():
        values = sorted({_shown(config[name]) for config in recorded})
        body.append((name, _shown(wanted), ", ".join(values), "" if values == [_shown(wanted)] else "differs"))
    return Table(
        name="settings",
        title="Hyperparameters",
        place="tab:hyperparams",
        measure="the recorded configurations",
        columns=columns("Setting", "Paper", "These runs", ""),
        rows=tuple(body),
    )


def _shown(value: object) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)
