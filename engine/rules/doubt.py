"""Which clients are in doubt: their cases predict the others' answers wrongly more often than chance allows.

A single wrong answer may be a slip. A client that gives many answers has a record, and can be judged by it.

Rules
    - Each case asks the ASKED nearest cases of other clients. A case that is asked agrees if it has the same answer as
      at least half of the cases that ask it. So a client is judged by what its cases would tell the others' questions,
      and cannot vouch for itself, however many cases it has.
    - A client is in doubt for a task type if its cases agree less than half as often as the others' cases agree with
      one another, and the difference is significant (Fisher's one-sided exact test, p at most P). If there are several,
      the most certain one is found first. The search then continues without its cases, which distort the others'
      record.
    - What a client in doubt gave is shown only with its own questions. The same holds for a principle that rests on its
      cases alone. No metric is learned from them. Its cases stay in the memory, and are shown again once its record
      improves: because it gives more right cases, or because a person takes the wrong ones out of use.
    - A newcomer gets the benefit of the doubt: the test needs some fifteen of its cases to have been asked. If
      newcomers had to prove themselves first, half of what honest clients gave would wait for days.
    - If a client has a subject of its own, its cases are never nearest to the others' questions. Without such evidence
      it is not in doubt.
    - Cases from before a change of the rule (rules/drift.py) are compared only with one another. Otherwise a client
      would be judged by what was right before it arrived.
    - The test needs three clients, or two clients and cases that came from no client: if two clients contradict each
      other, either may be right. With a single client nothing is compared.
    - The test misses wrong answers to questions that resemble no others; a client that is right at least half as often
      as the others, even if it is deliberately wrong about one thing; a client that used to be right, until its wrong
      cases outweigh the right ones; a client with fewer than one case in two hundred; and clients in collusion whose
      cases are together nearest more often than those of the honest ones, who then come into doubt themselves.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.distributions import halved
from mage_es.engine.rules.drift import since, spread
from mage_es.projections.memory import Index, Memory, MemoryRow, plain
from mage_es.projections.slices import computed_of

MOST = 2000
"""How many cases of a task type are compared: half of them the newest, half a sample of the earlier ones."""
ASKED = 5
"""As many cases as a prompt shows."""
P = 0.001
"""Stricter than for a single test, because the test is made after every iteration, for every client."""


class Doubt(NamedTuple):
    """How many of a client's cases, and out of how many, agree with the others' cases that ask them; the same for all
    others among themselves; and the p value of the difference."""

    agreed: int
    asked: int
    others_agreed: int
    others_asked: int
    p: float

    def __str__(self) -> str:
        return (
            f"of its {self.asked} cases that are near to others' {self.agreed} agree with them, "
            f"of the others' own {self.others_agreed} of {self.others_asked} (p {self.p:.2g})"
        )


def doubted(memory: Memory, task_type: str) -> Mapping[str, Doubt]:
    """Return the clients whose cases of a task type are shown only to themselves, with the record against each, the
    most certain first."""
    if len(memory.clients()) < 2:
        return {}
    slices = [rows for index in get_args(Index) if (rows := memory.slice(index, task_type)).ids]
    return computed_of(slices, "doubt", lambda: _of_memory(memory, task_type)) if slices else {}


def why_doubted(memory: Memory, row: MemoryRow) -> str:
    """Return why a memory is not shown to other clients, or "" if it may be."""
    record = doubted(memory, row.task_type).get(row.origin.by)
    return f"Its client, {row.origin.by}, is in doubt: {record}." if record else ""


def _of_memory(memory: Memory, task_type: str) -> Mapping[str, Doubt]:
    start = since(memory, task_type).all_answers
    rows = ((memory.row(name), vector) for _, name, vector in spread(memory, task_type, MOST))
    return clients_in_doubt([(row.origin.by, memory.taught(row) < start, vector, row.answer) for row, vector in rows])


def clients_in_doubt(cases: Sequence[tuple[str, bool, NDArray[Any], str]]) -> Mapping[str, Doubt]:
    """Return the clients in doubt; each case is a client (or ""), whether it predates a change, a unit vector and an
    answer."""
    names, clients = np.unique([client for client, *_ in cases], return_inverse=True)
    is_old, vectors = np.array([old for _, old, *_ in cases]), np.array([vector for *_, vector, _ in cases])
    answers = np.array([plain(answer) for *_, answer in cases])
    cosines = vectors @ vectors.T
    cosines[is_old[:, None] != is_old] = -2.0
    # Cases that no client gave have no common source: each of them may ask another.
    cosines[(clients[:, None] == clients) & (names[clients] != "")] = -2.0
    np.fill_diagonal(cosines, -2.0)
    # Without ties, which each processor's partition breaks in its own way: of equally near cases the later one counts.
    tie_free = cosines + np.arange(len(cases)) * 2.0**-40
    nearest = tie_free.argpartition(-min(ASKED, len(cases)), axis=1)[:, -ASKED:]
    has_it = answers[:, None] == answers[nearest]
    is_asked = np.take_along_axis(cosines, nearest, axis=1) > -2.0

    def record(askers: Sequence[int], givers: Sequence[int]) -> tuple[int, int]:
        """Return how many cases of some clients are asked by cases of others, and how many of them agree."""
        counted = is_asked & np.isin(clients, askers)[:, None] & np.isin(clients[nearest], givers)
        met = np.bincount(nearest[counted], minlength=len(cases))
        right = np.bincount(nearest[counted & has_it], minlength=len(cases))
        return int(((met > 0) & (2 * right >= met)).sum()), int((met > 0).sum())

    left, doubts = [*range(len(names))], dict[str, Doubt]()
    while True:
        against = list[tuple[float, int, Doubt]]()
        for place in left:
            others = [each for each in left if each != place]
            (right, met), (others_right, others_met) = record(others, [place]), record(others, others)
            if names[place] and (p := halved(right, met, others_right, others_met)) <= P:
                against.append((p, place, Doubt(right, met, others_right, others_met, p)))
        if not against:
            return doubts
        _, place, surest = min(against)
        left.remove(place)
        doubts[str(names[place])] = surest
