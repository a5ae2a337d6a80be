"""Cosines on the grid are exact integers."""

import numpy as np

from mage_es.engine.embedders.vectors import GRID, UNIT, cosines, on_grid


def vectors(count: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    drawn = np.random.default_rng(seed).normal(size=(count, 256))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def test_products_equal_integer_arithmetic() -> None:
    left, right = on_grid(vectors(20, 1)), on_grid(vectors(30, 2))
    assert (cosines(left, right) == left.astype(np.int64) @ right.astype(np.int64).T).all()


def test_the_batch_does_not_change_a_cosine() -> None:
    left, right = on_grid(vectors(20, 1)), on_grid(vectors(3000, 2))
    assert (cosines(left, right)[7] == cosines(left[7:8], right)[0]).all()


def test_a_grid_cosine_is_close_to_the_cosine() -> None:
    left, right = vectors(50, 1), vectors(50, 2)
    assert np.abs(cosines(on_grid(left), on_grid(right)) / UNIT - left @ right.T).max() < 2e-3
    assert np.abs(on_grid(left) - left * GRID).max() <= 0.5
