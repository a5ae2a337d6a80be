"""Task sets as streams: the order in which tasks follow one another, for methods that learn as they go.

The protocol runs each stream in several orders (`ORDERS`), with and without memory, and compares them in pairs. Order 0
is by time; the others are drawn from a seed. If a set has phases (its rule changes, or its questions build on one
another) every order keeps them one after the other, unless it is `naive`: then drawn orders mix them.
"""

from __future__ import annotations

from collections.abc import Sequence

from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.seams.benchmark import Question

ORDERS = 5


def stream(questions: Sequence[Question], *, seed: int, order: int = 0, naive: bool = False) -> list[Question]:
    """Return the questions in one of the orders of a stream.

    The time and phase of a question are numbers in its `meta`, 0 by default: any benchmark is a stream. In order 0,
    questions of the same time keep their given order; a drawn order depends only on the questions, the seed and its
    number.
    """
    if order == 0:
        return sorted(questions, key=lambda question: (0 if naive else _phase(question), _number(question, "time")))
    drawn = Dice(f"stream/{seed}/{order}").shuffled(sorted(questions, key=lambda question: question.id))
    return drawn if naive else sorted(drawn, key=_phase)


def _phase(question: Question) -> int:
    return _number(question, "phase")


def _number(question: Question, name: str) -> int:
    return int(question.meta.get(name, "0"))
