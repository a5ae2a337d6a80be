"""Texts are found in clear wherever a file has them, also in the compressed columns of Parquet."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mage_es.engine.upkeep.traces import files_in, traces

TEXT = 'Zoë said "no" to Marvin\'s 42 pears'
OTHER = "the pears of another"
COLUMN = [TEXT[:17], OTHER, TEXT[17:], *[OTHER] * 100, TEXT]
"""Compressed, the last one is written as repetitions of the first ones."""


def in_bytes(path: Path) -> None:
    path.write_bytes(b"\xff\x00" + TEXT.upper().replace("Ë", "ë").encode() + b"\xff")


def in_json(path: Path) -> None:
    path.write_text(json.dumps({"text": TEXT}))


def in_readable_json(path: Path) -> None:
    path.write_text(json.dumps([TEXT], ensure_ascii=False))


def in_a_column(path: Path) -> None:
    rows = [{"deep": [{"text": text}]} for text in COLUMN]
    pq.write_table(pa.Table.from_pylist(rows), path, compression="zstd")
    assert TEXT.encode() not in path.read_bytes()


def in_a_dictionary(path: Path) -> None:
    pq.write_table(pa.table({"word": pa.array(COLUMN).dictionary_encode()}), path, compression="zstd")
    assert TEXT.encode() not in path.read_bytes()


@pytest.mark.parametrize("write", [in_bytes, in_json, in_readable_json, in_a_column, in_a_dictionary])
def test_a_text_is_found_in_every_form(tmp_path: Path, write) -> None:  # type: ignore[no-untyped-def]
    holding, other = tmp_path / "sub" / "a.parquet", tmp_path / "b.parquet"
    holding.parent.mkdir()
    write(holding)
    pq.write_table(pa.table({"word": [OTHER]}), other)
    assert traces(files_in(tmp_path), [TEXT]) == [holding]
    assert traces(files_in(tmp_path), []) == []


def test_a_damaged_parquet_file_is_searched_as_bytes_and_a_link_is_not_followed(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.parquet"
    damaged.write_text(f"PAR1 {TEXT}")
    (tmp_path / "link").symlink_to(damaged)
    assert files_in(tmp_path) == [damaged]
    assert traces([damaged], [TEXT]) == [damaged]
