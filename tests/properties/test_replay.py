"""Replay = live, over random runs on a real log: at every marker, through crashes, sealing and kept folds."""

import tempfile
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.auditing.theorems.replay import check_replay
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import IterationClosed
from mage_es.projections.fold import State, fold
from mage_es.projections.snapshot_files import latest_snapshot, write_snapshot
from tests.events.disks import ForgetfulDisk
from tests.events.samples import clock
from tests.kit.stages import Stage, drafts_of, folded, shuffled
from tests.kit.strategies import histories

pytestmark = pytest.mark.slow

PATH = Path("/run/log")


@settings(deadline=None, max_examples=5)
@given(histories(most_iterations=3), st.integers(0, 2**32), st.integers(5, 60))
def test_the_log_folds_to_the_live_state_at_every_marker_through_crashes_and_sealing(
    stages: list[Stage], seed: int, roll: int
) -> None:
    random = Random(seed)
    disk, live = ForgetfulDisk(random), State()
    with patch("mage_es.events.wal.active.ROLL_EVENTS", roll), tempfile.TemporaryDirectory() as folder:
        log = Log.create(PATH, run="r", clock=clock(), fs=disk)
        for batch in drafts_of(stages):
            for seq, event in zip(*log.append(batch), strict=True):
                live.apply(event)
                live.seq = seq
            if batch and isinstance(batch[-1].event, IterationClosed):
                write_snapshot(Path(folder), live, chain=log.head.chain)
            if random.random() < 0.2:
                disk.crash(power=random.random() < 0.5)
                log = Log.open(PATH, clock=clock(), fs=disk)
                reader = LogReader(PATH, disk)
                assert fold(reader).digests() == live.digests()
                live = fold(reader, state=latest_snapshot(Path(folder), reader))
        log.close()
        reader = LogReader(PATH, disk)
        check = check_replay(reader, Path(folder))
        assert check.ok and check.measured == check.bound, check.detail
        assert fold(reader).digests() == live.digests()


@settings(deadline=None, max_examples=10)
@given(histories(most_iterations=3), st.randoms(use_true_random=False))
def test_workers_may_record_in_any_order(stages: list[Stage], random: Random) -> None:
    expected = folded(shuffled(stages, Random(0))).digests()
    disk = ForgetfulDisk(Random(0))
    with Log.create(PATH, run="r", clock=clock(), fs=disk) as log:
        order = iter(shuffled(stages, random))
        for batch in drafts_of(stages):
            log.append([type(draft)(**{**_fields(draft), "event": next(order)}) for draft in batch])
    assert fold(LogReader(PATH, disk)).digests() == expected


def _fields(draft: object) -> dict[str, object]:
    return {name: getattr(draft, name) for name in draft.__struct_fields__}  # type: ignore[attr-defined]
