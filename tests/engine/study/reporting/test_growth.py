"""Growth of the graph and recovery of failures, iteration by iteration."""

from typing import Any

import pytest

from mage_es.engine.study.reporting.tables import growth, recovery, recovery_of
from mage_es.events import vocabulary as v
from tests.kit.plain_events import plain


def memory(name: str, outcome: str, iteration: int) -> v.MemoryAppended:
    return plain(v.MemoryAppended, memory_id=name, outcome=outcome, task_type="t", iteration=iteration)


def grown() -> list[Any]:
    target = v.Target(task_type="t", failures=1, attempts=2, last_selected=-1)
    return [
        v.SkillCreated(skill="s", mastery=0.0, prompt_template="", strategy=""),
        v.TaskTypeCreated(task_type="t", description=""),
        v.TaskTypeCreated(task_type="u", description=""),
        v.EdgeAdded(kind="resolves", source="skill/s", target="task_type/t"),
        memory("m0", "failure_memory", 0),
        memory("m1", "success_memory", 1),
        memory("m2", "success_memory", 1),
        v.TargetsSelected(iteration=1, targets=(target,), newly_observed=("t",)),
        v.MasteryUpdated(iteration=1, skill="s", before=0.0, after=0.6, evidence=1.0, successes=1, failures=0),
    ]


@pytest.mark.paper("tables, graph growth")
def test_sizes_are_those_at_the_end_of_each_iteration(bench: Any, cells: Any) -> None:
    bench.run("r", events=grown(), iterations=2)
    assert cells(growth(bench.study())) == [
        ["wordmath", "start", "1", "0", "0", "0", "0", "2", "3", "1"],
        ["wordmath", "0", "1", "1", "0", "0", "0", "2", "4", "1"],
        ["wordmath", "1", "1", "1", "2", "0", "1", "2", "6", "1"],
    ]


def test_mastery_is_that_of_the_slots_at_the_end_of_each_iteration(bench: Any) -> None:
    bench.run("r", events=grown(), iterations=2)
    (run,) = bench.study().runs
    assert run.mastery.rows() == [(-1, "s", 0.0), (0, "s", 0.0), (1, "s", 0.6)]


def asked(bench: Any, iteration: int, purpose: str, **letters: str) -> list[Any]:
    return [bench.tools.judged(q, letter, iteration=iteration, purpose=purpose) for q, letter in letters.items()]


@pytest.mark.paper("tables, recovery")
def test_recovered_are_the_earlier_failures_that_were_answered_right(bench: Any, cells: Any) -> None:
    events = [
        *asked(bench, 0, "fresh", a="1", b="0", c="0", d="1"),
        *asked(bench, 1, "fresh", e="1", f="0"),
        *asked(bench, 1, "revisit", b="1", c="0"),
        *asked(bench, 2, "revisit", c="1", f="1"),
        *asked(bench, 2, "anchor", z="0"),
    ]
    bench.run("r", events=events, iterations=3)
    study = bench.study()
    assert cells(recovery(study)) == [
        ["wordmath", "0", "50.0", "-", "0", "0", "2", "2"],
        ["wordmath", "1", "50.0", "50.0", "2", "1", "4", "2"],
        ["wordmath", "2", "-", "100.0", "2", "2", "6", "0"],
        ["wordmath", "sum", "", "", "", "3", "", ""],
    ]
    assert recovery_of(study.runs[0])["Recovered"].sum() == 3


def test_a_run_without_an_iteration_has_nothing_recovered(bench: Any) -> None:
    bench.run("begun", iterations=0, told=3, finished=False)
    assert recovery(bench.study()).rows == ()
