"""A configuration names every model, also those that the benchmark chooses, and warns of what cannot work."""

from __future__ import annotations

import pytest

from mage_es.engine.benchmarks.registry import own_models
from mage_es.engine.config import Config, canonical, cautions, parse


def test_a_configuration_without_models_takes_those_of_its_benchmark() -> None:
    config = Config(benchmark="wordmath")
    assert (config.execution, config.guidance, config.judge) == own_models("wordmath")
    assert own_models("wordmath") == ("builtin/analogist", "builtin/reference", "")
    assert Config(benchmark="truthworld").judge == "builtin/truthjudge"


def test_a_model_that_is_named_stays_and_so_does_what_was_recorded() -> None:
    config = Config(benchmark="wordmath", execution="builtin/other", judge="builtin/some")
    assert (config.execution, config.judge) == ("builtin/other", "builtin/some")
    assert parse(canonical(config)) == config


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"failure_signal": "cumulative"}, "starves task types"),
        ({"recency_weight": "0"}, "wait for ever"),
        ({"guard": "paired", "anchors": 0}, "can notice nothing"),
    ],
)
def test_what_cannot_do_its_work_is_cautioned_against(change: dict[str, object], part: str) -> None:
    assert part in " ".join(cautions(Config(benchmark="wordmath", **change)))


@pytest.mark.parametrize("signal", ["rate", "window", "open"])
def test_there_is_no_caution_where_every_wait_is_bounded(signal: str) -> None:
    assert cautions(Config(benchmark="wordmath", failure_signal=signal)) == []
