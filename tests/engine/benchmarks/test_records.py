"""Reading upstream files: whatever form they have, every record or none, and each bad one by file, line and field."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mage_es.engine.benchmarks.records import read_records
from mage_es.events.errors import PrerequisiteError


class Row(msgspec.Struct):
    name: str
    size: int = 0


ROWS = [{"name": "a", "size": 1, "more": None}, {"name": "b é"}]


def named(position: int, row: Row) -> str:
    if not row.name:
        raise ValueError("name: is empty")
    return f"{position} {row.name} {row.size}"


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


FORMS = {
    "array": json.dumps(ROWS).encode(),
    "array over lines": json.dumps(ROWS, indent=1).encode(),
    "lines": b"".join(json.dumps(row).encode() + b"\n" for row in ROWS),
    "lines without the last newline": b"\n".join(json.dumps(row).encode() for row in ROWS),
    "lines with empty ones behind them": b"\n".join(json.dumps(row).encode() for row in ROWS) + b"\n\n \r\n",
    "lines that end as on Windows": b"".join(json.dumps(row).encode() + b"\r\n" for row in ROWS),
    "lines after a byte order mark": b"\xef\xbb\xbf" + b"\n".join(json.dumps(row).encode() for row in ROWS),
}


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_every_form_gives_the_same_records(tmp_path: Path, content: bytes) -> None:
    expected = ("0 a 1", "1 b é 0")
    assert read_records(write(tmp_path / "x.json", content), Row, named).items == expected
    zipped = read_records(write(tmp_path / "x.json.gz", gzip.compress(content)), Row, named)
    assert zipped.items == expected
    assert zipped.sha256 == read_records(tmp_path / "x.json", Row, named).sha256


def test_a_gzipped_file_is_known_by_its_content(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", gzip.compress(FORMS["lines"]))
    assert len(read_records(path, Row, named).items) == 2


def test_parquet_is_read_by_columns(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([{"name": "a", "size": 3}]), tmp_path / "x.parquet")
    assert read_records(tmp_path / "x.parquet", Row, named).items == ("0 a 3",)


def test_lines_that_are_arrays_are_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", b'["a", 1]\n["b", 2]\n')
    assert read_records(path, list, lambda _, row: row[0]).items == ("a", "b")


@pytest.mark.parametrize(
    ("content", "place", "complaint"),
    [
        (b'{"name": "a"}\n{"name": 3}\n', "line 2", r"`str`, got `int` - at `\$.name`"),
        (b'{"name": "a"}\n\n{"name": "b"}\n', "line 2", "the line is empty"),
        (b'{"name": "a"}\n{"name": ""}\n', "line 2", "name: is empty"),
        (b'[{"name": "a"},\n {"size": 1}]', r"record 2 \(line 2\)", "missing required field `name`"),
        (b'[{"name": "a"},\n {"name": "a"},\n\n{"name": ""}]', r"record 3 \(line 4\)", "name: is empty"),
    ],
)
def test_a_malformed_record_is_named_by_place_and_field(
    tmp_path: Path, content: bytes, place: str, complaint: str
) -> None:
    path = write(tmp_path / "x.json", content)
    with pytest.raises(PrerequisiteError, match=rf"x\.json, {place}: .*{complaint}") as caught:
        read_records(path, Row, named)
    assert "Nothing was loaded." in str(caught.value)


@pytest.mark.parametrize(("name", "content"), [("x.json", b'[{"name": "a"'), ("x.parquet", b"no parquet")])
def test_a_cut_file_is_an_error(tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(PrerequisiteError, match=name):
        read_records(write(tmp_path / name, content), Row, named)


@pytest.mark.parametrize("content", [b"", b"[]", b"\n"])
def test_a_file_without_records_is_an_error(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(PrerequisiteError, match="empty"):
        read_records(write(tmp_path / "x.json", content), Row, named)


def test_what_is_wrong_with_every_record_is_said_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"size": 1}\n' * 9)
    with pytest.raises(PrerequisiteError) as refused:
        read_records(path, Row, named)
    told = str(refused.value)
    assert told.count("`name`") == 1
    assert "line 1" in told
    assert "the same in all 9 records" in told


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_a_csv_is_divided_by_what_its_header_is_divided_by(tmp_path: Path, sign: str) -> None:
    path = write(tmp_path / "a.csv", f"name{sign}size\na{sign}3\n".encode())
    assert read_records(path, Row, named).items == ("0 a 3",)


def test_a_csv_may_hold_a_text_of_any_length_also_over_several_lines(tmp_path: Path) -> None:
    text = "many words\n" * 40_000
    path = write(tmp_path / "a.csv", f'name,size\n"{text}",3\n'.encode())
    assert read_records(path, Row, named).items == (f"0 {text} 3",)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("name,size,name\na,1,b\n", "line 1: the column 'name' occurs 2 times"),
        ("name,size\na,1,b\nc,2\n", "line 2: expected 2 fields, as in the header, but found 3"),
        ('name,size\n"a,1\n', "line 2: expected 2 fields, as in the header, but found 1"),
    ],
)
def test_a_csv_that_cannot_be_read_in_one_way_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    with pytest.raises(PrerequisiteError, match=complaint):
        read_records(write(tmp_path / "a.csv", content.encode()), Row, named)


@pytest.mark.parametrize("values", [pa.array([2**62], pa.timestamp("us")), pa.array([b"\xff"]).cast(pa.binary())])
def test_a_value_that_python_does_not_have_is_named_by_its_file(tmp_path: Path, values: pa.Array) -> None:
    table = pa.table({"name": values})
    if pa.types.is_binary(values.type):
        table = pa.table({"name": pa.Array.from_buffers(pa.string(), 1, values.buffers())})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(PrerequisiteError, match=r"x\.parquet is not well-formed: not Parquet"):
        read_records(tmp_path / "x.parquet", dict, lambda _, row: row)


@pytest.mark.parametrize("content", [b"[1,]", b"[1 2]", b"[1] x", b'["\xff"]', b"[1, [2}]", b"[,1]", b'[{"a": 1}'])
def test_an_array_is_malformed_wherever_it_is(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(PrerequisiteError, match=r"x\.json"):
        read_records(write(tmp_path / "x.json", content), Any, lambda _, row: row)
