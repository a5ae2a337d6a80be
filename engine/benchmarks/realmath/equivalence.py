"""Whether a given answer is the gold answer, as far as that can be decided without a judge.

Texts that differ only in layout are the same. Otherwise both are read, and expressions are compared by their values at
points that are drawn from a hash of the two texts. That subsumes simplifying their difference to zero, and its work is
bounded by counting: the verdict does not depend on the speed of the machine, as that of a simplification would.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import Enum
from fractions import Fraction

from mage_es.engine.benchmarks.realmath.answers import formula_in, read_answer, without_left_side
from mage_es.engine.benchmarks.realmath.expressions import (
    Collection,
    Expression,
    RelationChain,
    StatedAnswer,
    StatedItem,
    Unreadable,
    symbols_of,
)
from mage_es.engine.benchmarks.realmath.machine import MachineAnswer, read_machine
from mage_es.engine.benchmarks.realmath.tokens import squeezed
from mage_es.engine.benchmarks.realmath.values import Evaluation, NoValue, is_near

POINTS = 8
_TRIES = 40
_MOST_ITEMS = 32


class Equivalence(Enum):
    SAME = "same"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


def decide(gold: str, answer: str, machine: MachineAnswer | None = None) -> Equivalence:
    """Compare a given answer with the gold. Never raises.

    [section 4, RealMath, the metric] Expressions are equal if their values agree to nine digits at eight random points
    that the texts determine. Work is counted instead of timed, so that the verdict is the same on every machine. What
    is equal only at whole numbers, has other symbols or cannot be read is undecided.
    An answer is right if it matches either the gold or its machine-readable form, `machine`.
    """
    if not answer.strip():
        return Equivalence.DIFFERENT
    if _is_same_text(gold, answer):
        return Equivalence.SAME
    try:
        given = read_answer(answer, is_gold=False)
    except Unreadable:
        return Equivalence.UNDECIDED
    decisions = {compared(reading, given, f"{gold}\n{answer}") for reading in readings(gold, machine)}
    if Equivalence.SAME in decisions:
        return Equivalence.SAME
    return Equivalence.DIFFERENT if decisions == {Equivalence.DIFFERENT} else Equivalence.UNDECIDED


def readings(gold: str, machine: MachineAnswer | None) -> list[StatedAnswer]:
    found: list[StatedAnswer] = []
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


def compared(expected: StatedAnswer, given: StatedAnswer, seed: str) -> Equivalence:
    """Compare two readings, by the names of their items if both use the same names, else in order."""
    if len(expected.items) != len(given.items):
        return _reshaped(expected.items, given.items, seed)
    items: Sequence[StatedItem] = given.items
    if len(items) > 1 and "" not in expected.names and set(expected.names) == set(given.names):
        by_name = dict(zip(given.names, given.items, strict=True))
        items = [by_name[name] for name in expected.names]
    return _all(_of_items(one, other, seed) for one, other in zip(expected.items, items, strict=True))


def _reshaped(expected: Sequence[StatedItem], given: Sequence[StatedItem], seed: str) -> Equivalence:
    one, other = _opened(expected), _opened(given)
    if one is None and other is None:
        return Equivalence.UNDECIDED
    return _of_sets(one or expected, other or given, seed)


def _opened(items: Sequence[StatedItem]) -> Sequence[StatedItem] | None:
    only = items[0] if len(items) == 1 else None
    return only.items if isinstance(only, Collection) and not only.is_ordered else None


def _of_items(expected: StatedItem, given: StatedItem, seed: str) -> Equivalence:
    if isinstance(expected, Collection) or isinstance(given, Collection):
        if not (isinstance(expected, Collection) and isinstance(given, Collection)):
            return Equivalence.UNDECIDED
        if not (expected.is_ordered and given.is_ordered):
            return _of_sets(expected.items, given.items, seed)
        if len(expected.items) != len(given.items):
            return Equivalence.DIFFERENT
        return _all(_of_items(one, other, seed) for one, other in zip(expected.items, given.items, strict=True))
    if isinstance(expected, RelationChain) or isinstance(given, RelationChain):
        return _of_relations(expected, given, seed)
    return _of_expressions(expected, given, seed)


def _of_relations(expected: StatedItem, given: StatedItem, seed: str) -> Equivalence:
    if not (isinstance(expected, RelationChain) and isinstance(given, RelationChain)) or expected.signs != given.signs:
        return Equivalence.UNDECIDED
    sides = [_of_items(one, other, seed) for one, other in zip(expected.sides, given.sides, strict=True)]
    return Equivalence.SAME if set(sides) == {Equivalence.SAME} else Equivalence.UNDECIDED


def _of_sets(expected: Sequence[StatedItem], given: Sequence[StatedItem], seed: str) -> Equivalence:
    if len(expected) > _MOST_ITEMS or len(given) > _MOST_ITEMS:
        return Equivalence.UNDECIDED
    table = [[_of_items(one, other, seed) for other in given] for one in expected]
    columns = [list(column) for column in zip(*table, strict=True)]
    if all(Equivalence.SAME in line for line in (*table, *columns)) and table and columns:
        return Equivalence.SAME
    is_open = any(Equivalence.UNDECIDED in line for line in table)
    return Equivalence.UNDECIDED if is_open else Equivalence.DIFFERENT


def _all(decisions: Iterable[Equivalence]) -> Equivalence:
    found = set(decisions)
    if Equivalence.DIFFERENT in found:
        return Equivalence.DIFFERENT
    return Equivalence.UNDECIDED if Equivalence.UNDECIDED in found else Equivalence.SAME


def _of_expressions(expected: Expression, given: Expression, seed: str) -> Equivalence:
    if expected == given:
        return Equivalence.SAME
    names = symbols_of(expected), symbols_of(given)
    free = sorted(names[0] | names[1])
    anywhere = _at_points(expected, given, free, seed, is_whole=False)
    if anywhere is True:
        return Equivalence.SAME
    whole = _at_points(expected, given, free, seed, is_whole=True) if free else anywhere
    if anywhere is None and whole is True:  # sums have whole limits, so they have values nowhere else
        return Equivalence.SAME
    if whole is False and names[0] == names[1]:
        return Equivalence.DIFFERENT
    return Equivalence.UNDECIDED


def _at_points(
    expected: Expression, given: Expression, names: Sequence[str], seed: str, *, is_whole: bool
) -> bool | None:
    """Return whether two expressions are equal at eight points; None if too few points have values."""
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
    """Return a positive number derived from a text: whole from 2 to 13, or a fraction from 1/2 to 5."""
    drawn = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return Fraction(2 + drawn % 12) if is_whole else Fraction(1, 2) + Fraction(drawn % 4500, 1009)
