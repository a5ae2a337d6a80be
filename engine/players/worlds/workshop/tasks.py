"""The tasks of `workshop`: a goal in a land and the situation to begin in, drawn from a label.

Rules
    - A task reveals nothing about its land's rules; its step limit is one and a half times the reference plan, plus
      four.
    - The label alone decides (seed, split, index), so tasks are the same on every machine.
"""

from typing import NamedTuple

import msgspec

from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.players.worlds.workshop.lands import (
    LANDS,
    MATERIALS,
    PLACES,
    STATIONS,
    VERSION,
    Land,
    closure,
    land,
)
from mage_es.engine.players.worlds.workshop.plans import WorkshopSituation, short_plan

KINDS = ("supplies", "tools", "works", "open")
"""What a task asks for: a thing of one of the three tiers, or getting as far as possible."""
LONGEST_PLAN = 24
"""A situation with a longer plan is drawn again, with more things given at the start."""
OPEN_STEPS = 40
"""Steps of a task of the kind `open`."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """`goal` is "" for `open`; `count` is how many of a material are wanted (else 1)."""

    seed: int
    land: str
    kind: str
    goal: str
    count: int
    place: str
    carried: dict[str, int]
    built: dict[str, str]
    steps: int

    @property
    def task_type(self) -> str:
        return f"{self.land}_{self.kind}"

    @property
    def situation(self) -> WorkshopSituation:
        return WorkshopSituation(self.place, dict(self.carried), dict(self.built))


class _Goal(NamedTuple):
    thing: str
    amount: int


def draw(seed: int, split: str, index: int) -> Task:
    dice = Dice(f"{VERSION}/{seed}/{split}/{index}")
    rules = land(seed, dice.pick(LANDS))
    kind = dice.pick(KINDS)
    if kind == "open":
        carried = {material: 1 + dice.below(2) for material in dice.shuffled(MATERIALS)[: dice.below(3)]}
        start = WorkshopSituation(dice.pick(PLACES), dict(sorted(carried.items())), {})
        return _task(seed, rules, kind, _Goal("", 1), start, OPEN_STEPS)
    tier = rules.tiers[KINDS.index(kind)]
    goal = _goal(dice, tier)
    given = dice.below(30)
    while True:
        situation = _situation(dice, rules, goal, given)
        plan = short_plan(rules, situation, goal.thing, goal.amount)
        if 2 <= len(plan) <= LONGEST_PLAN:
            return _task(seed, rules, kind, goal, situation, len(plan) + len(plan) // 2 + 4)
        given += 10 if len(plan) > LONGEST_PLAN else -10


def _goal(dice: Dice, tier: tuple[str, ...]) -> _Goal:
    thing = dice.pick(tier)
    return _Goal(thing, 1 + dice.below(3) if thing in MATERIALS else 1)


def _situation(dice: Dice, rules: Land, goal: _Goal, given: int) -> WorkshopSituation:
    """Each thing on the way to the goal is already there at the start with a probability of `given` percent."""
    carried: dict[str, int] = {}
    built: dict[str, str] = {}
    for thing in closure(rules, goal.thing)[:-1]:
        if not dice.percent(max(5, given)):
            continue
        if thing in STATIONS:
            built[thing] = dice.pick(PLACES)
        else:
            carried[thing] = 1 + dice.below(2) if thing in MATERIALS else 1
    return WorkshopSituation(dice.pick(PLACES), carried, built)


def _task(seed: int, rules: Land, kind: str, goal: _Goal, start: WorkshopSituation, steps: int) -> Task:
    return Task(
        seed=seed,
        land=rules.name,
        kind=kind,
        goal=goal.thing,
        count=goal.amount,
        place=start.place,
        carried=start.carried,
        built=start.built,
        steps=steps,
    )
