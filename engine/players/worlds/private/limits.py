"""Parcels to teams by weight: each team takes what is heavier than one limit and no heavier than the next.

No word in the text reveals the team, and few weights occur twice, so a learner must find out where the limits are.
Other numbers (pieces, order, shelf) say nothing.
"""

from itertools import pairwise

from mage_es.engine.benchmarks.tasks.scorers import scorer_of
from mage_es.engine.players.worlds.private.kind import Options, Posed, SetKind, SetOption
from mage_es.engine.players.worlds.private.wording import GOODS, TEAMS, circumstances, coined, several, with_asides
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.seams.benchmark import Split

_LIGHTEST, _DOUBLINGS = 0.2, 9
"""The least weight in kilograms, and how often it may be doubled."""
_CLEAR = 4
"""No weight is this close to a limit, in hundredths of a doubling, so that rounding moves no weight across it."""
_FRAMES = (
    "Order {number}: {count} pieces of {goods}, {weight} kg. {person}, {town}",
    "{person} sends {weight} kg of {goods} to {town}, order {number}, in {count} boxes.",
    "For {town}: {goods}, order {number}, weighs {weight} kg with its {count} pallets. {person}",
    "{weight} kg, {count} sacks, {goods}; {person} in {town} waits for order {number}.",
    "Please take order {number} to {town}. It is {goods}, {count} rolls and {weight} kg in all. {person}",
    "Shelf {count}, order {number}, {goods} for {person} in {town}: {weight} kg.",
)


class LimitRule:
    task = "Say which team takes this parcel."

    def __init__(self, dice: Dice, options: Options) -> None:
        self._options, count = options, options["labels"]
        self.teams = tuple(dice.shuffled(TEAMS)[:count])
        """From the team of the lightest parcels to that of the heaviest."""
        limits = [100 * place + dice.pick(range(25, 76)) for place in dice.shuffled(range(1, _DOUBLINGS - 1))]
        self.bounds = (0, *sorted(limits[: count - 1]), 100 * _DOUBLINGS)
        """The ends of what each team takes, in hundredths of a doubling."""
        self._others = several(coined(dice), 3)
        self.labels = tuple(sorted(self.teams))
        self.scorer = scorer_of("choice", self.labels)

    def ask(self, dice: Dice, split: Split) -> Posed:
        team, (low, high) = dice.pick(tuple(zip(self.teams, pairwise(self.bounds), strict=True)))
        weight = kilograms(dice.pick(range(low + _CLEAR, high - _CLEAR)))
        facts = {"weight": f"{weight:.3g}", "count": 2 + dice.below(60), "goods": dice.pick(GOODS)}
        text = dice.pick(_FRAMES[: self._options["wordings"]]).format(**facts, **circumstances(dice))
        return Posed(with_asides(dice, self._options, text, self._others), team)


def kilograms(hundredths: int) -> float:
    """Return the weight after this many hundredths of a doubling; within a doubling it grows by equal steps."""
    doublings, rest = divmod(hundredths, 100)
    return _LIGHTEST * (1 << doublings) * (100 + rest) / 100


KIND = SetKind(LimitRule, {"labels": SetOption(range(2, 7), (3, 4, 5))})
