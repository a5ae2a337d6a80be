"""A text is given to the model once, and its vector depends on nothing else."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mage_es.engine.embedders import vectors as module
from mage_es.engine.embedders.vectors import CheckedEmbedder, VectorCache, unit
from mage_es.events.errors import PrerequisiteError


class Drifting:
    """A model that gives the same text another vector each time."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        self.asked.append(list(texts))
        return np.array([[len(text), len(self.asked), 1.0] for text in texts])


def test_a_text_is_asked_for_once_and_keeps_its_vector() -> None:
    model = Drifting()
    embedder = VectorCache(model, 3)
    first = embedder.encode(["a", "bb", "a"])
    again = embedder.encode(["bb", "ccc", "a"])
    assert model.asked == [["a", "bb"], ["ccc"]]
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(again[[2, 0]], first[:2])
    assert np.allclose((again * again).sum(axis=1), 1)


def test_a_blank_text_is_given_to_nobody_and_has_zeros() -> None:
    model = Drifting()
    vectors = VectorCache(model, 3).encode([" \n", ""])
    assert model.asked == [] and vectors.shape == (2, 3) and not vectors.any()


def test_no_text_gives_no_row_of_the_right_width() -> None:
    assert VectorCache(Drifting(), 3).encode([]).shape == (0, 3)


def test_only_the_latest_texts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    model = Drifting()
    embedder = VectorCache(model, 3)
    whole = embedder.encode(["a", "b", "c"])
    assert whole.shape == (3, 3)
    embedder.encode(["b", "c"])
    assert model.asked == [["a", "b", "c"]]
    embedder.encode(["a"])
    assert model.asked[1:] == [["a"]]


def test_vectors_have_length_one_and_zeros_stay() -> None:
    assert unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[np.float32(0.6), np.float32(0.8)], [0.0, 0.0]]


class Broken:
    """An embedder that returns what it is given."""

    name, dimension, sha256 = "mine/broken", 3, "0" * 64

    def __init__(self, rows: object) -> None:
        self.rows = rows

    def encode(self, texts: Sequence[str]) -> Any:
        return self.rows


GOOD = [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (np.array([GOOD, [0.0, np.nan, 0.0]]), "the embedding of text 2 of 2 holds numbers that are not finite"),
        (np.array([[np.inf, 0.0, 0.0], GOOD]), "the embedding of text 1 of 2 holds numbers that are not finite"),
        (np.array([GOOD]), "1 embeddings came for 2 texts"),
        (np.ones((2, 4)), "the embedding of text 1 of 2 has 4 numbers and not 3"),
        (np.ones((2, 0)), "the embedding of text 1 of 2 is empty"),
        ([GOOD, [1.0, 0.0]], "the embedding of text 2 of 2 has 2 numbers and not 3"),
        ([GOOD, "abc"], "an embedding is no list of numbers"),
        (None, "an embedding is no list of numbers"),
    ],
)
def test_vectors_that_are_none_are_refused_with_the_embedder_and_the_number_of_the_text(
    rows: object, problem: str
) -> None:
    with pytest.raises(PrerequisiteError, match=f"mine/broken is broken: {problem}.*--embedder"):
        CheckedEmbedder(Broken(rows)).encode(["a", "b"])
