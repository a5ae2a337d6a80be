"""Prices: known, free, or unknown, never guessed."""

from pathlib import Path

import pytest

from mage_es.engine.run.pricing import Prices, read_prices, require_rates
from mage_es.engine.seams.model import Request
from mage_es.events.errors import UsageError

OWN = """[[price]]
models = ["openai/gpt-x", "anthropic/claude-opus-4-8"]
input = 2.0
output = 8.0
source = "an invoice"
date = 2026-11-01

[[price]]
models = ["openai/gpt-x"]
base_url = "https://elsewhere.example/v1"
input = 1.0
cached = 0.5
output = 4.0
source = "a contract"
date = 2026-11-02
"""


def test_every_price_of_the_package_has_a_source_and_a_day() -> None:
    rate = Prices().rate("anthropic/claude-opus-4-8")
    assert rate is not None
    assert rate.source == "https://platform.claude.com/docs/en/about-claude/pricing, 2026-11-21"
    assert rate.cost(1_000_000, 400_000, 100_000) == pytest.approx(0.6 * 5 + 0.4 * 0.5 + 0.1 * 25)


def test_a_dated_name_of_a_model_has_the_price_of_the_model_and_options_change_nothing() -> None:
    prices = Prices()
    assert prices.rate("anthropic/claude-haiku-4-5-20251001?effort=low") == prices.rate("anthropic/claude-haiku-4-5")
    assert prices.rate("anthropic/claude-haiku-4-5?key_env=OWN_KEY") == prices.rate("anthropic/claude-haiku-4-5")
    assert prices.rate("anthropic/claude-haiku-4-5") is not None


@pytest.mark.parametrize(
    "model",
    [
        "builtin/analogist",
        "recorded/runs/one",
        "vllm/Qwen/Qwen3-8B",
        "llamacpp/smollm2",
        "openai/exec?base_url=http://localhost:8000/v1",
        "openai/exec?base_url=http://127.0.0.1:8000/v1",
        "openai/exec?base_url=http://192.168.1.7:11434/v1",
        "anthropic/exec?base_url=http://[::1]:8000",
    ],
)
def test_what_runs_here_costs_nothing_and_says_so(model: str) -> None:
    rate = Prices().rate(model)
    assert rate is not None and rate.cost(10**9, 0, 10**9) == 0.0
    assert "costs nothing" in rate.source


@pytest.mark.parametrize(
    "model",
    [
        "openai/gpt-x",
        "anthropic/claude-haiku-5-5",
        "anthropic/claude-opus-4-8?base_url=https://elsewhere.example",
        "openai/exec?base_url=http://8.8.8.8/v1",
        "openai/exec?base_url=http://localhost.example/v1",
        "scripted/model",
    ],
)
def test_what_nobody_priced_has_no_price_and_the_error_says_how_to_give_one(model: str) -> None:
    assert Prices().rate(model) is None
    with pytest.raises(UsageError, match=r"--max-calls[\s\S]*--prices[\s\S]*\[\[price\]\]"):
        require_rates(Prices(), {"execution": "builtin/analogist", "guidance": model})


def test_the_entry_that_the_error_shows_is_a_table_of_prices(tmp_path: Path) -> None:
    model = "openai/gpt-x?base_url=https://elsewhere.example/v1"
    with pytest.raises(UsageError) as raised:
        require_rates(Prices(), {"judge": model})
    path = tmp_path / "prices.toml"
    path.write_text(str(raised.value)[str(raised.value).index("[[price]]") :])
    require_rates(read_prices(path), {"judge": model})


def test_a_users_own_prices_go_first_and_are_those_of_their_endpoint(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(OWN)
    prices = read_prices(path)
    direct, there = prices.rate("openai/gpt-x"), prices.rate("openai/gpt-x?base_url=https://elsewhere.example/v1")
    opus, haiku = prices.rate("anthropic/claude-opus-4-8"), prices.rate("anthropic/claude-haiku-4-5")
    assert direct and there and opus and haiku
    assert (direct.input, direct.cached, there.input, there.cached, opus.input) == (2.0, 2.0, 1.0, 0.5, 2.0)
    assert (haiku.input, opus.source) == (1.0, "an invoice, 2026-11-01")
    assert prices.rate("openai/gpt-x?base_url=https://third.example/v1") is None


@pytest.mark.parametrize("content", ["[[price]]\nmodels = 3", "[[prize]]\n", OWN.replace("2.0", "-2.0")])
def test_a_file_that_is_no_table_of_prices_is_named_with_what_is_wrong(tmp_path: Path, content: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(UsageError, match=r"mine\.toml is not a table of prices"):
        read_prices(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_prices(tmp_path / "missing.toml")


GATEWAY = """[[price]]
models = ["openai/gpt-x", "anthropic/claude-opus-4-8"]
base_url = "http://localhost:4000/v1"
input = 3.0
output = 15.0
source = "the gateway's own table"
date = 2026-11-01
"""


def test_a_gateway_on_this_machine_that_bills_has_a_users_own_price_and_never_that_of_the_package(
    tmp_path: Path,
) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(GATEWAY)
    prices = read_prices(path)
    for model in ("openai/gpt-x", "anthropic/claude-opus-4-8", "anthropic/claude-opus-4-8-20261101"):
        for slash in ("", "/"):
            rate = prices.rate(f"{model}?base_url=http://localhost:4000/v1{slash}")
            assert rate is not None and (rate.input, rate.source) == (3.0, "the gateway's own table, 2026-11-01")
    for model in ("anthropic/claude-opus-4-8?base_url=http://localhost:5000", "openai/gpt-x?base_url=http://localhost"):
        rate = prices.rate(model)
        assert rate is not None and rate.input == 0.0 and "costs nothing" in rate.source


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("output = 4.0", 'output = "4"', r"entry 2 \(openai/gpt-x\): Expected `float`, got `str` - at `\$\.output`"),
        ("input = 1.0\n", "", r"entry 2 \(openai/gpt-x\): Object missing required field `input`"),
        ("cached = 0.5", "cashed = 0.5", r"entry 2 \(openai/gpt-x\): Object contains unknown field `cashed`"),
        ('source = "an invoice"', 'source = " "', r"entry 1 \(openai/gpt-x, anthropic/claude-opus-4-8\)[\s\S]*source"),
        ("date = 2026-11-02", "date = 2999-01-01", r"entry 2 \(openai/gpt-x\): its date, 2999-01-01, is in the future"),
        ('models = ["openai/gpt-x"]', "models = []", r"entry 2 \(\)[\s\S]*models"),
        ('models = ["openai/gpt-x"]\n', "", r"entry 2 \(of no model\)[\s\S]*models"),
    ],
)
def test_an_entry_that_is_no_price_is_named_by_its_number_and_its_models(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(OWN.replace(old, new))
    with pytest.raises(UsageError, match=r"mine\.toml is not a table of prices: " + told):
        read_prices(path)


def test_no_call_costs_more_than_its_bound() -> None:
    rate = Prices().rate("anthropic/claude-opus-4-8")
    assert rate is not None
    request = Request(prompt="é" * 100, max_tokens=50)
    assert rate.most(request) >= rate.cost(200, 0, 50)


def test_writing_into_a_cache_costs_more_reading_from_it_less_and_a_batch_half_of_all() -> None:
    rate = Prices().rate("anthropic/claude-opus-4-8")
    assert rate is not None
    alone = rate.cost(1_000_000, 400_000, 100_000, cache_write_tokens=200_000)
    assert alone == pytest.approx(0.4 * 5 + 0.4 * 0.5 + 0.2 * 6.25 + 0.1 * 25)
    batched = rate.cost(1_000_000, 400_000, 100_000, cache_write_tokens=200_000, batched=True)
    assert batched == pytest.approx(alone / 2)


def test_where_nobody_says_what_writing_costs_it_is_a_quarter_more_and_batches_cost_the_same(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(OWN)
    rate = read_prices(path).rate("openai/gpt-x")
    assert rate is not None and (rate.cache_write, rate.batch) == (2.5, 1.0)


def test_a_prompt_whose_system_message_is_written_into_a_cache_is_within_the_bound() -> None:
    rate = Prices().rate("anthropic/claude-opus-4-8")
    assert rate is not None
    request = Request(system="a" * 3000, prompt="a" * 1000, max_tokens=50)
    assert rate.most(request) >= rate.cost(4000, 0, 50, cache_write_tokens=3000) > rate.cost(4000, 0, 50)
