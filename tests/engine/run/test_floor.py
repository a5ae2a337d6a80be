"""The strategy floor is what 95 of 100 random pairs stay below."""

from __future__ import annotations

import numpy as np
import pytest

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.run.floor import strategy_floor

TEXTS = [question.question for question in open_benchmark("wordmath", seed=3).questions("test")]


def test_about_one_pair_in_twenty_is_nearer_than_the_floor() -> None:
    floor = strategy_floor(TEXTS, HashEmbedder(), seed=42)
    vectors = HashEmbedder().encode(TEXTS)
    pairs = (vectors @ vectors.T)[np.triu_indices(len(TEXTS), k=1)]
    assert 0.045 < float((pairs > floor).mean()) < 0.055


def test_the_floor_depends_on_the_seed_only_through_the_sample() -> None:
    few = TEXTS[:300]
    assert strategy_floor(few, HashEmbedder(), seed=1) == strategy_floor(few, HashEmbedder(), seed=2)


def test_a_single_question_has_no_floor() -> None:
    with pytest.raises(ValueError, match="at least two questions, and there are 1"):
        strategy_floor(["one"], HashEmbedder(), seed=1)
