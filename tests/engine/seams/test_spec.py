"""Specs of models."""

import pytest

from mage_es.engine.seams.spec import parse_spec
from mage_es.events.errors import UsageError

KNOWN = {"openai": ("base_url", "timeout", "key_env"), "builtin": ()}


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
        ("openai/x?key_env=sk-canary", "key_env must be the name"),
        ("openai/x?base_url=http://me:canary@there/v1", "must hold no name, password"),
        ("openai/x?base_url=http://me:canary@[::1/v1", "must hold no name, password"),
        ("openai/x?base_url=http://there/v1?k%3Dcanary", "must hold no name, password"),
        ("openai/x?base_url=", "not an address"),
        ("openai/x?base_url=localhost:8000/v1", "not an address"),
        ("openai/x?base_url=ftp://there/v1", "not an address"),
        ("openai/x?base_url=http:///v1", "not an address"),
        ("openai/x?base_url=http://[::1:8000/v1", "not an address"),
        ("openai/x?base_url=http://there:99999/v1", "not an address"),
        ("openai/x?base_url=http://there:a/v1", "not an address"),
        ("openai/x?base_url=http://the re/v1", "not an address"),
        ("openai/x?base_url=http://there/v1%23here", "not an address"),
        ("openai/x?timeout=5&timeout=6", "timeout is given twice"),
    ],
)
def test_a_spec_that_cannot_be_meant_is_refused_with_the_way_out(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as raised:
        parse_spec(text, known=KNOWN)
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize("url", ["http://[::1]:8000/v1", "https://there", "http://there:80/a/v1/"])
def test_an_address_may_be_any_that_a_request_can_be_sent_to(url: str) -> None:
    assert parse_spec(f"openai/x?base_url={url}", known=KNOWN).options["base_url"] == url


@pytest.mark.parametrize("given", ["soon", "nan", "inf", "-5", "1e10"])
def test_an_option_that_must_be_a_number_says_so(given: str) -> None:
    with pytest.raises(UsageError, match=f"timeout must be a number of at least 0, not '{given}'"):
        parse_spec(f"openai/x?timeout={given}", known=KNOWN).number("timeout", 1)


def test_an_option_in_seconds_is_more_than_none_and_one_in_whole_numbers_has_no_fraction() -> None:
    assert parse_spec("openai/x?timeout=0.5", known=KNOWN).seconds("timeout", 9) == 0.5
    assert parse_spec("openai/x?timeout=7", known=KNOWN).whole("timeout", 9) == 7
    with pytest.raises(UsageError, match="more than 0 seconds"):
        parse_spec("openai/x?timeout=0", known=KNOWN).seconds("timeout", 9)
    with pytest.raises(UsageError, match=r"whole number, not '0\.5'"):
        parse_spec("openai/x?timeout=0.5", known=KNOWN).whole("timeout", 9)


def test_a_word_that_an_option_does_not_know_is_refused_and_the_first_stands_where_none_is_given() -> None:
    assert parse_spec("openai/x", known=KNOWN).chosen("timeout", ("off", "on")) == "off"
    assert parse_spec("openai/x?timeout=on", known=KNOWN).chosen("timeout", ("off", "on")) == "on"
    with pytest.raises(UsageError, match=r"timeout='onn'\. Did you mean on"):
        parse_spec("openai/x?timeout=onn", known=KNOWN).chosen("timeout", ("off", "on"))
