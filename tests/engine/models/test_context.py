"""The estimate of a prompt's tokens: rather above what tokenizers make of it than below."""

from __future__ import annotations

import pytest

from mage_es.engine.models.context import estimated_tokens, require_fit
from mage_es.engine.seams.faults import ModelFault
from mage_es.engine.seams.model import Request

TEMPLATE = estimated_tokens("")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("the question", 1 + 2),
        ("12.5%", 5),
        ("a\n\nb", 4),
        ("word " * 80, 80 + 10),
        ("    indented", 1 + 2),
        ("x=1;", 4),
        ("水", 2),
        ("é", 1),
        ("\N{GRINNING FACE}", 3),
    ],
)
def test_words_count_by_letters_and_digits_marks_and_lines_each_for_itself(text: str, tokens: int) -> None:
    assert estimated_tokens(text) - TEMPLATE == tokens


def test_prompt_and_longest_reply_together_must_fit() -> None:
    request = Request(prompt="word " * 10, max_tokens=50)
    require_fit(request, 11 + TEMPLATE + 50)
    require_fit(request, 0)
    with pytest.raises(ModelFault) as raised:
        require_fit(request, 11 + TEMPLATE + 49)
    assert raised.value.fault.kind == "too_long"
