from fractions import Fraction

import pytest

from mage_es.engine.players.analogist.heuristics import guess
from mage_es.engine.players.arithmetic.problems import read_problem


def guessed(text: str) -> Fraction | None:
    equations = guess(read_problem(text))
    return equations[-1].value if equations else None


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("A box holds 6 jars. How many jars do 4 boxes hold?", 24),
        ("Lea had 20 cards and lost 8 cards. How many cards are left?", 12),
        ("Lea has 20 cards and gets 8 cards more. How many cards does she have altogether?", 28),
        ("Ben earns 30 dollars each week. How many weeks does he need for 120 dollars?", 4),
        ("A coat costs $80 and is sold at 25% off. What does the coat cost now?", 60),
    ],
)
def test_single_words_hint_at_operations(question: str, answer: int) -> None:
    assert guessed(question) == answer


def test_a_question_without_numbers_gives_nothing() -> None:
    assert guessed("What is the name of the town?") is None


def test_a_single_number_is_returned_as_it_is() -> None:
    assert guessed("She has 7 cats. How many cats does she have?") == 7


def test_the_guess_is_shallow_and_misses_what_needs_understanding() -> None:
    assert guessed("The ratio of red to blue beads is 2 to 3. There are 40 beads. How many are blue?") != 24
