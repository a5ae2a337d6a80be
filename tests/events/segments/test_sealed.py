"""Segments are believed from the newest to the oldest, each vouched for by what follows it."""

import hashlib
from pathlib import Path

import pytest

from mage_es.events.disk import Layout, LocalFileSystem, Range
from mage_es.events.errors import LogDamaged
from mage_es.events.log import Log, LogReader
from mage_es.events.segments.sealed import SealedEvents
from mage_es.events.vocabulary import MAGE_ES, AnswerJudged, Draft, SegmentSealed, TaskTypeCreated
from tests.events.samples import clock, judged


class Counting(LocalFileSystem):
    """Remembers which files were read."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        self.files.append(path.name)
        return super().read(path, offset, length)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log of five segments of two facts, each but the first beginning with the hash of the one before."""
    for part in range(5):
        with Log.open(tmp_path, clock=clock()) if part else Log.create(tmp_path, run="r1", clock=clock()) as log:
            log.append([judged(2 * part), judged(2 * part + 1)])
    return tmp_path


def opened(path: Path, disk: Counting) -> tuple[SealedEvents, list[Range]]:
    layout = Layout(path)
    spans = layout.listing(disk).segments
    events = [event for _, event in LogReader(path).events({SegmentSealed: SegmentSealed.__struct_fields__})]
    sealed = SealedEvents(disk, layout, MAGE_ES)
    sealed.show(spans, {event.first: event for event in events[-1:] if isinstance(event, SegmentSealed)})
    return sealed, spans


def test_reading_the_newest_segment_touches_no_other(path: Path) -> None:
    disk = Counting()
    sealed, spans = opened(path, disk)
    assert len(list(sealed.events({AnswerJudged: ("answer",)}, spans[-1]))) == 2
    assert len(disk.files) == 1


def test_reading_everything_reads_no_file_more_than_twice(path: Path) -> None:
    disk = Counting()
    sealed, _ = opened(path, disk)
    assert len(list(sealed.events({AnswerJudged: ("answer",)}, Range(1, 1 << 40)))) == 10
    assert max(map(disk.files.count, disk.files)) <= 2


def test_a_segment_behind_a_damaged_one_is_not_believed(path: Path) -> None:
    disk = Counting()
    sealed, spans = opened(path, disk)
    damaged = Layout(path).segment(spans[2])
    damaged.write_bytes(damaged.read_bytes().replace(b"PAR1", b"PAR2"))
    assert len(list(sealed.events({AnswerJudged: ("answer",)}, spans[3]))) == 2
    for span in spans[:3]:
        with pytest.raises(LogDamaged, match=damaged.name):
            sealed.open(span)


def test_without_a_record_of_its_hash_a_segment_is_not_believed(path: Path) -> None:
    layout, disk = Layout(path), Counting()
    sealed = SealedEvents(disk, layout, MAGE_ES)
    sealed.show(layout.listing(disk).segments, {})
    with pytest.raises(LogDamaged, match="nothing in the log records the hash"):
        sealed.open(sealed.spans[-1])


def test_damage_done_between_two_readings_is_noticed_by_the_second(path: Path) -> None:
    sealed, spans = opened(path, Counting())
    everything = Range(1, 1 << 40)
    assert len(list(sealed.events({AnswerJudged: ("answer",)}, everything))) == 10
    damaged = Layout(path).segment(spans[0])
    damaged.write_bytes(damaged.read_bytes().replace(b"PAR1", b"PAR2"))
    with pytest.raises(LogDamaged, match=damaged.name):
        list(sealed.events({AnswerJudged: ("answer",)}, everything))


def test_a_narrow_reading_of_everything_reads_each_file_once(path: Path) -> None:
    disk = Counting()
    sealed, _ = opened(path, disk)
    assert len(list(sealed.batches({AnswerJudged: ("answer",)}, Range(1, 1 << 40)))) == 5
    assert sorted(disk.files) == sorted(set(disk.files)) and len(disk.files) == 5


@pytest.mark.parametrize("room", [1 << 40, 0])
@pytest.mark.parametrize("place", range(5))
def test_a_damaged_segment_stops_a_reading_by_batches(
    path: Path, monkeypatch: pytest.MonkeyPatch, room: int, place: int
) -> None:
    monkeypatch.setattr("mage_es.events.segments.sealed._NARROW", room)
    sealed, spans = opened(path, Counting())
    damaged = Layout(path).segment(spans[place])
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(LogDamaged, match=f"{damaged.name} is not the file that was sealed"):
        list(sealed.batches({AnswerJudged: ("answer",)}, Range(1, 1 << 40)))


@pytest.mark.parametrize("is_reread", [False, True])
def test_a_flipped_bit_is_noticed_in_whichever_piece_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch, is_reread: bool
) -> None:
    monkeypatch.setattr("mage_es.events.segments.sealed._PIECE", 1000)
    oldest = Layout(path).segment(Layout(path).listing(LocalFileSystem()).segments[0])
    sound, everything = oldest.read_bytes(), Range(1, 1 << 40)
    assert len(sound) > 3000
    for place in (0, 999, 1000, len(sound) - 1):
        sealed, _ = opened(path, Counting())
        if is_reread:
            assert len(list(sealed.events({AnswerJudged: ("answer",)}, everything))) == 10
        damaged = sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :]
        oldest.write_bytes(damaged)
        found = hashlib.sha256(damaged).hexdigest()[:16]
        with pytest.raises(LogDamaged, match=rf"{oldest.name} is not the file that was sealed \(SHA-256 {found}"):
            list(sealed.events({AnswerJudged: ("answer",)}, everything))
        oldest.write_bytes(sound)


def test_of_several_damaged_segments_the_newest_is_named_though_the_next_is_fetched_ahead(path: Path) -> None:
    sealed, spans = opened(path, Counting())
    damaged, missing = (Layout(path).segment(span) for span in (spans[3], spans[2]))
    damaged.write_bytes(b"PAR1")
    missing.unlink()
    with pytest.raises(LogDamaged, match=f"{damaged.name} is not the file that was sealed"):
        sealed.open(spans[0])


@pytest.mark.parametrize("room", [1 << 40, 0])
def test_batches_are_the_same_whether_or_not_all_of_them_fit_into_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr("mage_es.events.segments.sealed._NARROW", room)
    sealed, _ = opened(path, Counting())
    found = sealed.batches({AnswerJudged: ("answer",)}, Range(2, 9))
    answers = [answer for batches in found for batch in batches.values() for answer in batch.columns["answer"]]
    events = opened(path, Counting())[0].events({AnswerJudged: ("answer",)}, Range(2, 9))
    assert answers == [event.answer for _, event in events if isinstance(event, AnswerJudged)] != []


def test_what_a_verified_segment_does_not_hold_is_not_looked_for_in_it_again(path: Path) -> None:
    with Log.open(path, clock=clock()) as log:
        log.append([Draft(event=TaskTypeCreated(task_type="ages", description=""), iteration=-1, phase="open")])
    disk = Counting()
    sealed, spans = opened(path, disk)
    everything = Range(1, 1 << 40)
    assert len(list(sealed.events({AnswerJudged: ("answer",)}, everything))) == 10
    disk.files.clear()

    assert [event.task_type for _, event in sealed.events({TaskTypeCreated: ("task_type",)}, everything)] == ["ages"]
    assert sealed.last(TaskTypeCreated, everything) == spans[-1].last
    assert set(disk.files) <= {Layout(path).segment(spans[-1]).name}
