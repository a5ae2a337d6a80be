"""Verification notices everything, and says where."""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import msgspec
import pytest

from mage_es.events.care import HeadSearch, verify_log
from mage_es.events.disk import Head, Layout, Range
from mage_es.events.errors import UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.segments.reader import Segment
from mage_es.events.vocabulary import MAGE_ES
from tests.events.samples import clock, closed, judged, remembered, sealed_files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log of three segments of ten events, of which the second also has vectors."""
    path = tmp_path / "log"
    for part in range(3):
        with Log.open(path, clock=clock()) if part else Log.create(path, run="r1", clock=clock()) as log:
            first = log.head.seq + 1
            log.append([judged(first + k) for k in range(7)])
            log.append([remembered(first) if part == 1 else judged(first + 7)])
            log.append([closed(part)] if part else [judged(100), closed(part)])
    return path


def segment(path: Path, number: int, *, ending: str = "0.parquet") -> Path:
    return sorted(file for file in (path / "seg").iterdir() if file.name.endswith(ending))[number]


def test_a_whole_log_has_nothing_to_find(path: Path) -> None:
    verdict = verify_log(path)
    assert verdict.is_sound and verdict.findings == []
    assert verdict.files == 7  # FORMAT, HEAD, three segments, one side file, one write-ahead file
    with Log.open(path, clock=clock()) as log:
        assert verdict.head == log.head


def test_a_log_at_work_is_as_sound_as_one_at_rest(path: Path) -> None:
    with Log.open(path, clock=clock()) as log:
        log.append([judged(500)])
        assert verify_log(path).findings == []


def test_an_append_that_a_kill_interrupted_is_noted_and_is_no_damage(path: Path) -> None:
    wal = max((path / "wal").iterdir())
    wal.write_bytes(wal.read_bytes() + b"MGE1\x02\x00\xe8\x00\x00\x00.\x03")
    verdict = verify_log(path)
    assert verdict.is_sound and wal.name in verdict.note and "never finished" in verdict.note
    Log.open(path, clock=clock()).close()
    assert verify_log(path).note == ""


@pytest.mark.parametrize("number", [0, 1, 2])
def test_damage_in_any_segment_is_found_with_the_events_affected(path: Path, number: int) -> None:
    file = segment(path, number)
    data = file.read_bytes()
    file.write_bytes(data[:50] + bytes(8) + data[58:])
    findings = verify_log(path).findings
    assert (file, 1 + 10 * number, 10 + 10 * number) in [finding[:3] for finding in findings]
    assert "is not the file that was sealed" in findings[-1].problem


def test_damage_in_vectors_is_found(path: Path) -> None:
    file = next((path / "seg").glob("*.vec.parquet"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    [finding] = verify_log(path).findings
    assert (finding.first, finding.last) == (11, 20) and "vectors of events 11 to 20" in finding.problem


def truncate_wal(path: Path) -> None:
    file = max((path / "wal").iterdir())
    file.write_bytes(file.read_bytes()[:-3])


def replace_head(path: Path) -> None:
    data = (path / "HEAD").read_bytes()
    (path / "HEAD").write_bytes(data.replace(b'"seq":3', b'"seq":2'))


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda path: segment(path, 1).unlink(), "does not follow event 10"),
        (lambda path: segment(path, 2).unlink(), "does not follow event 20"),
        (lambda path: next((path / "seg").glob("*.vec.parquet")).unlink(), "is missing"),
        (lambda path: (path / "HEAD").unlink(), "missing, so nothing says"),
        (lambda path: (path / "FORMAT").write_text("{}"), "FORMAT is damaged"),
        (lambda path: max((path / "wal").iterdir()).unlink(), "every later event"),
        (truncate_wal, "bytes of the frame are missing"),
        (replace_head, "HEAD is damaged"),
    ],
)
def test_what_is_missing_or_cut_is_found(path: Path, harm: Callable[[Path], None], says: str) -> None:
    harm(path)
    assert says in "; ".join(finding.problem for finding in verify_log(path).findings)


def test_segments_of_another_log_are_found_even_if_whole(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with Log.create(other, run="r2", clock=clock()) as log:
        log.append([judged(k) for k in range(10)])
    segment(path, 0).write_bytes(segment(other, 0).read_bytes())
    [finding] = verify_log(path).findings
    assert (finding.first, finding.last) == (1, 10)


@pytest.mark.slow
def test_no_flipped_bit_anywhere_goes_unnoticed(path: Path) -> None:
    random = Random(11)
    files = [file for file in path.rglob("*") if file.is_file() and file.name != "LOCK"]
    for _ in range(120):
        file = random.choice(files)
        data = file.read_bytes()
        position = random.randrange(len(data))
        file.write_bytes(data[:position] + bytes([data[position] ^ 1 << random.randrange(8)]) + data[position + 1 :])
        assert not verify_log(path).is_sound, (file, position)
        file.write_bytes(data)
    assert verify_log(path).is_sound


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a log"):
        verify_log(tmp_path)


def test_only_what_is_damaged_is_accused(path: Path) -> None:
    tail = max((path / "wal").iterdir())
    tail.unlink()
    assert {finding.file for finding in verify_log(path).findings} == {tail}
    newest = segment(path, 2)
    newest.write_bytes(newest.read_bytes()[:-100])
    assert {finding.file for finding in verify_log(path).findings} == {tail, newest}


def test_a_segment_that_only_itself_can_vouch_for_must_give_its_own_chain_value(path: Path) -> None:
    file, span = segment(path, 2), Range(21, 30)
    sealed = Segment(file.read_bytes(), lambda: b"", name="", vocabulary=MAGE_ES)
    told, records = sealed.about, sealed.records(span)
    tail = max((path / "wal").iterdir())
    tail.unlink()
    assert {finding.file for finding in verify_log(path).findings} == {tail}
    changed = [
        msgspec.structs.replace(record, ts_us=record.ts_us + (record.commit == records[4].commit)) for record in records
    ]
    file.write_bytes(sealed_files(changed, log_id=told.log_id, previous=told.previous, chain=told.chain).segment)
    [finding] = [finding for finding in verify_log(path).findings if finding.file == file]
    assert (finding.first, finding.last) == (21, 30) and "nothing in the log records the hash" in finding.problem


def heads_of(path: Path) -> list[Head]:
    """Append to a log in many commits over three lives, noting its head all the time."""
    noted = [LogReader(path).head]
    for part in range(3):
        with Log.open(path, clock=clock()) as log:
            noted.append(log.head)
            for number in range(5):
                log.append([judged(1000 + 100 * part + 10 * number + k) for k in range(number + 1)])
                noted.append(log.head)
            log.append([remembered(1000 + part), closed(100 + part)])
            noted.append(log.head)
    return noted


def test_every_head_that_the_log_ever_had_is_found_at_its_event(path: Path) -> None:
    noted = dict.fromkeys(heads_of(path))
    written = (lambda text: text, lambda text: text[:16], lambda text: text.upper())
    for number, head in enumerate(noted):
        verdict = verify_log(path, head=written[number % 3](head.chain))
        assert verdict.is_sound and verdict.search is not None
        assert verdict.search.found == head and not verdict.search.untold
    present = verify_log(path).head
    verdict = verify_log(path, head=present.chain)
    assert verdict.search is not None and verdict.search.found == present


def test_a_head_of_another_history_is_not_found(path: Path, tmp_path: Path) -> None:
    shutil.copytree(path, tmp_path / "copy")
    mine, other = heads_of(path)[-1], tmp_path / "copy"
    with Log.open(other, clock=clock()) as log:
        log.append([judged(7777)])
    search = verify_log(other, head=mine.chain).search
    assert search is not None and search.found is None and not search.untold


def test_a_head_that_the_recorded_chain_claims_but_the_events_do_not_give_is_not_found(path: Path) -> None:
    """Whoever replaces a segment, and every record of its hash, still cannot make its events give the old head."""
    span = Range(21, 30)
    sealed = Segment(Layout(path).segment(span).read_bytes(), lambda: b"", name="", vocabulary=MAGE_ES)
    told, records = sealed.about, sealed.records(span)
    forged = [msgspec.structs.replace(record, ts_us=record.ts_us + 1) for record in records]
    search = HeadSearch(told.chain)
    search.in_segment(told, records, MAGE_ES)
    assert search.found == Head(30, told.chain)
    search = HeadSearch(told.chain)
    search.in_segment(told, forged, MAGE_ES)
    assert search.found is None and search.untold == [span]


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "0" * 65, "latest"])
def test_what_cannot_be_a_head_is_refused(path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="is not a head"):
        verify_log(path, head=text)
