"""Benchmarks are opened by name, and nothing is read or generated before that."""

import subprocess
import sys

import pytest

from mage_es.engine.benchmarks.registry import names, open_benchmark, own_models, recorded_name, with_own_models
from mage_es.engine.config import Config
from mage_es.events.errors import PrerequisiteError, UsageError


def test_an_unknown_benchmark_is_refused_with_the_near_matches() -> None:
    with pytest.raises(UsageError, match=r"no benchmark 'gsm9k'\. Did you mean gsm8k\?"):
        open_benchmark("gsm9k", seed=1)


def test_names_are_sorted_and_each_opens_or_says_how_to_get_it() -> None:
    assert names() == sorted(names())
    for name in names():
        try:
            assert open_benchmark(name, seed=1).name == recorded_name(name)
        except PrerequisiteError as error:
            assert str(error).endswith(f"mage-es fetch {name} --data-dir data")


def test_a_configuration_without_models_takes_those_of_its_benchmark() -> None:
    config = with_own_models(Config(benchmark="wordmath"))
    assert (config.execution, config.guidance, config.judge) == own_models("wordmath")
    assert own_models("wordmath") == ("builtin/analogist", "builtin/reference", "")
    assert with_own_models(Config(benchmark="truthworld")).judge == "truth/judge"


def test_a_model_that_is_named_stays() -> None:
    config = with_own_models(Config(benchmark="wordmath", execution="builtin/other", judge=""))
    assert (config.execution, config.judge) == ("builtin/other", "")


def test_importing_the_registry_imports_no_benchmark_and_nothing_heavy() -> None:
    code = (
        "import sys, mage_es.engine.benchmarks.registry as r; r.names(); "
        "print([m for m in sys.modules if m in ('numpy', 'pyarrow') or 'gsm8k' in m or 'wordmath' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
