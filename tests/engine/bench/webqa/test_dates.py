"""What is a date, and when two are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.bench.webqa.dates import read_date


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("1836", (1836, 0, 0)),
        ("3/4/1841", (1841, 3, 4)),
        ("03/04/1841", (1841, 3, 4)),
        ("1841-03-04", (1841, 3, 4)),
        ("March 4, 1841", (1841, 3, 4)),
        ("Mar 4 1841", (1841, 3, 4)),
        ("4th March 1841.", (1841, 3, 4)),
        ("march 1841", (1841, 3, 0)),
        ("1841-03", (1841, 3, 0)),
    ],
)
def test_years_months_and_days_are_read_in_the_listed_forms(text: str, date: tuple[int, int, int]) -> None:
    assert read_date(text) == date


@pytest.mark.paper("section 4, WebQuestions, the metric")
@pytest.mark.parametrize(
    "text",
    ["", "may", "10", "98109", "13/13/2013", "2/30/2003", "1836 or so", "2006 NFL season", "1/2", "in 1836", "12:30",
     "0000", "١٨٣٦", "1836.5", "1836" + " " * 100 + "x", "5 6 7", "W1F 0HS"],
)  # fmt: skip
def test_what_is_no_date_is_not_read_as_one(text: str) -> None:
    assert read_date(text) is None


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("March 4, 1841", "3/4/1841", True),
        ("1841-03-04", "3/4/1841", True),
        ("March 4, 1841", "1841", True),
        ("1841", "3/4/1841", False),
        ("4/3/1841", "3/4/1841", False),
        ("Paris", "Paris", False),
    ],
)
def test_an_answer_is_the_gold_date_if_it_says_at_least_as_much(answer: str, gold: str, same: bool) -> None:
    given, wanted = read_date(answer), read_date(gold)
    assert (given is not None and wanted is not None and given.meets(wanted)) is same


@given(st.text(alphabet="0123456789/-., MarchJuneth") | st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    found = read_date(text)
    assert found is None or found.year > 0
