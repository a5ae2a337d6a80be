"""What is odd leaves a doubt and fails nothing; what a run took over is compared with its parent."""

import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.theorems.oddities import check_oddities
from mage_es.engine.auditing.theorems.parent import check_parent, check_past
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import Event, ExamClosed, MemoryAppended, ModelCalled, Record
from tests.engine.conftest import SMALL
from tests.engine.forgery import replace


@pytest.fixture
def run(small_run: Run, tmp_path: Path) -> Run:
    copy = Run(small_run.id, tmp_path / "copy")
    shutil.copytree(small_run.log_path, copy.log_path)
    return copy


def called(change: Callable[[ModelCalled], ModelCalled]) -> Callable[[Record], Event]:
    return lambda record: change(record.event) if isinstance(record.event, ModelCalled) else record.event


def test_nothing_is_odd_in_a_sound_run(run: Run) -> None:
    check = check_oddities(run, LogReader(run.log_path))
    assert check.ok and not check.doubt and check.measured == "0 odd"


def test_another_reply_to_the_same_request_in_another_exam_leaves_a_doubt(run: Run, tmp_path: Path) -> None:
    for control in ("none", "bare"):
        examine(run, at="start", questions=2, control=control, runtime=Runtime(workers=1))
    log = run.exams()[1].log_path
    assert not check_oddities(run, LogReader(run.log_path)).doubt
    replace(log, tmp_path, called(lambda call: msgspec.structs.replace(call, text="#### 1")))
    head = LogReader(log).head

    def vouched(record: Record) -> Event:
        is_it = isinstance(record.event, ExamClosed) and record.event.exam == log.parent.name
        heads = {"head_seq": head.seq, "head_chain": head.chain}
        return msgspec.structs.replace(record.event, **heads) if is_it else record.event

    replace(run.log_path, tmp_path, vouched)
    check = check_oddities(run, LogReader(run.log_path))
    assert check.ok and check.doubt and "got another reply in another exam" in check.detail


def test_ids_that_repeat_or_are_missing_leave_a_doubt(run: Run, tmp_path: Path) -> None:
    replace(run.log_path, tmp_path, called(lambda call: msgspec.structs.replace(call, provider_id="r-1")))
    assert "ids of replies repeat" in check_oddities(run, LogReader(run.log_path)).detail
    # The same request may have the reply of another run's record.
    same = called(lambda call: msgspec.structs.replace(call, provider_id=call.request_sha256))
    replace(run.log_path, tmp_path, same)
    assert not check_oddities(run, LogReader(run.log_path)).doubt
    given = iter(range(10**6))

    def some(call: ModelCalled) -> ModelCalled:
        number = next(given)
        return msgspec.structs.replace(call, provider_id=f"r-{number}" if number % 2 else "")

    replace(run.log_path, tmp_path, called(some))
    assert "replies have no id, where their model gives some" in check_oddities(run, LogReader(run.log_path)).detail


@pytest.mark.parametrize(("back_s", "is_odd"), [(1, False), (3, True)])
def test_a_clock_that_was_corrected_is_not_odd_and_time_that_runs_back_is(
    run: Run, tmp_path: Path, back_s: int, is_odd: bool
) -> None:
    ticks = count(1_000_000_000_000_000)
    later = iter([*range(20)])

    def turned_back() -> int:
        return next(ticks) + (0 if next(later, None) is None else back_s * 1_000_000)

    replace(run.log_path, tmp_path, lambda record: record.event, clock=turned_back)
    check = check_oddities(run, LogReader(run.log_path))
    assert check.ok and check.doubt == is_odd
    assert ("events are earlier than one before them (first the run, event " in check.detail) == is_odd


@pytest.mark.slow
def test_what_a_run_took_over_is_compared_with_its_parent(run: Run, small_run: Run, tmp_path: Path) -> None:
    config = msgspec.structs.replace(SMALL, iterations=1)
    evolve(config, from_run=run.path, runs_dir=tmp_path / "runs", runtime=Runtime(workers=2), run_id="child")
    child = find_run(tmp_path / "runs", "child")
    sound = check_parent(LogReader(child.log_path), run)
    assert sound.ok and "its past is the log of small" in sound.detail
    assert all(check.ok for check in check_past(child, LogReader(child.log_path)))
    bent: list[int] = []

    def other(record: Record) -> Event:
        if isinstance(record.event, MemoryAppended) and not bent:
            bent.append(record.seq)
            return msgspec.structs.replace(record.event, answer="7")
        return record.event

    replace(child.past.log_path, tmp_path, other)
    found = check_parent(LogReader(child.log_path), child.past)
    assert bent and not found.ok and "never had the head" in found.detail
    [found] = check_past(child, LogReader(child.log_path))
    assert not found.ok and "ends with another event than copy did" in found.detail
    with pytest.raises(UsageError, match="does not continue another run"):
        check_parent(LogReader(run.log_path), small_run)
