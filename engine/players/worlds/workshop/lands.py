"""The lands of `workshop`: what is found where and what each thing takes, drawn from the seed and kept secret.

All lands share their words and the shape of their technology tree, and differ in everything else. What was learned in
one land is therefore wrong in another, and nothing is known beforehand.

    hand: r0, r1 -> station s0 -> tool g0 -> r2, r3 -> station s1, tool g1 -> r4 -> parts g2, g3 -> masterpiece g4
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from mage_es.engine.players.worlds.wordmath.dice import Dice

VERSION = "workshop 1"
"""A version: it changes whenever the same seed would give other lands or tasks."""
LANDS = ("highland", "marsh", "island")
PLACES = ("forest", "quarry", "river", "meadow", "cave")
MATERIALS = ("wood", "reed", "clay", "flint", "ore")
STATIONS = ("bench", "kiln")
GOODS = ("axe", "pick", "rope", "lamp", "bell")
THINGS = (*MATERIALS, *STATIONS, *GOODS)
"""Everything that can be obtained: collected, built or made. Obtaining it for the first time is its achievement."""


class Recipe(NamedTuple):
    """What it uses up, and the station that it must be made at ("" for none)."""

    takes: Mapping[str, int]
    station: str


class Land(NamedTuple):
    """`tools` maps a material to the tool that collecting it takes, "" for bare hands."""

    name: str
    found_at: Mapping[str, str]
    tools: Mapping[str, str]
    recipes: Mapping[str, Recipe]
    tiers: tuple[tuple[str, ...], ...]
    """Things in order of their distance from bare hands: supplies, tools, works."""


@lru_cache(maxsize=64)
def land(seed: int, name: str) -> Land:
    dice = Dice(f"{VERSION}/{seed}/{name}")
    r0, r1, r2, r3, r4 = dice.shuffled(MATERIALS)
    s0, s1 = dice.shuffled(STATIONS)
    g0, g1, g2, g3, g4 = dice.shuffled(GOODS)
    places = dice.shuffled(PLACES)
    found_at = {material: places[place] for place, material in enumerate(dice.shuffled(MATERIALS))}
    tools = {r0: "", r1: "", r2: g0, r3: g0, r4: g1}

    def some() -> int:
        return 1 + dice.below(2)

    recipes = {
        s0: Recipe({r0: 1 + some(), r1: some()}, ""),
        g0: Recipe({dice.pick((r0, r1)): some()}, s0),
        s1: Recipe({r2: some(), dice.pick((r1, r3)): some()}, ""),
        g1: Recipe({dice.pick((r2, r3)): some(), r0: 1}, s0),
        g2: Recipe({r3: some(), r1: 1}, dice.pick((s0, s1))),
        g3: Recipe({r4: some(), dice.pick((r0, r2)): 1}, s1),
        g4: Recipe({g2: 1, g3: 1}, dice.pick((s0, s1))),
    }
    return Land(name, found_at, tools, recipes, tiers=((r0, r1, s0), (g0, r2, r3, s1, g1), (r4, g2, g3, g4)))


def achievement(thing: str) -> str:
    verb = "collect" if thing in MATERIALS else "build" if thing in STATIONS else "make"
    return f"{verb} {thing}"


def closure(rules: Land, thing: str) -> list[str]:
    ordered: list[str] = []

    def visit(needed: str) -> None:
        recipe = rules.recipes.get(needed)
        tool = rules.tools.get(needed, "")
        for part in (*(recipe.takes if recipe else ()), recipe.station if recipe else "", tool):
            if part:
                visit(part)
        if needed not in ordered:
            ordered.append(needed)

    visit(thing)
    return ordered
