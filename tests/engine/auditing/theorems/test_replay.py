"""A log folded again gives what was recorded live."""

from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.theorems.replay import check_replay
from mage_es.engine.run.directory import Run
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import Digest, Event, IterationClosed, MemoryAppended, PatternPruned
from tests.engine.forgery import after, forged, instead


def test_a_true_run_folds_to_every_digest(small_run: Run) -> None:
    check = check_replay(LogReader(small_run.log_path), small_run.snapshots_path)
    assert check.ok and check.measured == check.bound == "3 of 3 equal"


@pytest.mark.paper("beyond the paper, replay")
def test_the_first_marker_with_another_digest_is_named(small_run: Run, tmp_path: Path) -> None:
    def bent(event: Event) -> Event:
        assert isinstance(event, IterationClosed)
        return msgspec.structs.replace(event, digests=(*event.digests[1:], Digest(projection="graph", value="0" * 64)))

    change = instead(IterationClosed, bent, lambda event: isinstance(event, IterationClosed) and event.iteration == 0)
    forged(small_run.log_path, tmp_path / "log", change)
    reader = LogReader(tmp_path / "log")
    check = check_replay(reader, tmp_path / "snapshots")
    named = next(iter(reader.records(since=check.seq, until=check.seq))).event
    assert not check.ok and isinstance(named, IterationClosed) and named.iteration == 0
    assert check.measured == "1 of 3 equal" and check.detail.startswith("graph differs at iter-0")


def test_a_log_that_cannot_be_folded_is_found(small_run: Run, tmp_path: Path) -> None:
    pruned = PatternPruned(memory_id="no pattern", confidence_micro=1, reason="")
    forged(small_run.log_path, tmp_path / "log", after(MemoryAppended, pruned))
    check = check_replay(LogReader(tmp_path / "log"), tmp_path / "snapshots")
    assert not check.ok and "cannot be folded" in check.detail and "no pattern" in check.detail
