"""Tickets to teams by a rule that changes: from a certain day, each product belongs to a different team. Every ticket
states its day, so each has one right answer, whenever it is asked."""

from __future__ import annotations

from mage_es.engine.players.worlds.private.kind import Options, Posed, SetKind, SetOption
from mage_es.engine.players.worlds.private.labels import LabelRule
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.seams.benchmark import Split

DAYS = 240
_SWAY = 20
"""A change comes at most this many days before or after the day that would make all parts equal."""


class DriftRule(LabelRule):
    def __init__(self, dice: Dice, options: Options) -> None:
        super().__init__(dice, {"products": 1, **options})
        changes = options["changes"]
        even = [DAYS * part // (changes + 1) for part in range(1, changes + 1)]
        self.change_days = tuple(day - _SWAY + dice.below(2 * _SWAY + 1) for day in even)
        """The first day of each rule except the first."""
        self.moves = (0, *dice.shuffled(range(1, options["labels"]))[:changes])
        """How many places down the list of teams each rule moves every product, compared with the first rule."""

    def team_on(self, product: str, day: int) -> str:
        place = self.labels.index(self.team[product]) + self.moves[self.phase(day)]
        return self.labels[place % len(self.labels)]

    def phase(self, day: int) -> int:
        return sum(day >= first for first in self.change_days)

    def ask(self, dice: Dice, split: Split) -> Posed:
        day, product = 1 + dice.below(DAYS), dice.pick(self.products)
        text = f"Day {day}. {self.written(dice, product)}"
        return Posed(text, self.team_on(product, day), phase=self.phase(day), time=day)


KIND = SetKind(DriftRule, {"labels": SetOption(range(4, 13), (4, 6, 6)), "changes": SetOption(range(1, 4), (1, 1, 2))})
