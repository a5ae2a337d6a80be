"""The notation of the tables."""

import pytest

from mage_es.engine.players.worlds.wordmath.parts import ProblemStep, family, variant


def test_a_step_is_read_from_its_notation() -> None:
    found = variant("left = packed - 3: What is left", "half = left / 2: Half: of it", extra="2 to 4")
    assert found.steps[0] == ProblemStep("left", "packed", "-", "3", "What is left")
    assert found.steps[1].says == "Half: of it"
    assert found.numbers == {"extra": range(2, 5)}


def test_a_number_is_drawn_from_a_range_or_a_list_or_fixed_or_derived() -> None:
    found = variant(price="20 to 40 by 10", note=[50, 100], unit=60, spare="(note - price) // 2")
    assert found.numbers["price"] == range(20, 41, 10)
    assert (found.numbers["note"], found.numbers["unit"]) == ([50, 100], 60)
    spare = found.numbers["spare"]
    assert callable(spare) and spare({"price": 20, "note": 50}) == 15


@pytest.mark.parametrize("text", ["left = packed - moved", "left: What is left", "a = b + c + d: Three at once"])
def test_a_malformed_step_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unpack"):
        variant(text)


def test_a_single_question_and_several_sentences_are_both_asks() -> None:
    found = family("f", ["One."], plain="How many?", more=["Two.", "How many?"])
    assert found.asks == {"plain": ("How many?",), "more": ("Two.", "How many?")}
    assert not found.held_out
