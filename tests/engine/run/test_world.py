"""What a world hands to the Learner about questions that are about to be asked."""

from pathlib import Path

import numpy as np
import pytest

from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import reopen_world
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.errors import PrerequisiteError
from mage_es.events.log import LogReader
from mage_es.projections.fold import State
from tests.engine.rules.states import Built


def test_a_question_is_embedded_and_where_its_type_has_a_recipe_so_is_the_text_that_the_recipe_makes_of_it(
    small_run: Run,
) -> None:
    world = reopen_world(LogReader(small_run.log_path), data_dir=None)
    built = Built()
    built.recipe(template="sums: {question}")
    questions = [world.questions[name] for name in world.setting.evolution[:2]]
    with_recipe, without = world.asked(built.state, questions, ["t", "u"], ["fresh", "fresh"])
    plain, rendered = world.embedder.encode([questions[0].question, f"sums: {questions[0].question}"])
    assert np.array_equal(with_recipe.vector, plain)
    assert with_recipe.recipe_vector is not None and np.array_equal(with_recipe.recipe_vector, rendered)
    assert without.recipe_vector is None
    assert [asked.recipe_vector for asked in world.asked(State(), questions, ["t", "u"], ["fresh", "fresh"])] == [
        None,
        None,
    ]


def test_questions_that_are_all_alike_are_too_few_and_the_message_says_how_many_differ(tmp_path: Path) -> None:
    (tmp_path / "same.jsonl").write_text('{"question": "What is 2 plus 3?", "answer": 5}\n' * 40)
    config = Config(benchmark=f"tasks/{tmp_path}/same.jsonl?scorer=number", execution="builtin/analogist")
    with pytest.raises(
        PrerequisiteError,
        match="too few different questions to divide \\(1\\): 0 would be left to learn from, and 1 to examine",
    ):
        evolve(config, runs_dir=tmp_path, data_dir=None, runtime=Runtime(workers=1))
