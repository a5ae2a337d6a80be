"""The least cosine at which a type strategy counts as fitting, measured for the embedder and the questions at hand.

A fixed number would suit one embedder only. Two questions picked at random have nothing to do with each
other, so a strategy has to be nearer than 95 of 100 such pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mage_es.engine.embedders.exact import UNIT, cosines, on_grid
from mage_es.engine.embedders.protocol import Embedder
from mage_es.engine.rules.randomness import shuffled

PERCENTILE = 95
SAMPLE = 1_000
_DECIMALS = 4


def strategy_floor(texts: Sequence[str], embedder: Embedder, *, seed: int) -> float:
    """Return the 95th percentile of the cosines between different questions, rounded to four decimals.

    Args:
        texts: The evolution questions; at most a thousand of them, drawn by seed, are compared pair by pair.
        embedder: The embedder that retrieval will use.
        seed: The run's seed.

    Raises:
        ValueError: There are fewer than two texts, so there is no pair.
    """
    if len(texts) < 2:
        raise ValueError(f"the strategy floor needs at least two questions, and there are {len(texts)}")
    sample = shuffled(texts, seed, purpose="strategy_floor")[:SAMPLE]
    vectors = on_grid(embedder.encode(sample))
    pairs = cosines(vectors, vectors)[np.triu_indices(len(sample), k=1)]
    return round(float(np.percentile(pairs, PERCENTILE, method="higher")) / UNIT, _DECIMALS)
