"""Tickets to teams by one attribute: each team takes the tickets about its own products."""

from __future__ import annotations

from mage_es.engine.benchmarks.tasks.scorers import scorer_of
from mage_es.engine.players.worlds.private.kind import Options, Posed, SetKind, SetOption
from mage_es.engine.players.worlds.private.wording import TEAMS, TROUBLES, coined, letter, several
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.seams.benchmark import Split


class LabelRule:
    task = "Say which team takes this ticket."

    def __init__(self, dice: Dice, options: Options) -> None:
        self._options = options
        self.labels = tuple(sorted(dice.shuffled(TEAMS)[: options["labels"]]))
        self.products = several(coined(dice), options["labels"] * options["products"])
        self.team = dict(zip(self.products, self.labels * options["products"], strict=True))
        self.scorer = scorer_of("choice", self.labels)

    def ask(self, dice: Dice, split: Split) -> Posed:
        product = dice.pick(self.products)
        return Posed(self.written(dice, product), self.team[product])

    def written(self, dice: Dice, product: str) -> str:
        return letter(dice, self._options, product, dice.below(len(TROUBLES)), self.products)


KIND = SetKind(LabelRule, {"labels": SetOption(range(2, 13), (6, 6, 8)), "products": SetOption(range(1, 4), (1, 1, 2))})
