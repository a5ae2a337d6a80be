"""The verb `verify`: check every claim of a run on its log, one row for each theorem."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from mage_es.engine.config import parse
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.theorems.benefit import check_benefit
from mage_es.engine.theorems.check import Check
from mage_es.engine.theorems.coverage import check_coverage
from mage_es.engine.theorems.forms import check_forms
from mage_es.engine.theorems.growth import check_growth
from mage_es.engine.theorems.inference import check_inference
from mage_es.engine.theorems.leaks import check_leaks, check_splits
from mage_es.engine.theorems.log import check_head, check_log, check_questions
from mage_es.engine.theorems.origins import check_origins
from mage_es.engine.theorems.own import check_own
from mage_es.engine.theorems.publishing import check_proposals
from mage_es.engine.theorems.ratchet import check_ratchet
from mage_es.engine.theorems.recheck import check_replay
from mage_es.engine.theorems.reproof import check_reproof
from mage_es.engine.theorems.requests import check_requests
from mage_es.engine.theorems.serving import check_injections
from mage_es.engine.theorems.target_leaks import check_target_leaks
from mage_es.engine.verbs.forms import in_thread, typed
from mage_es.engine.verbs.runs import exam_rows
from mage_es.engine.verbs.summary import ExamRow
from mage_es.events.care import verify_log, verify_questions
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import RunStarted


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every check of a run, and `head`: the hash to keep elsewhere and pass to `verify` later.

    `exams` are all that were ever taken, as far as the log is sound enough to tell.
    """

    run_id: str
    head: str
    checks: tuple[Check, ...]
    exams: tuple[ExamRow, ...] = ()

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


@typed
def verify(run: Run | Path | str, *, head: str | None = None) -> VerifyReport:
    """Check every byte of a run, and every theorem on its log.

    With a `head` printed earlier (64 hexadecimal digits, or at least the first 16), check also that this log had it.
    Of a damaged log nothing else is checked.

    Raises:
        UsageError: `head` is malformed.
    """
    run = as_run(run)
    verdict = verify_log(run.log_path, head=head)
    checks = [check_log(verdict)]
    if verdict.search:
        checks.append(check_head(verdict.search, verdict.head))
    exams: tuple[ExamRow, ...] = ()
    if checks[0].ok:
        reader = LogReader(run.log_path)
        checks += _theorems(run, reader)
        exams = exam_rows(reader)
    return VerifyReport(run_id=run.id, head=verdict.head.chain, checks=tuple(checks), exams=exams)


averify = in_thread(verify)


def _theorems(run: Run, reader: LogReader) -> Iterator[Check]:
    stored = check_questions(verify_questions(run.log_path))
    yield stored
    yield check_replay(reader, run.snapshots_path)
    yield check_splits(reader)
    yield check_leaks(reader)
    started = next(reader.of(RunStarted), None)
    if started and stored.ok:
        yield from check_target_leaks(reader, started)
    yield check_growth(reader)
    yield check_origins(reader)
    if started:  # a run that ended before its first event has taken no step
        config = parse(started.config)
        yield check_coverage(reader, config)
        yield check_ratchet(reader, config)
        yield check_own(reader, config)
        yield check_benefit(run, reader, config)
        yield from check_reproof(reader, config)
        yield from check_forms(reader, since=last_inherited(reader))
    yield check_requests(run, reader)
    yield from check_injections(reader)
    yield from check_proposals(reader)
    yield from check_inference(run, reader)
