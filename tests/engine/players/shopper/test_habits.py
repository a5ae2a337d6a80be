"""How the shopper learns to shop: from the advice that its prompt gives, and from nothing else."""

from __future__ import annotations

import pytest

from mage_es.engine.players.shopper.model import Habits, habits_of


@pytest.mark.parametrize(
    ("sections", "habits"),
    [
        ({}, Habits()),
        ({"": "Buy things."}, Habits()),
        (
            {"Principles": "- Click every option that the instruction names before you buy."},
            Habits(chooses_options=True),
        ),
        ({"Principles": "- Choose options.\n- Buy early."}, Habits()),
        ({"Skill": "Search with the words of the instruction, without the price."}, Habits(leaves_price=True)),
        ({"Strategy": "How: 1. Go back and open another product where one lacks it."}, Habits(looks_further=True)),
    ],
)
def test_habits_are_those_that_are_advised(sections: dict[str, str], habits: Habits) -> None:
    assert habits_of(sections) == habits
