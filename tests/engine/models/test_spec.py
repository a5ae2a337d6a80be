"""Specs of models."""

from __future__ import annotations

import pytest

from mage_es.engine.models.spec import parse_spec
from mage_es.events.errors import UsageError

KNOWN = {"openai": ("base_url", "timeout"), "builtin": ()}


def test_a_spec_has_provider_model_and_options() -> None:
    spec = parse_spec("openai/Qwen/Qwen3-8B?base_url=http://localhost:8000/v1&timeout=30", known=KNOWN)
    assert (spec.provider, spec.model) == ("openai", "Qwen/Qwen3-8B")
    assert spec.options == {"base_url": "http://localhost:8000/v1", "timeout": "30"}
    assert spec.number("timeout", 600) == 30
    assert spec.text == "openai/Qwen/Qwen3-8B?base_url=http://localhost:8000/v1&timeout=30"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gpt-9", "provider/model"),
        ("openai/", "provider/model"),
        ("opnai/x", "Did you mean openai"),
        ("openai/x?base_ur=1", "Did you mean base_url"),
        ("openai/x?base_url", "option=value"),
        ("openai/x?api_key=sk-canary", "must not hold a key"),
    ],
)
def test_a_spec_that_cannot_be_meant_is_refused_with_the_way_out(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as raised:
        parse_spec(text, known=KNOWN)
    assert "canary" not in str(raised.value)


def test_an_option_that_must_be_a_number_says_so() -> None:
    with pytest.raises(UsageError, match="timeout must be a number"):
        parse_spec("openai/x?timeout=soon", known=KNOWN).number("timeout", 1)
