"""A memory is for questions that it is about: how near they must be is measured among the memories themselves."""

import numpy as np
import pytest

from mage_es.engine.rules.floors import floors_of
from mage_es.events.vocabulary import MemoryAppended
from tests.engine.rules.test_retrieval import memory_of, remembered, unit


def around(count: int, *, task_type: str = "t", seed: int = 1, spread: float = 0.2) -> list[MemoryAppended]:
    """Return memories whose questions are near to each other."""
    draw = np.random.default_rng(seed)
    return [
        remembered(
            f"{task_type}-{place:04}",
            unit(1, *draw.normal(0, spread, 7)),
            ordinal=place,
            task_type=task_type,
            outcome="failure_memory" if place % 3 == 0 else "success_memory",
        )
        for place in range(count)
    ]


def nearest(vector: np.ndarray, events: list[MemoryAppended]) -> float:
    return max(float(np.frombuffer(each.embedding, dtype="<f4") @ vector) for each in events)


def test_nineteen_of_twenty_questions_of_a_runs_own_kind_are_near_enough_and_others_are_not() -> None:
    events = around(400)
    floor = floors_of(memory_of(*events), ["t"]).of("t")
    own = [nearest(unit(1, *each), events) for each in np.random.default_rng(2).normal(0, 0.2, (400, 7))]
    assert 0.92 < np.mean([each >= floor for each in own]) < 0.98
    assert not any(nearest(unit(0, *each), events) >= floor for each in np.random.default_rng(3).normal(0, 1, (50, 7)))


def test_what_was_made_of_the_same_question_and_type_strategies_are_no_neighbours() -> None:
    events = around(60)
    twins = [
        remembered(f"{each.memory_id}-again", np.frombuffer(each.embedding, dtype="<f4"), ordinal=100 + place)
        for place, each in enumerate(events)
    ]
    same = [
        remembered(each.memory_id, np.frombuffer(each.embedding, dtype="<f4"), ordinal=200, question_id=one.question_id)
        for each, one in zip(twins, events, strict=True)
    ]
    strategy = remembered(
        "how", unit(1, 0, 0, 0, 0, 0, 0, 0), ordinal=500, kind="type_strategy", outcome="failure_memory"
    )
    floor = floors_of(memory_of(*events), ["t"]).of("t")
    assert floors_of(memory_of(*events, *same, strategy), ["t"]).of("t") == pytest.approx(floor, abs=1e-6)
    assert floors_of(memory_of(*events, *twins), ["t"]).of("t") > 0.99


def test_a_type_with_few_memories_takes_the_floor_of_all_and_a_run_with_few_has_none() -> None:
    few, many = around(5, task_type="few"), around(40, task_type="many", spread=0.05)
    floors = floors_of(memory_of(*few, *many), ["few", "many", "empty"])
    assert 0 < floors.of("few") == floors.of("empty") < floors.of("many")
    assert floors_of(memory_of(*few), ["few"]).of("few") == floors_of(memory_of(), []).of("t") == 0
