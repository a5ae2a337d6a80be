"""Which cases are out of date: what was right has changed since, as the cases themselves show.

Rules
    - A case is asked of its nearest earlier case and of its nearest case since: it has changed sides if only the later
      one has its answer, and kept them if only the earlier one has. Cases before an iteration are out of date if so
      many more changed sides than kept them that chance explains it with a probability of at most P (one-sided exact
      sign test), and if more changed sides than have the answer of their earlier one. Of several such iterations the
      surest counts, and the search goes on in what is left.
    - First all answers of a type together: another rule. Then for each answer: a rule that changed in part makes out of
      date what has the answers that it took away.
    - The later side never has more cases to be near to than the earlier one: more cases alone find more right answers.
    - What is out of date is shown with no question, and no metric is learned from it. It stays in the memory, and comes
      back if what came later is taken out of use.
    - Answers that no two questions share change no sides. The newest half of MOST cases of a type are looked at, and as
      many of all before them.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.distributions import sign_test
from mage_es.engine.seams.embedder import Vector
from mage_es.projections.memory import Index, Memory
from mage_es.projections.slices import Birth, computed_of

MOST, LEAST = 600, 10
"""How many cases are looked at, and how many either side needs."""
P = 0.001
"""Less than for one look: it is looked at after every iteration, for every iteration before."""
_Codes = NDArray[np.intp]


class Since(NamedTuple):
    """The first iteration whose cases are up to date: of all answers, and of some."""

    all_answers: int = 0
    answers: Mapping[str, int] = MappingProxyType({})

    def is_outdated(self, iteration: int, answer: str) -> bool:
        return iteration < max(self.all_answers, self.answers.get(plain(answer), 0))


def since(memory: Memory, task_type: str) -> Since:
    """Return from when on the cases of a task type are up to date."""
    slices = [rows for index in get_args(Index) if (rows := memory.slice(index, task_type)).ids]
    return computed_of(slices, "drift", lambda: _of_memory(memory, task_type)) if slices else Since()


def _of_memory(memory: Memory, task_type: str) -> Since:
    kept = spread(memory, task_type, MOST)
    return changes([(birth[0], vector, memory.row(name).answer) for birth, name, vector in kept])


def spread(memory: Memory, task_type: str, most: int) -> list[tuple[Birth, str, Vector]]:
    """Return cases in use of a task type, each a birth, an id and a vector, oldest first: the newest half of `most`,
    and as many of all before them."""
    found = []
    for rows in (memory.slice(index, task_type) for index in get_args(Index)):
        cases = (row for row, kind in enumerate(rows.kinds) if kind != "type_strategy")
        found += [(rows.births[row], rows.ids[row], rows.vectors[row]) for row in cases]
    found.sort(key=lambda each: each[:2])
    newest, before = found[-most // 2 :], found[: -most // 2]
    return [*before[:: max(1, -(-len(before) // (most // 2)))], *newest]


def changes(cases: Sequence[tuple[int, NDArray[Any], str]]) -> Since:
    """Return from when on cases are up to date; each is an iteration, a unit vector and an answer, oldest first."""
    if len(cases) < 2 * LEAST:
        return Since()
    iterations = np.array([iteration for iteration, _, _ in cases])
    names, codes = np.unique([plain(answer) for _, _, answer in cases], return_inverse=True)
    vectors = np.array([vector for _, vector, _ in cases])
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2.0)  # no case is near to itself
    first = 0
    while found := min(_cuts(iterations, codes, cosines, first), default=None):
        first = found[1]
    # Answers one by one, among the cases that are up to date.
    surest = dict[str, tuple[float, int]]()
    for answer in range(len(names)):
        if cut := min(_cuts(iterations, codes, cosines, first, answer), default=None):
            surest[str(names[answer])] = cut
    return Since(first, {name: cut for name, (_, cut) in surest.items()})


def _cuts(
    iterations: NDArray[Any], codes: _Codes, cosines: NDArray[Any], first: int, answer: int | None = None
) -> Iterator[tuple[float, int]]:
    """Yield (p, iteration) of each iteration since the first before which cases are out of date; with an answer, those
    that have it."""
    places = np.flatnonzero(iterations >= first)
    for cut in np.unique(iterations[places])[1:]:
        before, later = places[iterations[places] < cut], places[iterations[places] >= cut]
        if min(len(before), len(later)) < LEAST:
            continue
        earlier = codes[before[cosines[np.ix_(later, before)].argmax(axis=1)]]
        near = later[: len(before)]
        since_then = codes[near[cosines[np.ix_(later, near)].argmax(axis=1)]]
        is_meant = True if answer is None else earlier == answer
        own = codes[later]
        changed = int(((since_then == own) & (earlier != own) & is_meant).sum())
        agreed, kept = (int(((earlier == own) & each & is_meant).sum()) for each in (True, since_then != own))
        if changed > agreed and (p := sign_test(changed, changed + kept)) <= P:
            yield p, int(cut)


def plain(answer: str) -> str:
    return answer.strip().casefold()
