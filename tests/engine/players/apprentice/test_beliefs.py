"""What the apprentice believes after hearing a text."""

from __future__ import annotations

from mage_es.engine.players.apprentice.beliefs import Beliefs, Ingredients


def lore(*texts: str) -> Beliefs:
    return Beliefs("\n".join(texts))


def test_a_transcript_tells_places_tools_and_recipes() -> None:
    told = lore(
        "go to lake: You walk to the lake. You see iron and sand here.\n"
        "collect iron: You collect iron with the saw.\n"
        "build forge: You build the forge. It took 2 sand.\n"
        "make sword: You make the sword at the forge. It took 1 iron and 2 sand."
    )
    assert told.places("iron") == told.places("sand") == ["lake"]
    assert told.tool("iron") == "saw"
    assert told.ingredients("forge") == Ingredients((("sand", 2),), "", exact=True)
    assert told.ingredients("sword") == Ingredients((("iron", 1), ("sand", 2)), "forge", exact=True)


def test_bare_hands_are_a_belief_and_silence_is_none() -> None:
    assert lore("You collect sand.").tool("sand") == ""
    assert lore("").tool("sand") is None


def test_relations_tell_parts_without_amounts() -> None:
    told = lore(
        "iron (north) found at lake (north).\niron (north) needs saw (north).\nsword takes iron.\nsword made at forge."
    )
    assert told.places("iron") == ["lake"] and told.tool("iron") == "saw"
    assert told.ingredients("sword") == Ingredients((("iron", 1),), "forge", exact=False)


def test_a_pattern_tells_what_comes_before() -> None:
    told = lore("`collect iron` comes before `make sword`.")
    assert told.ingredients("sword") == Ingredients((("iron", 1),), "", exact=False)


def test_actions_that_worked_tell_where_something_was_and_what_it_was_for() -> None:
    told = lore("Achieved: make sword\nAction: go to lake\nAction: collect iron\nAction: make sword")
    assert told.places("iron") == ["lake"]
    assert told.ingredients("sword") == Ingredients((("iron", 1),), "", exact=False)
    assert lore("Achieved: collect iron\nAction: go to lake\nAction: collect iron").ingredients("iron") is None


def test_what_is_told_most_often_counts_and_amounts_outweigh_hearsay() -> None:
    told = lore(
        "You build the forge. It took 1 sand.", *["You build the forge. It took 2 sand."] * 2, "forge takes iron."
    )
    assert told.ingredients("forge") == Ingredients((("sand", 2),), "", exact=True)
