"""The law of truthworld: how likely the right answer is, given the prompt. Nothing else decides it.

    p = clip(baseline(land) + route(land) + sum of effects(claims), least, most)

    claims    each distinct claim about a mark of the question counts once, however often it is stated
    effect    of a right claim  +worth / n,  of a wrong one  -harm / n,  n = marks of the question;
              `told` times that where it is stated only in a principle or a skill's strategy and not in a memory
              that shows it at work (a solved or corrected question, a type strategy)
    route     direct: -haste;  the land's favoured route: +favour;  every other: 0;  what tells `cot_principles`
              from `cot` is whether there is a principle in the prompt, for any reason

A question is answered rightly if its own fixed draw lies below p, so a better bundle never loses a question that a
worse one wins, and the outcome under another bundle is known for each question.
"""

from collections.abc import Collection
from typing import NamedTuple

from mage_es.engine.players.worlds.wordmath.dice import Dice
from tests.kit.truthworld.claims import Claim, is_true
from tests.kit.truthworld.puzzles import Puzzle
from tests.kit.truthworld.world import VERSION, HiddenWorld, LandType

MILLION = 1_000_000


class Law(NamedTuple):
    worth: float = 0.6
    harm: float = 0.9
    told: float = 0.5
    haste: float = 0.1
    favour: float = 0.12
    least: float = 0.02
    most: float = 0.98


LAW = Law()


class Informed(NamedTuple):
    """What a prompt states: claims shown at work, and claims only stated."""

    shown: frozenset[Claim]
    told: frozenset[Claim]


def route_effect(task_type: LandType, route: str, law: Law = LAW) -> float:
    if route == "direct":
        return -law.haste
    return law.favour if route == task_type.favoured else 0.0


def claims_effect(world: HiddenWorld, marks: Collection[str], informed: Informed, law: Law = LAW) -> float:
    total = 0.0
    for claim in sorted(informed.shown | informed.told):
        if claim.mark in marks:
            effect = law.worth if is_true(world, claim) else -law.harm
            total += effect * (1.0 if claim in informed.shown else law.told) / len(marks)
    return total


def probability(world: HiddenWorld, puzzle: Puzzle, informed: Informed, *, route: str, law: Law = LAW) -> float:
    task_type = puzzle.task_type
    total = task_type.baseline + route_effect(task_type, route, law)
    return min(law.most, max(law.least, total + claims_effect(world, puzzle.marks, informed, law)))


def draw(world: HiddenWorld, puzzle: Puzzle) -> float:
    """Return a question's fixed draw in [0, 1): it is answered rightly if this is below p."""
    return Dice(f"{VERSION}/{world.seed}/draw/{puzzle.key}").below(MILLION) / MILLION
