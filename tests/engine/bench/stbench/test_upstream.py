"""Upstream's parsers of STBench to the letter, with every defect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.bench.stbench import upstream

GOLD = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]


@pytest.mark.parametrize(
    ("reply", "label", "right"),
    [
        ("3", 3, True),
        ("3", "3", True),
        ("10", 1, True),
        ("There are 5 options; answer: 2", 2, False),
        ("4) [3, 1]", "4): [3, 1]", True),
        ("²", 2, False),
        ("② or 2", 2, False),
        ("٣", 3, False),
        ("North", 1, None),
        ("", 1, None),
    ],
)
def test_the_option_is_the_first_digit_of_the_whole_reply(reply: str, label: object, right: bool | None) -> None:
    assert upstream.option(reply, label) is right


@pytest.mark.parametrize(
    ("reply", "right"), [("so (2)", True), ("(12)", False), ("2)", None), ("(1) no, (2)", False), ("(²)", None)]
)
def test_the_option_after_reasoning_is_the_first_number_in_parentheses(reply: str, right: bool | None) -> None:
    assert upstream.option_cot(reply, "2): North") is right


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("Yes", "Yes"),
        ("I know it is yes", "No"),
        ("not sure", "No"),
        ("nonetheless yes", "No"),
        ("yesterday", "Yes"),
        ("YES'.", "Yes"),
        ("perhaps", None),
    ],
)
def test_yes_and_no_are_found_inside_words(reply: str, found: str | None) -> None:
    assert upstream.yes_no(reply, "Yes") is (None if found is None else found == "Yes")
    assert upstream.yes_no(reply, "No") is (None if found is None else found == "No")


@pytest.mark.parametrize("reply", ["normal", "This trajectory is anomalous", "Normal", "abnormal", "Anomaly"])
@pytest.mark.parametrize("label", ["normal", "anomalous"])
def test_a_finding_never_equals_a_published_label(reply: str, label: str) -> None:
    assert upstream.anomaly(reply, label) is False


def test_a_finding_equals_a_label_with_a_capital_and_nothing_else_is_one() -> None:
    assert upstream.anomaly("it is normal", "Normal") is True
    assert upstream.anomaly("abnormal", "Abnormal") is True
    assert upstream.anomaly("abnormal", "Anomalous") is False
    assert upstream.anomaly("odd", "normal") is None


@pytest.mark.parametrize(
    ("reply", "label", "right"),
    [
        ("a bicycle", 2, True),
        ("bike", "2", True),
        ("pedestrian, not car", 3, True),
        ("scar", 1, True),
        ("Car", 1, None),
        ("tram", 1, None),
    ],
)
def test_a_vehicle_counts_in_lower_case_only(reply: str, label: object, right: bool | None) -> None:
    assert upstream.vehicle(reply, label) is right


@pytest.mark.parametrize(
    ("reply", "metres"),
    [
        ("(108.92024, 34.25927)", 0.0),
        ("(108.92024, 34.25927, 1477966999)", 0.0),
        ("(108.92024,34.26927) then", 1109.3),
        ("(109.0, 35.0) or (108.92024, 34.25927) or (10.0, 34.0)", 0.0),
        ("[108.92024, 34.25927]", None),
        ("108.92024, 34.25927", None),
        ("(108, 34)", None),
        ("(34.25927, 108.92024)", None),
        ("(109.99999, 34.25927)", 99438.0),
        ("(105.0, 30.0)", None),
    ],
)
def test_a_point_is_the_last_pair_in_parentheses_in_the_region_less_than_100_km_away(
    reply: str, metres: float | None
) -> None:
    found = upstream.point_error(reply, 108.92024, 34.25927)
    assert found == (None if metres is None else pytest.approx(metres, rel=1e-3))


def test_distances_are_geodesics_on_wgs_84() -> None:
    assert upstream.point_error("(108.0, 34.0)", 108.0, 34.5) == pytest.approx(55_462.7, abs=1)
    assert upstream.point_error("(108.5, 34.0)", 108.0, 34.0) == pytest.approx(46_196.5, abs=30)


@pytest.mark.parametrize(
    ("reply", "mae", "rmse"),
    [
        ("[10, 20, 30, 40, 50, 60]", 0, 0),
        ("10.0,20.0 , 30,40,50,66].", 1, 6**0.5),
        ("1 2: 11, 21, 31, 41, 51, 61", 1, 1),
        ("1e1, 20, 30, 40, 50, 60", 9 / 6, (81 / 6) ** 0.5),
        ("10, 20, 30, 40, 50, 60, 70", 0, 0),
        ("0 -10, 20, 30, 40, 50, 60", 20 / 6, (400 / 6) ** 0.5),
    ],
)
def test_a_flow_is_the_first_six_numbers_with_commas_between(reply: str, mae: float, rmse: float) -> None:
    assert upstream.flow_error(reply, GOLD) == pytest.approx((mae, rmse))


@pytest.mark.parametrize("reply", ["", "10, 20, 30", "10 20 30 40 50 60", "9" * 400 + ".0, 2, 3, 4, 5, 6"])
def test_fewer_numbers_are_an_exception(reply: str) -> None:
    assert upstream.flow_error(reply, GOLD) is None


def test_a_reply_of_thousands_of_digits_takes_no_time() -> None:
    for reply in ("9" * 100_000, "1," * 50_000, " " * 100_000, "(" * 50_000):
        upstream.flow_error(reply, GOLD), upstream.point_error(reply, 108.0, 34.0)


@given(st.text())
def test_no_reply_makes_a_parser_fail(reply: str) -> None:
    for parser in (upstream.option, upstream.option_cot, upstream.yes_no, upstream.anomaly, upstream.vehicle):
        assert parser(reply, "1") in (True, False, None)
