"""Reading a figure off a pipe table: the row by its name, the column by its year, one operation by the words."""

from __future__ import annotations

import pytest

from mage_es.engine.standins.reader.tables import calculate

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


SPLIT = """| segment | 2018 | 2017 |
| --- | --- | --- |
| industrial | 50 | 30 |
| residential | 150 | 90 |
| total sales | 200 | 120 |
| rent | none | 5 |"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what percent of total sales in 2018 were industrial?", "0.25"),
        ("what portion of the total is industrial in 2017?", "0.25"),
        ("what is the share of industrial?", "0.25"),
        ("what is the ratio of residential to industrial in 2017?", "0.33333"),
        ("what was the percent increase of total sales?", "0.66667"),
        ("what is the ratio of industrial in 2018 to 2017?", "1.66667"),
    ],
)
def test_a_part_of_a_whole_is_told_by_two_rows_of_a_column(question: str, answer: str) -> None:
    assert calculate(question, SPLIT) == answer


def test_a_part_without_a_second_row_is_told_by_one() -> None:
    assert calculate("what is the ratio of net sales 2017 to 2016?", TABLE) == "1.2"
    assert calculate("what portion of net sales is it?", TABLE) == "1.2"


def test_of_rows_that_fit_as_well_the_total_is_the_whole() -> None:
    table = "| part | 2018 |\n| --- | --- |\n| industrial | 50 |\n| other sales | 80 |\n| total sales | 200 |"
    assert calculate("what percent of sales is industrial?", table) == "0.25"
