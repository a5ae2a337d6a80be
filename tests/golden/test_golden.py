"""Golden logs: what every release ever wrote is still read as what it meant."""

import shutil
from pathlib import Path

import pytest

from mage_es.events.care import verify_log
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import EVENT_TYPES, IterationClosed, tag_of
from mage_es.projections.fold import fold
from tests.golden.generate import golden, lines

GOLDEN = golden()


def test_there_is_a_golden_log_with_every_type_in_its_present_version() -> None:
    found = set()
    for folder in GOLDEN:
        found |= {(tag_of(record.event), record.event.version) for record in LogReader(folder / "log").records()}
    assert found >= {(tag, cls.version) for tag, cls in EVENT_TYPES.items()}


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda folder: folder.name)
def test_a_golden_log_is_read_as_it_was_meant(folder: Path) -> None:
    assert lines(folder) == (folder / "expected.jsonl").read_bytes().splitlines()


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda folder: folder.name)
def test_a_golden_log_is_sound_and_pruned_reads_agree_with_full_ones(folder: Path) -> None:
    assert verify_log(folder / "log").findings == []
    reader = LogReader(folder / "log")
    for cls in EVENT_TYPES.values():
        pruned = list(reader.events({cls: cls.__struct_fields__}))
        assert pruned == [(record.seq, record.event) for record in reader.records({cls})]


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda folder: folder.name)
def test_a_golden_run_folds_to_the_digests_that_were_recorded_when_it_was_written(folder: Path) -> None:
    reader = LogReader(folder / "run")
    closed = list(reader.records({IterationClosed}))
    assert len(closed) == 4
    for record in closed:
        assert isinstance(record.event, IterationClosed)
        assert record.event.digests
        assert fold(reader, until=record.seq).differing(record.event.digests) == []


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda folder: folder.name)
def test_a_golden_log_can_be_written_on(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "log", tmp_path / "log")
    before = LogReader(tmp_path / "log").head
    with Log.open(tmp_path / "log", clock=lambda: 1) as log:
        assert log.head == before
    assert verify_log(tmp_path / "log").findings == []
