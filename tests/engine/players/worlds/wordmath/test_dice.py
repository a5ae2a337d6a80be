"""Dice depend on their label only."""

import pytest

from mage_es.engine.players.worlds.wordmath.dice import Dice


def test_the_draws_of_a_label_are_pinned_for_ever() -> None:
    dice = Dice("wordmath/1/42/test/0")
    assert [dice.below(1000) for _ in range(6)] == [410, 291, 352, 875, 222, 15]


def test_draws_go_on_past_the_first_block_and_do_not_repeat() -> None:
    dice = Dice("long")
    drawn = [dice.below(1 << 32) for _ in range(200)]
    assert len(set(drawn)) == 200


def test_every_face_is_about_equally_likely() -> None:
    dice = Dice("fair")
    drawn = [dice.below(6) for _ in range(6000)]
    assert all(850 < drawn.count(face) < 1150 for face in range(6))


@pytest.mark.parametrize("chance", [0, 100])
def test_certain_chances_are_certain(chance: int) -> None:
    dice = Dice("chance")
    assert {dice.percent(chance) for _ in range(200)} == {chance == 100}


def test_shuffling_keeps_every_item_and_leaves_the_original_alone() -> None:
    items = list(range(30))
    shuffled = Dice("x").shuffled(items)
    assert sorted(shuffled) == items == list(range(30))
    assert shuffled != items
