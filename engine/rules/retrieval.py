"""Which memories go into a prompt (Eq. 3): exact cosine, filtered by task type, with quotas per index.

Rules
    - Two top-k queries, one per index (success, failure); the quota of one is never filled up from the other.
    - Order: similarity descending, then birth, which is the order of a slice. Search is exact, so the same state
      and question give the same bundle everywhere.
    - A memory of the question itself is left out wherever it stands (`revisit_self = exclude`): by its id, and where
      a question has no context, so that its text is all of it, also by its normalised text under another id.
    - A type strategy needs a cosine of at least the run's floor; a retrieval recipe may ask more of every memory.
    - No arm takes more than K memories. `cascade` takes those of `balanced`: its four parts (rules/cascade.py) come
      on top of the base rule (appendix "Cascade-Retrieval Components") and are not memories of the two indexes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.normalise import normalise
from mage_es.events.vocabulary import RetrievalRecipeAuthored
from mage_es.projections.memory import Memory
from mage_es.projections.slices import Slice

Vector = NDArray[np.float32]
_DIVERSE_POOL = 16
"""Candidates per index among which maximal marginal relevance chooses."""
_RELEVANCE = 0.5
"""Weight of relevance against novelty in maximal marginal relevance (Carbonell and Goldstein, 1998)."""


class Hit(NamedTuple):
    """A retrieved memory and its cosine to the question."""

    memory_id: str
    similarity: float


class Query(NamedTuple):
    """What is looked for: a unit vector, the question's type, id and text, and how long its context is (characters).

    The vector is the question's own, or that of the text which a retrieval recipe makes of it. The text is "" where a
    context belongs to the question, so that two with the same text may be different ones.
    """

    vector: Vector
    task_type: str
    question_id: str
    question: str
    context_length: int


class Terms(NamedTuple):
    """The run's retrieval constants: K, the long-context threshold, the strategy floor, whether to leave out self.

    `least_similarity` is a retrieval recipe's; no cosine is below -1.
    """

    bundle: int
    long_context: int
    strategy_floor: float
    exclude_self: bool
    least_similarity: float = -1.0


class Bundle(NamedTuple):
    """The hits of both indexes, each best first."""

    success: list[Hit]
    failure: list[Hit]


def quotas(arm: str, query: Query, terms: Terms) -> tuple[int, int]:
    """Return how many success and failure memories an arm takes; (2, 1) in short context, (1, 2) in long."""
    if arm == "none":
        return 0, 0
    if arm == "success_only":
        return terms.bundle, 0
    if arm == "failure_only":
        return 0, terms.bundle
    major, minor = terms.bundle - terms.bundle // 3, terms.bundle // 3
    return (major, minor) if query.context_length <= terms.long_context else (minor, major)


def retrieve(
    arm: str, query: Query, memory: Memory, terms: Terms, *, recipe: RetrievalRecipeAuthored | None = None
) -> Bundle:
    """Return the bundle that a search arm puts into the prompt of a question; `recipe` is that of the arm `recipe`."""
    success, failure = quotas(arm, query, terms)
    if recipe:
        success = min(recipe.success_quota, terms.bundle)
        failure = min(recipe.failure_quota, terms.bundle - success)
        terms = terms._replace(least_similarity=recipe.least_similarity)
    find = _diverse if arm == "diverse" else _nearest
    return Bundle(
        find(memory, memory.slice("success", query.task_type), query, terms, success) if success else [],
        find(memory, memory.slice("failure", query.task_type), query, terms, failure) if failure else [],
    )


def recipe_query(recipe: RetrievalRecipeAuthored, question: str) -> str:
    """Return the text that is embedded for a question by a recipe; the question itself where the template is empty."""
    return recipe.query_template.replace("{question}", question) or question


def _nearest(memory: Memory, rows: Slice, query: Query, terms: Terms, count: int) -> list[Hit]:
    if not rows.ids:
        return []
    similarity = rows.vectors @ query.vector
    return [
        Hit(rows.ids[row], float(similarity[row]))
        for row in islice(_eligible(memory, rows, similarity, query, terms, count), count)
    ]


def _diverse(memory: Memory, rows: Slice, query: Query, terms: Terms, count: int) -> list[Hit]:
    """Maximal marginal relevance: each further memory is near the question and far from those chosen."""
    if not rows.ids:
        return []
    similarity = rows.vectors @ query.vector
    pool = list(islice(_eligible(memory, rows, similarity, query, terms, _DIVERSE_POOL), _DIVERSE_POOL))
    chosen: list[int] = []
    while pool and len(chosen) < count:
        taken = rows.vectors[chosen]

        def value(row: int, taken: Vector = taken) -> float:
            closest = float((taken @ rows.vectors[row]).max()) if len(taken) else 0.0
            return _RELEVANCE * float(similarity[row]) - (1 - _RELEVANCE) * closest

        best = max(pool, key=value)
        chosen.append(best)
        pool.remove(best)
    return [Hit(rows.ids[row], float(similarity[row])) for row in chosen]


def _eligible(memory: Memory, rows: Slice, similarity: Vector, query: Query, terms: Terms, count: int) -> Iterator[int]:
    """Yield row numbers, best first, without the question's own memories and what is below its floor."""
    own_text = normalise(query.question)
    yielded: set[int] = set()
    wanted = count + 8
    while True:
        for row in _top(similarity, wanted):
            if row in yielded:
                continue
            yielded.add(row)
            floor = terms.least_similarity
            if rows.kinds[row] == "type_strategy":
                floor = max(floor, terms.strategy_floor)
            if similarity[row] < floor:
                continue
            is_own = rows.question_ids[row] == query.question_id or (
                own_text != "" and _normal_form(memory.row(rows.ids[row]).question) == own_text
            )
            if not (is_own and terms.exclude_self):
                yield row
        if wanted >= len(similarity):
            return
        wanted *= 4


@lru_cache(maxsize=1 << 14)
def _normal_form(question: str) -> str:
    """Return the normal form of a memory's question; the same memories are met over and over."""
    return normalise(question)


def _top(similarity: NDArray[Any], count: int) -> list[int]:
    """Return the `count` best rows (and all ties of the last), by similarity descending, then row number."""
    if count >= len(similarity):
        rows = np.arange(len(similarity))
    else:
        least = np.partition(similarity, len(similarity) - count)[len(similarity) - count]
        rows = np.flatnonzero(similarity >= least)
    order = np.lexsort((rows, -similarity[rows]))
    return [int(row) for row in rows[order]]
