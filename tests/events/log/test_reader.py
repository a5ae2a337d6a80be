"""Readers: what they show, and that they disturb nobody and are disturbed by nobody."""

import threading
from operator import itemgetter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.events.errors import LogDamaged, UnknownEvent, UsageError
from mage_es.events.facts.vocabulary import Vocabulary
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import EVENT_TYPES, AnswerJudged, IterationClosed, MemoryAppended, PhaseCompleted
from tests.events.disks import RefusingDisk
from tests.events.samples import abandon, bits, clock, closed, completed, facts, judged, remembered, write_log

READS = {AnswerJudged: ("question_id", "correct"), MemoryAppended: ("memory_id", "embedding")}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of three segments and a tail, written by a writer that was killed."""
    path = tmp_path_factory.mktemp("reader") / "log"
    for part in range(4):
        log = Log.open(path, clock=clock()) if part else Log.create(path, run="r1", clock=clock())
        for k in range(5):
            number = 5 * part + k
            log.append([judged(2 * number), remembered(number), judged(2 * number + 1)])
        log.append([completed(part, "evaluate"), closed(part)])
        if part < 3:
            log.close()
        else:
            abandon(log)
    return path


@pytest.mark.slow
@given(st.integers(-3, 90), st.integers(0, 90))
def test_any_window_of_pruned_events_is_that_part_of_a_full_read(path: Path, since: int, until: int) -> None:
    reader = LogReader(path)
    expected = [
        (record.seq, [getattr(record.event, name) for name in READS[type(record.event)]])
        for record in reader.records()
        if type(record.event) in READS and since <= record.seq <= until
    ]
    pruned = reader.events(READS, since=since, until=until)
    assert bits((seq, [getattr(event, name) for name in READS[type(event)]]) for seq, event in pruned) == bits(expected)
    assert bits(reader.records(READS, since=since, until=until)) == bits(
        record for record in reader.records() if type(record.event) in READS and since <= record.seq <= until
    )


@given(st.integers(-3, 90), st.integers(0, 90))
def test_batches_of_any_window_hold_the_same_events_stretch_by_stretch(path: Path, since: int, until: int) -> None:
    reader, reached, pairs = LogReader(path), 0, []
    for batches in reader.batches(READS, since=since, until=until):
        stretch = sorted((seq, cls, i) for cls, batch in batches.items() for i, seq in enumerate(batch.seqs))
        assert not stretch or stretch[0][0] > reached
        for seq, cls, i in stretch:
            reached = seq
            pairs.append((seq, [batches[cls].columns[name][i] for name in READS[cls]]))
            assert [getattr(batches[cls].events[i], name) for name in READS[cls]] == pairs[-1][1]
    expected = reader.events(READS, since=since, until=until)
    assert bits(pairs) == bits((seq, [getattr(event, name) for name in READS[type(event)]]) for seq, event in expected)


@given(st.integers(-3, 90), st.integers(0, 90))
def test_batches_newest_first_hold_the_same_stretches(path: Path, since: int, until: int) -> None:
    def stretches(*, newest_first: bool) -> list[list[int]]:
        found = LogReader(path).batches(READS, since=since, until=until, newest_first=newest_first)
        return sorted(sorted(seq for batch in batches.values() for seq in batch.seqs) for batches in found)

    assert list(filter(None, stretches(newest_first=True))) == list(filter(None, stretches(newest_first=False)))


@given(st.integers(-3, 90), st.integers(0, 90))
def test_batches_with_columns_of_the_header_hold_every_event_of_a_window(path: Path, since: int, until: int) -> None:
    found = []
    for batches in LogReader(path).batches(READS, since=since, until=until, headers=("causation_seq", "event_id")):
        for cls, batch in batches.items():
            assert list(batch.columns) == list(READS.get(cls, ()))
            causes, ids = (batch.headers[name] for name in ("causation_seq", "event_id"))
            found += [(seq, cls, cause, id_.tobytes()) for seq, cause, id_ in zip(batch.seqs, causes, ids, strict=True)]
    records = LogReader(path).records(since=since, until=until)
    assert sorted(found, key=itemgetter(0)) == [(r.seq, type(r.event), r.causation, r.event_id) for r in records]


def test_what_came_before_an_event_that_cannot_be_read_is_in_batches_of_every_type(tmp_path: Path) -> None:
    with_all = Log.create(tmp_path / "log", run="r1", clock=clock())
    with_all.append([judged(1), judged(2)])
    with_all.append([completed(0, "evaluate"), judged(3)])
    abandon(with_all)
    known = Vocabulary(cls for cls in EVENT_TYPES.values() if cls is not PhaseCompleted)
    found = LogReader(tmp_path / "log", vocabulary=known).batches(READS, headers=("causation_seq",))
    assert next(found)[AnswerJudged].seqs == [1, 2]
    with pytest.raises(UnknownEvent, match=r"'phase\.completed'"):
        next(found)


@given(st.integers(-3, 90), st.integers(0, 90))
def test_the_last_event_of_a_type_is_found_in_any_window(path: Path, since: int, until: int) -> None:
    reader = LogReader(path)
    for cls in (AnswerJudged, IterationClosed):
        seqs = [record.seq for record in reader.records({cls}, since=since, until=until)]
        assert reader.last(cls, since=since, until=until) == (seqs[-1] if seqs else 0)


def test_records_are_numbered_without_gaps_across_segments_and_tail(path: Path) -> None:
    reader = LogReader(path)
    assert [record.seq for record in reader.records()] == list(range(1, reader.head.seq + 1))
    assert [record.commit for record in reader.records()][:5] == [1, 1, 1, 4, 4]


def test_a_reader_writes_nothing_and_takes_no_lock(path: Path) -> None:
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.rglob("*") if file.is_file()}
    list(LogReader(path).records())
    assert before == {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.rglob("*") if file.is_file()}


def test_markers_mean_the_events_that_stand_for_them(path: Path) -> None:
    reader = LogReader(path)
    by_seq = {record.seq: record.event for record in reader.records()}
    assert by_seq[reader.resolve("iter-2")] == closed(2).event
    assert by_seq[reader.resolve("iter-3/evaluate")] == completed(3, "evaluate").event
    assert reader.resolve("latest") == reader.head.seq
    assert reader.resolve("seq:5") == 5


@pytest.mark.parametrize(
    ("marker", "says"),
    [
        ("iter-7", "Closed so far: iter-0 to iter-3"),
        ("iter-33", "Did you mean iter-3"),
        ("iter-1/update", "no marker iter-1/update"),
        ("seq:5000", "its events are 1 to 7[0-9]"),
        ("seq:0", "has no event 0"),
        ("tomorrow", "not a marker"),
    ],
)
def test_a_marker_that_does_not_exist_is_refused_with_those_that_do(path: Path, marker: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        LogReader(path).resolve(marker)


def test_an_empty_log_has_a_latest_marker_and_nothing_else(tmp_path: Path) -> None:
    write_log(tmp_path / "log")
    reader = LogReader(tmp_path / "log")
    assert reader.resolve("latest") == 0 and list(reader.records()) == []
    with pytest.raises(UsageError, match="Nothing is closed yet"):
        reader.resolve("iter-0")
    with pytest.raises(UsageError, match="no marker start"):
        reader.resolve("start")


def test_the_start_is_the_first_iteration_that_was_closed_and_in_a_run_that_goes_on_that_is_its_parents(
    tmp_path: Path,
) -> None:
    for first in (-1, 4):
        path = tmp_path / str(first)
        write_log(path, [judged(0)], [closed(first)], [judged(1)], [closed(first + 1)])
        assert LogReader(path).resolve("start") == 2


def test_a_reader_keeps_its_view_until_it_is_refreshed(tmp_path: Path) -> None:
    with Log.create(tmp_path / "log", run="r1", clock=clock()) as log:
        log.append([judged(1)])
        reader = LogReader(tmp_path / "log")
        log.append([judged(2)])
        assert reader.head.seq == 1 and len(list(reader.records())) == 1
        reader.refresh()
        assert reader.head == log.head
        log.close()
        assert len(list(reader.records())) == 2, "what was sealed meanwhile is still shown"
        reader.refresh()
        assert len(facts(reader.records())) == 2


def test_readers_keep_up_with_a_writer_that_appends_rolls_and_seals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mage_es.events.wal.active.ROLL_EVENTS", 7)
    path, total, trouble = tmp_path / "log", 120, []
    log = Log.create(path, run="r1", clock=clock())

    def follow() -> None:
        try:
            reader, shown = LogReader(path), 0
            while shown < total:
                reader.refresh()
                seen = facts(reader.records())
                assert len(seen) >= shown and [r.event for r in seen] == [judged(n).event for n in range(len(seen))]
                shown = len(seen)
        except BaseException as error:
            trouble.append(error)

    followers = [threading.Thread(target=follow) for _ in range(2)]
    for follower in followers:
        follower.start()
    for number in range(0, total, 3):
        log.append([judged(number + k) for k in range(3)])
    log.close()
    for follower in followers:
        follower.join(timeout=600)
        assert not follower.is_alive()
    assert trouble == []


def test_an_append_in_progress_is_not_shown_and_is_no_damage(tmp_path: Path) -> None:
    with Log.create(tmp_path / "log", run="r1", clock=clock()) as log:
        log.append([judged(1)])
        reader = LogReader(tmp_path / "log")
        file = tmp_path / "log" / "wal" / f"{1:020d}.wal"
        data = file.read_bytes()
        for size in (1, 50, len(data) - 1):
            file.write_bytes(data + data[:size])
            reader.refresh()
            assert reader.head == log.head
        file.write_bytes(data)


def test_a_frame_that_was_written_and_not_synced_is_not_shown(tmp_path: Path) -> None:
    disk = RefusingDisk()
    log = Log.create(tmp_path / "log", run="r1", clock=clock(), fs=disk)
    log.append([judged(1)])
    disk.refuse = "sync"
    with pytest.raises(Exception, match="could not append"):
        log.append([judged(2)])
    assert LogReader(tmp_path / "log").head.seq == 1
    log.close()


def test_the_watermark_of_an_earlier_start_of_the_machine_counts_for_nothing(tmp_path: Path) -> None:
    log = Log.create(tmp_path / "log", run="r1", clock=clock())
    log.append([judged(1)])
    log.append([judged(2)])
    abandon(log)

    class Restarted(RefusingDisk):
        def boot_id(self) -> str:
            return "another"

    assert LogReader(tmp_path / "log").head.seq == 2
    assert LogReader(tmp_path / "log", Restarted()).head.seq == 1  # nothing says that the second was ever synced
    Log.open(tmp_path / "log", clock=clock(), fs=Restarted()).close()
    assert len(facts(LogReader(tmp_path / "log", Restarted()).records())) == 2


def test_events_lost_below_the_watermark_are_noticed_by_readers(tmp_path: Path) -> None:
    with Log.create(tmp_path / "log", run="r1", clock=clock()) as log:
        log.append([judged(1)])
        log.append([closed(1)])
    file = tmp_path / "log" / "wal" / f"{3:020d}.wal"
    file.write_bytes(b"")
    with pytest.raises(LogDamaged, match="event 3 was acknowledged"):
        LogReader(tmp_path / "log")


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a log"):
        LogReader(tmp_path)


def test_events_of_some_types_come_whole_and_in_order(path: Path) -> None:
    reader = LogReader(path)
    expected = [(r.seq, r.event) for r in reader.records({AnswerJudged, MemoryAppended}, since=5, until=70)]
    assert list(reader.numbered(AnswerJudged, MemoryAppended, since=5, until=70)) == expected
    assert list(reader.of(AnswerJudged, MemoryAppended, since=5, until=70)) == [event for _, event in expected]
    assert list(reader.of()) == []
