"""What a question asks for: options and where they stand, yes or no, a point, a row of numbers, or a text."""

from __future__ import annotations

import pytest

from mage_es.engine.standins.reader.asking import read_wanted


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("A man coughs.\n\nA. Asthma\nB. Emphysema", {"A": "Asthma", "B": "Emphysema"}),
        ("Where is B from A? (1) North, (2) East. Answer: Option (", {"1": "North", "2": "East"}),
        ("Where is B? (1) North, (2) East. Please give the number of your option.", {"1": "North", "2": "East"}),
        ("You are at location 1. Options: (1) road 4, (2) road 3.", {"1": "road 4", "2": "road 3"}),
        ("How often? Of following options: 1) 6 times, 2) 0 times. Your option?", {"1": "6 times", "2": "0 times"}),
        ('{"options": "(0): Eaton, TN (1): Adams, TN"}\nWhat is your option?', {"0": "Eaton, TN", "1": "Adams, TN"}),
        ("In which order: (1) [3, 1], (2) [3]. Answer one option.", {"1": "[3, 1]", "2": "[3]"}),
        ("Costs of (1) rent and (2) fuel rose.\nWhat is your option? (1) a, (2) b.", {"1": "a", "2": "b"}),
        ("Costs of (1) rent and (2) fuel rose.\nHow many stock options are there?", {}),
        ("Which of your options is (3) alone?", {}),
        ("Region 1: [(1, 2)]\nRegion 2: [(3, 4)]\nWhere is it? Answer: The point falls in Region ", {"1": "", "2": ""}),
        ("Region 1: [(1, 2)]\nRegion 2: [(3, 4)]\nTell the number of the region.", {"1": "", "2": ""}),
        ("Say \"This trajectory is\". Please answer 'Yes' or 'No'.", {"Yes": "Yes", "No": "No"}),
        ('Answer "This way is normal" or "This way is odd".', {"normal": "normal", "odd": "odd"}),
        ("They met. Are both of them singers?", {"yes": "yes", "no": "no"}),
        ("Is it Alma or Bert?", {}),
        ("Who wrote it?", {}),
    ],
)
def test_options_are_read_off_the_question(question: str, options: dict[str, str]) -> None:
    assert read_wanted(question).options == options


def test_what_is_asked_is_the_last_line_and_the_passage_stands_before_it() -> None:
    wanted = read_wanted("A passage.\nIts end.\nWho was it?")
    assert (wanted.passage, wanted.sentence) == ("A passage.\nIts end.", "Who was it?")


@pytest.mark.parametrize("stub", ["", " Answer: The next point is", "\nAnswer: The next point is"])
def test_a_trajectory_goes_on_at_its_last_point(stub: str) -> None:
    way = "Here is [(108.1, 34.2, 7), (108.3, 34.25, 9)]. Please predict the next point."
    assert read_wanted(way + stub).guess == "(108.3, 34.25)"


@pytest.mark.parametrize("stub", ["", "\nAnswer: The predicted outflows are: ["])
def test_a_flow_goes_on_with_its_last_number_as_often_as_is_asked(stub: str) -> None:
    flow = "Taxi inflows: [1, 2]. Taxi outflows: [3, 4.5].\nPlease forecast the taxi outflow for the next 3 time steps."
    assert read_wanted(flow + stub).guess == "[4.5, 4.5, 4.5]"


def test_an_end_that_breaks_off_is_no_part_of_what_is_asked() -> None:
    wanted = read_wanted("There are roads.\nWhich one? Options: (1) a, (2) b.\nAnswer: The answer is (")
    assert (wanted.passage, wanted.sentence) == ("There are roads.", "Which one? Options: (1) a, (2) b.")
