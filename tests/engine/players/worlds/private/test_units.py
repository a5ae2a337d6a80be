"""Private units and fees: a number that follows from the rule by reasoning, with its reasoning beside it."""

import re

import pytest

from mage_es.engine.players.worlds.private.benchmark import PrivateSet
from mage_es.engine.players.worlds.private.units import UnitRule
from mage_es.engine.seams.benchmark import SPLITS
from tests.engine.players.worlds.private.rules import rule


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_who_knows_the_rule_can_reckon_every_answer(steps: int) -> None:
    name = f"private-units?steps={steps}&wordings=6&asides=1"
    for seed in (1, 2):
        known = rule(UnitRule, name, seed)
        for split in SPLITS:
            for question in PrivateSet(name, seed).questions(split):
                found = re.search(rf"(\d+) {known.large}s and (\d+) {known.small}", question.question)
                assert found
                (rate,) = (known.rates[way] for way in known.rates if way in question.question)
                total = int(found[1]) * known.size + int(found[2])
                extra = known.extra if total > known.limit else 0
                fee = (total, total * rate, total * rate + known.handling, total * rate + known.handling + extra)
                assert question.gold == str(fee[steps - 1])


def test_each_equation_of_a_solution_holds_and_the_last_one_gives_the_answer() -> None:
    for question in PrivateSet("private-units?difficulty=3", 1).questions("evolution"):
        *lines, answer = question.solution.splitlines()
        for line in lines:
            left, sign, right, result = re.findall(r": (\d+) ([+*]) (\d+) = (\d+)$", line)[0]
            assert int(result) == (int(left) + int(right) if sign == "+" else int(left) * int(right))
        assert lines[-1].endswith(f" = {question.gold}") and answer == f"#### {question.gold}"


def test_some_orders_are_above_the_limit_and_some_below() -> None:
    solutions = [question.solution for question in PrivateSet("private-units?steps=4", 1).questions("test")]
    assert 0.2 < sum("more than" in solution for solution in solutions) / len(solutions) < 0.8
