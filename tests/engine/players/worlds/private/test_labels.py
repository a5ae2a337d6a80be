"""Tickets by one attribute, and by two."""

import re

import pytest

from mage_es.engine.players.worlds.private.benchmark import PrivateSet
from mage_es.engine.players.worlds.private.tickets import LabelRule, PairRule
from mage_es.engine.players.worlds.private.wording import TROUBLES
from mage_es.engine.seams.benchmark import SPLITS
from tests.engine.players.worlds.private.rules import rule

OTHERS = re.compile(r"(?:have a|was a|asked for a) \w+ \w+ (?:and are content|in the house|as a present)")
"""What is said of a product in a sentence of no matter."""


@pytest.mark.parametrize("level", [1, 2, 3])
def test_who_knows_the_rule_is_always_right_by_the_product_that_has_the_trouble(level: int) -> None:
    for seed in (1, 2):
        name = f"private-labels?difficulty={level}"
        known = rule(LabelRule, name, seed)
        for split in SPLITS:
            for question in PrivateSet(name, seed).questions(split):
                (product,) = (each for each in known.products if each in OTHERS.sub("", question.question))
                assert known.team[product] == question.gold


@pytest.mark.parametrize("level", [1, 2, 3])
def test_who_knows_the_rule_is_always_right_by_product_and_trouble(level: int) -> None:
    for seed in (1, 2):
        name = f"private-pairs?difficulty={level}"
        known = rule(PairRule, name, seed)
        for split in SPLITS:
            for question in PrivateSet(name, seed).questions(split):
                text = OTHERS.sub("", question.question)
                (product,) = (each for each in known.products if each in text)
                (trouble,) = (each for each in known.troubles if any(said in text for said in TROUBLES[each]))
                assert known.team[product, trouble] == question.gold


def test_neither_attribute_of_a_pair_says_anything_by_itself() -> None:
    known = rule(PairRule, "private-pairs?labels=4", 1)
    for product in known.products:
        assert {known.team[product, trouble] for trouble in known.troubles} == {*known.labels}
    for trouble in known.troubles:
        assert {known.team[product, trouble] for product in known.products} == {*known.labels}


def test_each_team_has_as_many_products_as_any_other() -> None:
    known = rule(LabelRule, "private-labels?labels=5&products=3", 1)
    teams = list(known.team.values())
    assert {teams.count(team) for team in known.labels} == {3}
