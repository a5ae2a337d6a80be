"""Which cases contradict those around them: a wrong answer among right ones, whoever gave it.

Rules
    - Edited nearest neighbours (Wilson 1972): a case is outvoted if among its VOTERS nearest cases another answer is
      given more often than its own.
    - Nothing is outvoted unless that was shown to find more right answers: in five folds each case is compared with the
      nearest of the other folds, of all of them and of those that these do not outvote themselves. It wins if only the
      latter has its answer; the one-sided exact sign test must give at most P. Where the nearest case says little about
      the answer, its neighbours may not silence it.
    - What is outvoted is shown with no question. It stays in the memory, votes, and is heard again once the cases
      around it agree with it. Cases that are out of date (rules/drift.py) have no vote.
    - Answers that no two questions share outvote nothing. The newest MOST cases of a type are looked at.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.drift import plain
from mage_es.engine.rules.guard import sign_test

MOST, VOTERS, FOLDS = 1_000, 9, 5
P = 0.1


def outvoted(vectors: NDArray[Any], answers: Sequence[str]) -> NDArray[np.bool_]:
    """Return for each case whether those around it outvote it; `vectors` are of length 1, by whatever they are near."""
    if len(answers) <= VOTERS:
        return np.zeros(len(answers), dtype=bool)
    _, codes = np.unique([plain(answer) for answer in answers], return_inverse=True)
    near = vectors @ vectors.T
    np.fill_diagonal(near, -2.0)
    folds = np.arange(len(codes)) % FOLDS
    won = lost = 0
    for fold in range(FOLDS):
        asked, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        kept = others[~_out(near[np.ix_(others, others)], codes[others])]
        if len(kept):
            by_all, by_kept = (
                codes[each[near[np.ix_(asked, each)].argmax(axis=1)]] == codes[asked] for each in (others, kept)
            )
            won, lost = won + int((by_kept & ~by_all).sum()), lost + int((by_all & ~by_kept).sum())
    if won <= lost or sign_test(won, won + lost) > P:
        return np.zeros(len(codes), dtype=bool)
    return _out(near, codes)


def _out(near: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    voters = codes[near.argsort(axis=1, kind="stable")[:, ::-1][:, :VOTERS]]
    votes = np.apply_along_axis(np.bincount, 1, voters, minlength=int(codes.max()) + 1)
    own = votes[np.arange(len(codes)), codes]
    is_out: NDArray[np.bool_] = votes.max(axis=1) > own
    return is_out
