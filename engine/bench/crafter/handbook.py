"""The instruction that every prompt of `crafter` begins with, and the game's public rules.

The rules serve as the reference solution, which an endless game cannot have. Only the guidance tier reads them; what
the learner should know about them must be written to the graph.
"""

from mage_es.engine.bench.crafter.replies import ACTIONS

ACHIEVEMENTS = (
    "Collect Wood",
    "Place Table",
    "Eat Cow",
    "Collect Sapling",
    "Collect Drink",
    "Make Wood Pickaxe",
    "Make Wood Sword",
    "Place Plant",
    "Defeat Zombie",
    "Collect Stone",
    "Place Stone",
    "Eat Plant",
    "Defeat Skeleton",
    "Make Stone Pickaxe",
    "Make Stone Sword",
    "Wake Up",
    "Place Furnace",
    "Collect Coal",
    "Collect Iron",
    "Make Iron Pickaxe",
    "Make Iron Sword",
    "Collect Diamond",
)
"""The 22 achievements as the protocol lists them."""
_ABOUT = (
    "wait a moment",
    "face west, and walk there if nothing is in the way",
    "face east, and walk there if nothing is in the way",
    "face north, and walk there if nothing is in the way",
    "face south, and walk there if nothing is in the way",
    "use what you face: gather it, drink it, eat it or hit it",
    "fall asleep, once you have lost energy",
    "put down a stone in front of you",
    "put down a table in front of you; it takes wood",
    "put down a furnace in front of you; it takes stone",
    "plant a sapling on the grass in front of you",
    "takes wood, beside a table",
    "takes wood and stone, beside a table",
    "takes wood, coal and iron, beside a table and a furnace",
    "takes wood, beside a table",
    "takes wood and stone, beside a table",
    "takes wood, coal and iron, beside a table and a furnace",
)
"""A few words on each action, in the order of `ACTIONS`."""
INSTRUCTION = "\n".join(
    [
        "You are playing Crafter, a game of survival in a world of 64 by 64 tiles. You see part of it at a time.",
        "",
        "These are the actions:",
        *(f"- {action}: {about}" for action, about in zip(ACTIONS, _ABOUT, strict=True)),
        "",
        "These are the achievements:",
        *(f"{number}. {achievement}" for number, achievement in enumerate(ACHIEVEMENTS, start=1)),
        "",
        "Get as far as possible by completing all the achievements. Stay alive meanwhile: eat, drink and sleep. "
        "What you saw and did so far comes after the task.",
    ]
)
RULES = "\n".join(
    [
        "collect wood: by Do facing tree, gives 1 wood",
        "place table: by Place Table facing grass or sand or path, takes 2 wood, gives table",
        "eat cow: by Do facing cow until it is down, gives 6 food",
        "collect sapling: by Do facing grass, one time in ten gives 1 sapling",
        "collect drink: by Do facing water, gives 1 drink",
        "make wood pickaxe: by Make Wood Pickaxe near table, takes 1 wood, gives 1 wood_pickaxe",
        "make wood sword: by Make Wood Sword near table, takes 1 wood, gives 1 wood_sword",
        "place plant: by Place Plant facing grass, takes 1 sapling, gives plant",
        "defeat zombie: by Do facing zombie until it is down",
        "collect stone: by Do facing stone, needs 1 wood_pickaxe, gives 1 stone",
        "place stone: by Place Stone facing grass or sand or path or water or lava, takes 1 stone",
        "eat plant: by Do facing plant, ripe after more than 300 steps, gives 4 food",
        "defeat skeleton: by Do facing skeleton until it is down",
        "make stone pickaxe: by Make Stone Pickaxe near table, takes 1 wood, takes 1 stone, gives 1 stone_pickaxe",
        "make stone sword: by Make Stone Sword near table, takes 1 wood, takes 1 stone, gives 1 stone_sword",
        "wake up: by Sleep with energy below 9, gives 1 energy at a time until you wake",
        "place furnace: by Place Furnace facing grass or sand or path, takes 4 stone, gives furnace",
        "collect coal: by Do facing coal, needs 1 wood_pickaxe, gives 1 coal",
        "collect iron: by Do facing iron, needs 1 stone_pickaxe, gives 1 iron",
        "make iron pickaxe: by Make Iron Pickaxe near table and furnace, takes 1 wood, takes 1 coal, takes 1 iron, "
        "gives 1 iron_pickaxe",
        "make iron sword: by Make Iron Sword near table and furnace, takes 1 wood, takes 1 coal, takes 1 iron, "
        "gives 1 iron_sword",
        "collect diamond: by Do facing diamond, needs 1 iron_pickaxe, gives 1 diamond",
        "stay alive: walk on grass or sand or path, never on lava",
    ]
)
"""One line for each achievement, and one on where to walk.

[section 4, Crafter, guidance] There is no reference solution; only the guidance tier gets the published rules instead.
"""
