"""The fingerprint of an embedder survives noise in the last digits and notices another model."""

import numpy as np
import pytest

from mage_es.engine.embedders.vectors import PROBES, sketch, unit
from mage_es.engine.seams.embedder import Vectors


def vectors(seed: int, *, dimension: int = 384) -> Vectors:
    return unit(np.random.default_rng(seed).normal(size=(len(PROBES), dimension)))


def moved(base: Vectors, by: float, seed: int) -> Vectors:
    noise = np.random.default_rng(1_000 + seed).normal(size=base.shape) / np.sqrt(base.shape[1])
    return unit(base.astype(np.float64) + by * noise)


def test_noise_as_of_another_machine_leaves_it_as_it_is() -> None:
    assert all(sketch(moved(vectors(seed), 1e-7, seed)) == sketch(vectors(seed)) for seed in range(50))


def test_noise_as_of_a_busy_server_rarely_changes_it() -> None:
    changed = sum(sketch(moved(vectors(seed), 1e-5, seed)) != sketch(vectors(seed)) for seed in range(200))
    assert changed <= 6


@pytest.mark.paper("beyond the paper, identity of embedders")
def test_a_model_that_was_trained_a_little_further_is_noticed() -> None:
    assert all(sketch(moved(vectors(seed), 0.05, seed)) != sketch(vectors(seed)) for seed in range(50))


def test_another_model_agrees_by_chance_only() -> None:
    one, other = (int(sketch(vectors(seed)), 16) for seed in (1, 2))
    assert 0.4 < (one ^ other).bit_count() / 512 < 0.6
