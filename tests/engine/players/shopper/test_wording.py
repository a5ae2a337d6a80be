"""How the shop words instructions and accounts."""

from __future__ import annotations

import pytest

from mage_es.engine.players.shopper.model import InstructionParts, actions_in, read_instruction

BOUND = ", and price lower than 40.00 dollars"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            f"Find me shirts with soft cotton with color: Red, and size: s | m{BOUND}",
            InstructionParts("Find me ", ("red", "s | m"), BOUND),
        ),
        ("Find me lamps with brass", InstructionParts("Find me ", (), "")),
        (f"i need a lamp{BOUND}", InstructionParts("", (), BOUND)),
        ("", InstructionParts("", (), "")),
    ],
)
def test_an_instruction_has_an_opening_options_and_a_price(text: str, parts: InstructionParts) -> None:
    assert read_instruction(text) == parts


def test_actions_are_read_from_memories_recipes_and_numbered_lines() -> None:
    text = "Reply: search[a]: Page 1\nclick[b]\nAnswer: B\n2. click[c]: ok\nAction: click[d]\nwords\nHow: click[e]"
    assert actions_in(text) == ["search[a]", "click[b]", "click[c]", "click[d]", "click[e]"]
