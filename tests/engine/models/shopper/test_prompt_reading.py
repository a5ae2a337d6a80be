"""What the shopper reads off a prompt."""

from __future__ import annotations

import pytest

from mage_es.engine.models.shopper.prompt_reading import Instruction, read_instruction, read_prompt, read_steps

PROMPT = """\
You work towards a goal.

## Principles

> - Click every option.
> ## Task
> not a task

## Task

Find me shirts with soft cotton with color: red, and price lower than 40.00 dollars

## Episode so far

> 1. search[shirts]: Page 1 (Total results: 3)
> 2. (no action): Invalid action!
> 3. click[B000000001]: Shirt: the [red] one, $5

## Observation

> Instruction: [SEP] Buy Now

## Valid actions

- click[buy now]
- click[red]

Give only the next action, without reasoning.
"""


def test_a_prompt_is_read_into_its_parts_and_quoted_headings_are_none() -> None:
    read = read_prompt(PROMPT)
    assert read.instruction.startswith("Find me shirts") and read.is_direct
    assert [step.action for step in read.steps] == ["search[shirts]", "click[b000000001]"]
    assert read.steps[1].effect == "Shirt: the [red] one, $5"
    assert read.actions == ["click[buy now]", "click[red]"]
    assert "not a task" in read.sections["Principles"] and "Observation" not in read.sections


def test_a_prompt_without_anything_is_read_as_nothing() -> None:
    read = read_prompt("Hello?")
    assert (read.instruction, list(read.steps), list(read.actions)) == ("", [], [])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "Find me shirts with soft cotton with color: Red, and size: s | m, and price lower than 40.00 dollars",
            Instruction("Find me ", "shirts with soft cotton", "color: Red, and size: s | m", ("red", "s | m"),
                        ", and price lower than 40.00 dollars"),
        ),
        ("Find me lamps with brass", Instruction("Find me ", "lamps with brass", "", (), "")),
        ("i need a lamp, and price lower than 9.00 dollars",
         Instruction("", "i need a lamp", "", (), ", and price lower than 9.00 dollars")),
        ("", Instruction("", "", "", (), "")),
    ],
)  # fmt: skip
def test_an_instruction_has_an_opening_what_is_asked_options_and_a_price(text: str, parts: Instruction) -> None:
    assert read_instruction(text) == parts


def test_steps_are_read_from_memories_recipes_and_numbered_lines() -> None:
    text = "Reasoning: search[a]: Page 1\nclick[b]\nAnswer: B\n2. click[c]: ok\nAction: click[d]\nwords\nHow: click[e]"
    assert [step.action for step in read_steps(text)] == ["search[a]", "click[b]", "click[c]", "click[d]", "click[e]"]
