"""The verb `repair`: cut a damaged log after its last intact event, so that the run can go on."""

from __future__ import annotations

from mage_es.engine.run.directory import Run, clock
from mage_es.events.care import RepairReport, plan_repair, repair_log


def repair(run: Run, *, confirmed: bool) -> RepairReport:
    """Return what cutting the run's log to its last whole prefix loses; do it where that is `confirmed`.

    Raises:
        UsageError: That is no run.
        LogDamaged: Its FORMAT is damaged, without which no event can be told from another log's.
        RunLocked, PrerequisiteError: Another process is writing it, or the disk refuses.
    """
    return repair_log(run.log_path, clock=clock) if confirmed else plan_repair(run.log_path)
