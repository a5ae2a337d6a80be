"""What the handbook says of the game is what the simulator does."""

import pytest

from mage_es.engine.bench.crafter.handbook import ACHIEVEMENTS, INSTRUCTION, RULES
from mage_es.engine.bench.crafter.replies import ACTIONS

constants = pytest.importorskip("crafter.constants", reason="needs the simulator: pip install 'mage-es[benchmarks]'")

TOLD = dict(line.split(": ", 1) for line in RULES.splitlines())


def test_every_achievement_of_the_simulator_is_listed_and_has_its_rule() -> None:
    assert sorted(name.lower().replace(" ", "_") for name in ACHIEVEMENTS) == sorted(constants.achievements)
    assert {name.lower() for name in ACHIEVEMENTS} == set(TOLD) - {"stay alive"}
    assert all(f"- {action}: " in INSTRUCTION for action in ACTIONS)
    assert all(f"{number}. {name}\n" in INSTRUCTION for number, name in enumerate(ACHIEVEMENTS, start=1))


def test_what_a_thing_takes_and_where_it_is_made_are_the_simulators() -> None:
    for verb, things in (("place", constants.place), ("make", constants.make)):
        for thing, rule in things.items():
            told = TOLD[f"{verb} {thing.replace('_', ' ')}"]
            assert [part for part in told.split(", ") if part.startswith("takes")] == [
                f"takes {amount} {item}" for item, amount in rule["uses"].items()
            ]
            place = f"near {' and '.join(rule['nearby'])}" if verb == "make" else f"facing {' or '.join(rule['where'])}"
            assert f" {place}, takes" in told


def test_what_is_collected_needs_the_tool_of_the_simulator() -> None:
    for thing, rule in constants.collect.items():
        (item,) = rule["receive"]
        told = TOLD[f"collect {item}"]
        assert f"facing {thing}" in told and f"1 {item}" in told
        assert [part for part in told.split(", ") if part.startswith("needs")] == [
            f"needs {amount} {tool}" for tool, amount in rule["require"].items()
        ]
