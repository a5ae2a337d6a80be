"""Options: lettered, numbered, quoted, or yes and no, and none where a passage only numbers things."""

from __future__ import annotations

import pytest

from mage_es.engine.players.reader.options import options_in


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
        ("Say \"This trajectory is\". Please answer 'Yes' or 'No'.", {"Yes": "Yes", "No": "No"}),
        ('Answer "This way is normal" or "This way is odd".', {"normal": "normal", "odd": "odd"}),
        ("They met. Are both of them singers?", {"yes": "yes", "no": "no"}),
        ("Is it Alma or Bert?", {}),
        ("Who wrote it?", {}),
    ],
)
def test_options_are_read_off_the_question(question: str, options: dict[str, str]) -> None:
    assert options_in(question) == options
