"""Which cases are out of date because the right answers have changed since: the cases themselves show it.

Rules
    - For a given iteration, every case asks its nearest case from before that iteration. The two agree if they have the
      same answer. The earlier cases are out of date if later cases agree with them less than half as often as they
      agree among themselves, and the difference is significant (Fisher's one-sided exact test, p at most P).
    - If this holds for several iterations, the likeliest one counts. To find it, each case is paired with its NEAR
      nearest cases: pairs that span the iteration agree with one probability, all others with another. The test itself
      uses fewer pairs, and may be most certain shortly before or after the actual change. The search continues in the
      remaining cases.
    - A later case does not count if it is farther from its nearest case than any earlier case is from its own: a new
      topic contradicts nothing.
    - First all answers of a type are tested together, in case the whole rule changed. Then each answer is tested with
      the cases whose nearest case has it: if only a part of the rule changed, only the cases with the withdrawn answers
      are out of date.
    - Both sides ask the same cases, so a larger number of cases alone makes nothing out of date.
    - A single client cannot change the rule: if there are several, the client with the most disagreeing later cases is
      left out. (If it gives wrong answers, rules/doubt.py deals with it.)
    - A case is as old as the first case of its question with the same answer: a question that is asked again keeps its
      right answer. The copies count once, because they would agree with one another whatever the rule is.
    - Cases that are out of date are never shown. They still help to learn which differences matter, as cases of another
      task type do (rules/metric.py). They stay in the memory, and are shown again if the later cases are taken out of
      use.
    - Answers that no two questions share agree with nothing, early or late. At most MOST cases of a type are compared:
      one half are the newest, the other half a sample of the earlier ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.distributions import halved
from mage_es.engine.seams.embedder import Vector
from mage_es.projections.memory import Index, Memory, plain
from mage_es.projections.slices import Birth, computed_of

MOST, LEAST = 600, 10
"""How many cases are compared, and how many either side needs."""
NEAR = 5
"""How many nearest cases a case is compared with to date a change: as many as a prompt shows."""
P = 0.001
"""Stricter than for a single test: it is run after every iteration, for every earlier iteration."""
_Codes = NDArray[np.intp]


class Dated(NamedTuple):
    """A case: its iteration, a unit vector, its answer, and its client (or "")."""

    iteration: int
    vector: NDArray[Any]
    answer: str
    client: str = ""


class Since(NamedTuple):
    """The first iteration whose cases are up to date: for all answers, and for some."""

    all_answers: int = 0
    answers: Mapping[str, int] = MappingProxyType({})

    def is_outdated(self, iteration: int, answer: str) -> bool:
        return iteration < max(self.all_answers, self.answers.get(plain(answer), 0))


def since(memory: Memory, task_type: str) -> Since:
    """Return the iterations from which the cases of a task type are up to date."""
    slices = [rows for index in get_args(Index) if (rows := memory.slice(index, task_type)).ids]
    return computed_of(slices, "drift", lambda: _of_memory(memory, task_type)) if slices else Since()


def _of_memory(memory: Memory, task_type: str) -> Since:
    rows = ((memory.row(name), vector) for _, name, vector in spread(memory, task_type, MOST))
    return changes([Dated(memory.taught(row), vector, row.answer, row.origin.by) for row, vector in rows])


def spread(memory: Memory, task_type: str, most: int) -> list[tuple[Birth, str, Vector]]:
    """Return at most `most` cases in use of a task type, each a birth, an id and a vector, oldest first, one for each
    answer to a question: half of them the newest, half a sample of the earlier ones."""
    found = []
    for rows in (memory.slice(index, task_type) for index in get_args(Index)):
        cases = (row for row, kind in enumerate(rows.kinds) if kind != "type_strategy")
        found += [(rows.births[row], rows.ids[row], rows.vectors[row]) for row in cases]
    found.sort(key=lambda each: each[:2])
    newest, before = found[-most // 2 :], found[: -most // 2]
    once = dict[tuple[str, str], tuple[Birth, str, Vector]]()
    for each in (*before[:: max(1, -(-len(before) // (most // 2)))], *newest):
        row = memory.row(each[1])
        once.setdefault((row.question_id or each[1], plain(row.answer)), each)
    return [*once.values()]


def changes(cases: Sequence[Dated]) -> Since:
    """Return the iterations from which cases are up to date."""
    if len(cases) < 2 * LEAST:
        return Since()
    iterations = np.array([case.iteration for case in cases])
    names, codes = np.unique([plain(case.answer) for case in cases], return_inverse=True)
    clients, givers = np.unique([case.client for case in cases], return_inverse=True)
    # -1 is no client.
    givers = np.where((clients[givers] == "") | (len(clients) == 1), -1, givers)
    vectors = np.array([case.vector for case in cases])
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2.0)  # no case is near to itself
    first = 0
    while cuts := [*_cuts(iterations, codes, givers, cosines, first)]:
        first = _likeliest(cuts, iterations, codes, cosines, first)
    # Answers one by one, among the cases that are up to date.
    found = dict[str, int]()
    for answer in range(len(names)):
        if cuts := [*_cuts(iterations, codes, givers, cosines, first, answer)]:
            found[str(names[answer])] = _likeliest(cuts, iterations, codes, cosines, first, answer)
    return Since(first, found)


def _likeliest(
    cuts: Sequence[int],
    iterations: NDArray[Any],
    codes: _Codes,
    cosines: NDArray[Any],
    first: int,
    answer: int | None = None,
) -> int:
    """Return the cut that best separates pairs that agree from pairs that do not; with an answer, among the pairs whose
    earlier case has it."""
    places = np.flatnonzero(iterations >= first)
    near = places[cosines[np.ix_(places, places)].argsort(axis=1, kind="stable")[:, -NEAR:]]
    own = np.broadcast_to(places[:, None], near.shape)
    earlier = np.where(iterations[near] <= iterations[own], near, own)
    is_meant = answer is None or codes[earlier] == answer
    agrees, begun, ended = codes[near] == codes[own], iterations[earlier], np.maximum(iterations[near], iterations[own])

    def likelihood(cut: int) -> float:
        is_parted = (begun < cut) & (cut <= ended)
        return sum(_likelihood(agrees[side & is_meant]) for side in (is_parted, ~is_parted))

    return max(cuts, key=likelihood)


def _likelihood(agrees: NDArray[np.bool_]) -> float:
    """Return the log likelihood of agreeing pairs at the likeliest probability."""
    counts = np.array([agrees.sum(), (~agrees).sum()])
    return float((counts * np.log(np.maximum(counts, 1) / max(1, agrees.size))).sum())


def _cuts(
    iterations: NDArray[Any],
    codes: _Codes,
    givers: _Codes,
    cosines: NDArray[Any],
    first: int,
    answer: int | None = None,
) -> Iterator[int]:
    """Yield each iteration, oldest first, before which cases are out of date; with an answer, only cases that have
    it."""
    places = np.flatnonzero(iterations >= first)
    for cut in np.unique(iterations[places])[1:]:
        before, later = places[iterations[places] < cut], places[iterations[places] >= cut]
        if min(len(before), len(later)) < LEAST:
            continue
        found = cosines[np.ix_(places, before)]
        nearest, closeness = codes[before[found.argmax(axis=1)]], found.max(axis=1)
        agrees, is_later = nearest == codes[places], iterations[places] >= cut
        is_meant = closeness >= closeness[~is_later].min()
        if answer is not None:
            is_meant &= nearest == answer
        against = givers[places[is_later & is_meant & ~agrees]]
        if (counts := np.bincount(against[against >= 0])).size:
            is_meant &= ~is_later | (givers[places] != counts.argmax())
        (right, asked), (old_right, old_asked) = (
            (int((agrees & side).sum()), int(side.sum())) for side in (is_later & is_meant, ~is_later & is_meant)
        )
        if halved(right, asked, old_right, old_asked) <= P:
            yield int(cut)
