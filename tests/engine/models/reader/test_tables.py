"""Reading a figure off a pipe table: the row by its name, the column by its year, one operation by the words."""

from __future__ import annotations

import pytest

from mage_es.engine.models.reader.tables import calculate

TABLE = """Some text.

| in millions | 2017 | 2016 | 2015 |
| --- | --- | --- | --- |
| net sales | $ 1,200 | 1000 | 800 |
| rent paid | - | 40 | -20 ( 20 ) |
| note | none | none | none |"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what were net sales in 2016?", "1000"),
        ("what was the average of net sales in 2015 and 2017?", "1000"),
        ("what were total net sales in 2015?", "800"),
        ("what were total net sales of 2015 and 2016?", "1800"),
        ("what was the change in net sales?", "200"),
        ("what was the change in net sales from 2015 to 2017?", "400"),
        ("what was the percentage change in net sales from 2015 to 2016?", "0.25"),
        ("what is the ratio of net sales 2017 to 2016?", "1.2"),
        ("what rent was paid in 2015?", "-20"),
        ("what rent was paid in 2016?", "40"),
        ("what does the note say?", ""),
        ("who knows?", ""),
    ],
)
def test_a_figure_is_found_by_row_and_year_and_calculated_with(question: str, answer: str) -> None:
    assert calculate(question, TABLE) == answer


def test_without_a_table_there_is_no_figure() -> None:
    assert calculate("what were net sales?", "Net sales were 7.") == ""
    assert calculate("what were net sales?", "| net sales | 7 |\n| --- | --- |") == ""
