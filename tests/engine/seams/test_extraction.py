"""Finding the final answer in a reply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.seams.extraction import final_answer, last_boxed, trimmed, without_reasoning


def none(text: str) -> str | None:
    return None


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Paris", "Paris"),
        ("I think.\n\nParis.\n", "Paris"),
        ("Answer: Paris", "Paris"),
        ("answer : Paris\n\nBecause it is.", "Paris"),
        ("Answer: Rome\nno, wait\n\nFinal answer: Paris", "Paris"),
        ("**Answer:** Paris", "Paris"),
        ("**Answer**: **Paris**", "Paris"),
        ("*Final Answer:* _Paris_.", "Paris"),
        ("**Answer: Paris**", "Paris"),
        ("__Final answer: Paris__.", "Paris"),
        ("**Answer: Paris** (of France)", "Paris (of France)"),
        ("**Answer: Paris", "Paris"),
        ("**Answer:**\n\nParis\n\nBecause it is.", "Paris"),
        ("The Answer: Rome\nParis", "Paris"),
        ("Answer: Paris,\nin France\n\nmore", "Paris,\nin France"),
        ("Answer:\nParis", "Paris"),
        (r"we get \boxed{Rome} or \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"Answer: Paris \boxed{Rome}", r"Paris \boxed{Rome}"),
        (r"a \boxed{Rome} and \boxed{broken", "Rome"),
        ("<think>Answer: Rome</think>Answer: Paris", "Paris"),
        ("\n <think>Rome</think>\nParis", "Paris"),
        ("<think>Answer: Paris", ""),
        ("Paris <think>Rome</think> x", "Paris <think>Rome</think> x"),
        ("", ""),
        ("   \n\t\n", ""),
    ],
)
def test_the_first_rule_that_applies_wins(reply: str, answer: str) -> None:
    assert final_answer(reply, none) == answer


def test_the_native_marker_comes_before_everything_but_the_reasoning_block() -> None:
    def native(text: str) -> str | None:
        return text.partition("=>")[2] or None

    assert final_answer("=> Paris.\nAnswer: Rome", native) == "Paris.\nAnswer: Rome"
    assert final_answer("<think>=> Rome</think>Answer: Paris", native) == "Paris"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('"Paris"', "Paris"),
        ("“Paris”.", "Paris"),
        ("'Paris", "'Paris"),
        ("**Paris**.", "Paris"),
        ("Paris..", "Paris.."),
        ("18.", "18"),
        ('"**Paris.**"', "Paris"),
        ("U.S.", "U.S"),
        ("**", "**"),
        (".", ""),
    ],
)
def test_trimming_takes_off_quotes_emphasis_and_one_full_stop(text: str, kept: str) -> None:
    assert trimmed(text) == kept


def test_a_boxed_answer_needs_balanced_braces() -> None:
    assert last_boxed(r"\boxed{a{b}c}") == "a{b}c"
    assert last_boxed(r"\boxed{a") is None
    assert last_boxed("none") is None


def test_only_a_leading_reasoning_block_is_dropped() -> None:
    assert without_reasoning("<think>a</think>b</think>c") == "b</think>c"
    assert without_reasoning("a<think>b</think>") == "a<think>b</think>"


def test_a_reasoning_block_that_the_prompt_has_opened_ends_where_it_is_closed() -> None:
    assert without_reasoning("#### 3, or not?</think>\n#### 5") == "\n#### 5"
    assert final_answer("Answer: Rome\n</think>\nParis", none) == "Paris"


@given(st.text(alphabet='ab \n.*_"\\boxed{}<think>/Answer:', max_size=200))
def test_extraction_never_raises(reply: str) -> None:
    assert isinstance(final_answer(reply, none), str)
