"""Amounts in private units, and private fees for sending them: the answer is a number that takes reasoning.

The cases come with a worked solution, which states the parts of the rule that it uses.
"""

from mage_es.engine.benchmarks.tasks.scorers import SCORERS
from mage_es.engine.players.worlds.private.kind import Options, Posed, SetKind, SetOption
from mage_es.engine.players.worlds.private.wording import GOODS, circumstances, coined, several, with_asides
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.seams.benchmark import Split

WAYS = ("by coach", "by barge", "by mule")
_MOST = range(2, 15)
"""Large units of an amount."""
_FRAMES = (
    "In {town}, {person} sends {amount} of {goods}, order {number}, {way}.",
    "{amount} of {goods}, order {number}, go {way} from {town}, where {person} packed them.",
    "{person} has {amount} of {goods}, order {number}, to send {way}, and lives in {town}.",
    "From {town} comes an order {way}, number {number}: {amount} of {goods} for {person}.",
    "Waiting in {town} to go {way}, order {number} of {person}: {goods}, {amount}.",
    "The {goods} of {person}, {amount}, order {number}, {way} from {town}.",
)


class UnitRule:
    task = "Reckon in the units and fees of this house."
    labels: tuple[str, ...] = ()
    scorer = SCORERS["number"]

    def __init__(self, dice: Dice, options: Options) -> None:
        self._options = options
        *self._others, first, second = several(coined(dice), 4)
        self.large, self.small, self.coin, *_ = (f"{word.lower()}o" for word in (*first.split(), *second.split()))
        self.size = dice.pick((3, 4, 6, 7, 8, 9, 11, 12))
        """How many small units make a large one."""
        self.rates = dict(zip(WAYS, dice.shuffled(range(2, 10)), strict=False))
        """What a small unit costs, by its route."""
        self.handling, self.extra = 3 + dice.below(17), 20 + dice.below(30)
        """Surcharges: on every fee, and on a fee for more than `limit` small units."""
        self.limit = self.size * len(_MOST) // 2 + dice.below(self.size)

    def ask(self, dice: Dice, split: Split) -> Posed:
        large, small, way = dice.pick(_MOST), 1 + dice.below(self.size - 1), dice.pick(WAYS)
        amount = f"{large} {self.large}s and {small} {self.small}{'s' if small > 1 else ''}"
        facts = {"amount": amount, "goods": dice.pick(GOODS), "way": way, **circumstances(dice)}
        text = dice.pick(_FRAMES[: self._options["wordings"]]).format(**facts)
        text = with_asides(dice, self._options, text, self._others)
        is_fee = self._options["steps"] > 1
        ask = f"What is the fee in {self.coin}s?" if is_fee else f"How many {self.small}s is that?"
        lines, result = self.worked(large, small, way)
        return Posed(f"{text} {ask}", str(result), solution="\n".join((*lines, f"#### {result}")))

    def worked(self, large: int, small: int, way: str) -> tuple[list[str], int]:
        """Return the equations that lead to an answer, one a line, and the answer."""
        whole = large * self.size
        total = whole + small
        lines = [f"{self.small}s in {large} {self.large}s: {large} * {self.size} = {whole}"]
        lines.append(f"{self.small}s in all: {whole} + {small} = {total}")
        if self._options["steps"] == 1:
            return lines, total
        fee = total * self.rates[way]
        lines.append(f"{way}, {self.rates[way]} for each: {total} * {self.rates[way]} = {fee}")
        if self._options["steps"] > 2:
            lines.append(f"with handling: {fee} + {self.handling} = {fee + self.handling}")
            fee += self.handling
        if self._options["steps"] > 3 and total > self.limit:
            lines.append(f"more than {self.limit} {self.small}s: {fee} + {self.extra} = {fee + self.extra}")
            fee += self.extra
        return lines, fee


KIND = SetKind(UnitRule, {"steps": SetOption(range(1, 5), (1, 2, 4))})
