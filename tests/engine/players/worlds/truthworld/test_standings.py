"""The rule decides bare standings and empty answers; everything else is left to a judge."""

from __future__ import annotations

import pytest

from mage_es.engine.players.worlds.truthworld.standings import HEDGE, SAYINGS, STANDINGS, score_standing


@pytest.mark.parametrize("reply", ["#### surplus", "57 + 3 = 60\n#### In surplus.", "Answer: SURPLUS"])
def test_the_bare_word_is_right(reply: str) -> None:
    verdict = score_standing("surplus", reply)
    assert (verdict.correct, verdict.undecided, verdict.by) == (True, False, "rule")


@pytest.mark.parametrize("reply", ["#### debt", "#### level", "####", ""])
def test_another_word_and_no_word_are_wrong_without_a_judge(reply: str) -> None:
    verdict = score_standing("surplus", reply)
    assert (verdict.correct, verdict.undecided) == (False, False)


@pytest.mark.parametrize("answer", [HEDGE, *(saying for word in STANDINGS for saying in SAYINGS[word]), "42"])
def test_other_words_are_undecided_and_count_as_wrong_until_somebody_decides(answer: str) -> None:
    verdict = score_standing("surplus", f"Some reasoning.\n#### {answer}")
    assert (verdict.correct, verdict.undecided) == (False, True)
    assert verdict.answer == answer.rstrip(".")
