"""Which facts a log has: found wherever they are, and segments left alone that cannot have them."""

from pathlib import Path

import msgspec
import pytest

from mage_es.events.disk import LocalFileSystem
from mage_es.events.disk.documents import HeadNote, pack, unpack
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Draft, PhaseCompleted
from tests.events.samples import clock, facts


def fact(iteration: int, number: int = 0) -> Draft:
    event = PhaseCompleted(iteration=iteration, phase="evaluate")
    return Draft(event=event, iteration=iteration, phase="evaluate", ordinal=number)


class Counting(LocalFileSystem):
    """Remembers which segments were read."""

    def __init__(self) -> None:
        self.read_segments: list[str] = []

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        if path.suffix == ".parquet":
            self.read_segments.append(path.name)
        return super().read(path, offset, length)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log of five segments, two iterations in each."""
    for part in range(5):
        with Log.open(tmp_path, clock=clock()) if part else Log.create(tmp_path, run="r1", clock=clock()) as log:
            log.append([fact(2 * part), fact(2 * part, 1)])
            log.append([fact(2 * part + 1)])
    return tmp_path


def test_a_new_iteration_is_recorded_without_looking_into_any_segment(path: Path) -> None:
    disk = Counting()
    with Log.open(path, clock=clock(), fs=disk) as log:
        disk.read_segments.clear()
        log.append([fact(10)])
        assert disk.read_segments == []


def test_only_the_segment_that_has_the_iteration_is_looked_into_and_those_that_vouch_for_it(path: Path) -> None:
    disk = Counting()
    with Log.open(path, clock=clock(), fs=disk) as log:
        disk.read_segments.clear()
        assert log.append([fact(9), fact(9, 1)]).seqs == [19, 21]
        assert len(set(disk.read_segments)) == 1
        log.append([fact(0, 1), fact(0)])
        assert len(set(disk.read_segments)) == 5


@pytest.mark.parametrize("note", ["removed", "without holdings"])
def test_without_a_note_of_what_segments_hold_each_is_read_once_and_nothing_recorded_twice(
    path: Path, note: str
) -> None:
    told = unpack((path / "HEAD").read_bytes(), HeadNote, name="HEAD")
    assert [holding.iterations for holding in told.holdings] == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
    if note == "removed":
        (path / "HEAD").unlink()
    else:
        (path / "HEAD").write_bytes(pack(msgspec.structs.replace(told, holdings=())))
    disk = Counting()
    with Log.open(path, clock=clock(), fs=disk) as log:
        head = log.head
        for iteration in (10, 3, 0, 9, 4):
            log.append([fact(iteration)])
        assert log.head.seq == head.seq + 1
        assert len(disk.read_segments) < 20
    assert unpack((path / "HEAD").read_bytes(), HeadNote, name="HEAD").holdings[:5] == told.holdings


def test_nothing_is_recorded_twice_whatever_was_forgotten_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mage_es.events.wal.active.ROLL_EVENTS", 4)
    history = [fact(number // 5, number) for number in range(40)]
    with Log.create(tmp_path, run="r1", clock=clock()) as log:
        seqs = {}
        for number, draft in enumerate(history):
            [seqs[number]] = log.append([draft]).seqs
            for earlier in (0, number // 2, number):
                assert list(log.append([history[earlier]]).seqs) == [seqs[earlier]]
    with Log.open(tmp_path, clock=clock()) as log:
        again = log.append([*history, fact(99)])
        assert list(again.seqs)[:-1] == list(seqs.values())
    assert [record.event for record in facts(LogReader(tmp_path).records())] == [
        *(draft.event for draft in history),
        fact(99).event,
    ]


def test_only_the_newest_iteration_stays_in_memory_once_its_file_is_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mage_es.events.wal.active.ROLL_EVENTS", 4)
    with Log.create(tmp_path, run="r1", clock=clock()) as log:
        for number in range(200):
            log.append([fact(number // 3, number)])
        assert sum(map(len, log._recorded._seqs.values())) < 12


def test_an_append_to_several_iterations_at_once_finds_each(path: Path) -> None:
    with Log.open(path, clock=clock()) as log:
        appended = log.append([fact(1), fact(20), fact(8), fact(21), fact(20, 1)])
        assert list(appended.seqs) == [3, 21, 17, 22, 23]
        assert list(log.append([fact(21), fact(20, 1), fact(20)]).seqs) == [22, 23, 21]
