"""The verb `verify`: everything that a run claims about itself, checked from its log; one theorem, one row."""

from __future__ import annotations

from collections.abc import Iterator

from mage_es.engine.config import Config, parse
from mage_es.engine.reports import Check, VerifyReport
from mage_es.engine.runs import Run
from mage_es.engine.theorems.coverage import check_coverage
from mage_es.engine.theorems.growth import check_growth
from mage_es.engine.theorems.inference import check_inference
from mage_es.engine.theorems.leaks import check_leaks, check_splits
from mage_es.engine.theorems.log import check_head, check_log
from mage_es.engine.theorems.ratchet import check_ratchet
from mage_es.engine.theorems.replay import check_replay
from mage_es.events.reader import LogReader
from mage_es.events.verify import verify_log
from mage_es.events.vocabulary import RunStarted


def verify(run: Run, *, head: str | None = None) -> VerifyReport:
    """Check every byte of a run, and every theorem on its log.

    With a `head` printed earlier (64 hexadecimal digits, or at least the first 16), also that the log is still the one
    that had it. Where the log itself is damaged nothing else can be said, so nothing else is checked.

    Raises:
        UsageError: That is no head.
    """
    verdict = verify_log(run.log_path, head=head)
    checks = [check_log(verdict)]
    if verdict.search:
        checks.append(check_head(verdict.search, verdict.head))
    if checks[0].ok:
        checks += _theorems(run, LogReader(run.log_path))
    return VerifyReport(run_id=run.id, head=verdict.head.chain, checks=tuple(checks))


def _theorems(run: Run, reader: LogReader) -> Iterator[Check]:
    config = _configuration(reader)
    yield check_replay(reader, run.snapshots_path)
    yield check_splits(reader)
    yield check_leaks(reader)
    yield check_growth(reader)
    if config is not None:  # a run that ended before its first event has taken no step
        yield check_coverage(reader, config)
        yield check_ratchet(reader, config)
    yield from check_inference(run, reader)


def _configuration(reader: LogReader) -> Config | None:
    for record in reader.records({RunStarted}):
        if isinstance(record.event, RunStarted):
            return parse(record.event.config)
    return None
