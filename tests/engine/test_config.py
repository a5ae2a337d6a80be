"""A configuration names every model, also those that the benchmark chooses."""

from __future__ import annotations

from mage_es.engine.benchmarks.registry import own_models
from mage_es.engine.config import Config, canonical, parse


def test_a_configuration_without_models_takes_those_of_its_benchmark() -> None:
    config = Config(benchmark="wordmath")
    assert (config.execution, config.judge) == own_models("wordmath") == ("builtin/analogist", "")


def test_a_model_that_is_named_stays_and_so_does_what_was_recorded() -> None:
    config = Config(benchmark="wordmath", execution="builtin/other", judge="builtin/some")
    assert (config.execution, config.judge) == ("builtin/other", "builtin/some")
    assert parse(canonical(config)) == config
