"""How the shopper learns to shop, from what its prompt tells and from nothing else."""

from __future__ import annotations

import pytest

from mage_es.engine.standins.shopper.habits import Habits, habits_of

WANTED = "Find me shirts with color: red, and price lower than 40.00 dollars"
CAREFUL = f"""\
Question: {WANTED}
Reply: search[shirts with color: red]: Page 1 (Total results: 3)
click[b000000001]: Shirt, $5
click[red]: You have clicked red.
click[buy now]: Your score: 1
Answer: B000000001 with color: red"""
CARELESS = f"""\
Question: {WANTED}
Reply: search[{WANTED.lower()}]: Page 1 (Total results: 3)
click[b000000001]: Shirt, $5
click[buy now]: Your score: 0.5
Answer: B000000001"""
CHANGED_MIND = CAREFUL.replace("click[red]", "click[< prev]: Page 1\nclick[b000000002]: Shirt, $6\nclick[red]")
RECIPE = "Achieved: bought\nAction: click[b000000001]\nAction: click[red]\nAction: click[buy now]"
PLAIN = CARELESS.replace(" with color: red, and price lower than 40.00 dollars", "")


@pytest.mark.parametrize(
    ("sections", "habits"),
    [
        ({}, Habits()),
        ({"": "Buy things."}, Habits()),
        ({"Solved earlier": CAREFUL}, Habits(chooses_options=True, leaves_price=True)),
        ({"Solved earlier": CARELESS}, Habits()),
        ({"Solved earlier": f"{CAREFUL}\n\n{CARELESS}"}, Habits()),
        ({"Solved earlier": f"{CAREFUL}\n\n{CAREFUL}\n\n{CARELESS}"}, Habits(chooses_options=True, leaves_price=True)),
        ({"Solved earlier": PLAIN}, Habits()),
        ({"Corrected earlier": CHANGED_MIND}, Habits(chooses_options=True, leaves_price=True, looks_further=True)),
        ({"Actions that worked": RECIPE}, Habits(chooses_options=True)),
        ({"Actions that worked": RECIPE.replace("click[red]", "click[features]")}, Habits()),
        (
            {"Principles": "- Click every option that the instruction names before you buy."},
            Habits(chooses_options=True),
        ),
        ({"Principles": "- Choose options.\n- Buy early."}, Habits()),
        ({"Skill": "Search with the words of the instruction, without the price."}, Habits(leaves_price=True)),
        ({"Strategy": "How: 1. Go back and open another product where one lacks it."}, Habits(looks_further=True)),
    ],
)
def test_habits_follow_the_majority_of_episodes_and_advice(sections: dict[str, str], habits: Habits) -> None:
    assert habits_of(sections) == habits
