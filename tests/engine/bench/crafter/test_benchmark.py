"""The benchmark as the engine sees it: worlds as tasks, apart from each other, and predictions that are actions."""

import subprocess
import sys
from pathlib import Path

import pytest

from mage_es.engine.bench.crafter.benchmark import SIZES, Crafter
from mage_es.engine.benchmarks.measuring import Prediction
from mage_es.engine.benchmarks.registry import open_records
from mage_es.engine.players.reference.plans import read_plan
from mage_es.engine.rules.splits import make_splits
from mage_es.events.errors import PrerequisiteError

BENCHMARK = Crafter(42)


@pytest.mark.paper("section 4, Crafter, tasks")
def test_no_world_is_lost_to_the_instruction_that_all_share() -> None:
    evolution, test = BENCHMARK.questions("evolution"), BENCHMARK.questions("test")
    splits = make_splits(evolution, test, seed=42, anchors=5, held_out=5)
    assert not splits.repeats
    assert (len(splits.evolution), len(splits.anchors), len(splits.held_out)) == (SIZES["evolution"] - 5, 5, 5)
    assert len({question.context for question in (*evolution, *test)}) == 1


def test_the_worlds_of_both_splits_and_of_two_seeds_are_different() -> None:
    worlds = [
        question.meta["world"]
        for benchmark in (BENCHMARK, Crafter(43))
        for split in SIZES
        for question in benchmark.questions(split)
    ]
    assert len(set(worlds)) == len(worlds) == 2 * sum(SIZES.values())
    assert Crafter(42).data_sha256 == BENCHMARK.data_sha256 != Crafter(43).data_sha256


def test_any_seed_of_a_run_has_worlds_that_the_simulator_takes() -> None:
    assert all(0 <= int(question.meta["world"]) < 2**31 - 1 for question in Crafter(2**63 - 1).questions("test"))


@pytest.mark.paper("section 4, Crafter, guidance")
def test_the_public_rules_are_told_to_the_guidance_tier_and_for_evolution_only() -> None:
    assert (
        len(read_plan(BENCHMARK.questions("evolution")[0].solution)) == 23
    )  # one for each achievement, one to walk by
    assert not any(question.solution for question in BENCHMARK.questions("test"))
    assert "2 wood" not in BENCHMARK.questions("evolution")[0].context


def test_a_prediction_is_a_list_of_actions_and_measured_by_playing_it() -> None:
    question = BENCHMARK.questions("test")[0]
    actions = ["Sleep"] * 40 + ["Noop"] * 20
    measured = BENCHMARK.measure(question, Prediction(question.id, actions), strict=False)
    assert measured.answer == "Wake Up"
    assert measured.metrics["progress"] == pytest.approx(100 / 22)
    assert (measured.metrics["wake_up"], measured.metrics["eat_cow"]) == (1.0, 0.0)
    as_text = BENCHMARK.measure(question, Prediction(question.id, "\n".join(actions)), strict=True)
    assert as_text == measured
    by_number = BENCHMARK.measure(question, Prediction(question.id, [6] * 40 + [0] * 20), strict=False)
    assert by_number == measured
    assert BENCHMARK.measure(question, Prediction(question.id, None), strict=False).metrics["progress"] == 0.0


def test_a_file_of_seeds_is_a_test_split_of_these_worlds(tmp_path: Path) -> None:
    file = tmp_path / "worlds.jsonl"
    file.write_text('{"seed": 3, "actions": [0]}\n{"seed": 1}\n')
    benchmark = open_records("crafter", file)
    assert [question.meta["world"] for question in benchmark.questions("test")] == ["3", "1"]
    assert {"1", "3"}.isdisjoint(question.meta["world"] for question in benchmark.questions("evolution"))
    file.write_text('{"seed": -1}\n')
    with pytest.raises(PrerequisiteError, match=r"line 1: .*seed"):
        open_records("crafter", file)


@pytest.mark.paper("section 4, Crafter, tasks")
def test_totals_are_means_with_the_standard_error_of_the_population() -> None:
    question = BENCHMARK.questions("test")[0]
    slept = BENCHMARK.measure(question, Prediction(question.id, ["Sleep"] * 60), strict=False)
    idle = BENCHMARK.measure(question, Prediction(question.id, []), strict=False)
    total = BENCHMARK.total([(question, slept), (question, idle)])
    assert total["progress"] == pytest.approx(50 / 22)
    assert total["standard_error"] == pytest.approx(50 / 22 / 2**0.5)
    assert total["wake_up"] == 0.5
    assert BENCHMARK.total([]) == {}


def test_without_the_simulator_the_way_to_it_is_told() -> None:
    code = (
        "import sys; sys.modules['crafter'] = None\n"
        "from mage_es.engine.benchmarks.registry import open_benchmark\n"
        "try:\n    open_benchmark('crafter', seed=1)\n"
        "except Exception as error:\n    print(type(error).__name__, error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.startswith("PrerequisiteError The benchmark crafter needs the simulator")
    assert said.endswith("Run: python -m pip install 'mage-es[benchmarks]'\n")
