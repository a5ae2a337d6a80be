"""The numeric match: what is a number, what is near, and what a percentage may stand for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.bench.finqa.matching import answer_in, is_match, read_amount


@pytest.mark.parametrize(
    ("text", "number", "is_percentage"),
    [
        ("94", "94", False),
        ("94.", "94", False),
        (".5", "0.5", False),
        ("+7", "7", False),
        ("-5", "-5", False),
        ("- 5", "-5", False),
        ("−5", "-5", False),
        ("–5", "-5", False),
        ("(120)", "-120", False),
        ("( 120 )", "-120", False),
        ("(-120)", "-120", False),
        ("(5%)", "-5", True),
        ("$ 1,234.5", "1234.5", False),
        ("€3", "3", False),
        ("£3", "3", False),
        ("¥3", "3", False),
        ("-$3", "-3", False),
        ("12,34,5", "12345", False),
        ("34.7%", "34.7", True),
        ("34.7 %", "34.7", True),
        ("34.7 percent", "34.7", True),
        ("$ 3.2 million", "3.2", False),
        ("3 billions", "3", False),
        ("7 Thousand", "7", False),
        ("5 usd", "5", False),
        ("4 shares", "4", False),
        ("3 times", "3", False),
        ("12 points", "12", False),
        ("2 years", "2", False),
        ("1e3", "1E+3", False),
        ("1.5e-2", "0.015", False),
        ("٣", "3", False),
        ("5\u00a0%", "5", True),
    ],
)
def test_a_number_is_read_as(text: str, number: str, is_percentage: bool) -> None:
    from decimal import Decimal

    assert read_amount(text) == (Decimal(number), is_percentage)


@pytest.mark.paper("section 4, FinQA, the metric")
@pytest.mark.parametrize(
    "text",
    ["", " ", "%", "about 94", "3.5x", "1/2", "5-7", "5 to 7", "inf", "nan", "1.2.3", "--5", "3 million dollars", "½",
     "9" * 65, "1e9999", "()", "yes", "5 apples", "ten", "1 000"],
)  # fmt: skip
def test_anything_but_one_plain_number_is_none(text: str) -> None:
    assert read_amount(text) is None


@pytest.mark.paper("section 4, FinQA, the metric")
@pytest.mark.parametrize(
    ("prediction", "gold", "default", "strict"),
    [
        ("94", "94.0", True, True),
        ("94.9", "94.0", False, True),
        ("94.4", "94.0", True, True),
        ("53.57%", "0.53571", True, True),
        ("53.6%", "0.53571", True, True),
        ("54%", "0.53571", True, True),
        ("53.08%", "0.5357", False, True),
        ("81.63%", "82.05", False, True),
        ("3.52", "3.5", True, True),
        ("94.95", "94.0", False, False),
        ("101", "100.0", False, True),
        ("99", "100.0", False, True),
        ("98.9", "100.0", False, False),
        ("34.7%", "0.34719", True, True),
        ("34.7", "0.34719", True, False),
        ("0.347", "0.34719", True, True),
        ("0.347%", "0.34719", True, True),
        ("0.347", "34.719", True, False),
        ("34.7%", "34.719", True, True),
        ("3471.9", "0.34719", False, False),
        ("-5", "5.0", False, False),
        ("(5)", "-5.0", True, True),
        ("0", "0.0", True, True),
        ("0.0000005", "0.0", True, True),
        ("0.001", "0.0", False, False),
        ("0.00005%", "0.0", True, True),
        ("yes", "yes", True, True),
        (" Yes. ", "yes", True, True),
        ("NO!", "no", True, True),
        ("yes", "no", False, False),
        ("1", "yes", False, False),
        ("yes", "1.0", False, False),
        ("yes it is", "yes", False, False),
        ("", "94.0", False, False),
    ],
)
def test_a_prediction_matches_within_one_per_cent_and_but_for_strictly_to_the_digits_that_both_have(
    prediction: str, gold: str, default: bool, strict: bool
) -> None:
    assert is_match(prediction, gold) == default
    assert is_match(prediction, gold, percent_strict=True, within_percent=True) == strict


@pytest.mark.paper("section 4, FinQA, the metric")
@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Some reasoning with 7.\nAnswer: 94", "94"),
        ("Answer: 1\nFinal answer: 34.7%.", "34.7%"),
        ("Answer: it grew by 34.7 percent", "34.7 percent"),
        ("Answer: from 5829 to 5735, so $ 94", "$ 94"),
        ("Answer: a loss of (120) in all", "(120)"),
        ("Answer: about -3.5% overall", "-3.5%"),
        ("Answer: 2010-2015", "2015"),
        ("Answer: **yes**", "yes"),
        ("Answer: no increase", "no increase"),
        ("so \\boxed{12}", "12"),
        ("first\nlast 8 million", "8"),
        ("<think>9</think> 4", "4"),
        ("<think>9", ""),
        ("", ""),
        ("Answer: fy2013", "fy2013"),
    ],
)
def test_the_answer_is_the_final_span_or_its_last_number(reply: str, answer: str) -> None:
    assert answer_in(reply) == answer


@given(st.text(), st.sampled_from(["94.0", "0.0", "yes", "-1e+16"]))
@settings(max_examples=200, deadline=None)
def test_no_text_makes_the_match_raise(text: str, gold: str) -> None:
    is_match(answer_in(text), gold)
    is_match(answer_in(f"Answer: {text}"), gold, percent_strict=True)
