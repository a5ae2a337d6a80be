"""What a world hands to the Learner about questions that are about to be asked."""

from __future__ import annotations

import numpy as np

from mage_es.engine.opening import reopen_world
from mage_es.engine.runs import Run
from mage_es.events.reader import LogReader
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
    plain, rendered = world.embed([questions[0].question, f"sums: {questions[0].question}"])
    assert np.array_equal(with_recipe.vector, plain)
    assert with_recipe.recipe_vector is not None and np.array_equal(with_recipe.recipe_vector, rendered)
    assert without.recipe_vector is None
    assert [asked.recipe_vector for asked in world.asked(State(), questions, ["t", "u"], ["fresh", "fresh"])] == [
        None,
        None,
    ]
