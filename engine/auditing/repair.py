"""The verb `repair`: truncate a damaged log after its last intact event, so that the run can continue."""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec

from mage_es.engine.auditing.verify import verify
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.exams import exam_records
from mage_es.events.care import RepairReport, plan_repair, repair_log, verify_log
from mage_es.events.disk import LocalFileSystem
from mage_es.events.errors import LogError
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import IterationClosed

_NO_RECORD = ("snapshots", "replays", "beginning", "examining", "in-flight")


def repair(run: Run, *, confirmed: bool) -> RepairReport:
    """Return what is lost by truncating the run's log after its last intact event; do it if `confirmed`. What opening
    the log fixes by itself is fixed and reported too. Then the repaired run is verified; if nothing may change yet, a
    repaired copy of it is.

    Raises:
        UsageError: That is not a run. LogDamaged: Its FORMAT is damaged, and without it its events cannot be told from
        another log's. RunLocked, PrerequisiteError: Another process is writing it, or the disk refuses.
    """
    if confirmed:
        return _repaired(run)
    plan = plan_repair(run.log_path)
    if not plan.problems and verify_log(run.log_path).is_sound:
        return _verified(run, plan)
    with tempfile.TemporaryDirectory() as folder:
        copy = Run(run.id, Path(folder) / run.path.name)
        shutil.copytree(run.path, copy.path, ignore=shutil.ignore_patterns(*_NO_RECORD), copy_function=_copied)
        found = _repaired(copy)
        left, mends = (
            tuple(problem.replace(str(copy.path), str(run.path)) for problem in problems)
            for problems in (found.left, found.mends)
        )
        return msgspec.structs.replace(plan, left=left, mends=mends, exams=found.exams, closed=found.closed)


def _copied(source: str, target: str) -> None:
    Path(target).write_bytes(LocalFileSystem().read(Path(source)))  # which refuses what has no end


def _repaired(run: Run) -> RepairReport:
    report = repair_log(run.log_path, clock=clock)
    before = verify_log(run.log_path)
    if report.problems or before.is_sound:
        return _verified(run, report)
    with suppress(LogError):  # one that does not open either is left alone, and verified below
        Log.open(run.log_path, clock=clock).close()
    still = {(found.file, found.problem) for found in verify_log(run.log_path).findings}
    mended = (found for found in before.findings if (found.file, found.problem) not in still)
    mends = tuple(f"{found.file}: {found.problem}" for found in mended)
    return _verified(run, msgspec.structs.replace(report, mends=mends))


def _verified(run: Run, report: RepairReport) -> RepairReport:
    failed = (check for check in verify(run).checks if not check.ok)
    report = msgspec.structs.replace(report, left=tuple(f"{check.name}: {check.detail}" for check in failed))
    if not report.problems:
        return report
    reader = LogReader(run.log_path)
    known = {record.opened.exam for record in exam_records(reader)}
    exams = (exam.path.name for exam in run.exams())
    closed = max((event.iteration for event in reader.of(IterationClosed)), default=-1)
    return msgspec.structs.replace(report, closed=closed, exams=tuple(name for name in exams if name not in known))
