"""The paper's preset has every value of the paper's table, and what is set explicitly wins over it."""

import sys
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.config import PAPER, PRESETS, Config, configured, parse
from mage_es.engine.rules.choice import default_arm
from mage_es.engine.rules.setting import Setting
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import reopen_world
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import RunStarted
from tests.paper_parts import PAPER_PARTS

HYPERPARAMETER_TABLE = {
    "mastery_increase": 0.6,
    "mastery_decay": 0.1,
    "mastery_threshold": 0.5,
    "recency_weight": "3/10",
    "targets": 3,
    "bundle": 3,
    "long_context": 500,
    "strategy_floor": 0.55,
    "refresh_gap": 5,
    "principles_per_skill": 12,
    "warmup": 20,
    "guard_drop": 0.03,
    "catastrophic_drop": 0.05,
    "answer_temperature": 0.0,
    "exploration_temperature": 0.3,
    "pool": 200,
    "iterations": 20,
}


@pytest.mark.paper("hyperparameters")
def test_the_papers_preset_has_every_value_of_the_hyperparameter_table() -> None:
    assert HYPERPARAMETER_TABLE.items() <= PAPER.items()


def test_the_literal_readings_are_set_all_at_once() -> None:
    config = configured("paper", benchmark="wordmath")
    assert (config.failure_signal, config.guard, config.revisit_self) == ("window", "paper", "include")
    assert (config.task_types, config.frontier_estimator, config.anchors) == ("gold", "ratchet", 0)


def test_the_papers_preset_has_its_bandits_quotas_sections_and_revisits() -> None:
    assert PAPER_PARTS.items() <= PAPER.items()
    config = configured("paper", benchmark="wordmath")
    setting = Setting(config, (), (), (), ("t",), "", is_labelled=True)
    assert (setting.route, setting.config.form, default_arm(setting, "search")) == ("cot", "sections", "balanced")


def test_by_default_the_nearest_cases_are_shown_as_turns() -> None:
    setting = Setting(configured("default", benchmark="wordmath"), (), (), (), ("t",), "")
    assert (setting.route, setting.config.form, default_arm(setting, "search")) == ("cot", "usual", "nearest")
    assert not PAPER_PARTS.items() & msgspec.to_builtins(setting.config).items()


def test_without_a_preset_the_configuration_is_the_default_one() -> None:
    assert configured("default", benchmark="wordmath") == Config(benchmark="wordmath")


def test_what_is_given_explicitly_wins() -> None:
    config = configured("paper", benchmark="wordmath", warmup=3, guard="off")
    assert (config.warmup, config.guard, config.failure_signal) == (3, "off", "window")


def test_every_name_of_every_preset_is_a_setting() -> None:
    assert all(set(values) <= set(Config.__struct_fields__) for values in PRESETS.values())


def test_a_value_out_of_bounds_is_refused() -> None:
    with pytest.raises(UsageError, match=r"at `\$.pool`"):
        configured("paper", benchmark="wordmath", pool=0)


@pytest.mark.paper("section 3.5, embedding model")
def test_where_the_papers_embedder_cannot_be_loaded_the_run_says_so_and_goes_on_with_what_it_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # as where it is not installed
    said: list[str] = []
    config = configured("paper", benchmark="wordmath", iterations=1, pool=4, held_out=2)
    runtime = Runtime(observer=lambda note: said.append(note.message))
    evolve(config, runs_dir=tmp_path, runtime=runtime, run_id="r")
    reader = LogReader(find_run(tmp_path, "r").log_path)
    started = next(reader.of(RunStarted))
    assert (started.embedder, parse(started.config).embedder) == ("hash", "paper")
    assert any("all-MiniLM-L6-v2) cannot be loaded here, so the run uses hash" in words for words in said)
    # What can be loaded later changes nothing.
    assert reopen_world(reader, data_dir=None).embedder.name == "hash"
