"""Codes: who knows spelling, order and punctuation can write each of them, and to the letter is right."""

import re

import pytest

from mage_es.engine.players.worlds.private.benchmark import PrivateSet
from mage_es.engine.players.worlds.private.codes import GRADES, TAPES, CodeRule
from mage_es.engine.seams.benchmark import SPLITS
from tests.engine.players.worlds.private.rules import rule


@pytest.mark.parametrize("level", [1, 2, 3])
def test_who_knows_the_rule_can_write_every_code(level: int) -> None:
    name = f"private-codes?difficulty={level}"
    for seed in (1, 2):
        known = rule(CodeRule, name, seed)
        for split in SPLITS:
            for question in PrivateSet(name, seed).questions(split):
                text = question.question
                depot = min((text.find(town), town) for town in known.depots if town in text)[1]
                (grade,) = re.findall(f"({'|'.join(GRADES)}) grade", text.casefold())
                (tape,) = re.findall(f"({'|'.join(TAPES)}) tape", text)
                (shelf,) = re.findall(r"[Ss]helf (\d+)", text)
                fields = {
                    "depot": known.depots[depot],
                    "shelf": shelf.rjust(known.digits, "0"),
                    "grade": known.grades[grade],
                    "tape": known.tapes[tape],
                }
                first, *rest = (fields[field] for field in known.order)
                assert question.gold == first + "".join(map(str.__add__, known.separators, rest))


def test_fields_order_punctuation_and_spelling_are_of_the_seed() -> None:
    rules = [rule(CodeRule, "private-codes?fields=4", seed) for seed in range(12)]
    assert len({known.order for known in rules}) > 6
    assert len({known.separators for known in rules}) > 6
    assert len({known.digits for known in rules}) == 3
    assert len({tuple(known.depots.values()) for known in rules}) == len(rules)


def test_a_code_with_another_sign_case_or_zero_is_wrong() -> None:
    opened = PrivateSet("private-codes", 1)
    question = opened.questions("test")[0]
    other = {"-": "/", "/": ".", ".": "-"}
    wrong = ["".join(other.get(sign, sign) for sign in question.gold), question.gold.lower(), question.gold + "0"]
    assert not any(opened.score(question, f"Answer: {code}").correct for code in wrong)
