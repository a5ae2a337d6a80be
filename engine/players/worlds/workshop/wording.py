"""How a task of `workshop` is put into words: six ways, two of which are used only by the test split."""

from collections.abc import Mapping

from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.players.worlds.workshop.lands import MATERIALS, STATIONS, THINGS
from mage_es.engine.players.worlds.workshop.tasks import Task

FAMILIES = (
    "In the {land} you start {start}. {Goal} in at most {steps} steps.",
    "Your goal in the {land}: {goal}. You begin {start} and have {steps} steps.",
    "A customer is waiting in the {land}, so {goal}. You set out {start}, and {steps} steps must do.",
    "Within {steps} steps, {goal}; the land is the {land}. Start: {start}.",
)
UNFAMILIAR = (
    "It is your turn in the {land}. Be so kind and {goal} before {steps} steps are over. You find yourself {start}.",
    "{steps} steps remain today. The order from the {land} reads: {goal}. You are {start} when the day begins.",
)
"""The wordings that evolution never shows."""


def family(dice: Dice, split: str) -> str:
    """Draw a phrasing: `familiar-n`, and for half of the test tasks `unfamiliar-n`."""
    if split == "test" and dice.percent(50):
        return f"unfamiliar-{dice.below(len(UNFAMILIAR))}"
    return f"familiar-{dice.below(len(FAMILIES))}"


def statement(task: Task, family: str) -> str:
    kind, _, number = family.partition("-")
    text = (UNFAMILIAR if kind == "unfamiliar" else FAMILIES)[int(number)]
    goal = _goal(task)
    sentence = goal[0].upper() + goal[1:]
    return text.format(land=task.land, goal=goal, Goal=sentence, start=_start(task), steps=task.steps)


def listed(amounts: Mapping[str, int]) -> str:
    """Such as `2 wood and 1 axe`, in the order of the land's words."""
    parts = [f"{amounts[thing]} {thing}" for thing in THINGS if amounts.get(thing)]
    return " and ".join(parts) if len(parts) < 3 else ", ".join(parts[:-1]) + f" and {parts[-1]}"


def standing(built: Mapping[str, str]) -> str:
    return " and ".join(f"the {station} stands at the {built[station]}" for station in STATIONS if station in built)


def _goal(task: Task) -> str:
    if not task.goal:
        return "get as far as you can: collect, build and make as many different things as possible"
    if task.goal in MATERIALS:
        return f"collect {task.count} {task.goal}"
    return f"{'build' if task.goal in STATIONS else 'make'} the {task.goal}"


def _start(task: Task) -> str:
    carrying = f", carrying {listed(task.carried)}" if task.carried else ""
    built = f", where {standing(task.built)}" if task.built else ""
    return f"at the {task.place}{carrying}{built}"
