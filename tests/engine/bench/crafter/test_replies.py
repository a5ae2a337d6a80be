"""Which action a reply names."""

import pytest

from mage_es.engine.bench.crafter.replies import ACTIONS, action_in, cleaned


def test_there_are_seventeen_actions_by_the_numbers_of_the_simulator() -> None:
    import crafter

    engine = [
        name.replace("_", " ").replace("move left", "move west").replace("move right", "move east")
        for name in crafter.Env().action_names
    ]
    engine = [name.replace("move up", "move north").replace("move down", "move south") for name in engine]
    assert [name.lower() for name in ACTIONS] == engine


@pytest.mark.parametrize("reply", ["Move West", "Move West.", "**Move West**", "  Move West\n", "`Move West`!"])
def test_whatever_is_no_letter_is_dropped(reply: str) -> None:
    assert action_in(reply) == "Move West"


@pytest.mark.paper("section 4, Crafter, the text")
@pytest.mark.parametrize(
    "reply",
    [
        "move west",
        "Move_West",
        "Move  West",
        "I go. Move West",
        "",
        "Move West:",
        "MOVE WEST",
        "1. Move West",
        "Move West .",
    ],
)
def test_what_is_left_must_be_a_name_to_the_letter(reply: str) -> None:
    assert action_in(reply) is None


def test_reasoning_ends_with_a_marker_and_the_last_one_counts() -> None:
    assert action_in("Not ACTION: Do, because it is far.\nACTION: Move North.") == "Move North"
    assert action_in("Wood is near.\nACTION: Do\nThat is all.") is None
    assert action_in("Action: Do") is None
    assert cleaned("no marker: Do", "cot") == "no marker: Do"


def test_the_robust_agent_encloses_the_action() -> None:
    assert action_in("I think <|ACTION|> Make Wood Pickaxe\n<|END|> so") == "Make Wood Pickaxe"
    assert action_in("<|ACTION|>Do.<|END|>") is None
    assert action_in("<|ACTION|>Do") is None


def test_a_reasoning_block_is_no_part_of_the_reply() -> None:
    assert action_in("<think>Perhaps Sleep.</think>\nDo") == "Do"
    assert action_in("<think>Do") is None
