"""Which cases contradict those around them: a wrong answer among right ones, whoever gave it.

Rules
    - Edited nearest neighbours (Wilson 1972): a case is outvoted if among its VOTERS nearest cases of other folds
      another answer is given more often than its own. What is near is learned without the case's own fold: a metric
      that has seen a wrong answer puts it near to others of its kind.
    - Nothing is outvoted unless that was shown to find more right answers: in five folds each case is compared with the
      nearest of the other folds, of all of them and of those that these do not outvote themselves. It wins if only the
      latter has its answer; the one-sided exact sign test must give at most P. Nor if half of the cases would be out.
      Where the nearest case says little about the answer, its neighbours may not silence it.
    - What is outvoted is shown with no question. It stays in the memory, votes, and is heard again once the cases
      around it agree with it. Cases that are out of date (rules/drift.py) have no vote.
    - Answers that no two questions share outvote nothing. The newest MOST cases of a type are looked at.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.drift import plain
from mage_es.engine.rules.guard import sign_test

MOST, VOTERS, FOLDS = 600, 9, 5
P = 0.01


def outvoted(
    vectors: NDArray[Any], answers: Sequence[str], moved: Callable[[NDArray[np.intp]], NDArray[Any]] | None = None
) -> NDArray[np.bool_]:
    """Return for each case whether those around it outvote it; vectors are [n, d], of length 1. `moved` returns all of
    them by a metric that only the cases at some places teach."""
    none = np.zeros(len(answers), dtype=bool)
    if len(answers) <= 2 * VOTERS:
        return none
    _, codes = np.unique([plain(answer) for answer in answers], return_inverse=True)
    folds = np.arange(len(codes)) % FOLDS
    near = np.empty((len(codes), len(codes)))
    for fold in range(FOLDS):
        own = folds == fold
        space = moved(np.flatnonzero(~own)) if moved else vectors
        near[own] = np.where(own, -2.0, space[own] @ space.T)
    won = lost = 0
    for fold in range(FOLDS):
        own = folds == fold
        kept = ~own & ~_out(np.where(own, -2.0, near), codes)
        if kept.any():
            found = (np.where(each, near[own], -2.0).argmax(axis=1) for each in (~own, kept))
            by_all, by_kept = (codes[each] == codes[own] for each in found)
            won, lost = won + int((by_kept & ~by_all).sum()), lost + int((by_all & ~by_kept).sum())
    is_out = _out(near, codes)
    is_better = won > lost and sign_test(won, won + lost) <= P
    return is_out if is_better and 2 * is_out.sum() < len(codes) else none


def _out(near: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    voters = codes[near.argsort(axis=1, kind="stable")[:, ::-1][:, :VOTERS]]
    votes = np.apply_along_axis(np.bincount, 1, voters, minlength=int(codes.max()) + 1)
    own = votes[np.arange(len(codes)), codes]
    is_out: NDArray[np.bool_] = votes.max(axis=1) > own
    return is_out
