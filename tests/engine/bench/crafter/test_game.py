"""One episode, step by step."""

from typing import Any

from mage_es.engine.bench.crafter.game import MOST_STEPS, CrafterGame
from mage_es.engine.bench.crafter.handbook import ACHIEVEMENTS
from mage_es.engine.seams.environment import Entity, Relation, StepOutcome

SEED = 1


def begun(seed: int = SEED, **owned: int) -> tuple[CrafterGame, Any]:
    """Return a game that has begun, and the simulator's player with what it is to own."""
    game = CrafterGame(seed)
    game.reset()
    player = game._simulator._engine._player
    player.inventory.update(owned)
    return game, player


def facing(game: CrafterGame, material: str) -> None:
    """Put a material in front of the player."""
    player = game._simulator._engine._player
    game._simulator._engine._world[player.pos + player.facing] = material
    game._now = game._now._replace(semantic=game._simulator._engine._sem_view())


def test_an_episode_begins_after_one_step_with_full_status_and_empty_hands() -> None:
    game = CrafterGame(SEED)
    text = game.reset().text
    assert game._simulator._engine._step == 1
    assert text.startswith("Your status:\n- health: 9/9\n- food: 9/9\n- drink: 9/9\n- energy: 9/9\n\nYou have nothing")
    assert "\n\nYou see:\n" in text and text.endswith(" at your front.")


def test_an_achievement_counts_once_and_progress_is_its_share_of_twenty_two() -> None:
    game, _ = begun()
    facing(game, "tree")
    outcomes = []
    for _ in range(2):
        outcomes.append(game.step("Do"))
        facing(game, "tree")
    assert [outcome.achievements for outcome in outcomes] == [("Collect Wood",), ()]
    assert outcomes[0].effect == outcomes[1].effect == "facing tree, gives 1 wood"
    assert outcomes[0].reward == 1.0
    assert game.score() == 1 / 22 and len(set(ACHIEVEMENTS)) == 22


def test_what_a_step_brings_to_light_leads_from_what_is_seen_to_what_it_is_good_for() -> None:
    game, _ = begun(wood=3)
    facing(game, "tree")
    seen = game.step("Do").observation
    assert (
        Relation("tree", "gives", "wood") in seen.relations and Entity("Collect Wood", "achievement") in seen.entities
    )
    facing(game, "grass")
    placed = game.step("Place Table")
    assert placed.effect == "facing grass, takes 2 wood"
    assert Relation("wood", "is used for", "Place Table") in placed.observation.relations
    made = game.step("Make Wood Pickaxe")
    assert made.effect == "near table, takes 1 wood, gives 1 wood_pickaxe"
    assert Relation("table", "is wanted beside", "Make Wood Pickaxe") in made.observation.relations


def test_a_reply_without_action_waits_and_the_next_observation_says_so() -> None:
    game, player = begun()
    assert game.parse("I rest.") is None
    before = tuple(player.pos)
    outcome = game.step(None)
    notice = (
        "\n\nYour previous output did not contain a valid action. Defaulted to action: Noop\n\nObservation:\nYou see:\n"
    )
    assert outcome.observation.recalled.startswith(notice)
    assert f"inventory.\n\n{notice}" in outcome.observation.text
    assert tuple(player.pos) == before and outcome.effect == ""
    assert "previous output" not in game.step("Noop").observation.text


def test_the_history_keeps_the_long_term_context_only() -> None:
    seen = CrafterGame(SEED).reset()
    assert seen.recalled and "status" not in seen.recalled and seen.text.endswith(seen.recalled)


def test_death_ends_the_episode_and_is_told() -> None:
    game, _ = begun()
    facing(game, "lava")
    outcome = game.step("Move South")
    assert outcome.done and "You died." in outcome.observation.recalled
    assert outcome.effect == "takes 9 health, You died."


def test_while_asleep_nothing_is_done_until_energy_is_full() -> None:
    game, player = begun()
    player.inventory["energy"] = 8
    asleep = game.step("Sleep").observation.text
    assert "You are sleeping, and will not be able take actions until energy is full." in asleep
    facing(game, "tree")
    assert "wood" not in game.step("Do").observation.text
    outcomes: list[StepOutcome] = []
    while not outcomes or not outcomes[-1].achievements:
        outcomes.append(game.step("Noop"))
    assert outcomes[-1].achievements == ("Wake Up",) and outcomes[-1].effect == "asleep"
    assert len(outcomes) < 20


def test_the_budget_of_the_protocol_ends_the_episode() -> None:
    game, _ = begun()
    game._left = 2
    assert [game.step("Noop").done for _ in range(2)] == [False, True]
    assert MOST_STEPS == 2000
