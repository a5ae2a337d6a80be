"""Two rules and their composition: what is held out follows from both, and from no question like it."""

import pytest

from mage_es.engine.players.worlds.private.benchmark import PrivateSet
from mage_es.engine.players.worlds.private.composition import CompositionRule
from mage_es.engine.seams.benchmark import Question
from tests.engine.players.worlds.private.rules import rule


def product_of(known: CompositionRule, question: Question) -> str:
    text = question.question
    return min((text.find(product), product) for product in known.depot if product in text)[1]


@pytest.mark.parametrize("level", [1, 2, 3])
def test_who_knows_both_rules_is_right_about_everything_held_out(level: int) -> None:
    name = f"private-composition?difficulty={level}"
    for seed in (1, 2):
        known = rule(CompositionRule, name, seed)
        for question in PrivateSet(name, seed).questions("test"):
            assert known.carrier[known.depot[product_of(known, question)]] == question.gold


def test_evolution_has_both_rules_for_all_that_is_held_out_and_the_composition_of_none_of_it() -> None:
    for seed in (1, 2, 3):
        known = rule(CompositionRule, "private-composition", seed)
        evolution = PrivateSet("private-composition", seed).questions("evolution")[:120]
        parts = {
            part: [q for q in evolution if q.task_type.endswith(part)] for part in ("keeping", "serving", "bringing")
        }
        held_out = {
            product_of(known, question) for question in PrivateSet("private-composition", seed).questions("test")
        }
        assert held_out <= {product_of(known, question) for question in parts["keeping"]}
        assert {question.gold for question in parts["serving"]} == {*known.carrier.values()}
        assert not held_out & {product_of(known, question) for question in parts["bringing"]}
        assert all(question.gold in known.carrier for question in parts["keeping"])
