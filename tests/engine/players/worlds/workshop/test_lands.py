"""The hidden rules of the lands."""

from collections.abc import Iterator

from mage_es.engine.players.worlds.workshop.lands import (
    GOODS,
    LANDS,
    MATERIALS,
    PLACES,
    STATIONS,
    THINGS,
    Land,
    closure,
    land,
)


def every() -> Iterator[tuple[int, Land]]:
    """Yield twenty drawings of each land, with their seeds."""
    return ((seed, land(seed, name)) for seed in range(20) for name in LANDS)


def test_everything_can_be_had_from_bare_hands() -> None:
    for seed, rules in every():
        had: set[str] = set()
        for _ in THINGS:
            had |= {m for m in MATERIALS if not rules.tools[m] or rules.tools[m] in had}
            for thing, recipe in rules.recipes.items():
                if had.issuperset(recipe.takes) and (not recipe.station or recipe.station in had):
                    had.add(thing)
        assert had == set(THINGS), (seed, rules.name)


def test_the_masterpiece_needs_all_other_things_and_what_is_needed_stands_before_it() -> None:
    for seed, rules in every():
        ordered = closure(rules, rules.tiers[-1][-1])
        assert sorted(ordered) == sorted(THINGS), (seed, rules.name)
        for place, thing in enumerate(ordered):
            recipe, tool = rules.recipes.get(thing), rules.tools.get(thing)
            needed = {*(recipe.takes if recipe else ()), *([recipe.station] if recipe and recipe.station else [])}
            assert (needed | ({tool} if tool else set())) <= set(ordered[:place]), (seed, rules.name)


def test_every_place_holds_one_material_and_every_good_has_a_recipe() -> None:
    for seed, rules in every():
        assert sorted(rules.found_at.values()) == sorted(PLACES), (seed, rules.name)
        assert sorted(rules.recipes) == sorted((*STATIONS, *GOODS)), (seed, rules.name)
        assert sorted(thing for tier in rules.tiers for thing in tier) == sorted(THINGS), (seed, rules.name)


def test_the_seed_and_the_name_decide_and_lands_differ() -> None:
    assert land(3, "marsh") == land(3, "marsh")
    assert len({str(land(seed, name)) for seed in range(20) for name in LANDS}) == 20 * len(LANDS)
