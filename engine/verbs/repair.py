"""The verb `repair`: cut a damaged log after its last intact event, so that the run can go on."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import msgspec

from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.exams import exam_records
from mage_es.engine.verbs.verify import verify
from mage_es.events.care import RepairReport, plan_repair, repair_log
from mage_es.events.log import LogReader


def repair(run: Run, *, confirmed: bool) -> RepairReport:
    """Return what cutting the run's log to its last whole prefix loses; do it where that is `confirmed`.

    Either way the repaired run is verified, a copy of it where nothing is to be changed yet.

    Raises:
        UsageError: That is no run.
        LogDamaged: Its FORMAT is damaged, without which no event can be told from another log's.
        RunLocked, PrerequisiteError: Another process is writing it, or the disk refuses.
    """
    if confirmed:
        return _verified(run, repair_log(run.log_path, clock=clock))
    plan = plan_repair(run.log_path)
    if not plan.problems:
        return _verified(run, plan)
    with tempfile.TemporaryDirectory() as folder:
        copy = Run(run.id, Path(folder) / run.path.name)
        shutil.copytree(run.path, copy.path, ignore=shutil.ignore_patterns("snapshots", "replays"))
        found = _verified(copy, repair_log(copy.log_path, clock=clock))
        left = tuple(problem.replace(str(copy.path), str(run.path)) for problem in found.left)
        return msgspec.structs.replace(plan, left=left, exams=found.exams)


def _verified(run: Run, report: RepairReport) -> RepairReport:
    # Where nothing is cut, opening the log mends what else the check of its bytes finds.
    failed = (check for check in verify(run).checks if not check.ok and (report.problems or check.name != "log"))
    report = msgspec.structs.replace(report, left=tuple(f"{check.name}: {check.detail}" for check in failed))
    if not report.problems:
        return report
    known = {record.opened.exam for record in exam_records(LogReader(run.log_path))}
    exams = (exam.path.name for exam in run.exams())
    return msgspec.structs.replace(report, exams=tuple(name for name in exams if name not in known))
