"""The least cosine at which a type strategy counts as fitting, measured for an embedder and a set of questions.

A fixed number would suit one embedder only. Two questions picked at random have nothing to do with each
other, so a strategy has to be nearer than 95 of 100 such pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mage_es.engine.embedders.exact import UNIT, cosines, on_grid
from mage_es.engine.rules.randomness import shuffled
from mage_es.engine.seams.embedder import Embedder

PERCENTILE = 95
SAMPLE = 1_000
_DECIMALS = 4


def strategy_floor(texts: Sequence[str], embedder: Embedder, *, seed: int) -> float:
    """Return the 95th percentile of the cosines between pairs of at most `SAMPLE` texts, drawn by seed.

    Rounded to four decimals. Raises `ValueError` for fewer than two texts, which make no pair.
    """
    if len(texts) < 2:
        raise ValueError(f"the strategy floor needs at least two questions, and there are {len(texts)}")
    sample = shuffled(texts, seed, purpose="strategy_floor")[:SAMPLE]
    vectors = on_grid(embedder.encode(sample))
    pairs = cosines(vectors, vectors)[np.triu_indices(len(sample), k=1)]
    return round(float(np.percentile(pairs, PERCENTILE, method="higher")) / UNIT, _DECIMALS)
