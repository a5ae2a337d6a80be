"""The controls of an exam: whose memories a question gets, if any, so that their content cannot help it.

Rules
    - `shuffled`: the question gets the memories that a donor, another question of the exam, would have got. The donor
      has another task type. If all questions have the same type, it is a question outside the half whose texts are
      nearest. Cases that the question itself would have got are left out.
    - `permuted`: the question gets the memories that it would get without a control, but each with the answer (and what
      led to it) of another memory of the same index, whose answer has the same form. Every answer is used once, and
      never with its own question. So the prompt still shows which answers are possible and how frequent they are; only
      the link between question and answer is lost.
    - Where memories show an answer alone, `permuted` is a null. Memories of unlike questions can mislead, and so can
      the worked solution of another question: with either control a question can do worse than at the start.
    - Principles, strategies, tools and what a skill was taught hold no case's answer. `permuted` therefore leaves them
      alone, and so does `shuffled` if there is only one skill.
    - `bare`: nothing that was learned is shown, as at the start. The accuracy that is left is the model's own.
    - The exam's gold answers are never used: texts and types decide on a donor, memories alone on a permutation.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Literal, get_args

import numpy as np

from mage_es.engine.commands import Asked
from mage_es.engine.rules.randomness import shuffled
from mage_es.projections.memory import INDEXES, Memory, MemoryRow

Control = Literal["none", "shuffled", "permuted", "bare"]
CONTROLS: tuple[Control, ...] = get_args(Control)

_NUMBER = re.compile(r"[-+$€£]*[\d.,/:]+\s*%?")


def donors(asked: Sequence[Asked], seed: int) -> Mapping[str, Asked]:
    """Return the donor of each question: the next one, in a seeded order, that is of another type or unlike it; {} for
    a single question.
    """
    order = shuffled(sorted(asked, key=lambda a: a.question.id), seed, purpose="exam.donors")
    if len(order) < 2:
        return {}
    has_types = len({each.task_type for each in order}) > 1
    vectors = np.stack([each.vector for each in order])
    found = {}
    for place, receiver in enumerate(order):
        others = [*range(place + 1, len(order)), *range(place)]
        if has_types:
            unlike = [other for other in others if order[other].task_type != receiver.task_type]
        else:
            likeness = vectors[others] @ receiver.vector
            middle = np.median(likeness)
            unlike = [other for other, alike in zip(others, likeness, strict=True) if alike <= middle]
        found[receiver.question.id] = order[unlike[0]]
    return found


def permutation(memory: Memory, seed: int) -> Mapping[str, str]:
    """Map the id of each memory in use to the id of the memory whose answer it should show, or to "". Only memories of
    a single case are included: a type strategy has no answer.
    """
    groups = defaultdict[tuple[str, ...], list[MemoryRow]](list)
    for row in memory.rows():
        if row.outcome in INDEXES and row.kind != "type_strategy" and row.status == "active":
            # Which answers a type has must still show, so that only their pairing with questions is lost.
            of_type = (row.task_type,) * (len(memory.task_types()) > 1)
            groups[row.outcome, form_of(row.answer), *of_type].append(row)
    alone = [key for key, rows in groups.items() if len(_questions(rows)) < 2]
    for key in alone:  # alone in its form: takes any other
        groups[key[0], ""] += groups.pop(key)
    return dict(chain.from_iterable(_permuted(rows, seed, "/".join(key)) for key, rows in sorted(groups.items())))


def form_of(answer: str) -> str:
    """Return what an answer looks like: a number, a letter or words."""
    plain = answer.strip()
    if _NUMBER.fullmatch(plain):
        return "number"
    return "letter" if len(plain.strip("().")) == 1 else "words"


def _permuted(rows: Sequence[MemoryRow], seed: int, group: str) -> list[tuple[str, str]]:
    # Memories of one question are side by side. Each takes the answer as many places further on as the longest such
    # row, so never its own question's.
    asked = _questions(rows)
    places = {name: place for place, name in enumerate(shuffled(sorted(asked), seed, purpose="exam.permuted"))}
    order = sorted(rows, key=lambda row: (places[row.question_id], row.memory_id))
    step = max(asked.values())
    taken = [*order[step:], *order[:step]]
    return [
        (row.memory_id, other.memory_id if other.question_id != row.question_id else "")
        for row, other in zip(order, taken, strict=True)
    ]


def _questions(rows: Sequence[MemoryRow]) -> Counter[str]:
    return Counter(row.question_id for row in rows)
