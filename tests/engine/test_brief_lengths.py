"""No guidance prompt is longer than its budget, whatever a benchmark's records hold."""

import os
from pathlib import Path

import pytest

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.seams.benchmark import Question
from mage_es.events.errors import PrerequisiteError
from tests.bench.briefs import NAMES, lengths

DATA = Path(os.environ.get("MAGE_ES_DATA", "../shared/data"))
KINDS = 9  # of briefs: three of the opening and PLAN, six of EVOLVE


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_brief_fits_on_every_benchmark(name: str) -> None:
    try:
        questions = list(open_benchmark(name, seed=42, data_dir=DATA).questions("evolution"))
    except PrerequisiteError as error:
        pytest.skip(str(error))
    for budget in (12_000, 4_000):
        found = list(lengths(name, questions, budget=budget))
        # What has one answer for all questions, as an open-ended benchmark has, asks for no tools.
        assert len(found) == KINDS - (len({question.gold for question in questions}) == 1)
        assert [each for each in found if each.asked > budget] == []


@pytest.mark.slow
def test_own_tasks_with_a_book_for_a_context_fit() -> None:
    book = "The mill at Oxbow stood by the river, and nobody had seen the miller since the flood. " * 800
    fields = {"context": book, "gold": "Ada " * 200, "solution": "So. " * 3_000}
    questions = [
        Question(
            id=f"q{n}",
            benchmark="tasks",
            split="evolution",
            task_type=f"t{n % 30}",
            question=f"The {n}th? " * 90,
            **fields,
        )
        for n in range(70)
    ]
    assert max(each.asked for each in lengths("tasks", questions)) <= 12_000
