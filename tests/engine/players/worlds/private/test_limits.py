"""Parcels by weight: each team takes what is between two limits, and nothing but the weight says which."""

import re

import pytest

from mage_es.engine.players.worlds.private.benchmark import PrivateSet
from mage_es.engine.players.worlds.private.limits import LimitRule, kilograms
from mage_es.engine.seams.benchmark import SPLITS
from tests.engine.players.worlds.private.rules import rule


@pytest.mark.parametrize("level", [1, 2, 3])
def test_who_knows_the_limits_is_always_right_by_the_weight(level: int) -> None:
    name = f"private-limits?difficulty={level}"
    for seed in (1, 2):
        known = rule(LimitRule, name, seed)
        for split in SPLITS:
            for question in PrivateSet(name, seed).questions(split):
                (weight,) = re.findall(r"([\d.]+) kg", question.question)
                above = [limit for limit in known.bounds[1:-1] if float(weight) > kilograms(limit)]
                assert question.gold == known.teams[len(above)]


def test_limits_and_teams_are_of_the_seed() -> None:
    rules = [rule(LimitRule, "private-limits?labels=6", seed) for seed in range(12)]
    assert len({known.bounds for known in rules}) == len({known.teams for known in rules}) == len(rules)


def test_few_weights_occur_twice() -> None:
    asked = [re.findall(r"([\d.]+) kg", each.question)[0] for each in PrivateSet("private-limits", 1).questions("test")]
    assert len(set(asked)) > len(asked) * 3 / 4
