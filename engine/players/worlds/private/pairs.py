"""Tickets to teams by two attributes: the product and its trouble decide together, neither of them alone.

Each team takes every product with one of its troubles and every trouble with one of the products, as in a Latin square.
"""

from __future__ import annotations

from mage_es.engine.benchmarks.tasks.scorers import scorer_of
from mage_es.engine.players.worlds.private.kind import Options, Posed, SetKind, SetOption
from mage_es.engine.players.worlds.private.wording import TEAMS, TROUBLES, coined, letter, several
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.seams.benchmark import Split


class PairRule:
    task = "Say which team takes this ticket."

    def __init__(self, dice: Dice, options: Options) -> None:
        self._options, count = options, options["labels"]
        self.labels = tuple(sorted(dice.shuffled(TEAMS)[:count]))
        self.products = several(coined(dice), count)
        self.troubles = tuple(dice.shuffled(range(len(TROUBLES)))[:count])
        self.team = {
            (product, trouble): self.labels[(row + column) % count]
            for row, product in enumerate(self.products)
            for column, trouble in enumerate(self.troubles)
        }
        self.scorer = scorer_of("choice", self.labels)

    def ask(self, dice: Dice, split: Split) -> Posed:
        product, trouble = dice.pick(tuple(self.team))
        return Posed(letter(dice, self._options, product, trouble, self.products), self.team[product, trouble])


KIND = SetKind(PairRule, {"labels": SetOption(range(2, len(TROUBLES) + 1), (3, 4, 6))}, most_asides=2)
