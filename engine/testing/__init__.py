"""Property tests for your own parts: random valid runs as Hypothesis strategies, and checks of what must hold.

Install the extra `testing`. Ten lines test a projection, a bandit, a curriculum or a benchmark of yours; the examples
test built-in ones. A failed check raises an `AssertionError` that says what is wrong.

A projection, over random runs with answers in any order::

    from hypothesis import given, settings, strategies as st
    from mage_es.engine.testing import check_growth, check_projection, flat, histories
    from mage_es.projections.memory import Memory as MyProjection

    @settings(deadline=None)
    @given(histories(), st.randoms(use_true_random=False))
    def test_my_projection(stages, random):
        check_projection(MyProjection, stages, random)
        check_growth(MyProjection, flat(stages), ids=lambda mine: [row.memory_id for row in mine.rows()])

A bandit, over random posteriors::

    from hypothesis import given, settings
    from mage_es.engine.rules.bandits import choose
    from mage_es.engine.testing import check_bandit, posteriors

    def my_bandit(posteriors, draw):
        return choose(posteriors, planned={}, warmup=3, exploration=0.02, draw=draw)

    @settings(deadline=None, max_examples=20)
    @given(posteriors())
    def test_my_bandit(key):
        check_bandit(my_bandit, key)

A curriculum, over random failures of task types that appear at different times::

    from fractions import Fraction
    from hypothesis import given, settings
    from mage_es.engine.rules.curriculum import select_targets
    from mage_es.engine.testing import check_curriculum, failures

    weight = {"recency_weight": Fraction(3, 10)}

    def my_curriculum(candidates, iteration):
        return select_targets(candidates, iteration=iteration, count=2, signal="rate", **weight)

    @settings(deadline=None)
    @given(failures())
    def test_my_curriculum(history):
        check_curriculum(my_curriculum, history, signal="rate", targets=2, **weight)

A benchmark, over random seeds and garbled replies::

    from hypothesis import given, settings, strategies as st
    from mage_es.engine.players.worlds.truthworld.benchmark import TruthWorld as MyBenchmark
    from mage_es.engine.testing import check_benchmark

    @settings(deadline=None, max_examples=2)
    @given(st.integers(0, 1000))
    def test_my_benchmark(seed):
        check_benchmark(MyBenchmark, seed)
"""

from mage_es.engine.testing.benchmarks import check_benchmark
from mage_es.engine.testing.choosers import check_bandit, check_curriculum
from mage_es.engine.testing.invariants import check_growth, check_projection
from mage_es.engine.testing.sources import ListSource
from mage_es.engine.testing.stages import Stage, flat, folded, shuffled
from mage_es.engine.testing.strategies import failures, histories, history, posteriors, slot_histories

__all__ = [
    "ListSource",
    "Stage",
    "check_bandit",
    "check_benchmark",
    "check_curriculum",
    "check_growth",
    "check_projection",
    "failures",
    "flat",
    "folded",
    "histories",
    "history",
    "posteriors",
    "shuffled",
    "slot_histories",
]
