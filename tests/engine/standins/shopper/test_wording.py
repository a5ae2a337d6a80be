"""How the shop words instructions and accounts."""

from __future__ import annotations

import pytest

from mage_es.engine.standins.shopper.wording import InstructionParts, read_instruction, read_steps


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "Find me shirts with soft cotton with color: Red, and size: s | m, and price lower than 40.00 dollars",
            InstructionParts("Find me ", "shirts with soft cotton", "color: Red, and size: s | m", ("red", "s | m"),
                        ", and price lower than 40.00 dollars"),
        ),
        ("Find me lamps with brass", InstructionParts("Find me ", "lamps with brass", "", (), "")),
        ("i need a lamp, and price lower than 9.00 dollars",
         InstructionParts("", "i need a lamp", "", (), ", and price lower than 9.00 dollars")),
        ("", InstructionParts("", "", "", (), "")),
    ],
)  # fmt: skip
def test_an_instruction_has_an_opening_what_is_asked_options_and_a_price(text: str, parts: InstructionParts) -> None:
    assert read_instruction(text) == parts


def test_steps_are_read_from_memories_recipes_and_numbered_lines() -> None:
    text = "Reply: search[a]: Page 1\nclick[b]\nAnswer: B\n2. click[c]: ok\nAction: click[d]\nwords\nHow: click[e]"
    assert [step.action for step in read_steps(text)] == ["search[a]", "click[b]", "click[c]", "click[d]", "click[e]"]
