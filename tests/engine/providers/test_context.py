"""The estimate of a prompt's tokens: rather above what tokenizers make of it than below."""

import pytest

from mage_es.engine.providers.clients import fitting, told_context
from mage_es.engine.seams.faults import ModelFault
from mage_es.engine.seams.model import Request
from mage_es.engine.seams.tokens import estimated_tokens

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


def test_prompt_and_a_quarter_of_the_longest_reply_together_must_fit() -> None:
    request = Request(prompt="word " * 10, max_tokens=50)
    assert fitting(request, 11 + TEMPLATE + 50) == fitting(request, 0) == 50
    with pytest.raises(ModelFault) as raised:
        fitting(request, 11 + TEMPLATE + 11)
    assert raised.value.fault.kind == "too_long"


def test_a_reply_is_given_what_the_prompt_leaves_down_to_a_quarter_of_its_limit() -> None:
    request = Request(prompt="word " * 10, max_tokens=50)
    assert [fitting(request, 11 + TEMPLATE + room) for room in (49, 12)] == [49, 12]


@pytest.mark.parametrize(
    ("refusal", "context"),
    [
        ("This model's maximum context length is 4096 tokens. However, you requested 5096 tokens", 4096),
        ("the request exceeds the available context size (8192 tokens), try increasing it", 8192),
        ("max_tokens is too large: 4096. This model's maximum context length is 2048 tokens", 2048),
        ("prompt is too long", 0),
    ],
)
def test_the_context_is_read_off_the_words_of_a_refusal(refusal: str, context: int) -> None:
    assert told_context(refusal) == context
