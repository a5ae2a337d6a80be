"""The law, term by term."""

import pytest

from tests.kit.truthworld.claims import Claim
from tests.kit.truthworld.law import LAW, Informed, draw, probability, route_effect
from tests.kit.truthworld.puzzles import Puzzle
from tests.kit.truthworld.world import HiddenWorld

WORLD = HiddenWorld(42)
LAND = next(found for found in WORLD.task_types.values() if found.favoured == "chain")
PUZZLE = Puzzle(LAND, 57, LAND.marks[:3])
RIGHT = [Claim(mark, WORLD.marks[mark].rule) for mark in LAND.marks]
WRONG = [Claim(mark, WORLD.marks[mark].decoy) for mark in LAND.marks]


def chance(*shown: Claim, told: tuple[Claim, ...] = (), route: str = "cot") -> float:
    return probability(WORLD, PUZZLE, Informed(frozenset(shown), frozenset(told)), route=route)


def test_without_any_claim_the_baseline_is_left() -> None:
    assert chance() == LAND.baseline


def test_a_right_claim_helps_a_wrong_one_harms_and_both_count_once() -> None:
    assert chance(RIGHT[0]) == pytest.approx(LAND.baseline + LAW.worth / 3)
    assert chance(*RIGHT[:3]) == pytest.approx(LAND.baseline + LAW.worth)
    assert chance(RIGHT[0], RIGHT[1], WRONG[0]) == pytest.approx(LAND.baseline + (2 * LAW.worth - LAW.harm) / 3)


def test_a_claim_about_a_mark_that_is_not_asked_about_does_nothing() -> None:
    assert chance(RIGHT[4], WRONG[5]) == LAND.baseline


def test_what_is_only_told_counts_half_and_what_is_shown_too_counts_whole() -> None:
    assert chance(told=(RIGHT[0],)) == pytest.approx(LAND.baseline + LAW.told * LAW.worth / 3)
    assert chance(RIGHT[0], told=(RIGHT[0],)) == chance(RIGHT[0])


def test_the_probability_stays_within_its_bounds() -> None:
    assert chance(*WRONG[:3]) == LAW.least
    assert chance(*RIGHT[:3], route="chain") == min(LAW.most, LAND.baseline + LAW.worth + LAW.favour)


def test_the_favoured_route_helps_haste_harms_and_the_others_do_nothing() -> None:
    effects = {route: route_effect(LAND, route) for route in ("direct", "cot", "chain", "cot_principles", "tool")}
    assert effects == {"direct": -LAW.haste, "cot": 0, "chain": LAW.favour, "cot_principles": 0, "tool": 0}


def test_draws_are_spread_evenly_and_belong_to_the_question() -> None:
    draws = [draw(WORLD, PUZZLE._replace(start=start)) for start in range(1, 2001)]
    assert sum(draws) / len(draws) == pytest.approx(0.5, abs=0.03)
    assert draw(WORLD, PUZZLE) == draw(HiddenWorld(42), PUZZLE)
