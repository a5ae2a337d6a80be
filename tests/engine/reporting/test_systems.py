"""What a run is called by its configuration."""

from __future__ import annotations

from typing import Any

import pytest

from mage_es.engine.reporting.systems import short, system_of


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({}, "full"),
        ({"success_memories": False}, "no success memories"),
        ({"tools": False, "guard": "off"}, "no tools, no guard"),
        ({"cascade_plan": False}, "cascade ABD"),
        (
            dict.fromkeys(("cascade_principles", "cascade_action_recipes", "cascade_plan", "cascade_frontier"), False),
            "no cascade",
        ),
        ({"guard": "paper"}, "full"),
    ],
)
def test_a_system_is_called_by_the_parts_that_are_switched_off(bench: Any, config: dict[str, Any], name: str) -> None:
    bench.run("run", **config)
    assert system_of(bench.study().runs[0]) == name


def test_a_model_is_called_by_its_own_name() -> None:
    assert short("vllm/Qwen/Qwen3-8B?max_model_len=4096") == "Qwen3-8B"
    assert short("plain") == "plain"
