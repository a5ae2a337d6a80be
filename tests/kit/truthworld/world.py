"""The hidden side of truthworld: task types, marks with their true rules, and the world's parameters.

A question applies the rules of a few marks to a number. What a mark means is nowhere in the question; a memory can
state it, rightly or wrongly. Everything follows from the seed.
"""

from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from mage_es.engine.players.worlds.wordmath.dice import Dice
from tests.kit.truthworld.words import coined

VERSION = "truthworld/1"

Operation = Literal["add", "take away", "multiply by"]
SIGNS: dict[Operation, str] = {"add": "+", "take away": "-", "multiply by": "*"}
_NUMBERS: dict[Operation, range] = {"add": range(3, 20), "take away": range(2, 10), "multiply by": range(2, 5)}


class WorldShape(NamedTuple):
    """The parameters of a world. Shares are in percent; the first three decide which kinds of memory arise.

    `poisoned`: evolution questions whose reference solution states wrong rules (and ends in the right answer). `fluke`
    and `mute`: the learner's right answers reached by wrong rules, or with reasoning that states no rules.
    """

    poisoned: int = 20
    fluke: int = 15
    mute: int = 15
    long_contexts: int = 35
    short_contexts: int = 25
    lands: int = 5
    alliances: int = 2
    courts: int = 1
    marks: int = 8


ORDINARY = WorldShape()
"""The parameters of the benchmark, and of the worlds that its models know."""


class Rule(NamedTuple):
    operation: Operation
    number: int

    def __str__(self) -> str:
        return f"{self.operation} {self.number}"

    def apply(self, value: int) -> int:
        match self.operation:
            case "add":
                return value + self.number
            case "take away":
                return value - self.number
            case "multiply by":
                return value * self.number


class HiddenMark(NamedTuple):
    word: str
    rule: Rule
    decoy: Rule


class LandType(NamedTuple):
    """A land: its marks, how often a learner without any memory is right there, and the route that suits it.

    A `land` has its own marks, an `alliance` those of two lands, and a `court` those of one; a court asks how a number
    compares with a line, not for the number.
    """

    name: str
    land: str
    kind: Literal["land", "alliance", "court"]
    marks: tuple[str, ...]
    baseline: float
    favoured: str


ROUTES = ("cot", "chain", "tool", "cot_principles")
"""The routes of which each task type has a favourite; `direct` is never the favourite."""
_LEAST_BASELINE, _BASELINE_SPAN = 20, 16
"""Success without any memory, in percent: the least, and the span above it."""


class HiddenWorld:
    def __init__(self, seed: int, shape: WorldShape = ORDINARY) -> None:
        self.seed, self.shape = seed, shape
        dice = Dice(f"{VERSION}/{seed}/world")
        words = coined(dice)
        self.marks: dict[str, HiddenMark] = {}
        self.task_types: dict[str, LandType] = {}
        own = [tuple(islice(words, shape.marks)) for _ in range(shape.lands)]
        for word in (word for marks in own for word in marks):
            self.marks[word] = _mark(word, dice)
        joined = [own[at * 2 % shape.lands] + own[(at * 2 + 1) % shape.lands] for at in range(shape.alliances)]
        lent = [own[-1 - at % shape.lands] for at in range(shape.courts)]
        kinds: tuple[tuple[Literal["land", "alliance", "court"], list[tuple[str, ...]]], ...] = (
            ("land", own),
            ("alliance", joined),
            ("court", lent),
        )
        for kind, groups in kinds:
            for marks in groups:
                self._add_land(next(words).capitalize(), kind, marks, dice)

    def _add_land(
        self, land: str, kind: Literal["land", "alliance", "court"], marks: tuple[str, ...], dice: Dice
    ) -> None:
        self.task_types[land] = LandType(
            name=f"truthworld_{land.lower()}",
            land=land,
            kind=kind,
            marks=marks,
            baseline=(_LEAST_BASELINE + dice.below(_BASELINE_SPAN)) / 100,
            favoured=ROUTES[(len(self.task_types) + self.seed) % len(ROUTES)],
        )

    def named(self, task_type: str) -> LandType:
        for found in self.task_types.values():
            if found.name == task_type:
                return found
        raise KeyError(f"this world has no task type {task_type!r}")


@lru_cache(maxsize=16)
def world_of(seed: int, shape: WorldShape = ORDINARY) -> HiddenWorld:
    return HiddenWorld(seed, shape)


def _mark(word: str, dice: Dice) -> HiddenMark:
    rule = decoy = _rule(dice)
    while decoy == rule:
        decoy = _rule(dice)
    return HiddenMark(word, rule, decoy)


def _rule(dice: Dice) -> Rule:
    operation = dice.pick(tuple(_NUMBERS))
    return Rule(operation, dice.pick(_NUMBERS[operation]))
