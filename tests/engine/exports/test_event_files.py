"""An export holds every event with every field, the same each time, and explains its columns."""

import base64
import csv
import json
import math
import re
import struct
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from mage_es.engine.exports.event_files import FORMATS, export
from mage_es.engine.exports.event_schema import arrow_schema, column_of, meanings_of
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.facts import Event, Vocabulary, plain
from mage_es.events.facts.shapes import shapes_of
from mage_es.events.log import Log, LogReader
from mage_es.events.segments import schema
from mage_es.events.vocabulary import EVENT_TYPES, Draft, MemoryAppended, Part, Record, SkillCreated, Step, tag_of
from mage_es.events.vocabulary.meanings import COMMON
from tests.events.samples import clock, closed, completed, drafts, judged, remembered, write_log


class Deposited(Event, frozen=True, kw_only=True, tag="money.deposited"):
    account: str
    cents: int


VECTOR = struct.pack("<4f", 0.1, -2.0, math.inf, 1e-30)


def everything(reader: LogReader, target: Path, format: Any) -> None:
    export(reader, target, format=format, until=reader.head.seq)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def reader(tmp_path: Path) -> LogReader:
    write_log(
        tmp_path / "log",
        [judged(1), judged(2, correct=False)],
        [remembered(1, vector=VECTOR), completed(0, "update")],
        [judged(3), closed(0)],
    )
    return LogReader(tmp_path / "log")


def test_parquet_has_a_typed_file_for_each_type(reader: LogReader, tmp_path: Path) -> None:
    everything(reader, tmp_path / "out", "parquet")
    table = pq.read_table(tmp_path / "out" / "answer.judged.parquet")
    assert table.column("seq").to_pylist() == [1, 2, 5]
    assert table.column("correct").to_pylist() == [True, False, True]
    assert table.schema.field("ts").type == schema.HEADER.field("ts").type
    assert table.schema.field("score_micro").type == "int64"
    memory = pq.read_table(tmp_path / "out" / "memory.appended.parquet").to_pylist()[0]
    assert struct.pack("<4f", *memory["embedding"]) == VECTOR
    assert (memory["phase"], memory["event_phase"], memory["event_ordinal"]) == ("update", "update", 1)


def test_csv_has_the_same_columns_with_nested_values_as_json(tmp_path: Path) -> None:
    draft = remembered(1, vector=VECTOR)
    assert isinstance(draft.event, MemoryAppended)
    fields = {name: getattr(draft.event, name) for name in MemoryAppended.__struct_fields__}
    text = 'He said "no",\r\nthen =1+1 \x1b[2J\rand \u202eback\x9b'
    fields["answer"] = '=cmd|"x"'
    event = MemoryAppended(**{**fields, "steps": (Step(skill="add", output="7, or so"),), "question": text})
    write_log(tmp_path / "log", [Draft(event=event, iteration=0, phase="update"), judged(1)])
    everything(LogReader(tmp_path / "log"), tmp_path / "csv", "csv")
    everything(LogReader(tmp_path / "log"), tmp_path / "parquet", "parquet")
    with (tmp_path / "csv" / "memory.appended.csv").open(newline="", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    assert list(row) == pq.read_schema(tmp_path / "parquet" / "memory.appended.parquet").names
    assert json.loads(row["steps"]) == [{"skill": "add", "output": "7, or so"}]
    harmless = 'He said "no",\r\nthen =1+1 \\u001b[2J\\u000dand \\u202eback\\u009b'
    assert (row["question"], row["answer"]) == (harmless, '\'=cmd|"x"')
    assert base64.b64decode(row["embedding"]) == VECTOR
    with (tmp_path / "csv" / "answer.judged.csv").open(newline="", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    assert (row["correct"], row["score_micro"], row["ts"][-1]) == ("true", "1000000", "Z")


def test_json_lines_hold_one_event_per_line_in_order(reader: LogReader, tmp_path: Path) -> None:
    everything(reader, tmp_path / "out", "jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out" / "events.jsonl").read_text().splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, reader.head.seq + 1))
    assert [line["type"] for line in lines][1:4] == ["answer.judged", "memory.appended", "phase.completed"]
    assert list(lines[0])[:-1] == list(plain.HEADER)
    assert base64.b64decode(lines[2]["event"]["embedding"]) == VECTOR
    assert lines[0]["event_id"] == next(reader.records()).event_id.hex()


@pytest.mark.parametrize("format", FORMATS)
def test_a_marker_ends_the_export(reader: LogReader, tmp_path: Path, format: Any) -> None:
    report = export(reader, tmp_path / "out", format=format, until=4)
    assert sum(report.files.values()) == 4
    assert "Events 1 to 4 of the log" in (tmp_path / "out" / "SCHEMA.md").read_text()


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_events_give_the_same_bytes_sealed_or_not(tmp_path: Path, format: Any) -> None:
    with Log.create(tmp_path / "log", run="r1", clock=clock()) as log:
        for number in range(20):
            log.append([judged(number), remembered(number)])
        everything(LogReader(tmp_path / "log"), tmp_path / "before", format)
    export(LogReader(tmp_path / "log"), tmp_path / "after", format=format, until=40)
    assert contents(tmp_path / "after") == contents(tmp_path / "before")


@pytest.mark.slow
@settings(max_examples=25)
@given(some=drafts())
def test_every_field_of_every_type_survives(tmp_path_factory: pytest.TempPathFactory, some: list[Draft]) -> None:
    folder = tmp_path_factory.mktemp("any")
    write_log(folder / "log", some)
    reader = LogReader(folder / "log")
    for format in FORMATS:
        everything(reader, folder / format, format)
    for record in reader.records():
        row = _row_of(folder / "parquet" / f"{tag_of(record.event)}.parquet", record)
        for name, shape in shapes_of(type(record.event)).items():
            value, stored = getattr(record.event, name), row[column_of(name)]
            if shape.kind in ("str", "int", "bool", "bytes"):
                assert stored == value
            elif shape.kind == "float":
                assert struct.pack("<d", stored) == struct.pack("<d", value)
            elif shape.kind == "vector":
                assert len(stored) == len(value) // 4
            else:
                assert stored is not None


def _row_of(path: Path, record: Record) -> dict[str, Any]:
    return next(row for row in pq.read_table(path).to_pylist() if row["seq"] == record.seq)


@pytest.mark.parametrize("format", FORMATS)
def test_every_column_is_explained_with_its_type(reader: LogReader, tmp_path: Path, format: Any) -> None:
    everything(reader, tmp_path / "out", format)
    page = (tmp_path / "out" / "SCHEMA.md").read_text()
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")}
    header = explained(sections["Columns of every event"])
    assert [name for name, _, _ in header] == list(plain.HEADER)
    found = {record.event for record in reader.records()}
    for cls in map(type, found):
        section, tag = sections[tag_of(cls)], tag_of(cls)
        assert " ".join(str(cls.__doc__).split()) in section
        rows = explained(section)
        assert [meaning for _, _, meaning in rows] == list(meanings_of(cls, COMMON).values())
        if format == "parquet":
            stored = pq.read_schema(tmp_path / "out" / f"{tag}.parquet")
            assert [row[:2] for row in header + rows] == [(field.name, str(field.type)) for field in stored]
    assert "Digest (inside other columns)" in sections


def explained(section: str) -> list[tuple[str, str, str]]:
    """Return (column, type, meaning) of each row of a table, none of them empty."""
    return re.findall(r"^\| `(.+?)` \| (.+?) \| (.+) \|$", section, re.MULTILINE)


def test_every_field_is_explained_by_its_docstring_or_by_a_common_meaning() -> None:
    owners = [*EVENT_TYPES.values(), *Part.__subclasses__()]
    assert all(all(meanings_of(cls, COMMON).values()) for cls in owners)
    assert meanings_of(EVENT_TYPES["answer.judged"], COMMON)["answer"] == "The answer extracted from the reply."
    common = {
        name for cls in owners for name, meaning in meanings_of(cls, COMMON).items() if COMMON.get(name) == meaning
    }
    assert common == COMMON.keys()
    assert list(plain.HEADER) == schema.HEADER.names


def test_no_two_columns_of_a_type_have_the_same_name() -> None:
    for cls in EVENT_TYPES.values():
        names = arrow_schema(cls).names
        assert len(set(names)) == len(names)


def test_a_folder_with_something_in_it_is_left_alone(reader: LogReader, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(UsageError, match="not an empty folder"):
        everything(reader, tmp_path, "csv")
    with pytest.raises(UsageError, match="not an empty folder"):
        everything(reader, tmp_path / "precious", "csv")
    assert (tmp_path / "precious").read_text() == "mine"


def test_an_export_of_a_damaged_log_leaves_nothing(tmp_path: Path) -> None:
    write_log(tmp_path / "log", [judged(number) for number in range(9)])
    with Log.open(tmp_path / "log", clock=clock()) as log:
        log.append([created()])
    second = sorted((tmp_path / "log" / "seg").glob("*.parquet"))[-1]
    data = bytearray(second.read_bytes())
    reader = LogReader(tmp_path / "log")
    data[40] ^= 1
    second.write_bytes(bytes(data))
    with pytest.raises(LogDamaged):
        everything(reader, tmp_path / "out", "csv")
    assert not (tmp_path / "out").exists()


def created() -> Draft:
    event = SkillCreated(skill="algebra", mastery=0.5, prompt_template="t", strategy="s")
    return Draft(event=event, iteration=-1, phase="open")


def test_a_log_with_another_vocabulary_is_exported_too(tmp_path: Path) -> None:
    bank = Vocabulary([Deposited])
    with Log.create(tmp_path / "log", run="bank", clock=clock(), vocabulary=bank) as log:
        log.append([Draft(event=Deposited(account="ann", cents=500), iteration=0, phase="log")])
    everything(LogReader(tmp_path / "log", vocabulary=bank), tmp_path / "out", "jsonl")
    first, *_ = map(json.loads, (tmp_path / "out" / "events.jsonl").read_text().splitlines())
    assert first["type"] == "money.deposited" and first["event"] == {"account": "ann", "cents": 500}
