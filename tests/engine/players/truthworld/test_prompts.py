"""What counts in a prompt is what is quoted, where it is quoted, and by which route is asked."""

from __future__ import annotations

import pytest

from mage_es.engine.players.truthworld.learner import read_truth_prompt
from mage_es.engine.players.worlds.truthworld.claims import Claim
from mage_es.engine.players.worlds.truthworld.world import Rule
from mage_es.engine.seams.model import Request

SHOWN, TOLD = Claim("tarn", Rule("add", 7)), Claim("osk", Rule("multiply by", 3))


def prompt(*sections: tuple[str, str], instruction: str = "Reason step by step.") -> Request:
    quoted = "".join(f"## {title}\n\n> {text}\n\n" for title, text in sections)
    return Request(system=instruction, prompt=f"{quoted}## Question\n\nAtlas 42, what is it?")


@pytest.mark.parametrize("title", ["Solved earlier", "Corrected earlier", "Strategy"])
def test_a_worked_memory_shows_its_claims(title: str) -> None:
    assert read_truth_prompt(prompt((title, f"Reply: {SHOWN}: 3 + 7 = 10"))).informed == ({SHOWN}, frozenset())


@pytest.mark.parametrize("title", ["Principles", "Skill", "Plan"])
def test_what_else_is_quoted_only_tells_its_claims(title: str) -> None:
    assert read_truth_prompt(prompt((title, f"- {TOLD}."))).informed == (frozenset(), {TOLD})


def test_what_is_not_quoted_is_no_claim_and_neither_is_what_an_earlier_call_said() -> None:
    earlier = (("Steps so far", f"Output: {SHOWN}"), ("Tool result", str(TOLD)))
    assert read_truth_prompt(prompt(*earlier, instruction=f"{SHOWN}.")).informed == (frozenset(), frozenset())


@pytest.mark.parametrize(
    ("sections", "instruction", "route"),
    [
        ((), "Reason step by step.", "cot"),
        (("Principles",), "Reason step by step.", "cot_principles"),
        (("Principles", "Steps so far"), "Put it together.", "chain"),
        (("Tool result",), "Use its result.", "tool"),
        (("Principles",), "Write nothing else: no reasoning.", "direct"),
    ],
)
def test_the_route_is_told_by_what_the_prompt_shows(sections: tuple[str, ...], instruction: str, route: str) -> None:
    found = read_truth_prompt(prompt(*((title, "text") for title in sections), instruction=instruction))
    assert (found.route, found.manner) == (route, "answer")


def test_a_step_and_a_tool_call_are_no_answers() -> None:
    assert read_truth_prompt(prompt(("Steps so far", "a"), ("This step", "Step: b"))).manner == "step"
    assert read_truth_prompt(prompt(("Tool", "Name: reckon"))).manner == "call"


def test_a_text_without_headings_is_the_question() -> None:
    assert read_truth_prompt(Request(prompt="Atlas 42?")).asked == "Atlas 42?"
