"""Tickets to teams: by the product, by product and trouble together, or by a rule that changes from a certain day.

labels   each team takes the tickets about its own products
pairs    the product and its trouble decide together, neither of them alone: each team takes every product with one
         of its troubles and every trouble with one of the products, as in a Latin square
drift    from a certain day, each product belongs to a different team; every ticket states its day, so each has one
         right answer, whenever it is asked
"""

from mage_es.engine.benchmarks.tasks.scorers import scorer_of
from mage_es.engine.players.worlds.private.kind import Options, Posed, SetKind, SetOption
from mage_es.engine.players.worlds.private.wording import TEAMS, TROUBLES, coined, letter, several
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.seams.benchmark import Split

DAYS = 240
_SWAY = 20
"""A change comes at most this many days before or after the day that would make all parts equal."""


class _TicketRule:
    task = "Say which team takes this ticket."

    def __init__(self, dice: Dice, options: Options, products_of_a_team: int) -> None:
        self._options = options
        self.labels = tuple(sorted(dice.shuffled(TEAMS)[: options["labels"]]))
        self.products = several(coined(dice), options["labels"] * products_of_a_team)
        self.scorer = scorer_of("choice", self.labels)

    def written(self, dice: Dice, product: str, trouble: int) -> str:
        return letter(dice, self._options, product, trouble, self.products)


class LabelRule(_TicketRule):
    def __init__(self, dice: Dice, options: Options) -> None:
        count = options.get("products", 1)
        super().__init__(dice, options, count)
        self.team = dict(zip(self.products, self.labels * count, strict=True))

    def ask(self, dice: Dice, split: Split) -> Posed:
        product = dice.pick(self.products)
        return Posed(self.written(dice, product, dice.below(len(TROUBLES))), self.team[product])


class PairRule(_TicketRule):
    def __init__(self, dice: Dice, options: Options) -> None:
        super().__init__(dice, options, 1)
        self.troubles = tuple(dice.shuffled(range(len(TROUBLES)))[: len(self.labels)])
        self.team = {
            (product, trouble): self.labels[(row + column) % len(self.labels)]
            for row, product in enumerate(self.products)
            for column, trouble in enumerate(self.troubles)
        }

    def ask(self, dice: Dice, split: Split) -> Posed:
        product, trouble = dice.pick(tuple(self.team))
        return Posed(self.written(dice, product, trouble), self.team[product, trouble])


class DriftRule(LabelRule):
    def __init__(self, dice: Dice, options: Options) -> None:
        super().__init__(dice, options)
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
        text = f"Day {day}. {self.written(dice, product, dice.below(len(TROUBLES)))}"
        return Posed(text, self.team_on(product, day), phase=self.phase(day), time=day)


LABELS = SetKind(
    LabelRule, {"labels": SetOption(range(2, 13), (6, 6, 8)), "products": SetOption(range(1, 4), (1, 1, 2))}
)
PAIRS = SetKind(PairRule, {"labels": SetOption(range(2, len(TROUBLES) + 1), (3, 4, 6))}, most_asides=2)
DRIFT = SetKind(DriftRule, {"labels": SetOption(range(4, 13), (4, 6, 6)), "changes": SetOption(range(1, 4), (1, 1, 2))})
