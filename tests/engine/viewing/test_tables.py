"""The tables: intervals, what a chunk holds of them, and the page of documentation that names every column."""

import re

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.viewing import tables
from mage_es.engine.viewing.chunks import Viewed
from mage_es.engine.viewing.life import Life
from mage_es.engine.viewing.tables import Rows, packed
from tests.engine.viewing.conftest import opened, rows_of, valid_in


def documented() -> dict[str, set[str]]:
    """Return the words of each table's paragraph in the documentation."""
    paragraphs = re.split(r"\n(?=[a-z_]+(?: S)? +)", (tables.__doc__ or "").partition("Tables of one run below")[2])
    return {text.split()[0]: set(re.findall(r"\w+", text)) for text in paragraphs if text.strip()}


def test_every_column_of_every_table_is_documented() -> None:
    told = documented()
    for name, rows in Life().tables().items():
        assert set(rows.columns) <= told[name], name


def test_every_column_that_is_made_for_a_chunk_is_documented(examined: Run) -> None:
    viewed, told = Viewed(examined), documented()
    for name in ("answers", "events", "payloads", "texts", "verify"):
        _, data = opened(viewed.chunk(f"{examined.id}/{name}-0"))
        assert set(data["columns"]) <= told[name], name
    index = opened(viewed.chunk(f"{examined.id}/index"))[1]
    assert set(index) <= set(re.findall(r"\w+", tables.__doc__ or ""))


def test_an_interval_ends_where_the_next_one_of_its_key_begins() -> None:
    rows = Rows("from to name value")
    for seq, value in ((3, 1), (5, 1), (7, 2), (7, 3), (9, 4)):
        rows.put("a", seq, "a", value)
    assert [tuple(rows.at(row).values()) for row in range(len(rows))] == [
        (3, 7, "a", 1),
        (7, 9, "a", 3),
        (9, None, "a", 4),
    ]
    assert [row["value"] for row in valid_in(rows, 8)] == [3] and not valid_in(rows, 2)


@pytest.mark.parametrize("values", [["x", "y", "x", "x", "y"], ["a", "b", "c"], [1, None, 2], ["", "", None], []])
def test_what_is_packed_is_what_it_was(values: list[object]) -> None:
    columns = {"one": values}
    data = packed(columns, 0, len(values) - 1)
    assert rows_of(data) == [{"one": value} for value in values]
    assert rows_of(packed(columns, 1, len(values) - 1)) == [{"one": value} for value in values[1:]]
