"""What rules read off a run's constants."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mage_es.engine.benchmarks.numbers import INSTRUCTION
from mage_es.engine.benchmarks.stbench.benchmark import EXTENDED, MERGED, STBENCH
from mage_es.engine.environments.crafter.benchmark import Crafter
from mage_es.engine.seams.benchmark import ContextRole, Question, Traits, traits_of
from mage_es.engine.worlds.wordmath.benchmark import WordMath
from tests.engine.rules.states import setting_of


def test_lambda_is_an_exact_fraction() -> None:
    assert setting_of(recency_weight="3/10").recency_weight == Fraction(3, 10)


@pytest.mark.parametrize(
    ("keys", "arms", "warmup"),
    [(1, 6, 20), (16, 6, 10), (16, 7, 8), (100, 6, 2), (0, 6, 20)],
)
def test_the_automatic_warmup_is_a_quarter_of_a_keys_share_of_all_questions_over_the_arms_it_has_now(
    keys: int, arms: int, warmup: int
) -> None:
    assert setting_of(iterations=20, pool=200).warmup(keys=keys, arms=arms) == warmup


def test_a_configured_warmup_stands() -> None:
    assert setting_of(warmup=20).warmup(keys=100, arms=6) == 20


def test_a_memory_of_the_question_itself_is_left_out_unless_the_paper_is_followed() -> None:
    assert setting_of().terms.exclude_self
    assert not setting_of(revisit_self="include").terms.exclude_self


@pytest.mark.parametrize(("role", "length"), [("material", 7), ("question", 3), ("instruction", 0)])
def test_the_length_of_the_context_depends_on_what_the_benchmark_says_its_context_is(
    role: ContextRole, length: int
) -> None:
    question = Question(id="q", benchmark="b", split="test", task_type="t", question="???", context="7 chars", gold="x")
    assert setting_of()._replace(traits=Traits(context_role=role)).context_length(question) == length


def test_the_benchmarks_that_differ_from_the_usual_say_so_themselves() -> None:
    for definition in (STBENCH, MERGED, EXTENDED):
        assert definition.context_role == "question"
    assert traits_of(WordMath(1)) == Traits(instruction=INSTRUCTION)
    assert (Crafter.context_role, Crafter.is_open_ended) == ("instruction", True)
