"""Sealed segments, written and read back, by this package and by others."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from mage_es.events.disk import Range
from mage_es.events.errors import LogDamaged
from mage_es.events.facts.envelope import event_id
from mage_es.events.segments.reader import Segment
from mage_es.events.segments.schema import Files
from mage_es.events.vocabulary import MAGE_ES, AnswerJudged, Draft, MemoryAppended, Record
from tests.events.samples import bits, drafts, judged, remembered, sealed_files


def recorded(given_drafts: list[Draft], *, first: int = 1) -> list[Record]:
    ids = [event_id("r1", draft.fact_id) for draft in given_drafts]
    return [
        Record(seq=seq, event_id=id_, ts_us=1_700_000_000_000_000, run="r1", commit=first, **asdict(draft))
        for seq, (draft, id_) in enumerate(zip(given_drafts, ids, strict=True), first)
    ]


def sealed(records: list[Record]) -> tuple[Files, Segment]:
    files = sealed_files(records, log_id="log", previous="0" * 64, chain="1" * 64)
    return files, Segment(files.segment, lambda: files.vectors, name="segment", vocabulary=MAGE_ES)


EVERYTHING = Range(1, 1 << 62)


@pytest.mark.slow
@given(drafts(), st.integers(1, 1 << 40), st.data())
def test_records_of_every_type_come_back_bit_for_bit_and_pruned_events_with_the_wanted_fields_alone(
    given_drafts: list[Draft], first: int, data: st.DataObject
) -> None:
    records = recorded(given_drafts, first=first)
    _, segment = sealed(records)
    assert bits(segment.records(EVERYTHING)) == bits(records)
    kinds = data.draw(st.lists(st.sampled_from([type(draft.event) for draft in given_drafts]), unique=True))
    reads = {cls: tuple(data.draw(st.sets(st.sampled_from(cls.__struct_fields__)))) for cls in kinds}
    seqs = st.sampled_from([record.seq for record in records])
    window = Range(data.draw(seqs), data.draw(seqs))
    expected = [
        (r.seq, [getattr(r.event, n) if n in reads[type(r.event)] else None for n in r.event.__struct_fields__])
        for r in records
        if type(r.event) in reads and window.first <= r.seq <= window.last
    ]
    found = segment.events(reads, window)
    assert [type(event) for _, event in found] == [type(records[seq - first].event) for seq, _ in expected]
    assert bits((seq, [getattr(e, n) for n in e.__struct_fields__]) for seq, e in found) == bits(expected)


def test_a_frequent_type_has_row_groups_of_its_own_and_rare_ones_share() -> None:
    records = recorded([judged(n) for n in range(3000)] + [remembered(n) for n in range(5)])
    _, segment = sealed(records)
    assert [(run.tag, run.group, run.offset, run.rows) for run in segment.about.runs] == [
        ("answer.judged", 0, 0, 3000),
        ("memory.appended", 1, 0, 5),
    ]
    records = recorded([judged(n) for n in range(3)] + [remembered(n) for n in range(5)])
    assert [(run.group, run.offset) for run in sealed(records)[1].about.runs] == [(0, 0), (0, 3)]


def test_a_segment_without_vectors_has_no_side_file() -> None:
    files, _ = sealed(recorded([judged(1)]))
    assert files.vectors == b"" and files.hashes[1] == ""


def test_vectors_are_not_touched_unless_they_are_wanted() -> None:
    files, _ = sealed(recorded([remembered(1)]))

    def refuse() -> bytes:
        raise AssertionError("nobody wanted vectors")

    segment = Segment(files.segment, refuse, name="segment", vocabulary=MAGE_ES)
    [(_, event)] = segment.events({MemoryAppended: ("memory_id",)}, EVERYTHING)
    assert isinstance(event, MemoryAppended) and event.memory_id == "m1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, given_drafts in enumerate(([judged(1), remembered(2)], [judged(3, correct=False)])):
        files, _ = sealed(recorded(given_drafts, first=1 + 2 * number))
        (tmp_path / f"{number}.parquet").write_bytes(files.segment)
        if files.vectors:
            (tmp_path / f"{number}.vec.arrow-free.parquet.vectors").write_bytes(files.vectors)
    return tmp_path


def test_polars_reads_segments_as_one_table_without_this_package(folder: Path) -> None:
    table = pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))], how="diagonal")
    right = table.filter(pl.col("type") == "answer.judged").select(pl.col("answer_judged").struct.field("correct"))
    assert right.to_series().to_list() == [True, False]
    assert table.schema["ts"] == pl.Datetime("us", "UTC")
    vectors = pl.read_parquet(next(folder.glob("*.vectors")))
    assert vectors.row(0) == (2, "memory_appended.embedding", [1.0] * 4)


def test_duckdb_reads_segments_as_one_table_without_this_package(folder: Path) -> None:
    duckdb: Any = pytest.importorskip("duckdb", reason="duckdb is not installed")
    query = f"select seq, answer_judged.correct from read_parquet('{folder}/*.parquet', union_by_name=true) "
    assert duckdb.sql(query + "where type = 'answer.judged' order by seq").fetchall() == [(1, True), (3, False)]


@pytest.mark.slow
@given(st.data())
def test_no_change_of_bytes_is_read_as_other_records(data: st.DataObject) -> None:
    records = recorded([judged(n) for n in range(20)] + [remembered(n) for n in range(3)])
    files, _ = sealed(records)
    position, bit = data.draw(st.integers(0, len(files.segment) - 1)), data.draw(st.integers(0, 7))
    flipped = bytearray(files.segment)
    flipped[position] ^= 1 << bit
    damaged = Files(bytes(flipped), files.vectors)
    assert damaged.hashes != files.hashes  # what readers go by; the page checksums alone leave a few bits uncovered
    try:
        found = Segment(damaged.segment, lambda: files.vectors, name="x", vocabulary=MAGE_ES).events(
            {AnswerJudged: ("answer", "correct")}, EVERYTHING
        )
    except LogDamaged:
        return
    assert all(isinstance(event, AnswerJudged) for _, event in found)
