"""What a part is worth, on runs of four questions."""

from typing import Any

import pytest

from mage_es.engine.study.reporting.tables import ablation, ablation_sequential, cascade

CASCADE = ("cascade_principles", "cascade_action_recipes", "cascade_plan", "cascade_frontier")


@pytest.mark.paper("tables, ablation")
def test_full_and_without_are_compared_on_their_common_seeds(bench: Any, cells: Any) -> None:
    for seed, full, without in ((1, "1111", "1100"), (2, "1110", "1000"), (3, "0000", "")):
        bench.run(f"f{seed}", seed=seed, after=full)
        if without:
            bench.run(f"n{seed}", seed=seed, success_memories=False, after=without)
    (row,) = cells(ablation(bench.study()))
    # Seed 3 has no partner: full 100 and 75, without 50 and 25, differences 50 and 50.
    assert row == [
        "wordmath",
        "no success memories",
        "87.5 ± 17.7 n=2",
        "37.5 ± 17.7 n=2",
        "+50.0 ± 0.0 n=2 [+50.0, +50.0]",
    ]


def test_without_a_run_with_a_part_off_there_is_no_row(bench: Any) -> None:
    bench.run("full", seed=5, after="1111")
    assert ablation(bench.study()).is_empty


def test_over_several_benchmarks_the_mean_difference_is_the_last_row(bench: Any, cells: Any) -> None:
    for benchmark, without in (("wordmath", "1100"), ("truthworld", "1110")):
        bench.run(f"{benchmark}-f", benchmark=benchmark, execution="x/m", guidance="x/g", after="1111")
        bench.run(
            f"{benchmark}-n",
            benchmark=benchmark,
            execution="x/m",
            guidance="x/g",
            success_memories=False,
            after=without,
        )
    last = cells(ablation(bench.study()))[-1]
    assert last == ["all, mean", "no success memories", "", "", "+37.5"]


@pytest.mark.paper("tables, ablation")
def test_a_sequential_environment_is_compared_by_task_score_and_strict_success(bench: Any, cells: Any) -> None:
    from_ = bench.tools
    for name, config, scores in (("f", {}, (1.0, 0.5)), ("n", {"success_memories": False}, (0.5, 0.0))):
        facts = [from_.played(f"q{n}", score=score, steps=5, unparsed=0) for n, score in enumerate(scores)]
        verdicts = [from_.judged(f"q{n}", "1", score=score) for n, score in enumerate(scores)]
        course = [from_.played("e", score=1.0, steps=5, unparsed=0, iteration=0, purpose="fresh")]
        bench.run(name, benchmark="workshop", events=course, facts={"latest": [*verdicts, *facts]}, **config)
    study = bench.study()
    assert cells(ablation(study)) == []
    (row,) = cells(ablation_sequential(study))
    assert row[2:5] == ["75.0", "25.0", "+50.0 [+50.0, +50.0]"]
    assert row[5:7] == ["50.0", "0.0"]


@pytest.mark.paper("tables, cascade")
def test_the_cascade_has_base_some_parts_and_all_of_them(bench: Any, cells: Any) -> None:
    bench.run("all", after="1111", **dict.fromkeys(CASCADE, True))
    bench.run("none", after="1100", **dict.fromkeys(CASCADE, False))
    bench.run("some", after="1110", **dict.fromkeys(CASCADE[:2], True))
    table = cascade(bench.study())
    assert list(table.columns) == ["Benchmark", "base", "AB", "A-D", "difference"]
    assert cells(table) == [["wordmath", "50.0", "75.0", "100.0", "+50.0 [-43.8, +93.2]"]]
