"""What a run is called by its configuration."""

from typing import Any

import pytest

from mage_es.engine.study.reporting.places import short


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({}, "full"),
        ({"success_memories": False}, "no success memories"),
        ({"tools": False, "guard": "off"}, "no tools, no guard"),
        ({"guard": "paper"}, "full"),
    ],
)
def test_a_system_is_called_by_the_parts_that_are_switched_off(bench: Any, config: dict[str, Any], name: str) -> None:
    bench.run("all")
    bench.run("run", **config)
    study = bench.study()
    assert {run.begun.run_id: study.placed[run].system for run in study.runs} == {"all": "full", "run": name}


def test_a_part_of_the_cascade_is_left_out_where_another_run_has_it(bench: Any) -> None:
    bench.run("a", cascade_action_recipes=False)
    bench.run("b")
    bench.run("c", cascade_principles=True)
    study = bench.study()
    assert {run.begun.run_id: study.placed[run].system for run in study.runs} == {
        "a": "no cascade",
        "b": "cascade B",
        "c": "full",
    }


def test_a_model_is_called_by_its_own_name() -> None:
    assert short("vllm/Qwen/Qwen3-8B?max_model_len=4096") == "Qwen3-8B"
    assert short("plain") == "plain"
