"""Players of episodes read a prompt by its headings, and throw dice that are the prompt's own."""

from __future__ import annotations

import pytest

from mage_es.engine.models.players import completed, dice_of, sections_of
from mage_es.engine.models.seam import Request


def test_a_prompt_is_divided_by_its_headings_and_quotation_marks_are_taken_off() -> None:
    prompt = "before\n## Rules\n> one\n>two\n>\n## Asked \nplain > text\n## Rules\n> three"
    assert sections_of(prompt) == {"": "before", "Rules": "one\ntwo\n\nthree", "Asked": "plain > text"}


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_that_share_of_prompts_is_a_trial_and_the_same_ones_every_time(share: float) -> None:
    thrown = [dice_of(f"prompt {number}", share) for number in range(1000)]
    assert thrown == [dice_of(f"prompt {number}", share) for number in range(1000)]
    assert abs(sum(is_trial for _, is_trial in thrown) - 1000 * share) <= 60  # four standard deviations
    assert len({dice for dice, _ in thrown}) == 1000


def test_words_and_marks_of_prompt_and_reply_are_counted() -> None:
    request = Request(prompt="Go, now!", temperature=0.5, max_tokens=9)
    came = completed(request, lambda prompt, temperature: f"{temperature} of it")
    assert (came.text, came.input_tokens, came.output_tokens) == ("0.5 of it", 4, 5)
