"""Floors: how near a memory must be to a question to be shown with it, and how that is measured.

Rules
    - A memory of a case that is farther from a question than the floor of its task type is about something else, and is
      left out. A question with nothing near gets nothing.
    - Each case is judged by itself, so a near case does not let others in. The exception is when a metric or a
      regression ranks the cases (rules/metric.py): then the nearest case only shows that the question is of the kind
      that was learned, and the ranking chooses the cases, as in learning and in exams.
    - The right cosine depends on the embedder and the kind of task. So questions of the run's own memories are wrapped
      in other words, and the floor lets 95 of 100 of them find a memory of another question. The wrapping matters
      because questions of one template are so near to each other that a floor measured without it would exclude a
      question with a mere "Thanks!" added.
    - If everyday questions are all farther than that, even in the template that the memories share, the floor is
      halfway between: nothing is known about future traffic, so both sides get the same margin.
    - A task type with too few memories uses the floor of all types together, and a run with too few has none.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from heapq import nsmallest
from operator import itemgetter
from typing import NamedTuple, get_args

import numpy as np

from mage_es.engine.rules.floors import Floors
from mage_es.engine.rules.retrieval import is_case
from mage_es.engine.seams.embedder import Vector, Vectors
from mage_es.engine.served.wording import EVERYDAY, shared, wrapped
from mage_es.projections.memory import Index, Memory

_BLOCK = 4_096  # memories compared with a sample at once
_MOST = 256
"""Most wrapped questions of all types together, unless some type would have fewer than _ENOUGH: they cost calls to a
served embedder when a run is opened."""
_ENOUGH = 20
"""The fewest cases that show how near questions of a type are; with these, one may lie below the floor."""
_MISSED = 0.05
"""Share of a type's own wrapped questions that its floor may exclude."""
_IN_TEMPLATE = 0.9
"""Share of a type's questions that must have a prefix or suffix in common for it to be their template."""


class Probe(NamedTuple):
    """A text to compare with a type's memories: a wrapped question of that type, or an everyday question (without
    id)."""

    text: str
    task_type: str
    question_id: str = ""


def probes_of(memory: Memory, task_types: Collection[str]) -> list[Probe]:
    """Return the texts whose vectors `floors_of` needs."""
    probes, names = list[Probe](), sorted(task_types)
    for task_type in names:
        cases = sampled(memory, task_type, max(_ENOUGH, _MOST // len(names)))
        texts = [case.question for case in cases]
        probes += [Probe(wrapped(case.question, n), task_type, case.question_id) for n, case in enumerate(cases)]
        probes += [Probe(text, task_type) for text in EVERYDAY]
        if texts and any(template := _template(texts)):
            probes += [Probe(f"{template[0]}{text}{template[1]}", task_type) for text in EVERYDAY]
    return probes


def floors_of(memory: Memory, probes: Sequence[Probe], vectors: Vectors) -> Floors:
    """Return the floors for probes with these vectors."""
    own, far = dict[str, list[float]](), dict[str, list[float]]()
    for task_type in sorted({probe.task_type for probe in probes}):
        places = [place for place, probe in enumerate(probes) if probe.task_type == task_type]
        ids = [probes[place].question_id for place in places]
        nearest = nearest_of(memory, task_type, vectors[places], ids)
        own[task_type] = [each for each, name in zip(nearest, ids, strict=True) if name and each > -1]
        far[task_type] = [each for each, name in zip(nearest, ids, strict=True) if not name and each > -1]
    by_type = {name: _floor(own[name], far[name]) for name in own if len(own[name]) >= _ENOUGH}
    return Floors(by_type, _floor([*_all(own)], [*_all(far)]))


def is_far(nearest: float, floor: float) -> bool:
    return nearest < floor and floor > 0


def _floor(own: Sequence[float], far: Sequence[float]) -> float:
    if len(own) < _ENOUGH:
        return 0.0
    found, others = float(np.quantile(own, _MISSED)), max(far, default=-1.0)
    return max(0.0, (found + max(others, 0.0)) / 2 if others < found else found)


def _all(by_type: Mapping[str, Sequence[float]]) -> list[float]:
    return [each for name in by_type for each in by_type[name]]


def _template(texts: Sequence[str]) -> tuple[str, str]:
    """Return the prefix and the suffix that nearly all texts share, each "" if there is none."""
    first, *others = texts
    head, tail = shared(first, others, max(1, round(_IN_TEMPLATE * len(others))))
    return first[:head], first[len(first) - tail :]


class SampledCase(NamedTuple):
    """The memories that a question is compared with to find a case."""

    question_id: str
    question: str
    vector: Vector


def sampled(memory: Memory, task_type: str, most: int) -> list[SampledCase]:
    """Return at most `most` memories of a task type's cases: those with the smallest ids, which are hashes, so this is
    a random sample that needs no seed."""
    slices = (memory.slice(index, task_type) for index in get_args(Index))
    everything = ((rows.ids[row], rows, row) for rows in slices for row in range(len(rows.ids)) if is_case(rows, row))
    drawn = nsmallest(most, everything, key=itemgetter(0))
    return [
        SampledCase(rows.question_ids[row], memory.row(name).question, rows.vectors[row]) for name, rows, row in drawn
    ]


def nearest_of(memory: Memory, task_type: str, vectors: Vectors, question_ids: Sequence[str]) -> list[float]:
    """Return for each vector the cosine of the nearest memory of a task type's cases, -1 if there is none; a memory of
    the vector's own question does not count."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(question_ids):
        places[name].append(place)
    nearest = np.full(len(question_ids), -1.0)
    for rows in (memory.slice(index, task_type) for index in get_args(Index)):
        own = [row for row in range(len(rows.ids)) if is_case(rows, row)]
        for first in range(0, len(own), _BLOCK):
            block = own[first : first + _BLOCK]
            similarity = rows.vectors[block] @ vectors.T
            for number, row in enumerate(block):
                if same := places.get(rows.question_ids[row]):
                    similarity[number, same] = -1.0
            nearest = np.maximum(nearest, similarity.max(axis=0))
    return [float(each) for each in nearest]
