"""The verb `repair`: a run whose log cannot be opened goes on from its last whole event, if nothing better is left."""

from __future__ import annotations

import shutil

from mage_es.engine.runs import Run, clock
from mage_es.events.repair import RepairReport, plan_repair, repair_log


def repair(run: Run, *, confirmed: bool) -> RepairReport:
    """Return what cutting the run's log to its last whole prefix loses; do it where that is `confirmed`.

    The LanceDB tables go with it, because they may hold memories that are lost; the next `resume` writes them again.

    Raises:
        UsageError: That is no run.
        LogDamaged: Its FORMAT is damaged, without which no event can be told from another log's.
        RunLocked, PrerequisiteError: Another process is writing it, or the disk refuses.
    """
    if not confirmed:
        return plan_repair(run.log_path)
    report = repair_log(run.log_path, clock=clock)
    if report.done and run.memory_path.exists():
        shutil.rmtree(run.memory_path)
    return report
