"""Reading the action that a reply names."""

import pytest

from mage_es.engine.seams.playing import named_action


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        ("Action: go to cave", "go to cave"),
        ("I need ore.\nAction: go to cave", "go to cave"),
        ("Action: collect ore\nNo, wait.\nAction: go to cave", "go to cave"),
        ("**Action:** `go to cave`.", "go to cave"),
        ("> action : Go To Cave", "Go To Cave"),
        ("go to cave", "go to cave"),
        ("First this.\n\ngo to cave.\n\n", "go to cave"),
        ("<think>Action: collect ore</think>\nAction: go to cave", "go to cave"),
        ("<think>Action: collect ore", ""),
        ("", ""),
    ],
)
def test_the_action_is_what_follows_the_last_marker_or_else_the_last_line(reply: str, named: str) -> None:
    assert named_action(reply) == named
