"""A rule that changes: what is right depends on the day, and the day is in the text."""

import re
from collections import Counter

import pytest

from mage_es.engine.players.worlds.private.benchmark import PrivateSet
from mage_es.engine.players.worlds.private.tickets import DriftRule
from mage_es.engine.seams.benchmark import SPLITS
from tests.engine.players.worlds.private.rules import rule
from tests.engine.players.worlds.private.test_labels import OTHERS


@pytest.mark.parametrize("level", [1, 2, 3])
def test_who_knows_the_rules_and_the_days_of_change_is_always_right(level: int) -> None:
    name = f"private-drift?difficulty={level}"
    for seed in (1, 2):
        known = rule(DriftRule, name, seed)
        for split in SPLITS:
            for question in PrivateSet(name, seed).questions(split):
                (product,) = (each for each in known.products if each in OTHERS.sub("", question.question))
                day = int(re.findall(r"^Day (\d+)\.", question.question)[0])
                past = len([first for first in known.change_days if day >= first])
                place = known.labels.index(known.team[product]) + known.moves[past]
                assert question.gold == (known.labels * 2)[place]
                assert (question.meta["time"], question.meta["phase"]) == (str(day), str(past))


def test_every_product_moves_at_every_change() -> None:
    known = rule(DriftRule, "private-drift?labels=6&changes=3", 1)
    days = (1, *known.change_days)
    for product in known.products:
        assert len({known.team_on(product, day) for day in days}) == len(days) == 4


def test_both_splits_have_questions_of_every_phase_about_alike() -> None:
    for split in SPLITS:
        counted = Counter(question.meta["phase"] for question in PrivateSet("private-drift", 1).questions(split))
        assert len(counted) == 2 and min(counted.values()) > 0.3 * counted.total()
