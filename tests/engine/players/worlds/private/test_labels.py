"""Tickets by one attribute, and by two."""

import re

import pytest

from mage_es.engine.players.worlds.private.benchmark import PrivateSet, SeededName, recorded, rule_of
from mage_es.engine.players.worlds.private.tickets import LabelRule, PairRule
from mage_es.engine.players.worlds.private.wording import TROUBLES
from mage_es.engine.seams.benchmark import SPLITS

OTHERS = re.compile(r"(?:have a|was a|asked for a) \w+ \w+ (?:and are content|in the house|as a present)")
"""What is said of a product in a sentence of no matter."""


@pytest.mark.parametrize("level", [1, 2, 3])
def test_who_knows_the_rule_is_always_right_by_the_product_that_has_the_trouble(level: int) -> None:
    for seed in (1, 2):
        name = f"private-labels?difficulty={level}"
        rule = rule_of(SeededName(recorded(name), seed))
        assert isinstance(rule, LabelRule)
        for split in SPLITS:
            for question in PrivateSet(name, seed).questions(split):
                (product,) = (each for each in rule.products if each in OTHERS.sub("", question.question))
                assert rule.team[product] == question.gold


@pytest.mark.parametrize("level", [1, 2, 3])
def test_who_knows_the_rule_is_always_right_by_product_and_trouble(level: int) -> None:
    for seed in (1, 2):
        name = f"private-pairs?difficulty={level}"
        rule = rule_of(SeededName(recorded(name), seed))
        assert isinstance(rule, PairRule)
        for split in SPLITS:
            for question in PrivateSet(name, seed).questions(split):
                text = OTHERS.sub("", question.question)
                (product,) = (each for each in rule.products if each in text)
                (trouble,) = (each for each in rule.troubles if any(said in text for said in TROUBLES[each]))
                assert rule.team[product, trouble] == question.gold


def test_neither_attribute_of_a_pair_says_anything_by_itself() -> None:
    rule = rule_of(SeededName(recorded("private-pairs?labels=4"), 1))
    assert isinstance(rule, PairRule)
    for product in rule.products:
        assert {rule.team[product, trouble] for trouble in rule.troubles} == {*rule.labels}
    for trouble in rule.troubles:
        assert {rule.team[product, trouble] for product in rule.products} == {*rule.labels}


def test_each_team_has_as_many_products_as_any_other() -> None:
    rule = rule_of(SeededName(recorded("private-labels?labels=5&products=3"), 1))
    assert isinstance(rule, LabelRule)
    teams = list(rule.team.values())
    assert {teams.count(team) for team in rule.labels} == {3}
