"""The notation of the tables."""

from __future__ import annotations

import pytest

from mage_es.engine.benchmarks.wordmath.form import Step, family, variant


def test_a_step_is_read_from_its_notation() -> None:
    found = variant("left = packed - 3: What is left", "half = left / 2: Half: of it", extra=range(2, 5))
    assert found.steps[0] == Step("left", "packed", "-", "3", "What is left")
    assert found.steps[1].says == "Half: of it"
    assert found.numbers == {"extra": range(2, 5)}


@pytest.mark.parametrize("text", ["left = packed - moved", "left: What is left", "a = b + c + d: Three at once"])
def test_a_malformed_step_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unpack"):
        variant(text)


def test_a_single_question_and_several_sentences_are_both_asks() -> None:
    found = family("f", ["One."], plain="How many?", more=["Two.", "How many?"])
    assert found.asks == {"plain": ("How many?",), "more": ("Two.", "How many?")}
    assert not found.held_out
