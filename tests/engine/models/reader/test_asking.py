"""What a question asks for: options and where they stand, yes or no, a point, a row of numbers, or a text."""

from __future__ import annotations

import pytest

from mage_es.engine.models.reader.asking import read_wanted


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("A man coughs.\n\nA. Asthma\nB. Emphysema", {"A": "Asthma", "B": "Emphysema"}),
        ("Where is B from A? (1) North, (2) East. Answer: Option (", {"1": "North", "2": "East"}),
        ("Region 1: [(1, 2)]\nRegion 2: [(3, 4)]\nThe point falls in Region ", {"1": "", "2": ""}),
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


def test_a_trajectory_goes_on_at_its_last_point_and_a_flow_with_its_last_number() -> None:
    way = "Here is [(108.1, 34.2, 7), (108.3, 34.25, 9)]. The next point is"
    assert read_wanted(way).guess == "(108.3, 34.25)"
    flow = "Inflows: [1, 2]. Outflows: [3, 4.5]. Then the predicted outflows are: ["
    assert read_wanted(flow).guess == "[4.5, 4.5, 4.5, 4.5, 4.5, 4.5]"
