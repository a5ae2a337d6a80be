"""The verb `verify`: check every claim of a run against its log, one row for each theorem."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec

from mage_es.engine.auditing.theorems.benefit import check_benefit
from mage_es.engine.auditing.theorems.coverage import check_coverage
from mage_es.engine.auditing.theorems.forms import check_forms
from mage_es.engine.auditing.theorems.grounds import Ground, grounds_of
from mage_es.engine.auditing.theorems.growth import check_growth
from mage_es.engine.auditing.theorems.inference import check_inference
from mage_es.engine.auditing.theorems.leaks import check_leaks, check_splits
from mage_es.engine.auditing.theorems.learned import check_learned
from mage_es.engine.auditing.theorems.log import (
    check_head,
    check_keys,
    check_log,
    check_questions,
    check_repairs,
    check_signed,
)
from mage_es.engine.auditing.theorems.oddities import check_oddities
from mage_es.engine.auditing.theorems.origins import check_origins
from mage_es.engine.auditing.theorems.own import check_own
from mage_es.engine.auditing.theorems.paraphrases import check_paraphrases
from mage_es.engine.auditing.theorems.parent import check_parent, check_past, check_taken
from mage_es.engine.auditing.theorems.ratchet import check_ratchet
from mage_es.engine.auditing.theorems.reasked import check_reasked
from mage_es.engine.auditing.theorems.recount import RebuiltCall
from mage_es.engine.auditing.theorems.registered import check_registered
from mage_es.engine.auditing.theorems.replay import check_replay
from mage_es.engine.auditing.theorems.reproof import check_reproof
from mage_es.engine.auditing.theorems.requests import check_requests
from mage_es.engine.auditing.theorems.settings import check_settings, drawn
from mage_es.engine.auditing.theorems.target_leaks import check_target_leaks
from mage_es.engine.auditing.theorems.verdicts import basis_at, basis_of, check_scorer, check_verdicts
from mage_es.engine.config import parse
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.check import Check
from mage_es.engine.seams.plugins import load, open_plugin, plugins
from mage_es.engine.verbs.decorators import in_thread, typed
from mage_es.engine.verbs.runs import exam_rows
from mage_es.engine.verbs.summary import ExamRow
from mage_es.events.care import verify_heads, verify_log, verify_questions
from mage_es.events.care.heads import read_head_file
from mage_es.events.errors import KeysUnusable, LogDamaged, PrerequisiteError
from mage_es.events.log import LogReader
from mage_es.events.signing.notes import read_verifier
from mage_es.events.vocabulary import RunStarted, ServingStarted


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every check of a run, and `head`: the hash to keep elsewhere and pass to `verify` later.

    `exams` are all that were ever taken, as far as the log can tell; `grounds` says what each claim rests on.
    """

    run_id: str
    head: str
    checks: tuple[Check, ...]
    exams: tuple[ExamRow, ...] = ()
    grounds: tuple[Ground, ...] = ()

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


@typed
def verify(
    run: Run | Path | str,
    *,
    head: str | None = None,
    keys: Sequence[str] = (),
    parent: Run | Path | str | None = None,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    rebuilt: list[RebuiltCall] | None = None,
) -> VerifyReport:
    """Check every byte of a run and every theorem on its log, and score every answer again.

    With a `head` printed earlier (64 hexadecimal digits, or at least the first 16) or the file of a signed head that
    was kept, check also that this log had it. Each of the verifier `keys` must have signed or cosigned a head. If the
    log is damaged nothing else is checked. With a `parent`, what the run inherited is compared with it. `benchmark` is
    the object that the run began with, if it got one from Python; the user's own scorer is imported by name. `rebuilt`
    gets the calls whose requests were rebuilt.

    Raises:
        UsageError: `head` or a key is malformed, or the run has no parent.
        PrerequisiteError: Heads are signed, and the package that checks signatures is missing.
    """
    run = as_run(run)
    known = [read_verifier(key) for key in keys]
    kept = [read_head_file(Path(head))] if head and Path(head).is_file() else []
    verdict = verify_log(run.log_path, head=None if kept else head)
    checks = [check_log(verdict)]
    if verdict.search:
        checks.append(check_head(verdict.search, verdict.head))
    checks += check_past(run, LogReader(run.log_path)) if checks[0].ok else []
    if any(check.damaged for check in checks):
        return VerifyReport(run_id=run.id, head=verdict.head.chain, checks=tuple(checks))
    signed = verify_heads(run.log_path, known=known, also=kept)
    if signed.heads or signed.named or known or signed.problems:
        checks.append(check_signed(signed))
    try:
        reader = LogReader(run.log_path)
        checks += _each(check_parent, reader, as_run(parent)) if parent else []
        checks += _theorems(run, reader, data_dir, benchmark, rebuilt)
    except KeysUnusable as error:  # checks done before the error still count
        checks.append(Check(name="keys", ok=False, detail=str(error), damaged=True))
        return VerifyReport(run_id=run.id, head=verdict.head.chain, checks=tuple(checks))
    searched = verdict.search.found.seq if verdict.search and verdict.search.found else 0
    vouched = max([searched, *(each.checkpoint.size for each in kept)])
    exams = exam_rows(run, reader)
    return VerifyReport(
        run_id=run.id,
        head=verdict.head.chain,
        checks=tuple(checks),
        exams=exams,
        grounds=grounds_of(checks, signed, run, reader, exams=exams, vouched=vouched, known=known),
    )


averify = in_thread(verify)


def _theorems(
    run: Run,
    reader: LogReader,
    data_dir: Path | str | None,
    benchmark: Benchmark | None,
    rebuilt: list[RebuiltCall] | None,
) -> Iterator[Check]:
    yield check_questions(verify_questions(run.log_path))
    yield from _each(check_repairs, reader)
    yield from _each(check_replay, reader, run.snapshots_path)
    yield from _each(check_splits, reader)
    yield from _each(check_leaks, reader)
    started = next(reader.of(RunStarted), None)
    if started:
        yield from _each(check_target_leaks, reader, started)
    yield from _each(check_growth, reader)
    yield from _each(check_origins, reader)
    if started:  # a run that ended before its first event has taken no step
        config = parse(started.config)
        yield from _each(check_registered, reader, started)
        yield from _each(check_coverage, reader, config)
        yield from _each(check_ratchet, reader, config)
        yield from _each(check_own, reader, config)
        yield from _each(check_benefit, run, reader, config)
        yield from _each(check_reproof, reader, config)
        yield from _each(check_forms, reader, since=last_inherited(reader))
    yield from _each(check_requests, run, reader)
    yield from _each(_of_wings, run, reader)
    yield from _each(check_inference, run, reader)
    yield from _each(check_reasked, run, reader)
    yield from _each(check_keys, reader)
    if started:
        basis = msgspec.structs.replace(basis_of(reader, data_dir=data_dir, benchmark=benchmark), rebuilt=rebuilt)
        at = basis_at(basis, started)
        draw = cache(partial(drawn, reader, at.world))  # to divide the questions again takes a tenth of the time
        yield from _each(check_settings, reader, started, at, draw)
        yield from _each(check_learned, reader, at, draw)
        yield from _each(check_taken, reader, at)
        yield from _each(check_scorer, reader, basis)
        yield from _each(check_verdicts, run, reader, basis)
        yield from _each(check_paraphrases, reader, basis)
    yield from _each(check_oddities, run, reader)


def _each(check: Callable[..., Check | Iterable[Check]], *given: Any, **also: Any) -> Iterator[Check]:
    """Yield what a check reports. If it cannot be made it says so itself, and the other checks are still shown."""
    try:
        found = check(*given, **also)
        yield from [found] if isinstance(found, Check) else found
    except KeysUnusable:
        raise
    except LogDamaged as error:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        yield Check(name=name, ok=False, detail=f"not checked: {error}", damaged=True)


def _of_wing(name: str, run: Run, reader: LogReader) -> Sequence[Check]:
    """Return the checks of a wing or another package. If one of them fails, the others are still shown."""

    def made() -> list[Check]:
        found = [*load("mage_es.checks", name)(run, reader)]
        if wrong := [each for each in found if not isinstance(each, Check)]:
            raise TypeError(f"{wrong[0]!r:.80} is not a `Check` (mage_es.engine.seams.check)")
        return found

    try:
        checks: list[Check] = open_plugin("mage_es.checks", name, made)
    except PrerequisiteError as error:
        if plugins("mage_es.checks")[name].is_ours:
            raise
        return [Check(name=name, ok=False, detail=f"not checked: {error}")]
    return checks


def _of_wings(run: Run, reader: LogReader) -> Iterator[Check]:
    offered = sorted(plugins("mage_es.checks"))
    for name in offered:
        yield from _of_wing(name, run, reader)
    if "serving" not in offered and next(reader.of(ServingStarted), None):
        detail = "unchecked: what checks what was put into requests is not installed here"
        yield Check(name="serving", ok=True, detail=detail, measured="nothing", bound="all checked", doubt=True)
