"""Whether a given answer is the gold answer, as far as that can be decided without a judge.

Texts that are the same but for layout are the same. Otherwise both are read, and expressions are compared by their
values at random points that the two texts determine. That subsumes simplifying their difference to zero, and unlike
simplification it is bounded by counted work: the verdict is the same on every machine, whatever its speed.

Rules
    - Equal at eight points is equal; different at a point is different, if both have the same free symbols.
    - What cannot be read or evaluated, or is equal only where all symbols are whole numbers, is undecided.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import Enum
from fractions import Fraction

from mage_es.engine.benchmarks.realmath.answers import formula_in, read_answer, without_left_side
from mage_es.engine.benchmarks.realmath.expressions import (
    Answer,
    Collection,
    Expression,
    Item,
    Relation,
    Unreadable,
    symbols_of,
)
from mage_es.engine.benchmarks.realmath.machine import MachineAnswer, read_machine
from mage_es.engine.benchmarks.realmath.tokens import squeezed
from mage_es.engine.benchmarks.realmath.values import Evaluation, NoValue, is_near

POINTS = 8
_TRIES = 40
_MOST_ITEMS = 32


class Decision(Enum):
    """What the rule can say of two answers."""

    SAME = "same"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


def decide(gold: str, answer: str, machine: MachineAnswer | None = None) -> Decision:
    """Compare a given answer with the gold. Never raises.

    Args:
        gold: The gold answer in LaTeX.
        answer: The given answer.
        machine: The gold in machine-readable form, where there is one; an answer is right by either.
    """
    if not answer.strip():
        return Decision.DIFFERENT
    if _is_same_text(gold, answer):
        return Decision.SAME
    try:
        given = read_answer(answer, is_gold=False)
    except Unreadable:
        return Decision.UNDECIDED
    decisions = {compared(reading, given, f"{gold}\n{answer}") for reading in readings(gold, machine)}
    if Decision.SAME in decisions:
        return Decision.SAME
    return Decision.DIFFERENT if decisions == {Decision.DIFFERENT} else Decision.UNDECIDED


def readings(gold: str, machine: MachineAnswer | None) -> list[Answer]:
    """Return what a gold states by each of its forms that can be read."""
    found: list[Answer] = []
    with suppress(Unreadable):
        found.append(read_answer(gold, is_gold=True))
    if machine is not None:
        with suppress(Unreadable):
            found.append(read_machine(machine))
    return found


def _is_same_text(gold: str, answer: str) -> bool:
    if squeezed(gold) == squeezed(answer):
        return True
    try:
        expected = without_left_side(formula_in(gold, is_gold=True))
        return expected == without_left_side(formula_in(answer, is_gold=False))
    except Unreadable:
        return False


def compared(expected: Answer, given: Answer, seed: str) -> Decision:
    """Compare two readings, by the names of their items where both name the same ones, else in order."""
    if len(expected.items) != len(given.items):
        return _reshaped(expected.items, given.items, seed)
    items: Sequence[Item] = given.items
    if len(items) > 1 and "" not in expected.names and set(expected.names) == set(given.names):
        by_name = dict(zip(given.names, given.items, strict=True))
        items = [by_name[name] for name in expected.names]
    return _all(_of_items(one, other, seed) for one, other in zip(expected.items, items, strict=True))


def _reshaped(expected: Sequence[Item], given: Sequence[Item], seed: str) -> Decision:
    """Compare a list with a set of the same items: plus-or-minus makes a set of what others write one by one."""
    one, other = _opened(expected), _opened(given)
    if one is None and other is None:
        return Decision.UNDECIDED
    return _of_sets(one or expected, other or given, seed)


def _opened(items: Sequence[Item]) -> Sequence[Item] | None:
    only = items[0] if len(items) == 1 else None
    return only.items if isinstance(only, Collection) and not only.is_ordered else None


def _of_items(expected: Item, given: Item, seed: str) -> Decision:
    if isinstance(expected, Collection) or isinstance(given, Collection):
        if not (isinstance(expected, Collection) and isinstance(given, Collection)):
            return Decision.UNDECIDED
        if not (expected.is_ordered and given.is_ordered):
            return _of_sets(expected.items, given.items, seed)
        if len(expected.items) != len(given.items):
            return Decision.DIFFERENT
        return _all(_of_items(one, other, seed) for one, other in zip(expected.items, given.items, strict=True))
    if isinstance(expected, Relation) or isinstance(given, Relation):
        return _of_relations(expected, given, seed)
    return _of_expressions(expected, given, seed)


def _of_relations(expected: Item, given: Item, seed: str) -> Decision:
    """Compare relations side by side; rearranging them is a judge's business."""
    if not (isinstance(expected, Relation) and isinstance(given, Relation)) or expected.signs != given.signs:
        return Decision.UNDECIDED
    sides = [_of_items(one, other, seed) for one, other in zip(expected.sides, given.sides, strict=True)]
    return Decision.SAME if set(sides) == {Decision.SAME} else Decision.UNDECIDED


def _of_sets(expected: Sequence[Item], given: Sequence[Item], seed: str) -> Decision:
    """Compare sets: each has to have an equal of every item of the other."""
    if len(expected) > _MOST_ITEMS or len(given) > _MOST_ITEMS:
        return Decision.UNDECIDED
    table = [[_of_items(one, other, seed) for other in given] for one in expected]
    columns = [list(column) for column in zip(*table, strict=True)]
    if all(Decision.SAME in line for line in (*table, *columns)) and table and columns:
        return Decision.SAME
    is_open = any(Decision.UNDECIDED in line for line in table)
    return Decision.UNDECIDED if is_open else Decision.DIFFERENT


def _all(decisions: Iterable[Decision]) -> Decision:
    found = set(decisions)
    if Decision.DIFFERENT in found:
        return Decision.DIFFERENT
    return Decision.UNDECIDED if Decision.UNDECIDED in found else Decision.SAME


def _of_expressions(expected: Expression, given: Expression, seed: str) -> Decision:
    if expected == given:
        return Decision.SAME
    names = symbols_of(expected), symbols_of(given)
    free = sorted(names[0] | names[1])
    anywhere = _at_points(expected, given, free, seed, is_whole=False)
    if anywhere is True:
        return Decision.SAME
    whole = _at_points(expected, given, free, seed, is_whole=True) if free else anywhere
    if anywhere is None and whole is True:  # sums, whose limits are whole numbers, have values nowhere else
        return Decision.SAME
    if whole is False and names[0] == names[1]:
        return Decision.DIFFERENT
    return Decision.UNDECIDED


def _at_points(
    expected: Expression, given: Expression, names: Sequence[str], seed: str, *, is_whole: bool
) -> bool | None:
    """Return whether two expressions have the same value at eight points; None where too few points have values."""
    needed = POINTS if names else 1
    equal = 0
    for attempt in range(_TRIES if names else 1):
        point = {name: _coordinate(f"{seed}\n{attempt}\n{name}", is_whole=is_whole) for name in names}
        try:
            evaluation = Evaluation(point)
            if not is_near(evaluation.value(expected), evaluation.value(given)):
                return False
        except NoValue:
            continue
        equal += 1
        if equal == needed:
            return True
    return None


def _coordinate(seed: str, *, is_whole: bool) -> Fraction:
    """Return a positive number that a text determines: whole from 2 to 13, or with a fraction from 1/2 to 5."""
    drawn = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return Fraction(2 + drawn % 12) if is_whole else Fraction(1, 2) + Fraction(drawn % 4500, 1009)
