"""Reading what a reply in prose answers."""

import pytest

from mage_es.engine.bench.stbench.answers import (
    anomaly_in,
    flow_in,
    listed_options,
    option_in,
    point_in,
    stub_of,
    vehicle_in,
    without_stub,
    yes_no_in,
)

DIRECTION = (
    "A has a longitude of 115.6 and a latitude of 33.2. Therefore, B is in the () from A. Please choose from the "
    "following options. (1) North, (2) Northeast, (3) East, (4) Southeast. Give me the number. Answer: Option ("
)
ROADS = (
    "There are 5 locations.\nRoad 0: (location 0, location 4)\nYou are at location 1, which road should you choose? "
    "Options: (1) road 4, (2) road 3, (3) road 2, (4) road 1.\nAnswer: The answer is ("
)
REGIONS = (
    "Region 1: [(104.2, 33.2)]\nNow there is a point with longitude 104.2 and latitude 33.2. Please answer the number "
    "of the region. Answer: The point falls in Region "
)
PASSED = (
    "in chronological order: (1) [3, 2, 1], (2) [3], (3) [3, 2]. Answer only one option with no other texts. "
    "Answer: Option "
)
TIMES = (
    "B: [(104.2, 33.2, 1693430409)]\nchoose your answer from following options: 1) 3 times, 2) 6 times, 3) 2 times. "
    "Note that they do. Answer: Option ("
)
POINTS = (
    "passes through one of the following points: (1) Point 1 (108.93, 34.28); (2) Point 2 (108.95, 34.286); Please "
    "answer which option. Answer: The trajectory passes through Point "
)
PLACES = '"options": "(0): Barto, PA (1): Bradford, PA (2): New Bradford, PA"\n}\nPlease answer.\nAnswer: Option ('


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (DIRECTION, {"1": "North", "2": "Northeast", "3": "East", "4": "Southeast"}),
        (ROADS, {"1": "road 4", "2": "road 3", "3": "road 2", "4": "road 1"}),
        (REGIONS, {}),
        (PASSED, {"1": "[3, 2, 1]", "2": "[3]", "3": "[3, 2]"}),
        (TIMES, {"1": "3 times", "2": "6 times", "3": "2 times"}),
        (POINTS, {"1": "Point 1 (108.93, 34.28)", "2": "Point 2 (108.95, 34.286)"}),
        (PLACES, {"0": "Barto, PA", "1": "Bradford, PA", "2": "New Bradford, PA"}),
    ],
)
def test_the_options_that_a_question_lists_are_known(question: str, options: dict[str, str]) -> None:
    assert listed_options(question) == options


def test_the_stub_is_what_the_question_breaks_off_with() -> None:
    assert stub_of(ROADS) == "Answer: The answer is ("
    assert without_stub(ROADS).endswith("(4) road 1.")
    assert (stub_of("What?"), without_stub("What?")) == ("", "What?")


@pytest.mark.parametrize(
    ("question", "reply", "option"),
    [
        (DIRECTION, "2", "2"),
        (DIRECTION, "10", "10"),
        (DIRECTION, "02", "2"),
        (DIRECTION, "2) Northeast.", "2"),
        (DIRECTION, "B is 3 degrees east.\nAnswer: Option (4)", "4"),
        (DIRECTION, "The difference is (1), so option 4 it is", "4"),
        (DIRECTION, "There are 5 options; answer: 2", "2"),
        (DIRECTION, "Answer: **Northeast**", "2"),
        (DIRECTION, "It must be Southeast of A", "4"),
        (DIRECTION, "North or East", None),
        (DIRECTION, "It is 115.6 to 33.2", None),
        (DIRECTION, "2) Northeast.\nB lies to the upper right.", "2"),
        (DIRECTION, "<think>option 3", None),
        (DIRECTION, "", None),
        (ROADS, "From location 1 road 4 leads to location 2.\nAnswer: (3)", "3"),
        (ROADS, "I would take road 4", "1"),
        (ROADS, "Answer: road 1", "4"),
        (ROADS, "Answer: 1", "1"),
        (ROADS, "road 9", None),
        (REGIONS, "Region 2", "2"),
        (REGIONS, "The edges are [1, 2].\nAnswer: region 2.", "2"),
        (REGIONS, "[2]", "2"),
        (PASSED, "[3, 2]", "3"),
        (PASSED, "3) [3, 2]", "3"),
        (PASSED, "(2)", "2"),
        (PASSED, "It passes through [3, 2, 1]", "1"),
        (PASSED, "It passes through region 3", None),
        (PASSED, "[3, 1, 2]", None),
        (TIMES, "They intersect 2 times", "3"),
        (TIMES, "2) 6 times", "2"),
        (TIMES, "Answer: 2", "2"),
        (TIMES, "They intersect 7 times", None),
        (POINTS, "2", "2"),
        (POINTS, "Point 2 (108.95, 34.286)", "2"),
        (PLACES, "0", "0"),
        (PLACES, "New Bradford, PA", "2"),
        (PLACES, "It lies in New Bradford, PA", "2"),
        (PLACES, "Answer: Bradford", None),
    ],
)
def test_an_option_is_read_by_its_number_then_by_its_text(question: str, reply: str, option: str | None) -> None:
    assert option_in(reply, question) == option


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("Yes", "Yes"),
        ("no'.", "No"),
        ("There is no doubt: yes", "Yes"),
        ("I know they are not", None),
        ("They differ, no?\nAnswer: YES", "Yes"),
        ("Yes.\nThey have the same points.", "Yes"),
        ("yesterday", None),
        ("", None),
    ],
)
def test_the_last_yes_or_no_of_the_answer_counts_as_a_word(reply: str, found: str | None) -> None:
    assert yes_no_in(reply) == found


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("normal", "normal"),
        ("Anomalous.", "anomalous"),
        ("abnormal", "anomalous"),
        ("This is an anomaly", "anomalous"),
        ("It looks normal at first, but is anomalous", "anomalous"),
        ("not normal", "anomalous"),
        ("There is no anomaly", "normal"),
        ("normally", None),
    ],
)
def test_the_last_finding_of_the_answer_counts_as_a_word(reply: str, found: str | None) -> None:
    assert anomaly_in(reply) == found


@pytest.mark.parametrize(
    ("reply", "found"),
    [("Car", "1"), ("(2) bike", "2"), ("a bicycle", "2"), ("Answer: 3", "3"), ("not a car but a pedestrian", "3"),
     ("scar", None)],
)  # fmt: skip
def test_a_vehicle_is_read_in_any_case_or_by_its_option(reply: str, found: str | None) -> None:
    assert vehicle_in(reply) == found


@pytest.mark.parametrize(
    ("reply", "point"),
    [
        ("[108.92, 34.25]", (108.92, 34.25)),
        ("(34.25, 108.92)", (108.92, 34.25)),
        ("108.92, 34.25", (108.92, 34.25)),
        ("longitude 108.92 and latitude 34.25.", (108.92, 34.25)),
        ("After (108.1, 34.1) comes\nAnswer: (108.92, 34.25, 1477966999)", (108.92, 34.25)),
        ("The next point is (108.92, 34.25).\nI hope that this helps.", (108.92, 34.25)),
        ("(10.5, 34.25)", None),
        ("108, 34", None),
        ("", None),
    ],
)
def test_a_point_is_read_with_or_without_brackets_in_either_order(
    reply: str, point: tuple[float, float] | None
) -> None:
    assert point_in(reply) == point


@pytest.mark.parametrize(
    ("reply", "flow"),
    [
        ("[1, 2, 3, 4, 5, 6]", [1, 2, 3, 4, 5, 6]),
        ("1e1, 2.5, .5, -4, 5, 6].", [10, 2.5, 0.5, -4, 5, 6]),
        ("Inflows were 9, 9, 9, 9, 9, 9.\nAnswer: [1, 2, 3, 4, 5, 6]", [1, 2, 3, 4, 5, 6]),
        ("1, 2, 3, 4, 5, 6]\nas before", [1, 2, 3, 4, 5, 6]),
        ("1, 2, 3", None),
    ],
)
def test_a_flow_is_six_numbers_of_the_final_answer(reply: str, flow: list[float] | None) -> None:
    assert flow_in(reply) == flow


@pytest.mark.parametrize(
    "piece", ["9", "option ", "option" + " " * 20, "(1,", "[1, ", "1, ", "no ", "road ", " ", "108.9"]
)
def test_a_very_long_reply_takes_no_time(piece: str) -> None:
    reply = piece * (30_000 // len(piece))
    option_in(reply, ROADS), yes_no_in(reply), anomaly_in(reply), vehicle_in(reply), point_in(reply), flow_in(reply)
