"""Sequential environments: scores, peak, achievements, replies without an action."""

from typing import Any

import pytest

from mage_es.engine.study.reporting.tables import sequential


@pytest.mark.paper("tables, sequential environments")
def test_scores_peak_and_replies_without_an_action_are_counted(bench: Any, cells: Any) -> None:
    make = bench.tools
    course = [
        *(
            make.judged(f"f{k}{n}", "1", iteration=k, purpose="fresh", score=s)
            for k, n, s in ((0, 0, 0.2), (0, 1, 0.6), (1, 0, 0.9), (1, 1, 0.5))
        ),
        *(make.played(f"f{k}", score=0.5, steps=10, unparsed=k + 1, iteration=k, purpose="fresh") for k in (0, 1)),
    ]
    exam = [
        make.judged("q0", "1", score=1.0),
        make.judged("q1", "0", score=0.5),
        make.played("q0", score=1.0, steps=6, unparsed=0, achieved=3),
        make.played("q1", score=0.5, steps=4, unparsed=4, achieved=0),
    ]
    bench.run("w", benchmark="webshop", events=course, iterations=2, facts={"latest": exam})
    rows = cells(sequential(bench.study()))
    # Score (1 + 0.5) / 2, strict 1 of 2, 3 achievements in 2 episodes, 4 of 10 replies; peak of 40 and 70; 3 of 20.
    assert rows[0] == ["webshop", "before evolution", "-", "-", "-", "-", "", "", ""]
    assert rows[1] == ["webshop", "full", "75.0", "50.0", "1.500", "40.0", "70.0", "2", "15.0"]
    assert rows[2][:4] == ["webshop", "RetroAgent (in-context, Qwen-7B reference), published", "87.6", "78.9"]
