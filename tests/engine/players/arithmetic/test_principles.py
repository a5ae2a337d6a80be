import pytest

from mage_es.engine.players.arithmetic.principles import Principle, parse_principle, print_principle

PRINCIPLE = Principle(cues=("rest", "each"), operations=("multiply", "subtract", "subtract"))


def test_a_principle_reads_as_english_and_is_read_back() -> None:
    text = print_principle(PRINCIPLE)
    assert text == 'When the question says "rest" and "each", multiply, then subtract, then subtract.'
    assert parse_principle(text) == PRINCIPLE


@pytest.mark.parametrize(
    "text", ["", "Always check your work.", 'When the question says "rest", think.', 'When the question says "rest".']
)
def test_other_sentences_are_no_principles_of_this_form(text: str) -> None:
    assert parse_principle(text) is None
